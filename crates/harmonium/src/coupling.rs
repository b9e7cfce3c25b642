//! W̃ = W/(s_v s_hᵀ), and its products with vectors in f64, each one pass over W.
//!
//! Rows are taken in blocks of fixed size and partial sums are added in their order: the same bits on any number of
//! threads.

use crate::math::{add_scaled, dot, scale_row};
use crate::model::{Layer, Rbm};
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Rows of W that one task takes.
pub(crate) const ROWS: usize = 64;

/// The coupling of a machine.
pub(crate) struct Coupling<'a, T> {
    weights: ArrayView2<'a, T>,
    /// 1/s of every visible and every hidden column.
    shrink: (Array1<f64>, Array1<f64>),
    /// Whether every s is 1.
    plain: bool,
}

impl<'a, T: Real> Coupling<'a, T> {
    pub fn new(rbm: &'a Rbm<T>) -> Coupling<'a, T> {
        let scale = |layer: &Layer<T>| layer.widen().natural().1;
        Coupling::of(rbm.weights(), scale(rbm.visible()), scale(rbm.hidden()))
    }

    /// Of weights without scales, which can only be written.
    pub fn plain(weights: ArrayView2<'a, T>) -> Coupling<'a, T> {
        Coupling { weights, shrink: Default::default(), plain: true }
    }

    /// Of weights with these scales.
    pub fn of(weights: ArrayView2<'a, T>, mut s_v: Array1<f64>, mut s_h: Array1<f64>) -> Coupling<'a, T> {
        let plain = [&s_v, &s_h].into_iter().all(|s| s.iter().all(|s| *s == 1.0));
        if !plain {
            [&mut s_v, &mut s_h].into_iter().flatten().for_each(|s| *s = s.recip());
        }
        Coupling { weights, shrink: (s_v, s_h), plain }
    }

    /// Writes W̃.
    pub fn write(&self, out: &mut Array2<T>) {
        let rows = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.much(), rows.enumerate(), |(b, (mut out, w))| {
            if let (true, Some(out), Some(w)) = (self.plain, out.as_slice_mut(), w.as_slice()) {
                return out.copy_from_slice(w);
            }
            for (k, (mut out, w)) in out.rows_mut().into_iter().zip(w.rows()).enumerate() {
                if let (Some(out), Some(w), Some(s)) = (out.as_slice_mut(), w.as_slice(), self.shrink.1.as_slice()) {
                    scale_row(w, self.shrink.0[b * ROWS + k], s, out);
                }
            }
        });
    }

    /// W̃x.
    pub fn forward(&self, x: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.weights.nrows());
        if x.iter().all(|x| *x == 0.0) {
            return out;
        }
        let x = (x * &self.shrink.1).to_vec();
        let blocks = out.axis_chunks_iter_mut(Axis(0), ROWS).zip(self.weights.axis_chunks_iter(Axis(0), ROWS));
        threads::each(self.much(), blocks, |(mut out, w)| {
            for (out, w) in out.iter_mut().zip(w.rows()) {
                *out = w.as_slice().map_or(0.0, |w| dot(w, &x));
            }
        });
        out * &self.shrink.0
    }

    /// W̃ᵀx.
    pub fn backward(&self, x: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.weights.ncols());
        if x.iter().all(|x| *x == 0.0) {
            return out;
        }
        let x = x * &self.shrink.0;
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
        out * &self.shrink.1
    }

    fn much(&self) -> bool {
        self.weights.len() >= MANY
    }
}
