//! W̃ = W/(s_v s_hᵀ), and its products with vectors, each one pass over W.
//!
//! Rows are processed in blocks of fixed size, and partial sums are added in their order: the same bits on any number of threads.
//! Within a block, numbers are multiplied and added in the precision of W, as in products of states with W.

use crate::math::{add_rows, add_scaled, add_times, own_dot, scale_row};
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{ArcArray2, Array1, Array2, ArrayView2, ArrayViewMut2, Axis};

/// Rows of W per task.
pub(crate) const ROWS: usize = 32;

/// 1/s of every visible and every hidden column; none if all s are 1.
pub(crate) struct Scales(Option<(Vec<f64>, Vec<f64>)>);

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
struct Products<T> {
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

impl<T: Real> Products<T> {
    fn new(scales: &Scales, x: &Array1<f64>, y: &Array1<f64>) -> Products<T> {
        let shape = (y.len(), x.len());
        let used = |v: &Array1<f64>, over: Array1<f64>| {
            if v.iter().all(|v| *v == 0.0) { Vec::new() } else { over.iter().map(|x| T::of(*x)).collect() }
        };
        let (x, y) = (used(x, scales.hidden(x)), used(y, scales.visible(y)));
        let forward = vec![T::zero(); if x.is_empty() { 0 } else { shape.0 }];
        let backward = vec![T::zero(); if y.is_empty() { 0 } else { shape.0.div_ceil(ROWS) * shape.1 }];
        Products { x, y, forward, backward, shape }
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
    fn finish(&self, scales: &Scales) -> (Array1<f64>, Array1<f64>) {
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

/// A step of W, its lowering to W̃, and the products with the origins, in one pass over the weights.
pub(crate) struct Stepping<'a, T> {
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    /// Rate and direction of the step.
    step: Option<(T, &'a [T])>,
    columns: usize,
    scales: Scales,
    products: Option<Products<T>>,
}

/// A block of rows of a step.
pub(crate) struct Block<'a, T> {
    first: usize,
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    step: Option<(T, &'a [T])>,
    scales: &'a Scales,
    part: Option<Part<'a, T>>,
}

impl<'a, T: Real> Stepping<'a, T> {
    /// `origins` are o_v and o_h, if there are any. W̃ goes to `lowered`, which is emptied if it is W: nothing else may share W
    /// while it steps.
    pub fn new(
        weights: &'a mut ArcArray2<T>,
        scales: Scales,
        origins: Option<[Array1<f64>; 2]>,
        step: Option<(T, &'a Array2<T>)>,
        lowered: &'a mut ArcArray2<T>,
    ) -> Stepping<'a, T> {
        let columns = weights.ncols();
        if scales.0.is_none() {
            *lowered = ArcArray2::default((0, 0));
        }
        let lowered = lowered.as_slice_mut().filter(|_| scales.0.is_some());
        let products = origins.map(|[o_v, o_h]| Products::new(&scales, &o_h, &o_v));
        // Weights and steps are in standard layout.
        let step = step.map(|(rate, step)| (rate, step.as_slice().unwrap_or(&[])));
        let weights = weights.as_slice_mut().unwrap_or(&mut []);
        Stepping { weights, lowered, step, columns, scales, products }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.lowered.is_none()
    }

    /// Blocks of [`ROWS`] rows.
    pub fn blocks(&mut self) -> impl Iterator<Item = Block<'_, T>> {
        let len = ROWS * self.columns;
        let steps = self.step.map(|(rate, step)| step.chunks(len).map(move |step| Some((rate, step))));
        let steps = steps.into_iter().flatten().chain(std::iter::repeat(None));
        let lowered = self.lowered.as_deref_mut().map(|lowered| lowered.chunks_mut(len).map(Some));
        let lowered = lowered.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let parts = self.products.as_mut().map(|products| products.parts().map(Some));
        let parts = parts.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let scales = &self.scales;
        let blocks = self.weights.chunks_mut(len).zip(lowered).zip(steps).zip(parts).enumerate();
        blocks.map(move |(b, (((weights, lowered), step), part))| Block {
            first: b * ROWS,
            weights,
            lowered,
            step,
            scales,
            part,
        })
    }

    /// W̃o_h and W̃ᵀo_v, once all blocks have taken the step; none for a model without offsets and scales.
    pub fn finish(&self) -> Option<(Array1<f64>, Array1<f64>)> {
        self.products.as_ref().map(|products| products.finish(&self.scales))
    }
}

impl<'a, T: Real> Block<'a, T> {
    /// Takes the step and returns the rows of W̃.
    pub fn stepped(self) -> &'a [T] {
        if let Some((rate, step)) = self.step {
            add_times(rate, step, self.weights);
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
    scales: Scales,
}

impl<'a, T: Real> ScaledWeights<'a, T> {
    pub fn new(weights: ArrayView2<'a, T>, scales: Scales) -> ScaledWeights<'a, T> {
        ScaledWeights { weights, scales }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.scales.0.is_none()
    }

    /// Writes W̃.
    pub fn write(&self, mut out: ArrayViewMut2<T>) {
        let rows = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.parallel(), rows.enumerate(), |(b, (mut out, w))| {
            if let (Some(out), Some(w)) = (out.as_slice_mut(), w.as_slice()) {
                self.scales.write(b * ROWS, w, out);
            }
        });
    }

    /// W̃x and W̃ᵀy.
    pub fn products(&self, x: &Array1<f64>, y: &Array1<f64>) -> (Array1<f64>, Array1<f64>) {
        let mut products = Products::new(&self.scales, x, y);
        let blocks = self.weights.axis_chunks_iter(Axis(0), ROWS).zip(products.parts());
        threads::each(self.parallel(), blocks, |(w, part)| part.take(w.to_slice().unwrap_or(&[])));
        products.finish(&self.scales)
    }

    fn parallel(&self) -> bool {
        self.weights.len() >= MANY
    }
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
            let (forward, backward) = ScaledWeights::new(weights.view(), Scales::NONE).products(&x, &y);
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
