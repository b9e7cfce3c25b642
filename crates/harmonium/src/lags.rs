//! Σ_t x_t x_{t+k} for every lag k at once, by the Fourier transform of the zero-padded series (Wiener and Khinchin), in n log n
//! steps.

use std::f64::consts::TAU;

/// The sums for lags 0 … n − 1 of a series of n numbers.
pub(crate) fn lagged_sums(x: &[f64]) -> Vec<f64> {
    let size = (2 * x.len()).next_power_of_two();
    let mut z = vec![[0.0; 2]; size];
    z.iter_mut().zip(x).for_each(|(z, x)| z[0] = *x);
    transform(&mut z);
    z.iter_mut().for_each(|z| *z = [z[0] * z[0] + z[1] * z[1], 0.0]);
    // The spectrum is real and even, so the forward transform is also the inverse.
    transform(&mut z);
    z[..x.len()].iter().map(|z| z[0] / size as f64).collect()
}

/// Σ_t z_t exp(−2πi kt/n) in place, n a power of two (Cooley and Tukey, 1965).
fn transform(z: &mut [[f64; 2]]) {
    let n = z.len();
    if n < 2 {
        return;
    }
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - n.trailing_zeros());
        if i < j {
            z.swap(i, j);
        }
    }
    let turns: Vec<[f64; 2]> = (0..n / 2).map(|k| TAU * k as f64 / n as f64).map(|a| [a.cos(), -a.sin()]).collect();
    let mut half = 1;
    while half < n {
        for block in z.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let [c, s] = turns[k * (n / (2 * half))];
                let t = [b[0] * c - b[1] * s, b[0] * s + b[1] * c];
                *b = [a[0] - t[0], a[1] - t[1]];
                *a = [a[0] + t[0], a[1] + t[1]];
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Key, normal};

    #[test]
    fn sums_are_those_of_the_definition() {
        for n in [0, 1, 2, 3, 7, 8, 100, 129] {
            let x: Vec<f64> = (0..n).map(|i| normal(Key::root(1).uniforms(i as u64, 0))).collect();
            let found = lagged_sums(&x);
            assert_eq!(found.len(), n);
            for (lag, sum) in found.iter().enumerate() {
                let direct: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum();
                assert!((sum - direct).abs() < 1e-12 * (n as f64), "n {n}, lag {lag}: {sum} against {direct}");
            }
        }
    }
}
