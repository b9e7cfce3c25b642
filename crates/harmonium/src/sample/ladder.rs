//! Parallel tempering: every ladder has one chain at each of some inverse temperatures, and neighbours exchange places with
//! probability min(1, p_k(v′) p_{k+1}(v) / p_k(v) p_{k+1}(v′)) (Swendsen & Wang 1986; Geyer 1991). What moves between chains
//! is the temperature, not the state.

use super::path::Path;
use crate::backend::Slot;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use ndarray::{Array2, s};

/// The slot that has the chains: row ladder · rungs + k begins at rung k of its ladder.
const CHAINS: Slot = 2;

/// Some ladders with the same inverse temperatures.
pub struct Ladders<T> {
    betas: Vec<T>,
    ladders: usize,
    /// The row at each rung of each ladder.
    row: Vec<usize>,
    /// Swaps tried and made between each rung and the next.
    swaps: Vec<(u64, u64)>,
}

/// Log weights of a step from a rung to the next, of the chain below and of the chain above, when they met.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    pub ladder: usize,
    pub rung: usize,
    pub forward: f64,
    pub backward: f64,
}

impl<T: Real> Ladders<T> {
    /// Ladders whose chains at rung k begin at the rows of columns `starts[k]`.
    pub fn new(path: &mut Path<T>, betas: &[f64], starts: &[Array2<T>]) -> Ladders<T> {
        let (rungs, ladders) = (betas.len(), starts[0].nrows());
        let side = path.backend.machine().visible();
        let mut all = Array2::zeros((ladders * rungs, side.columns()));
        for (k, start) in starts.iter().enumerate() {
            all.slice_mut(s![k..; rungs, ..]).assign(start);
        }
        let mut rows = States::new(side.unit(), side.sites());
        rows.push(side, all.view());
        path.backend.put(CHAINS, &rows, None);
        Ladders {
            betas: betas.iter().map(|b| T::of(*b)).collect(),
            ladders,
            row: (0..ladders * rungs).collect(),
            swaps: vec![(0, 0); rungs - 1],
        }
    }

    /// The inverse temperature of every row.
    fn temperatures(&self) -> Vec<T> {
        let mut out = vec![T::zero(); self.row.len()];
        for (place, row) in self.row.iter().enumerate() {
            out[*row] = self.betas[place % self.betas.len()];
        }
        out
    }

    /// One sweep of every chain, then swaps between every other pair of rungs; tells every meeting.
    pub fn step(&mut self, path: &mut Path<T>, key: Key, step: u64, mut see: impl FnMut(Meeting)) {
        let own = self.temperatures();
        path.sweep(CHAINS, &own, key, step);
        let rungs = self.betas.len();
        let pairs: Vec<(usize, usize)> =
            (0..self.ladders).flat_map(|l| ((step % 2) as usize..rungs - 1).step_by(2).map(move |k| (l, k))).collect();
        let mut other = own.clone();
        for &(l, k) in &pairs {
            let [below, above] = [self.row[l * rungs + k], self.row[l * rungs + k + 1]];
            (other[below], other[above]) = (own[above], own[below]);
        }
        let log_p = path.backend.log_marginals(CHAINS, &[Some(&own), Some(&other)], None);
        let swap = key.of(Purpose::Swap).step(step);
        for (l, k) in pairs {
            let [below, above] = [self.row[l * rungs + k], self.row[l * rungs + k + 1]];
            let forward = log_p[[below, 1]] - log_p[[below, 0]];
            let backward = log_p[[above, 0]] - log_p[[above, 1]];
            see(Meeting { ladder: l, rung: k, forward, backward });
            self.swaps[k].0 += 1;
            if swap.uniforms::<f64>(l as u64, k as u32)[0].ln() < forward - backward {
                self.swaps[k].1 += 1;
                self.row.swap(l * rungs + k, l * rungs + k + 1);
            }
        }
    }

    /// The states at the last rung, a row for every ladder.
    pub fn last(&self, path: &Path<T>) -> States<T> {
        let rungs = self.betas.len();
        let rows: Vec<usize> = (0..self.ladders).map(|l| self.row[(l + 1) * rungs - 1]).collect();
        path.backend.get(CHAINS).select(&rows)
    }

    /// The smallest part of swaps that were made between two rungs.
    pub fn least_swaps(&self) -> f64 {
        self.swaps.iter().map(|s| s.1 as f64 / s.0.max(1) as f64).fold(1.0, f64::min)
    }
}
