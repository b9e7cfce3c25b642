//! W̃ = W/(s_v s_hᵀ), and its products with vectors, each one pass over W.
//!
//! Rows are processed in blocks of fixed size, and partial sums are added in their order: the same bits on any number of threads.
//! Within a block, numbers are multiplied and added in the precision of W, as in products of states with W.

use crate::math::{add_rows, add_scaled, add_times, own_dot, scale_row, shrink_row};
use crate::optimize::{MOMENTS, Optimizer};
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{ArcArray2, Array1, Array2, ArrayView2, Axis};

/// Rows of W per task.
pub(crate) const ROWS: usize = 32;

/// W̃x and W̃ᵀy.
pub type Products = (Array1<f64>, Array1<f64>);

/// 1/s of every visible and every hidden column; none if all s are 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scales(Option<(Vec<f64>, Vec<f64>)>);

/// What the weights need of the coordinates of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub(crate) scales: Scales,
    pub(crate) origins: Option<[Array1<f64>; 2]>,
    /// Whether a unit of either layer has a scale, even if all are 1.
    pub(crate) has_scale: bool,
}

impl Chart {
    /// 1/s of every visible and every hidden column, W̃ = W/(s_v s_hᵀ); none if all s are 1.
    pub fn inverse_scales(&self) -> Option<[&[f64]; 2]> {
        self.scales.0.as_ref().map(|(v, h)| [&v[..], &h[..]])
    }

    /// The origins of v and h; none for a model whose parameters are the natural ones.
    pub fn origins(&self) -> Option<&[Array1<f64>; 2]> {
        self.origins.as_ref()
    }

    /// The origins as numbers of the model, if they are not all zero.
    pub(crate) fn points<T: Real>(&self) -> Option<[Vec<T>; 2]> {
        let origins = self.origins.as_ref()?;
        let points = origins.each_ref().map(|o| o.iter().map(|o| T::of(*o)).collect::<Vec<_>>());
        points.iter().flatten().any(|o| *o != T::zero()).then_some(points)
    }
}

impl Scales {
    /// Every s is 1.
    pub const NONE: Scales = Scales(None);

    /// From the scales of the visible and the hidden columns.
    pub fn new(s_v: &Array1<f64>, s_h: &Array1<f64>) -> Scales {
        let plain = |s: &Array1<f64>| s.iter().all(|s| *s == 1.0);
        let inverse = |s: &Array1<f64>| s.iter().map(|s| s.recip()).collect();
        Scales((!plain(s_v) || !plain(s_h)).then(|| (inverse(s_v), inverse(s_h))))
    }

    /// Rows of W̃ from those of W, starting with row `first`.
    fn write<T: Real>(&self, first: usize, w: &[T], out: &mut [T]) {
        let Some((rows, columns)) = &self.0 else { return out.copy_from_slice(w) };
        let both = w.chunks_exact(columns.len()).zip(out.chunks_exact_mut(columns.len()));
        for ((w, out), a) in both.zip(&rows[first..]) {
            scale_row(w, *a, columns, out);
        }
    }

    /// Numbers of the visible columns, each divided by its s.
    fn visible(&self, x: &Array1<f64>) -> Array1<f64> {
        self.0.as_ref().map_or_else(|| x.clone(), |s| times(x, &s.0))
    }

    /// Numbers of the hidden columns, each divided by its s.
    fn hidden(&self, x: &Array1<f64>) -> Array1<f64> {
        self.0.as_ref().map_or_else(|| x.clone(), |s| times(x, &s.1))
    }
}

fn times(x: &Array1<f64>, y: &[f64]) -> Array1<f64> {
    x.iter().zip(y).map(|(x, y)| x * y).collect()
}

/// W̃x and W̃ᵀy, computed while W is read in blocks of [`ROWS`] rows.
struct Sums<T> {
    /// x and y divided by the scales, and their products with W; empty for vectors of zeros.
    x: Vec<T>,
    y: Vec<T>,
    forward: Vec<T>,
    /// One row per block.
    backward: Vec<T>,
    /// Rows and columns of W.
    shape: (usize, usize),
}

