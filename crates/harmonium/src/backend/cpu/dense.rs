//! Numbers times numbers: the `gemm` crate, called on one thread with one panel.

use super::panels::{Strip, WIDTH, transpose_block};
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

    /// Makes `out` the transpose, in blocks of 4 × 4.
    pub fn transpose(&self, out: &mut Dense<T>) {
        let (rows, columns) = (self.values.len() / self.columns, self.columns);
        out.columns = rows;
        out.values.resize(self.values.len(), T::zero());
        for c in (0..columns).step_by(4) {
            for r in (0..rows).step_by(4) {
                if r + 4 <= rows && c + 4 <= columns {
                    let mut block = [[T::zero(); 4]; 4];
                    for (k, block) in block.iter_mut().enumerate() {
                        block.copy_from_slice(&self.values[(r + k) * columns + c..(r + k) * columns + c + 4]);
                    }
                    for (k, block) in transpose_block(block).iter().enumerate() {
                        out.values[(c + k) * rows + r..(c + k) * rows + r + 4].copy_from_slice(block);
                    }
                } else {
                    for (r, c) in (r..(r + 4).min(rows)).flat_map(|r| (c..(c + 4).min(columns)).map(move |c| (r, c))) {
                        out.values[c * rows + r] = self.values[r * columns + c];
                    }
                }
            }
        }
    }
}

/// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
pub fn product<T: Real>(add: bool, x: &Dense<T>, panel: &[Strip<T>], out: &mut [Strip<T>]) {
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
            add,
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
