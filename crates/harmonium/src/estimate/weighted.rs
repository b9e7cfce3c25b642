//! Weighted PCD: persistent chains that carry importance weights (Jarzynski 1997; Carbone, Hua, Coste & Vanden-Eijnden, *Efficient
//! training of energy-based models using Jarzynski equality*, 2023). An update multiplies the weight of a chain by p′*(v)/p*(v),
//! so that chains which sweeps no longer carry from mode to mode still follow the masses of the modes. The negative phase is a
//! weighted mean; chains are resampled when the weights have become too uneven.
//!
//! Sweeps make weights obsolete, so they fade: log w ← fade·log w + gain.

use super::drift::Drift;
use super::{Context, Estimator, EstimatorOptions, Phases};
use crate::backend::{Backend, Slot};
use crate::error::{Error, Result};
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::resampling::{effective, systematic};

const CHAINS: Slot = 1;
/// What is left of a log weight after an update.
const FADE: f64 = 0.999;
/// Chains are resampled below this part of the effective number.
const EVEN: f64 = 0.5;

struct Weighted {
    steps: u64,
    drift: Drift,
    log_weights: Vec<f64>,
}

pub(super) fn make<T: Real>(options: EstimatorOptions) -> Box<dyn Estimator<T>> {
    // Weights need the gains of the chains, with or without a limit.
    let drift = Drift::new(Some(options.max_drift.unwrap_or(f64::MAX)));
    Box::new(Weighted { steps: options.gibbs_steps, drift, log_weights: Vec::new() })
}

impl Weighted {
    /// Weights after an update that made the chains so much more likely.
    fn gain(&mut self, gains: &[f64]) {
        self.log_weights.iter_mut().zip(gains).for_each(|(w, gain)| *w = FADE * *w + gain);
    }

    /// The weights, whose mean is 1.
    fn weights(&self) -> Vec<f64> {
        let sum = log_sum_exp(self.log_weights.iter().copied());
        let n = self.log_weights.len() as f64;
        self.log_weights.iter().map(|w| n * (w - sum).exp()).collect()
    }

    /// Which chains go on, if the weights are too uneven.
    fn resample(&mut self, key: Key, update: u64) -> Option<Vec<usize>> {
        let n = self.log_weights.len();
        if effective(&self.log_weights) >= EVEN * n as f64 {
            return None;
        }
        let first = key.of(Purpose::Swap).step(update).uniforms::<f64>(0, 0)[0];
        let chosen = systematic(&self.log_weights, n, first);
        self.log_weights.fill(0.0);
        Some(chosen)
    }
}

impl<T: Real> Estimator<T> for Weighted {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        cx.data(None, out);
        let now = cx.log_marginals(CHAINS);
        self.log_weights.resize(now.len(), 0.0);
        if let Some(gains) = self.drift.adapt(&now) {
            self.gain(&gains);
            if let Some(which) = self.resample(cx.key, cx.update) {
                let all = cx.backend().get(CHAINS);
                cx.backend().put(CHAINS, &all, Some(&which));
            }
        }
        let sweeps = cx.sweeps(self.steps);
        cx.backend().gibbs(CHAINS, sweeps);
        let weights: Vec<T> = self.weights().into_iter().map(T::of).collect();
        cx.model(CHAINS, Some(&weights), None, out);
        self.drift.remember(cx.log_marginals(CHAINS));
        Ok(())
    }

    fn chains(&self) -> Option<Slot> {
        Some(CHAINS)
    }

    fn rate(&self) -> f64 {
        self.drift.rate()
    }

    fn numbers(&self) -> Vec<f64> {
        self.log_weights.iter().copied().chain(self.drift.numbers()).collect()
    }

    fn start(&mut self, backend: &mut dyn Backend<T>, numbers: Option<&[f64]>) -> Result<()> {
        let Some(numbers) = numbers else { return Ok(()) };
        let chains = backend.get(CHAINS).rows();
        // Before the first update there are no weights.
        let weights = if numbers.len() > 1 { chains } else { 0 };
        match numbers.split_at_checked(weights) {
            Some((weights, rest)) if self.drift.restore(rest, chains) => self.log_weights = weights.to_vec(),
            _ => return Err(Error::Undefined("the checkpoint's weighted chains are inconsistent".into())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_copied_as_often_as_their_weights_ask_for() {
        let mut chains = Weighted { steps: 1, drift: Drift::new(None), log_weights: vec![0.0; 4] };
        let key = Key::root(1);
        assert_eq!(chains.resample(key, 0), None);
        chains.gain(&[0.0, f64::ln(7.0), -50.0, f64::ln(2.0)]);
        // Weights 0.4, 2.8, 0, 0.8: the second goes on two or three times, the third never.
        let which = chains.resample(key, 0).unwrap();
        let count = |k| which.iter().filter(|w| **w == k).count();
        assert!(which.len() == 4 && (2..=3).contains(&count(1)) && count(2) == 0, "{which:?}");
        assert!(chains.log_weights.iter().all(|w| *w == 0.0));
    }
}
