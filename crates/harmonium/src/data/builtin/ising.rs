//! The Ising model at its critical point: E = −Σ sᵢsⱼ over neighbours on a torus of L × L spins, β = ½ log(1 + √2).
//!
//! Sampled by the cluster algorithm of Swendsen and Wang (1987): equal neighbours are bound with probability 1 − e^(−2β), which
//! is 2 − √2 at this β (Onsager 1944), and every cluster gets a random sign. Every row is the end of its own chain, so rows are
//! independent.

use super::Memory;
use crate::rng::Key;
use ndarray::Array2;
use rayon::prelude::*;
use std::f32::consts::SQRT_2;

const ROWS: usize = 2000;
/// Largest L: 2,000 rows take seconds.
const MOST: usize = 32;
/// Steps of a chain: the autocorrelation time is 4 steps at L = 8 and below 8 at L = 32.
const SWEEPS: u64 = 64;

/// Samples of −1 and +1.
pub fn make(argument: Option<&str>) -> Result<Memory, String> {
    let l = super::size(argument, 8, 2..=MOST)?;
    let mut table = Array2::zeros((ROWS, l * l));
    let key = super::key(4);
    let rows = table.rows_mut().into_iter().enumerate().collect::<Vec<_>>();
    rows.into_par_iter().for_each(|(row, mut out)| {
        let spins = sample(key, row as u64, l);
        out.iter_mut().zip(spins).for_each(|(x, up)| *x = if up { 1.0 } else { -1.0 });
    });
    Ok(Memory::new(table, Some((l, l))))
}

/// The end of one chain; true is up.
fn sample(key: Key, row: u64, l: usize) -> Vec<bool> {
    let sites = l * l;
    // Per site: the bonds to the right and down, and the sign if the site represents a cluster.
    let mut u = vec![0f32; 3 * sites];
    key.fill(row, &mut u);
    let mut up: Vec<bool> = u[..sites].iter().map(|u| *u < 0.5).collect();
    let mut clusters = Clusters(vec![0; sites]);
    for sweep in 1..=SWEEPS {
        key.step(sweep).fill(row, &mut u);
        clusters.0.iter_mut().enumerate().for_each(|(i, parent)| *parent = i);
        for i in 0..sites {
            let right = i / l * l + (i + 1) % l;
            let down = (i + l) % sites;
            for (j, u) in [(right, u[2 * i]), (down, u[2 * i + 1])] {
                if up[i] == up[j] && u < 2.0 - SQRT_2 {
                    clusters.join(i, j);
                }
            }
        }
        for (i, up) in up.iter_mut().enumerate() {
            *up = u[2 * sites + clusters.find(i)] < 0.5;
        }
    }
    up
}

/// Disjoint sets: every site points towards the representative of its cluster.
struct Clusters(Vec<usize>);

impl Clusters {
    fn find(&mut self, mut i: usize) -> usize {
        while self.0[i] != i {
            // Path halving keeps later searches short.
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }

    fn join(&mut self, i: usize, j: usize) {
        let (i, j) = (self.find(i), self.find(j));
        self.0[i.max(j)] = i.min(j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// −E and the squared magnetisation.
    fn measure(l: usize, spin: impl Fn(usize) -> f64) -> [f64; 2] {
        let bonds = |i: usize| spin(i) * (spin(i / l * l + (i + 1) % l) + spin((i + l) % (l * l)));
        [(0..l * l).map(bonds).sum(), (0..l * l).map(&spin).sum::<f64>().powi(2)]
    }

    /// Means and standard deviations over all 2^(L²) states.
    fn enumerate(l: usize) -> [(f64, f64); 2] {
        let beta = (1.0 + 2f64.sqrt()).ln() / 2.0;
        let (mut z, mut sum, mut square) = (0.0, [0.0; 2], [0.0; 2]);
        for code in 0..1u32 << (l * l) {
            let m = measure(l, |i| f64::from(code >> i & 1) * 2.0 - 1.0);
            let p = (beta * m[0]).exp();
            z += p;
            for k in 0..2 {
                sum[k] += p * m[k];
                square[k] += p * m[k] * m[k];
            }
        }
        std::array::from_fn(|k| (sum[k] / z, (square[k] / z - (sum[k] / z).powi(2)).sqrt()))
    }

    #[test]
    fn samples_have_the_energy_and_magnetisation_of_the_enumeration() {
        for l in [2, 3, 4] {
            let table = make(Some(&l.to_string())).unwrap().into_table();
            assert_eq!(table.dim(), (2000, l * l));
            let found: Vec<[f64; 2]> = table.rows().into_iter().map(|row| measure(l, |i| row[i])).collect();
            for (k, (mean, deviation)) in enumerate(l).into_iter().enumerate() {
                let found = found.iter().map(|m| m[k]).sum::<f64>() / 2000.0;
                assert!((found - mean).abs() < 4.0 * deviation / 2000f64.sqrt(), "L = {l}, {k}: {found}, {mean}");
            }
        }
    }

    /// By the transfer matrix, the energy of the 8 × 8 torus at this β is −1.491589 per site with a standard deviation
    /// of 0.3036; up and down are alike.
    #[test]
    fn the_default_is_critical_and_symmetric() {
        let table = make(None).unwrap().into_table();
        assert_eq!(table.dim(), (2000, 64));
        assert!(table.iter().all(|x| x.abs() == 1.0));
        let energy = -table.rows().into_iter().map(|r| measure(8, |i| r[i])[0]).sum::<f64>() / 2000.0 / 64.0;
        assert!((energy + 1.491589).abs() < 4.0 * 0.3036 / 2000f64.sqrt(), "{energy}");
        assert!(table.mean().unwrap().abs() < 5.0 / 2000f64.sqrt(), "{}", table.mean().unwrap());
        // Neighbouring rows come from chains of their own: their overlap has mean 0.
        let overlap = |r: usize| table.row(r).dot(&table.row(r + 1)) / 64.0;
        assert!((0..1999).map(overlap).sum::<f64>().abs() / 1999.0 < 5.0 / 1999f64.sqrt());
    }
}
