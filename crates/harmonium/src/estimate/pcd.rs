//! PCD-k: chains persist from update to update and run k sweeps each (Tieleman 2008). Their number is free, because each phase is
//! averaged over its own count.
//!
//! The hidden states that start the next update are drawn from the product that the statistics need anyway, before the weights
//! change.

use super::{Context, Estimator, EstimatorOptions, Phases};
use crate::backend::Slot;
use crate::error::Result;
use crate::real::Real;

const CHAINS: Slot = 1;

struct Pcd {
    steps: u64,
}

pub(super) fn make<T: Real>(settings: EstimatorOptions) -> Box<dyn Estimator<T>> {
    Box::new(Pcd { steps: settings.gibbs_steps })
}

impl<T: Real> Estimator<T> for Pcd {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        let sweeps = cx.sweeps(self.steps);
        cx.data(None, out);
        cx.backend().gibbs(CHAINS, sweeps);
        let next = (cx.key, sweeps.first + self.steps);
        cx.model(CHAINS, None, Some(next), out);
        Ok(())
    }

    fn chains(&self) -> Option<Slot> {
        Some(CHAINS)
    }
}
