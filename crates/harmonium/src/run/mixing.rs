//! Chains that run on from a trained model: rows to look at, and whether Gibbs sampling converges.

use super::judge::Means;
use crate::backend::{self, DeviceRef, Sweeps};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::exact::{Exact, budget};
use crate::model::Rbm;
use crate::rng::shuffled;
use crate::rng::{Key, Purpose};
use crate::sample::diagnose::{ess_bulk, r_hat};
use crate::states::States;
use ndarray::{Array2, Axis};

/// Rows shown or summarised, of each kind.
pub const ROWS: usize = 500;
/// Chains whose free energy is recorded, half of them started from rows of the data.
pub const RECORDED: usize = 40;
/// Sweeps of every chain: at most, at least, and the products of a chain with a weight they may take, some seconds on two cores.
const SWEEPS: usize = 500;
const FEWEST_SWEEPS: usize = 50;
const PRODUCTS: f64 = 1e11;

/// Chains of a trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixing {
    /// Rows of the model: independent ones if it is small enough, else where the chains ended.
    pub samples: Array2<f32>,
    /// F(v), sweeps × chains; empty if no data was there to start from.
    pub trace: Array2<f64>,
    /// Rank-normalised split R̂ of the second half of the trace.
    pub r_hat: Option<f64>,
    /// Its effective sample size.
    pub ess: Option<f64>,
}

/// A model with the rows it was trained on.
pub struct Chains<'a> {
    pub rbm: &'a Rbm<f32>,
    pub train: Option<&'a Dataset<f32>>,
    pub seed: u64,
    pub device: DeviceRef,
}

/// Rows chosen at random, each with a probability proportional to its weight: rows at equal distances could all be of one kind.
pub fn some_rows(all: &Dataset<f32>, seed: u64) -> Dataset<f32> {
    let key = Key::root(seed).of(Purpose::Monitor);
    if !all.uniform() {
        return all.select(&drawn_by_weight(all.weights(), ROWS, key));
    }
    let mut rows = shuffled(all.len(), key);
    rows.truncate(ROWS);
    all.select(&rows)
}

/// Numbers of rows drawn by their weights, with replacement: without it, few rows would all be drawn whatever they weigh.
fn drawn_by_weight(weights: &[f32], n: usize, key: Key) -> Vec<usize> {
    let mut sum = 0.0;
    let up_to: Vec<f64> = weights
        .iter()
        .map(|w| {
            sum += f64::from(*w);
            sum
        })
        .collect();
    let row = |k: usize| up_to.partition_point(|s| *s <= key.uniforms::<f64>(k as u64, 0)[0] * sum);
    (0..n).map(|k| row(k).min(weights.len().saturating_sub(1))).collect()
}

