//! CD-k: chains start from the batch and run k sweeps (Hinton 2002; the unsigned RBM exercise, eq. 30; Corro, *Lab
//! Exercise 2*, section 3). Each chain has the weight of its row.

use super::{BATCH, Context, Estimator, EstimatorOptions, Phases};
use crate::error::Result;
use crate::real::Real;

struct Cd {
    steps: u64,
}

pub(super) fn make<T: Real>(settings: EstimatorOptions) -> Box<dyn Estimator<T>> {
    Box::new(Cd { steps: settings.gibbs_steps })
}

impl<T: Real> Estimator<T> for Cd {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        let sweeps = cx.sweeps(self.steps);
        cx.data(Some((cx.key, sweeps.first)), out);
        cx.backend().gibbs(BATCH, sweeps);
        cx.model(BATCH, cx.weights, None, out);
        Ok(())
    }
}
