//! A run whose first model is a maximum of the likelihood does not end below it.

use super::{Penalty, Trainer};
use crate::error::{Error, Result};
use crate::exact::Exact;
use crate::model::Rbm;
use crate::real::Real;
use ndarray::s;

/// Rows whose likelihood is computed at a time.
const BLOCK: usize = 1024;

impl<T: Real> Trainer<T> {
    /// The first model, if the run must not end below it: both layers are Gaussian, so that likelihoods are exact and cheap, and
    /// nothing but the likelihood of known cells is asked for.
    pub(super) fn model_to_stay_above(&self) -> Option<Rbm<T>> {
        let gaussian = self.layers.both().map(|layer| layer.layout().is_quadratic());
        let plain = self.config.penalty == Penalty::default() && self.data.known().is_none();
        (gaussian == [true, true] && plain).then(|| self.last_model())
    }

    /// Goes back to the first model if the training rows were more likely under it; whether it did.
    pub(super) fn stay_above_start(&mut self) -> Result<bool> {
        let Some(first) = self.first.clone().filter(|_| self.update > 0) else { return Ok(false) };
        let before = self.likelihood_under(&first)?;
        let below = match self.likelihood_under(&self.last_model()) {
            Ok(now) => now.is_nan() || now < before,
            Err(Error::NotNormalisable(_)) => true,
            Err(error) => return Err(error),
        };
        if below {
            self.set_model(&first);
        }
        Ok(below)
    }

    /// Weighted sum of the log likelihoods of the training rows.
    fn likelihood_under(&self, rbm: &Rbm<T>) -> Result<f64> {
        let exact = Exact::new(rbm)?;
        let values = self.data.states().values(self.learner.backend().layers()[0]).mapv(T::f64);
        let mut sum = 0.0;
        for first in (0..values.nrows()).step_by(BLOCK) {
            let last = (first + BLOCK).min(values.nrows());
            let rows = exact.log_likelihood(values.slice(s![first..last, ..]))?;
            sum += rows.iter().zip(&self.data.weights()[first..last]).map(|(l, w)| l * w.f64()).sum::<f64>();
        }
        Ok(sum)
    }
}
