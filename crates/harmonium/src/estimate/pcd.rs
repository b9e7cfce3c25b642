//! PCD-k: chains persist from update to update and run k sweeps each (Tieleman 2008). Their number is free: each phase is
//! averaged by its own count.

use super::{Context, Estimator, Settings};
use crate::backend::Slot;
use crate::error::Result;
use crate::real::Real;
use crate::stats::Stats;

const CHAINS: Slot = 0;

struct Pcd {
    steps: u64,
}

pub(super) fn make<T: Real>(settings: Settings) -> Box<dyn Estimator<T>> {
    Box::new(Pcd { steps: settings.gibbs_steps })
}

impl<T: Real> Estimator<T> for Pcd {
    fn model_stats(&mut self, cx: Context<T>) -> Result<Stats<T>> {
        cx.backend.gibbs(CHAINS, self.steps, cx.key, cx.update * self.steps);
        let chains = cx.backend.get(CHAINS);
        Ok(cx.backend.stats(chains, &vec![T::one(); chains.rows()]))
    }

    fn chains(&self) -> Option<Slot> {
        Some(CHAINS)
    }
}
