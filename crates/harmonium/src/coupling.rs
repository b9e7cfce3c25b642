//! W̃ = W/(s_v s_hᵀ), and its products with vectors in f64, each one pass over W.
//!
//! Rows are taken in blocks of fixed size and partial sums are added in their order: the same bits on any number of
//! threads.

use crate::math::{add_scaled, add_times, dot, scale_row};
use crate::model::{Layer, Rbm};
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{ArcArray2, Array1, Array2, ArrayView2, ArrayViewMut2, Axis};

/// Rows of W that one task takes.
pub(crate) const ROWS: usize = 64;

/// 1/s of every visible and every hidden column; none if every s is 1.
pub(crate) struct Scales(Option<(Vec<f64>, Vec<f64>)>);

impl Scales {
    pub fn new<T: Real>(rbm: &Rbm<T>) -> Scales {
        if rbm.is_plain() {
            return Scales(None);
        }
        let scale = |layer: &Layer<T>| layer.widen().natural().1;
        Scales::of(&scale(rbm.visible()), &scale(rbm.hidden()))
    }

    fn of(s_v: &Array1<f64>, s_h: &Array1<f64>) -> Scales {
        let plain = |s: &Array1<f64>| s.iter().all(|s| *s == 1.0);
        let inverse = |s: &Array1<f64>| s.iter().map(|s| s.recip()).collect();
        Scales((!plain(s_v) || !plain(s_h)).then(|| (inverse(s_v), inverse(s_h))))
    }

    /// Rows of W̃ from those of W, of which the first is row `first`.
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

/// W while it takes a step and becomes W̃, or is W̃ itself: one pass over the weights for both.
pub(crate) struct Stepping<'a, T> {
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    /// How much of which change.
    step: Option<(T, &'a [T])>,
    columns: usize,
    scales: Scales,
}

/// Some of its rows.
pub(crate) struct Block<'a, T> {
    first: usize,
    weights: &'a mut [T],
    lowered: Option<&'a mut [T]>,
    step: Option<(T, &'a [T])>,
    scales: &'a Scales,
}

impl<'a, T: Real> Stepping<'a, T> {
    /// W̃ goes to `lowered`, which is let go if it is W: no one else may have W while it steps.
    pub fn new(
        rbm: &'a mut Rbm<T>,
        step: Option<(T, &'a Array2<T>)>,
        lowered: &'a mut ArcArray2<T>,
    ) -> Stepping<'a, T> {
        let (scales, columns) = (Scales::new(rbm), rbm.hidden().columns());
        if scales.0.is_none() {
            *lowered = ArcArray2::default((0, 0));
        }
        let lowered = lowered.as_slice_mut().filter(|_| scales.0.is_some());
        // Weights and steps are in standard layout.
        let step = step.map(|(rate, step)| (rate, step.as_slice().unwrap_or(&[])));
        Stepping { weights: rbm.parts_mut().2.as_slice_mut().unwrap_or(&mut []), lowered, step, columns, scales }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.lowered.is_none()
    }

    /// Blocks of `rows` rows.
    pub fn blocks(&mut self, rows: usize) -> impl Iterator<Item = Block<'_, T>> {
        let len = rows * self.columns;
        let steps = self.step.map(|(rate, step)| step.chunks(len).map(move |step| Some((rate, step))));
        let steps = steps.into_iter().flatten().chain(std::iter::repeat(None));
        let scales = &self.scales;
        let lowered = self.lowered.as_deref_mut().map(|lowered| lowered.chunks_mut(len).map(Some));
        let lowered = lowered.into_iter().flatten().chain(std::iter::repeat_with(|| None));
        let blocks = self.weights.chunks_mut(len).zip(lowered).zip(steps).enumerate();
        blocks.map(move |(b, ((weights, lowered), step))| Block { first: b * rows, weights, lowered, step, scales })
    }
}

impl<'a, T: Real> Block<'a, T> {
    /// Takes the step; the rows of W̃.
    pub fn stepped(self) -> &'a [T] {
        if let Some((rate, step)) = self.step {
            add_times(rate, step, self.weights);
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

/// The coupling of a machine.
pub(crate) struct Coupling<'a, T> {
    weights: ArrayView2<'a, T>,
    scales: Scales,
}

impl<'a, T: Real> Coupling<'a, T> {
    pub fn new(rbm: &'a Rbm<T>) -> Coupling<'a, T> {
        Coupling { weights: rbm.weights(), scales: Scales::new(rbm) }
    }

    /// Of weights with these scales.
    pub fn of(weights: ArrayView2<'a, T>, s_v: &Array1<f64>, s_h: &Array1<f64>) -> Coupling<'a, T> {
        Coupling { weights, scales: Scales::of(s_v, s_h) }
    }

    /// Whether W̃ is W.
    pub fn is_plain(&self) -> bool {
        self.scales.0.is_none()
    }

    /// Writes W̃.
    pub fn write(&self, mut out: ArrayViewMut2<T>) {
        let rows = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.much(), rows.enumerate(), |(b, (mut out, w))| {
            if let (Some(out), Some(w)) = (out.as_slice_mut(), w.as_slice()) {
                self.scales.write(b * ROWS, w, out);
            }
        });
    }

    /// W̃x.
    pub fn forward(&self, x: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.weights.nrows());
        if x.iter().all(|x| *x == 0.0) {
            return out;
        }
        let x = self.scales.hidden(x).to_vec();
        let blocks = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.much(), blocks, |(mut out, w)| {
            for (out, w) in out.iter_mut().zip(w.rows()) {
                *out = w.as_slice().map_or(0.0, |w| dot(w, &x));
            }
        });
        self.scales.visible(&out)
    }

    /// W̃ᵀx.
    pub fn backward(&self, x: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.weights.ncols());
        if x.iter().all(|x| *x == 0.0) {
            return out;
        }
        let x = self.scales.visible(x);
        let blocks = self.weights.axis_chunks_iter(Axis(0), ROWS).zip(x.axis_chunks_iter(Axis(0), ROWS));
        let parts = threads::map(self.much(), blocks, |(w, x)| {
            let mut sums = vec![0.0; w.ncols()];
            for (w, x) in w.rows().into_iter().zip(x) {
                if let Some(w) = w.as_slice() {
                    add_scaled(*x, w, &mut sums);
                }
            }
            sums
        });
        for part in &parts {
            out.iter_mut().zip(part).for_each(|(out, x)| *out += x);
        }
        self.scales.hidden(&out)
    }

    fn much(&self) -> bool {
        self.weights.len() >= MANY
    }
}
