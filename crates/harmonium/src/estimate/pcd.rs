//! PCD-k: chains persist from update to update and run k sweeps each (Tieleman 2008). Their number is free: each phase is
//! averaged by its own count.
//!
//! The hidden states that begin the next update are drawn from the product that the statistics need anyway, before the
//! weights move.

use super::{BATCH, Context, Estimator, Settings};
use crate::backend::Slot;
use crate::error::Result;
use crate::real::Real;
use crate::stats::Stats;

const CHAINS: Slot = 1;

struct Pcd {
    steps: u64,
}

pub(super) fn make<T: Real>(settings: Settings) -> Box<dyn Estimator<T>> {
    Box::new(Pcd { steps: settings.gibbs_steps })
}

impl<T: Real> Estimator<T> for Pcd {
    fn phases(&mut self, cx: Context<T>, data: &mut Stats<T>, model: &mut Stats<T>) -> Result<()> {
        let sweeps = cx.sweeps(self.steps);
        cx.backend.stats(BATCH, cx.weights, None, data);
        cx.backend.gibbs(CHAINS, sweeps);
        cx.backend.stats(CHAINS, None, Some((cx.key, sweeps.first + self.steps)), model);
        Ok(())
    }

    fn chains(&self) -> Option<Slot> {
        Some(CHAINS)
    }
}
