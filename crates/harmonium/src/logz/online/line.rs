//! Annealing along the straight line between two models, with the chains of an island resampled among themselves.

use super::{ALL, CHAINS, LogZTracker, SLOT};
use crate::averages::variance;
use crate::backend::Sweeps;
use crate::math::log_sum_exp;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::resampling::{effective, systematic};

/// Cost of a step along a line, in products of a row with the weights: three for each chain, and the passes that change the
/// model.
pub(super) const STEP_ROWS: f64 = (3 * ALL + 700) as f64;
/// Fewest and most steps along a line.
pub(super) const STEPS: (f64, f64) = (5.0, 1000.0);
/// Target variance of the log weights of a line, and the largest acceptable one.
pub(super) const SPREAD: f64 = 0.25;
pub(super) const HOPELESS: f64 = 2.0;

impl<T: Real> LogZTracker<T> {
    /// Anneals along the straight line to a model.
    pub(super) fn walk(&mut self, rbm: &Rbm<T>, steps: u64, key: Key) {
        let (from, to) = (self.state.rbm.lower(), rbm.lower());
        let mut between = from.clone();
        self.backend.load(&from);
        self.backend.put(SLOT, &self.state.chains, None);
        let mut old = self.log_marginals(None);
        let (mut weights, mut all) = (vec![0.0; ALL], vec![0.0; ALL]);
        for step in 1..=steps {
            let part = T::of(step as f64 / steps as f64);
            between.set_between(&from, &to, part);
            self.backend.load(&between);
            let new = self.log_marginals(Some((key, step)));
            for (k, (new, old)) in new.iter().zip(&old).enumerate() {
                weights[k] += new - old;
                all[k] += new - old;
            }
            self.resample(&mut weights, 0.5, key.of(Purpose::Resample).step(step));
            self.backend.gibbs(SLOT, Sweeps { steps: 1, key, first: step, beta: None });
            old = self.log_marginals(None);
        }
        self.resample(&mut weights, 1.0, key.of(Purpose::Resample).step(steps + 1));
        (self.state.rbm, self.state.chains) = (rbm.clone(), self.backend.get(SLOT));
        self.state.credit -= STEP_ROWS * steps as f64;
        self.state.pace = variance(&all) * steps as f64;
        self.state.lost = variance(&all) > HOPELESS;
    }

    /// On islands whose effective sample size is below the fraction `part`, copies chains in proportion to their weights, and
    /// resets the weights.
    fn resample(&mut self, weights: &mut [f64], part: f64, key: Key) {
        let mut rows: Vec<usize> = (0..ALL).collect();
        for (i, weights) in weights.chunks_mut(CHAINS).enumerate() {
            let sum = log_sum_exp(weights.iter().copied());
            if effective(weights) >= part * CHAINS as f64 && part < 1.0 {
                continue;
            }
            self.state.log_z[i] += sum - (CHAINS as f64).ln();
            let sources = systematic(weights, CHAINS, key.uniforms::<f64>(i as u64, 0)[0]);
            rows[i * CHAINS..].iter_mut().zip(sources).for_each(|(row, s)| *row = i * CHAINS + s);
            weights.fill(0.0);
        }
        if rows.iter().enumerate().any(|(k, row)| k != *row) {
            let (visible, hidden) = (self.backend.get(SLOT), self.backend.hidden(SLOT));
            self.backend.put(SLOT, &visible.select(&rows), None);
            if let Some(hidden) = hidden {
                self.backend.put_hidden(SLOT, &hidden.select(&rows));
            }
        }
    }

    fn log_marginals(&mut self, draw: Option<(Key, u64)>) -> Vec<f64> {
        self.backend.log_marginals(SLOT, &[None], draw).into_iter().collect()
    }
}
