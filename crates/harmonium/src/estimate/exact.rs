//! ⟨·⟩_p by enumeration: the gradient is that of the likelihood, without noise. See [`crate::exact`].

use super::{BATCH, Context, Estimator, Settings};
use crate::error::Result;
use crate::exact::Exact;
use crate::real::Real;
use crate::stats::Stats;

struct Enumerate;

pub(super) fn make<T: Real>(_: Settings) -> Box<dyn Estimator<T>> {
    Box::new(Enumerate)
}

impl<T: Real> Estimator<T> for Enumerate {
    fn phases(&mut self, cx: Context<T>, data: &mut Stats<T>, model: &mut Stats<T>) -> Result<()> {
        cx.backend.stats(BATCH, cx.weights, None, data);
        let stats = Exact::new(cx.rbm)?.stats();
        *model = Stats {
            visible: stats.visible.mapv(T::of),
            hidden: stats.hidden.mapv(T::of),
            cross: stats.cross.mapv(T::of),
            weight: stats.weight,
        };
        Ok(())
    }
}
