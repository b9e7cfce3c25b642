//! A measurement of the model as it is: cheap measures, and its likelihood where that is exact or tracked.

use super::Trainer;
use super::average::Average;
use super::monitor::LookedAt;
use crate::backend::{Backend, Learner};
use crate::error::{Error, Result};
use crate::events::Progress;
use crate::exact::Exact;
use crate::logz::Estimate;
use crate::logz::online::{LogZTracker, Seen};
use crate::real::Real;

/// Largest standard error of an estimated likelihood that is reported, in nats.
const LARGEST_ERROR: f64 = 3.0;

impl<T: Real> Trainer<T> {
    /// Estimates the likelihood also where it could be exact, so that a study can compare both.
    pub fn estimate_likelihood(&mut self) -> Result<()> {
        self.monitor.never_exact();
        let (rbm, rows) = (self.last_model(), self.config.rows_between_likelihoods());
        self.tracker = Some(LogZTracker::new(self.device, &rbm, rows, self.key)?);
        Ok(())
    }

    pub(super) fn measure(&mut self) -> Result<Progress> {
        let per_epoch = self.config.updates_per_epoch(self.data.len());
        let chains = self.chains();
        if let Some(average) = &mut self.average {
            average.show(self.learner.as_ref());
        }
        let looked = self.monitor.look(shown(&mut self.average, self.learner.as_mut()), self.update)?;
        let log_z = match self.monitor.is_exact_at(self.update).then(|| Exact::new(&self.rbm())) {
            Some(Ok(exact)) => Some((exact.log_z(), None)),
            Some(Err(Error::NotNormalisable(_))) => None,
            Some(Err(error)) => return Err(error),
            None => self.follow(&looked)?.map(|z| (z.value, Some(z.std_err))),
        };
        let backend = shown(&mut self.average, self.learner.as_mut());
        let mut progress = self.monitor.measure(&looked, backend, self.update, chains.as_ref(), log_z);
        progress.update = self.update;
        progress.epoch = self.update as f64 / per_epoch as f64;
        progress.learning_rate = self.learning_rate();
        progress.gradient_norm = self.gradient_norm;
        Ok(progress)
    }

    /// log Z of the model as it is, if it is estimated along the run and not too often.
    fn follow(&mut self, looked: &LookedAt) -> Result<Option<Estimate>> {
        let every = self.config.likelihood_every();
        if !self.update.is_multiple_of(every) && self.update < self.config.updates {
            return Ok(None);
        }
        let persistent = self.chains();
        if self.tracker.is_none() {
            return Ok(None);
        }
        let rbm = self.rbm();
        let Some(tracker) = &mut self.tracker else { return Ok(None) };
        let seen = Seen { rows: self.monitor.complete(looked), persistent: persistent.as_ref() };
        let last = self.update >= self.config.updates;
        Ok(tracker.follow(&rbm, &seen, self.update, last)?.filter(|e| e.std_err <= LARGEST_ERROR))
    }
}

/// The backend of the model that is measured.
fn shown<'a, T: Real>(average: &'a mut Option<Average<T>>, own: &'a mut dyn Learner<T>) -> &'a mut dyn Backend<T> {
    match average {
        Some(average) => average.backend.as_mut(),
        None => own.backend_mut(),
    }
}
