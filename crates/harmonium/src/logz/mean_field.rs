//! Mean-field fixed points: products q(v)q(h) in which each layer is the best for the other. log Z ≥ ⟨−E⟩ + H(q), and each
//! half-step raises this bound, so every state flows to a fixed point: the mode to whose basin it belongs.

use crate::layout::Site;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::real::Real;
use crate::threads;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate, s};

/// How far states are followed.
#[derive(Clone, Copy)]
pub struct Follow {
    /// Steps at most. A state that needs more has no mode of its own nearby, and its basin is where the last step leads.
    pub steps: usize,
    /// Means that move by less than this have arrived.
    pub arrived: f64,
}

impl Follow {
    /// To the fixed point itself.
    pub const FAR: Follow = Follow { steps: 300, arrived: 1e-4 };
}

/// Rows that move together. Fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 16;

/// Means of both layers, one fixed point per row, and the lower bound of log Z that each gives.
pub struct FixedPoints<T> {
    pub visible: Array2<T>,
    pub hidden: Array2<T>,
    pub bounds: Vec<f64>,
    /// Steps that were made, summed over the rows.
    pub steps: usize,
}

/// Follows rows of visible columns, states or means, to their fixed points.
pub fn settle<T: Real>(lowered: &LoweredModel<T>, starts: ArrayView2<T>, follow: Follow) -> FixedPoints<T> {
    let parallel = starts.len() * lowered.hidden().columns() >= threads::MANY;
    let parts = threads::map(parallel, starts.axis_chunks_iter(Axis(0), CHUNK), |x| settle_chunk(lowered, x, follow));
    if parts.is_empty() {
        let none = |layer: &LoweredLayer<T>| Array2::zeros((0, layer.columns()));
        return FixedPoints {
            visible: none(lowered.visible()),
            hidden: none(lowered.hidden()),
            bounds: Vec::new(),
            steps: 0,
        };
    }
    let join = |part: fn(&FixedPoints<T>) -> ArrayView2<T>| -> Array2<T> {
        // Chunks have the same columns.
        concatenate(Axis(0), &parts.iter().map(part).collect::<Vec<_>>()).unwrap_or_default()
    };
    FixedPoints {
        visible: join(|p| p.visible.view()),
        hidden: join(|p| p.hidden.view()),
        bounds: parts.iter().flat_map(|p| p.bounds.iter().copied()).collect(),
        steps: parts.iter().map(|p| p.steps).sum(),
    }
}

/// Rows that have arrived take no further steps.
fn settle_chunk<T: Real>(lowered: &LoweredModel<T>, starts: ArrayView2<T>, follow: Follow) -> FixedPoints<T> {
    let (up, down) = (lowered.up(), lowered.down());
    let (mut visible, mut steps) = (starts.to_owned(), 0);
    let (mut moving, mut now): (Vec<usize>, _) = ((0..starts.nrows()).collect(), starts.to_owned());
    for _ in 0..follow.steps {
        if moving.is_empty() {
            break;
        }
        steps += moving.len();
        let next = down.means(up.means(now.view()).view());
        let still: Vec<usize> =
            (0..moving.len()).filter(|r| distance(next.row(*r), now.row(*r)) >= follow.arrived).collect();
        for (row, r) in next.rows().into_iter().zip(&moving) {
            visible.row_mut(*r).assign(&row);
        }
        moving = still.iter().map(|r| moving[*r]).collect();
        now = next.select(Axis(0), &still);
    }
    let hidden = up.means(visible.view());
    let inputs = [down.inputs(hidden.view()), up.inputs(down.means(hidden.view()).view())];
    let visible = down.means(hidden.view());
    let bound = |r: usize| {
        let [to_visible, to_hidden] = [inputs[0].row(r), inputs[1].row(r)];
        let product: f64 = visible.row(r).iter().zip(to_visible).map(|(m, i)| m.f64() * i.f64()).sum();
        log_norm(lowered.visible(), to_visible) + log_norm(lowered.hidden(), to_hidden) - product - lowered.constant()
    };
    let bounds = (0..starts.nrows()).map(bound).collect();
    FixedPoints { hidden: up.means(visible.view()), visible, bounds, steps }
}

