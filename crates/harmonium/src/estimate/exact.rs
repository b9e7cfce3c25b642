//! ⟨·⟩_p by enumeration: the exact gradient of the likelihood, without noise, see [`crate::exact`]. Unknown cells are summed over
//! where that is cheap, so that it is the gradient of the likelihood of the known cells.

use super::{BATCH, Context, Estimator, EstimatorOptions, Phases};
use crate::advice::Advice;
use crate::backend::Side;
use crate::bits::Bits;
use crate::conditional::{self, cost};
use crate::error::{Error, Result};
use crate::exact::{MOST_STATES_LOG2, Solved, budget};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::real::Real;
use crate::stats::Stats;

struct Enumerate;

pub(super) fn make<T: Real>(_: EstimatorOptions) -> Box<dyn Estimator<T>> {
    Box::new(Enumerate)
}

impl<T: Real> Estimator<T> for Enumerate {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        let model = cx.backend().model().widen();
        let known = cx.known.filter(|known| self.sums_over(cx.learner.backend().layers(), known));
        let data = known.map(|known| summed(&cx, &model, known)).transpose()?;
        let exact = Solved::new(model, &|_, _| ()).map_err(|error| advised(error, cx.learner.backend().layers()[1]))?;
        match data {
            Some(data) => cx.learner.take(Side::Data, &narrow(&data.mean()), &mut out.data),
            None => cx.data(None, out),
        }
        cx.learner.take(Side::Model, &narrow(&exact.stats().mean()), &mut out.difference);
        Ok(())
    }

    fn sums_over(&self, layers: [&LoweredLayer<T>; 2], known: &Bits) -> bool {
        (0..known.rows()).all(|r| budget::GRADIENT_ROW.allows(cost(layers, known, r)))
    }
}

/// What to do about a model that is too large.
fn advised<T: Real>(error: Error, hidden: &LoweredLayer<T>) -> Error {
    if !matches!(error, Error::TooManyStates { .. }) {
        return error;
    }
    let states = hidden.single().and_then(|block| block.unit::<T>().n_states());
    let most = states.map(|states| (f64::from(MOST_STATES_LOG2) / (states as f64).log2()) as u32);
    let fewer = most.map(Advice::HiddenAtMost);
    error.advise(&fewer.into_iter().chain([Advice::OtherMethod]).collect::<Vec<_>>())
}

fn narrow<T: Real>(stats: &Stats<f64>) -> Stats<T> {
    Stats {
        visible: stats.visible.mapv(T::of),
        hidden: stats.hidden.mapv(T::of),
        cross: stats.cross.mapv(T::of),
        weight: stats.weight,
    }
}

/// Statistics of the batch, averaged over the cells that are not known.
fn summed<T: Real>(cx: &Context<T>, model: &LoweredModel<f64>, known: &Bits) -> Result<Stats<f64>> {
    let states = cx.learner.backend().get(BATCH);
    let x = states.columns(cx.learner.backend().layers()[0], 0, states.rows()).mapv(T::f64);
    let weights: Vec<f64> = (0..states.rows()).map(|r| cx.weights.map_or(1.0, |w| w[r].f64())).collect();
    conditional::stats(model, x.view(), known, &weights)
}
