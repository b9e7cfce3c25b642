//! The best model of a run by the held-out rows, and whether it becomes the result.

use super::Trainer;
use crate::events::{KeptBy, Progress, Reason};
use crate::keep::Keep;
use crate::model::Rbm;
use crate::real::Real;

/// The best model so far by the held-out rows.
#[derive(Clone)]
pub(super) struct Best<T> {
    /// Mean log likelihood of the held-out rows, and its standard error if it is an estimate.
    pub score: f64,
    pub std_err: Option<f64>,
    pub update: u64,
    pub rbm: Rbm<T>,
}

impl<T: Real> Trainer<T> {
    /// Remembers the model if the held-out rows have never been more likely. Without a likelihood nothing is judged: other
    /// measures rank models differently.
    pub(super) fn judge(&mut self, progress: &Progress) {
        let Some(valid) = &progress.valid else { return };
        let Some(score) = valid.log_likelihood else { return };
        self.last = Some((score, valid.log_likelihood_std_err));
        let std_err = valid.log_likelihood_std_err;
        if self.best.as_ref().is_none_or(|b| at_least(score, std_err) > at_least(b.score, b.std_err)) {
            self.best = Some(Best { score, std_err, update: self.update, rbm: self.rbm() });
            self.waited = 0;
        } else {
            self.waited += 1;
        }
    }

    /// Makes the best model the result if that is asked for; returns the update it is from, and by what it was chosen.
    pub(super) fn keep_best(&mut self, reason: Reason) -> (u64, Option<KeptBy>) {
        let wanted = match self.config.early_stop {
            Some(_) => reason != Reason::Interrupted,
            None => self.config.keep == Keep::Best && reason != Reason::Interrupted && self.has_fallen(),
        };
        match self.best.clone() {
            Some(best) if wanted => {
                self.set_model(&best.rbm);
                (best.update, Some(KeptBy { valid_log_likelihood: best.score, std_err: best.std_err }))
            }
            _ => (self.update, None),
        }
    }

    /// Whether the held-out rows are less likely than they were under the best model, by more than the error of one estimate: errors along a
    /// run have the same sign, so that differences are known better than values.
    fn has_fallen(&self) -> bool {
        let (Some(best), Some((score, error))) = (&self.best, self.last) else { return false };
        best.score - score > best.std_err.unwrap_or(0.0).hypot(error.unwrap_or(0.0))
    }
}

/// What a likelihood is worth when the best is looked for: less by its error, so that a lucky estimate does not win.
fn at_least(score: f64, std_err: Option<f64>) -> f64 {
    score - std_err.unwrap_or(0.0)
}