/// The largest change of a mean.
fn distance<T: Real>(a: ArrayView1<T>, b: ArrayView1<T>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (*a - *b).abs().f64() / (1.0 + a.abs().f64())).fold(0.0, f64::max)
}

fn log_norm<T: Real>(layer: &LoweredLayer<T>, input: ArrayView1<T>) -> f64 {
    layer.log_norm(layer.eta(), &input.to_vec())
}

/// Natural parameters of the product distribution at given means, visible and hidden.
pub fn product_at<T: Real>(lowered: &LoweredModel<T>, visible: &Array1<T>, hidden: &Array1<T>) -> [Array2<T>; 2] {
    let mut eta = [lowered.visible(), lowered.hidden()].map(|layer| layer.eta().to_owned());
    let inputs = [lowered.weights().dot(hidden), visible.dot(&lowered.weights())];
    for (eta, input) in eta.iter_mut().zip(inputs) {
        let mut field = eta.slice_mut(s![0, ..]);
        field += &input;
    }
    eta
}

/// What one unit of distance is in every column: the range of a finite unit, the standard deviation of a Gaussian one.
pub fn scales<T: Real>(layer: &LoweredLayer<T>) -> Vec<f64> {
    layer.each_site().flat_map(|site| scales_of(layer, &site)).collect()
}

fn scales_of<T: Real>(layer: &LoweredLayer<T>, site: &Site) -> Vec<f64> {
    let (states, last) = (site.states::<T>(), site.kind.unit::<T>().n_stats() - 1);
    if states.is_empty() {
        return layer
            .eta()
            .slice(s![last, site.columns.clone()])
            .iter()
            .map(|c| (-2.0 * c.f64()).max(1e-300).sqrt().recip())
            .collect();
    }
    let range = |c: usize| {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        states.iter().for_each(|x| (low, high) = (low.min(x[c].f64()), high.max(x[c].f64())));
        high - low
    };
    (0..site.columns.len()).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;
    use crate::model::Rbm;
    use crate::units::Kind;

    /// Twelve Bernoulli units and five hidden ones, with two strong patterns.
    fn model() -> LoweredModel<f64> {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let weights = Array2::from_shape_fn((12, 5), |(i, j)| if (i < 6) == (j < 2) { 1.5 } else { -1.2 });
        Rbm::from_parts(Layer::new(kind.clone(), 12), Layer::new(kind, 5), weights).unwrap().lower()
    }

    /// Rows arrive after different numbers of steps; what a row becomes does not depend on the rows beside it.
    #[test]
    fn rows_settle_alone_as_they_do_together_and_stay_where_they_arrive() {
        let lowered = model();
        let starts = Array2::from_shape_fn((7, 12), |(r, c)| f64::from(u8::from((c * (r + 3)) % 7 < r)));
        let together = settle(&lowered, starts.view(), Follow::FAR);
        for r in 0..starts.nrows() {
            let alone = settle(&lowered, starts.slice(s![r..=r, ..]), Follow::FAR);
            assert!(distance(alone.visible.row(0), together.visible.row(r)) < 1e-12, "row {r}");
            assert!((alone.bounds[0] - together.bounds[r]).abs() < 1e-9, "row {r}");
        }
        let next = lowered.down().means(lowered.up().means(together.visible.view()).view());
        for r in 0..starts.nrows() {
            assert!(distance(next.row(r), together.visible.row(r)) < Follow::FAR.arrived, "row {r} has not arrived");
        }
        let exact = crate::exact::Solved::new(lowered, &|_, _| ()).unwrap().log_z();
        assert!(together.bounds.iter().all(|bound| *bound <= exact), "{:?} {exact}", together.bounds);
    }
}