/// The part of the products that belongs to a block of W.
struct Part<'a, T> {
    x: &'a [T],
    y: &'a [T],
    forward: &'a mut [T],
    backward: &'a mut [T],
}

impl<T: Real> Sums<T> {
    fn new(scales: &Scales, x: &Array1<f64>, y: &Array1<f64>) -> Sums<T> {
        let shape = (y.len(), x.len());
        let used = |v: &Array1<f64>, over: Array1<f64>| {
            if v.iter().all(|v| *v == 0.0) { Vec::new() } else { over.iter().map(|x| T::of(*x)).collect() }
        };
        let (x, y) = (used(x, scales.hidden(x)), used(y, scales.visible(y)));
        let forward = vec![T::zero(); if x.is_empty() { 0 } else { shape.0 }];
        let backward = vec![T::zero(); if y.is_empty() { 0 } else { shape.0.div_ceil(ROWS) * shape.1 }];
        Sums { x, y, forward, backward, shape }
    }

    /// The parts of the blocks.
    fn parts(&mut self) -> impl Iterator<Item = Part<'_, T>> {
        let x = &self.x[..];
        let forward = self.forward.chunks_mut(ROWS).chain(std::iter::repeat_with(|| &mut [][..]));
        let backward = self.backward.chunks_mut(self.shape.1.max(1)).chain(std::iter::repeat_with(|| &mut [][..]));
        let y = self.y.chunks(ROWS).chain(std::iter::repeat(&[][..]));
        y.zip(forward).zip(backward).map(move |((y, forward), backward)| Part { x, y, forward, backward })
    }

    /// W̃x and W̃ᵀy, once all parts are computed.
    fn finish(&self, scales: &Scales) -> Products {
        let (mut forward, mut backward) = (vec![0.0; self.shape.0], vec![0.0; self.shape.1]);
        add_scaled(1.0, &self.forward, &mut forward);
        self.backward.chunks(self.shape.1.max(1)).for_each(|part| add_scaled(1.0, part, &mut backward));
        (scales.visible(&forward.into()), scales.hidden(&backward.into()))
    }
}

impl<T: Real> Part<'_, T> {
    /// Computes the part from the rows of W in the block.
    fn take(self, w: &[T]) {
        let columns = w.len() / self.forward.len().max(self.y.len()).max(1);
        for (out, w) in self.forward.iter_mut().zip(w.chunks_exact(columns.max(1))) {
            *out = own_dot(w, self.x);
        }
        add_rows(self.y, w, self.backward);
    }
}

/// A change of W: its gradient, and the moments of the optimiser that turn it into a step.
pub(crate) struct Change<'a, T> {
    pub rate: T,
    /// Number of the step, from 1.
    pub count: u64,
    /// Factor of the gradient before the optimiser.
    pub clip: Option<T>,
    pub gradient: &'a mut [T],
    pub moments: [&'a mut [T]; MOMENTS],
    pub optimizer: &'a dyn Optimizer<T>,
}

impl<'a, T: Real> Change<'a, T> {
    /// The parts of `len` numbers each.
    fn parts(self, len: usize) -> impl Iterator<Item = Change<'a, T>> {
        let Change { rate, count, clip, gradient, moments, optimizer } = self;
        let [first, second] = moments.map(|m| m.chunks_mut(len).chain(std::iter::repeat_with(|| &mut [][..])));
        let parts = gradient.chunks_mut(len).zip(first).zip(second);
        parts.map(move |((gradient, a), b)| Change { rate, count, clip, gradient, moments: [a, b], optimizer })
    }

    /// Takes the step.
    fn take(self, weights: &mut [T]) {
        if let Some(clip) = self.clip {
            self.gradient.iter_mut().for_each(|g| *g *= clip);
        }
        self.optimizer.direction(self.count, self.gradient, self.moments);
        add_times(self.rate, self.gradient, weights);
    }
}

