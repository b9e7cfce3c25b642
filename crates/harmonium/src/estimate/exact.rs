//! ⟨·⟩_p by enumeration: the gradient is that of the likelihood, without noise. See [`crate::exact`].

use super::{Context, Estimator, Settings};
use crate::error::Result;
use crate::exact::Exact;
use crate::real::Real;
use crate::stats::Stats;

struct Enumerate;

pub(super) fn make<T: Real>(_: Settings) -> Box<dyn Estimator<T>> {
    Box::new(Enumerate)
}

impl<T: Real> Estimator<T> for Enumerate {
    fn model_stats(&mut self, cx: Context<T>) -> Result<Stats<T>> {
        let stats = Exact::new(cx.rbm)?.stats();
        Ok(Stats {
            visible: stats.visible.mapv(T::of),
            hidden: stats.hidden.mapv(T::of),
            cross: stats.cross.mapv(T::of),
            weight: stats.weight,
        })
    }
}
