//! Numbers times numbers: the `gemm` crate, called on one thread with one panel.

use super::panels::{Strip, WIDTH};
use crate::real::Real;

/// Rows of numbers.
#[derive(Clone, Debug, Default)]
pub struct Dense<T> {
    columns: usize,
    values: Vec<T>,
}

impl<T: Real> Dense<T> {
    /// Takes the numbers of `values`, rows of `columns` numbers.
    pub fn load(&mut self, columns: usize, values: &[T]) {
        self.columns = columns;
        self.values.clear();
        self.values.extend_from_slice(values);
    }

    /// Makes `out` the transpose, block by block for the sake of the cache.
    pub fn transpose(&self, out: &mut Dense<T>) {
        const BLOCK: usize = 16;
        let rows = self.values.len() / self.columns;
        out.columns = rows;
        out.values.resize(self.values.len(), T::zero());
        for r0 in (0..rows).step_by(BLOCK) {
            for c0 in (0..self.columns).step_by(BLOCK) {
                for r in r0..(r0 + BLOCK).min(rows) {
                    for c in c0..(c0 + BLOCK).min(self.columns) {
                        out.values[c * rows + r] = self.values[r * self.columns + c];
                    }
                }
            }
        }
    }
}

/// out[r] += Σ_k x[r, k] · panel[k].
pub fn add_product<T: Real>(x: &Dense<T>, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    assert!(x.values.len() == out.len() * x.columns && panel.len() == x.columns);
    let (columns, width) = (x.columns as isize, WIDTH as isize);
    // SAFETY: a `Strip` is WIDTH numbers without padding, so `out` and `panel` are row-major matrices of WIDTH columns;
    // `values` is one of `columns` columns; the assertion ties the three shapes together, and `out` is borrowed alone.
    unsafe {
        gemm::gemm(
            out.len(),
            WIDTH,
            x.columns,
            out.as_mut_ptr().cast::<T>(),
            1,
            width,
            true,
            x.values.as_ptr(),
            1,
            columns,
            panel.as_ptr().cast::<T>(),
            1,
            width,
            T::one(),
            T::one(),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