/// Changes all of W.
pub(crate) fn change<T: Real>(weights: &mut [T], change: Change<T>) {
    let parallel = weights.len() >= MANY;
    threads::each(parallel, weights.chunks_mut(PIECE).zip(change.parts(PIECE)), |(w, change)| change.take(w));
}

/// Numbers per task.
const PIECE: usize = 1 << 15;

/// A step of W, its lowering to W̃, and the products with the origins, in one pass over the weights.
pub(crate) struct Stepping<'a, T> {
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    columns: usize,
    scales: &'a Scales,
    products: Option<Sums<T>>,
}

/// A block of rows of a step.
pub(crate) struct Block<'a, T> {
    first: usize,
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    change: Option<Change<'a, T>>,
    scales: &'a Scales,
    part: Option<Part<'a, T>>,
}

impl<'a, T: Real> Stepping<'a, T> {
    /// In a chart. W̃ goes to `lowered`, which is emptied if it is W: nothing else may share W while it steps.
    pub fn new(weights: &'a mut ArcArray2<T>, chart: &'a Chart, lowered: &'a mut ArcArray2<T>) -> Stepping<'a, T> {
        let (columns, scales) = (weights.ncols(), &chart.scales);
        if scales.0.is_none() {
            *lowered = ArcArray2::default((0, 0));
        }
        let lowered = lowered.as_slice_mut().filter(|_| scales.0.is_some());
        let products = chart.origins.as_ref().map(|[o_v, o_h]| Sums::new(scales, o_h, o_v));
        let weights = weights.as_slice_mut().unwrap_or(&mut []);
        Stepping { weights, lowered, columns, scales, products }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.lowered.is_none()
    }

    /// Blocks of [`ROWS`] rows, which may change.
    pub fn blocks<'b>(&'b mut self, change: Option<Change<'b, T>>) -> impl Iterator<Item = Block<'b, T>> {
        let len = ROWS * self.columns;
        let changes = change.map(|change| change.parts(len).map(Some));
        let changes = changes.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let lowered = self.lowered.as_deref_mut().map(|lowered| lowered.chunks_mut(len).map(Some));
        let lowered = lowered.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let parts = self.products.as_mut().map(|products| products.parts().map(Some));
        let parts = parts.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let scales = self.scales;
        let blocks = self.weights.chunks_mut(len).zip(lowered).zip(changes).zip(parts).enumerate();
        blocks.map(move |(b, (((weights, lowered), change), part))| Block {
            first: b * ROWS,
            weights,
            lowered,
            change,
            scales,
            part,
        })
    }

    /// W̃o_h and W̃ᵀo_v, once all blocks have taken the step; none for a model without origins.
    pub fn finish(&self) -> Option<Products> {
        self.products.as_ref().map(|products| products.finish(self.scales))
    }
}

impl<'a, T: Real> Block<'a, T> {
    /// Takes the step and returns the rows of W̃.
    pub fn stepped(self) -> &'a [T] {
        if let Some(change) = self.change {
            change.take(self.weights);
        }
        if let Some(part) = self.part {
            part.take(self.weights);
        }
        match self.lowered {
            Some(lowered) => {
                self.scales.write(self.first, self.weights, lowered);
                lowered
            }
            None => self.weights,
        }
    }
}

/// The weights W of a model and the scales that make them W̃.
pub(crate) struct ScaledWeights<'a, T> {
    weights: ArrayView2<'a, T>,
    scales: &'a Scales,
}