impl Chains<'_> {
    /// Runs chains, half of them from rows of the data and half from rows whose columns were shuffled independently: where
    /// these agree, sampling has converged.
    pub fn run(&self) -> Result<Mixing> {
        let (lowered, key) = (self.rbm.lower(), Key::root(self.seed));
        let exact = match budget::REPORT_SAMPLES.allows(Exact::cost(&lowered)) {
            true => match Exact::new(self.rbm) {
                Err(Error::NotNormalisable(_)) => None,
                solved => Some(solved?),
            },
            false => None,
        };
        let independent = exact.map(|exact| exact.sample(ROWS, key).0.mapv(|x| x as f32));
        let Some(train) = self.train.filter(|rows| !rows.is_empty()) else {
            let samples = independent.unwrap_or_else(|| Array2::zeros((0, lowered.visible().sites())));
            return Ok(Mixing { samples, trace: Array2::zeros((0, 0)), r_hat: None, ess: None });
        };
        let chains = if independent.is_some() { RECORDED } else { ROWS };
        let starts = self.starts(train, chains)?;
        let sweeps = (PRODUCTS / (chains * lowered.weights().len()) as f64) as usize;
        let sweeps = sweeps.clamp(FEWEST_SWEEPS, SWEEPS);
        let (trace, end) =
            run(self.device.backend(lowered)?.as_mut(), &starts, sweeps, key.of(Purpose::Monitor).step(u64::MAX))?;
        let samples = independent.unwrap_or(end);
        let counted = trace.slice_axis(Axis(0), (sweeps / 2..).into()).reversed_axes();
        let (r_hat, ess) = (r_hat(counted), ess_bulk(counted));
        Ok(Mixing { samples, trace, r_hat, ess })
    }

    /// The states that chains start from: in both the recorded and the other part the first half are rows, the second half rows
    /// of shuffled columns.
    fn starts(&self, train: &Dataset<f32>, chains: usize) -> Result<States<f32>> {
        let lowered = self.rbm.lower();
        let rows = some_rows(train, self.seed).states().values(lowered.visible());
        let key = Key::root(self.seed).of(Purpose::Chains).step(u64::MAX);
        let shuffled = |chain: usize, site: usize| {
            let row = key.uniforms::<f64>(chain as u64, site as u32)[0] * rows.nrows() as f64;
            rows[[(row as usize).min(rows.nrows() - 1), site]]
        };
        let is_row = |chain: usize| {
            if chain < RECORDED { chain < RECORDED / 2 } else { chain < (RECORDED + chains) / 2 }
        };
        let values = Array2::from_shape_fn((chains, rows.ncols()), |(chain, site)| {
            if is_row(chain) { rows[[chain % rows.nrows(), site]] } else { shuffled(chain, site) }
        });
        Ok(Dataset::from_values(lowered.visible(), values.view())?.states().clone())
    }
}

/// How far the column means of samples are from those of the data: both as rows of data values.
pub fn compare_means(rbm: &Rbm<f32>, data: &Array2<f32>, samples: &Array2<f32>) -> Option<Means> {
    if data.nrows() < 2 || samples.nrows() < 2 {
        return None;
    }
    let lowered = rbm.lower();
    let moments = |rows: &Array2<f32>| {
        let x = lowered.visible().encode(rows.view(), 1).ok()?.mapv(f64::from);
        Some((x.mean_axis(Axis(0))?, x.var_axis(Axis(0), 0.0)))
    };
    let ((mean, variance), (sampled, sampled_variance)) = (moments(data)?, moments(samples)?);
    let squares: Vec<f64> = mean
        .iter()
        .zip(&variance)
        .zip(sampled.iter().zip(&sampled_variance))
        .map(|((m, v), (s, w))| ((m - s).powi(2), 0.5 * (v + w)))
        .filter(|(_, variance)| *variance > 0.0)
        .map(|(square, variance)| square / variance)
        .collect();
    let apart = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    let chance = (1.0 / data.nrows() as f64 + 1.0 / samples.nrows() as f64).sqrt();
    apart.is_finite().then_some(Means { apart, chance })
}

/// Sweeps of all chains: free energies of the recorded ones after each, and where all of them end.
fn run(
    backend: &mut dyn backend::Chains<f32>,
    begin: &States<f32>,
    sweeps: usize,
    key: Key,
) -> Result<(Array2<f64>, Array2<f32>)> {
    let some: Vec<usize> = (0..begin.rows().min(RECORDED)).collect();
    let mut trace = Array2::zeros((sweeps, some.len()));
    backend.put(0, begin, None);
    for (first, mut energies) in (0..).zip(trace.rows_mut()) {
        backend.gibbs(0, Sweeps { steps: 1, key, first, beta: None });
        energies.assign(&backend.free_energy(&backend.get(0).select(&some)));
    }
    Ok((trace, backend.get(0).values(backend.layers()[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_drawn_as_often_as_they_weigh() {
        let weights = [0.0, 3.0, 1.0, 0.0];
        let drawn = drawn_by_weight(&weights, 4000, Key::root(1));
        let count = |row: usize| drawn.iter().filter(|r| **r == row).count() as f64;
        assert_eq!((count(0), count(3)), (0.0, 0.0));
        // Five standard deviations of a binomial count.
        assert!((count(1) - 3000.0).abs() < 5.0 * (4000.0f64 * 0.75 * 0.25).sqrt(), "{}", count(1));
    }
}
