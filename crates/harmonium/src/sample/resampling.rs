//! Chains that carry log weights w: how many of them count, and which go on when chains are chosen in proportion to eʷ.

use crate::math::log_sum_exp;

/// The effective number of chains: (Σ eʷ)² / Σ e²ʷ.
pub fn effective(w: &[f64]) -> f64 {
    (2.0 * log_sum_exp(w.iter().copied()) - log_sum_exp(w.iter().map(|w| 2.0 * w))).exp()
}

/// `n` indices drawn in proportion to eʷ by systematic resampling, at u, 1 + u, 2 + u, … of n.
pub fn systematic(w: &[f64], n: usize, u: f64) -> Vec<usize> {
    let log_mean = log_sum_exp(w.iter().copied()) - (n as f64).ln();
    let (mut source, mut passed) = (0, 0.0);
    (0..n)
        .map(|k| {
            while source + 1 < w.len() && passed + (w[source] - log_mean).exp() < k as f64 + u {
                passed += (w[source] - log_mean).exp();
                source += 1;
            }
            source
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_choose_every_chain_once() {
        assert_eq!(systematic(&[3.0; 5], 5, 0.4), [0, 1, 2, 3, 4]);
        assert!((effective(&[3.0; 5]) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn chains_are_chosen_in_proportion_to_their_weights() {
        let w: Vec<f64> = [1.0f64, 4.0, 0.0, 5.0].iter().map(|w| w.ln()).collect();
        assert_eq!(systematic(&w, 10, 0.5), [0, 1, 1, 1, 1, 3, 3, 3, 3, 3]);
        assert!((effective(&w) - 100.0 / 42.0).abs() < 1e-9);
    }
}
