//! CD-k: chains start at the batch and run k sweeps (Hinton 2002; the unsigned RBM exercise, eq. 30; Corro, *Lab
//! Exercise 2*, section 3). Each chain counts as its row does.

use super::{Context, Estimator, Settings};
use crate::error::Result;
use crate::real::Real;
use crate::stats::Stats;

struct Cd {
    steps: u64,
}

pub(super) fn make<T: Real>(settings: Settings) -> Box<dyn Estimator<T>> {
    Box::new(Cd { steps: settings.gibbs_steps })
}

impl<T: Real> Estimator<T> for Cd {
    fn model_stats(&mut self, cx: Context<T>) -> Result<Stats<T>> {
        cx.backend.put(0, cx.batch.states().clone());
        cx.backend.gibbs(0, self.steps, cx.key, cx.update * self.steps);
        Ok(cx.backend.stats(cx.backend.get(0), cx.batch.weights()))
    }
}
