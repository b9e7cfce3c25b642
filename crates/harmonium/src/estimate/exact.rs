//! ⟨·⟩_p by enumeration: the exact gradient of the likelihood, without noise, see [`crate::exact`]. Unknown cells are summed over
//! where that is cheap, so that it is the gradient of the likelihood of the known cells.

use super::{BATCH, Context, Estimator, EstimatorOptions, Phases};
use crate::advice::Advice;
use crate::conditional::{self, cost};
use crate::error::{Error, Result};
use crate::exact::{Exact, MOST_STATES_LOG2, budget};
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::states::Bits;
use crate::stats::{Stats, Take};

struct Enumerate;

pub(super) fn make<T: Real>(_: EstimatorOptions) -> Box<dyn Estimator<T>> {
    Box::new(Enumerate)
}

impl<T: Real> Estimator<T> for Enumerate {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        match cx.known.filter(|known| self.sums_over(cx.backend.lowered(), known)) {
            Some(known) => {
                out.difference = narrow(&summed(&cx, known)?.mean());
                out.keep_data();
            }
            None => cx.data(None, Take::Means, out),
        }
        let exact = Exact::new(cx.rbm).map_err(|error| advised(error, cx.rbm))?;
        out.difference.subtract(&narrow(&exact.stats()));
        if let Some(origins) = cx.rbm.origins() {
            out.difference.measure_from(&origins);
        }
        Ok(())
    }

    fn sums_over(&self, lowered: &LoweredModel<T>, known: &Bits) -> bool {
        (0..known.rows()).all(|r| budget::GRADIENT_ROW.allows(cost(lowered, known, r)))
    }
}

/// What to do about a model that is too large.
fn advised<T: Real>(error: Error, rbm: &Rbm<T>) -> Error {
    if !matches!(error, Error::TooManyStates { .. }) {
        return error;
    }
    let states = rbm.hidden().kind().unit::<T>().n_states();
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
fn summed<T: Real>(cx: &Context<T>, known: &Bits) -> Result<Stats<f64>> {
    let states = cx.backend.get(BATCH);
    let x = states.columns(cx.backend.lowered().visible().unit(), 0, states.rows()).mapv(T::f64);
    let weights: Vec<f64> = (0..states.rows()).map(|r| cx.weights.map_or(1.0, |w| w[r].f64())).collect();
    conditional::stats(&cx.backend.lowered().widen(), x.view(), known, &weights)
}
