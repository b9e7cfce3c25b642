//! Numbers times numbers: the `gemm` crate, called on one thread with one panel.

use super::panels::{Strip, WIDTH, transpose_block};
use crate::real::Real;
use crate::threads;
use ndarray::ArrayViewMut2;

/// Rows of `columns` numbers.
#[derive(Clone, Copy)]
pub struct Dense<'a, T> {
    pub columns: usize,
    pub values: &'a [T],
}

/// Columns that are transposed together: as many as a cache line has.
const LINE: usize = 16;

impl<T: Real> Dense<'_, T> {
    /// Makes `out` the transpose, in blocks of 4 × 4.
    pub fn transpose(self, much: bool, out: &mut Vec<T>) {
        let (rows, columns) = (self.values.len() / self.columns.max(1), self.columns);
        out.resize(self.values.len(), T::zero());
        threads::each(much, out.chunks_mut(LINE * rows.max(1)).enumerate(), |(line, out)| {
            let (first, width) = (line * LINE, out.len() / rows);
            for (r, four) in self.values.chunks_exact(4 * columns).enumerate() {
                let (a, rest) = four.split_at(columns);
                let (b, rest) = rest.split_at(columns);
                let (c, d) = rest.split_at(columns);
                let [a, b, c, d] = [a, b, c, d].map(|row| row[first..first + width].chunks_exact(4));
                for (out, (((a, b), c), d)) in out.chunks_exact_mut(4 * rows).zip(a.zip(b).zip(c).zip(d)) {
                    let mut block = [[T::zero(); 4]; 4];
                    for (block, row) in block.iter_mut().zip([a, b, c, d]) {
                        block.copy_from_slice(row);
                    }
                    for (out, block) in out.chunks_exact_mut(rows).zip(transpose_block(block)) {
                        out[4 * r..4 * r + 4].copy_from_slice(&block);
                    }
                }
            }
            // What the blocks have left: the last columns, and the last rows.
            for (c, out) in out.chunks_exact_mut(rows).enumerate() {
                let done = if c < width / 4 * 4 { rows / 4 * 4 } else { 0 };
                for (r, out) in out.iter_mut().enumerate().skip(done) {
                    *out = self.values[r * columns + first + c];
                }
            }
        });
    }
}

/// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
pub fn product<T: Real>(add: bool, x: Dense<T>, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    assert!(x.values.len() == out.len() * x.columns && panel.len() == x.columns);
    // SAFETY: a `Strip` is WIDTH numbers without padding, so `out` is a matrix of that many columns, borrowed alone; the
    // assertion ties its rows to those of `x` and the panel's to the columns of `x`.
    unsafe { multiply(add, T::one(), x, panel, out.as_mut_ptr().cast(), (out.len(), WIDTH, WIDTH as isize)) }
}

/// out[r, c] = scale · Σ_k x[r, k] · panel[k][c], or += if it is to be added, for as many columns as there are.
pub fn scaled_product<T: Real>(add: bool, scale: T, x: Dense<T>, panel: &[Strip<T>], mut out: ArrayViewMut2<T>) {
    let (rows, width) = out.dim();
    // The stride of a single column may be anything.
    assert!(width <= 1 || out.strides()[1] == 1);
    assert!(x.values.len() == rows * x.columns && panel.len() == x.columns && width <= WIDTH);
    // SAFETY: `out` is a view of rows × width numbers, those of a row side by side, borrowed alone; the rest as above.
    unsafe { multiply(add, scale, x, panel, out.as_mut_ptr(), (rows, width, out.strides()[0])) }
}

/// out = scale · x · panel, or +=.
///
/// # Safety
/// `out` must point to as many rows as `x` has, `stride` numbers apart, of `width` ≤ WIDTH numbers that nobody else uses; the
/// panel must have as many strips as `x` has columns.
unsafe fn multiply<T: Real>(
    add: bool,
    scale: T,
    x: Dense<T>,
    panel: &[Strip<T>],
    out: *mut T,
    (rows, width, stride): (usize, usize, isize),
) {
    let (x, columns, panel) = (x.values.as_ptr(), x.columns, panel.as_ptr().cast::<T>());
    // SAFETY: `x` is row-major with `columns` columns and the panel with WIDTH, because a `Strip` is WIDTH numbers without
    // padding; the shapes are the caller's promise.
    unsafe {
        gemm::gemm(
            rows,
            width,
            columns,
            out,
            1,
            stride,
            add,
            x,
            1,
            columns as isize,
            panel,
            1,
            WIDTH as isize,
            T::one(),
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