impl<'a, T: Real> ScaledWeights<'a, T> {
    pub fn new(weights: ArrayView2<'a, T>, scales: &'a Scales) -> ScaledWeights<'a, T> {
        ScaledWeights { weights, scales }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.scales.0.is_none()
    }

    /// W̃.
    pub fn whole(&self) -> Array2<T> {
        let mut out = Array2::zeros(self.weights.dim());
        let rows = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.parallel(), rows.enumerate(), |(b, (mut out, w))| {
            if let (Some(out), Some(w)) = (out.as_slice_mut(), w.as_slice()) {
                self.scales.write(b * ROWS, w, out);
            }
        });
        out
    }

    /// W̃x and W̃ᵀy.
    pub fn products(&self, x: &Array1<f64>, y: &Array1<f64>) -> Products {
        let mut products = Sums::new(self.scales, x, y);
        let blocks = self.weights.axis_chunks_iter(Axis(0), ROWS).zip(products.parts());
        threads::each(self.parallel(), blocks, |(w, part)| part.take(w.to_slice().unwrap_or(&[])));
        products.finish(self.scales)
    }

    fn parallel(&self) -> bool {
        self.weights.len() >= MANY
    }
}

/// Turns C into C/(s_v s_hᵀ), with W̃ as `lowered`; returns −Σ_j W̃_ij C_ij and −Σ_i W̃_ij C_ij, or zeros if no unit has a scale,
/// or if all scales are 1 and no `virials` are needed.
pub(crate) fn shrink<T: Real>(
    chart: &Chart,
    lowered: ArrayView2<T>,
    virials: bool,
    cross: &mut Array2<T>,
) -> [Vec<T>; 2] {
    let (n, m) = cross.dim();
    let (mut virial_v, mut virial_h) = (vec![T::zero(); n], vec![T::zero(); m]);
    if !(chart.has_scale && (virials || chart.scales.0.is_some())) {
        return [virial_v, virial_h];
    }
    let [shrink_v, shrink_h]: [Vec<T>; 2] = match chart.inverse_scales() {
        Some(scales) => scales.map(|s| s.iter().map(|s| T::of(*s)).collect()),
        None => [vec![T::one(); n], vec![T::one(); m]],
    };
    let blocks = cross.axis_chunks_iter_mut(Axis(0), ROWS).zip(virial_v.chunks_mut(ROWS)).enumerate();
    let parts = threads::map(n * m >= MANY, blocks, |(b, (mut block, virial_v))| {
        let mut virial_h = vec![T::zero(); m];
        for (k, (mut c, virial)) in block.rows_mut().into_iter().zip(virial_v).enumerate() {
            let i = b * ROWS + k;
            if let (Some(c), Some(w)) = (c.as_slice_mut(), lowered.row(i).to_slice()) {
                *virial = -shrink_row(c, w, shrink_v[i], &shrink_h, &mut virial_h);
            }
        }
        virial_h
    });
    for part in &parts {
        virial_h.iter_mut().zip(part).for_each(|(v, x)| *v += *x);
    }
    [virial_v, virial_h]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Key;

    /// The error of both products is at most 4·10⁻⁷ of the sum of the absolute terms in f32, and 10⁻¹⁵ in f64. The reference sums one
    /// number after another, in f64.
    #[test]
    fn products_are_as_precise_as_their_numbers() {
        check::<f32>(4e-7);
        check::<f64>(1e-15);
    }

    fn check<T: Real>(most: f64) {
        let key = Key::root(5);
        let number = |a: usize, b: usize| key.uniforms::<f64>(a as u64, b as u32)[0] - 0.4;
        for (n, m) in [(1, 1), (3, 17), (33, 500), (784, 31)] {
            let weights = Array2::from_shape_fn((n, m), |(i, j)| T::of(number(i, j)));
            let vector = |len: usize, row: usize| Array1::from_shape_fn(len, |k| T::of(1e3 * number(row, k)).f64());
            let (x, y) = (vector(m, 5000), vector(n, 6000));
            let (forward, backward) = ScaledWeights::new(weights.view(), &Scales::NONE).products(&x, &y);
            let near = |found: f64, terms: &mut dyn Iterator<Item = f64>| {
                let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
                assert!((found - sum).abs() <= most * size, "{found} for {sum}, of {size}");
            };
            for i in 0..n {
                near(forward[i], &mut (0..m).map(|j| weights[[i, j]].f64() * x[j]));
            }
            for j in 0..m {
                near(backward[j], &mut (0..n).map(|i| weights[[i, j]].f64() * y[i]));
            }
        }
    }
}
