//! A matrix in panels of 32 columns: panel after panel, each with its rows one after another, the last filled up by zeros.
//!
//! A kernel works on one panel at a time and reads it from front to back; the edge of the matrix is inside the padding,
//! so no kernel has a special case for it.

use super::simd::{Level, dispatch};
use crate::real::Real;
use crate::threads;
use ndarray::ArrayView2;

/// Columns of a panel.
pub const WIDTH: usize = 32;

/// One row of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Strip<T>(pub [T; WIDTH]);

impl<T: Real> Strip<T> {
    /// All zero.
    pub fn zero() -> Strip<T> {
        Strip([T::zero(); WIDTH])
    }
}

/// Number of panels of `columns` columns.
pub fn panels_of(columns: usize) -> usize {
    columns.div_ceil(WIDTH)
}

/// A row of numbers as strips, filled up by zeros.
pub fn strips_of<T: Real>(row: impl Iterator<Item = T>, out: &mut Vec<Strip<T>>) {
    out.clear();
    for (i, x) in row.enumerate() {
        if i % WIDTH == 0 {
            out.push(Strip::zero());
        }
        out[i / WIDTH].0[i % WIDTH] = x;
    }
}

/// A matrix of `rows` rows in panels.
#[derive(Clone, Debug, Default)]
pub struct Panels<T> {
    rows: usize,
    strips: Vec<Strip<T>>,
}

impl<T: Real> Panels<T> {
    /// Panel `p`: one strip per row.
    pub fn panel(&self, p: usize) -> &[Strip<T>] {
        &self.strips[p * self.rows..(p + 1) * self.rows]
    }

    /// Takes the numbers of `matrix` times `scale`.
    pub fn set(&mut self, much: bool, matrix: ArrayView2<T>, scale: T) {
        self.resize(matrix.nrows(), matrix.ncols());
        threads::each(much, self.strips.chunks_mut(matrix.nrows()).enumerate(), |(p, panel)| {
            let columns = p * WIDTH..((p + 1) * WIDTH).min(matrix.ncols());
            for (strip, row) in panel.iter_mut().zip(matrix.rows()) {
                for (x, w) in strip.0.iter_mut().zip(row.slice(ndarray::s![columns.clone()])) {
                    *x = scale * *w;
                }
            }
        });
    }

    /// Takes the numbers of the transpose of `matrix` times `scale`.
    pub fn set_transposed(&mut self, level: Level, much: bool, matrix: ArrayView2<T>, scale: T) {
        self.resize(matrix.ncols(), matrix.nrows());
        let matrix = matrix.as_standard_layout();
        threads::each(much, self.strips.chunks_mut(matrix.ncols()).enumerate(), |(p, panel)| {
            let rows = p * WIDTH..((p + 1) * WIDTH).min(matrix.nrows());
            if let Some(w) = matrix.slice(ndarray::s![rows, ..]).as_slice() {
                transpose(level, w, scale, panel);
            }
        });
    }

    fn resize(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.strips.resize(rows * panels_of(columns), Strip::zero());
    }
}

dispatch! {
    /// panel[j][i] = scale · w[i][j] for up to 32 rows w of panel.len() numbers.
    fn transpose<T>(w: &[T], scale: T, panel: &mut [Strip<T>]) => transpose_body;
}

/// In blocks of 8 × 8, which fit the registers.
#[inline(always)]
fn transpose_body<T: Real>(w: &[T], scale: T, panel: &mut [Strip<T>]) {
    const B: usize = 8;
    let n = panel.len();
    for (i0, rows) in w.chunks(B * n).enumerate() {
        let i0 = i0 * B;
        for (j0, strips) in panel.chunks_mut(B).enumerate() {
            if rows.len() == B * n && strips.len() == B {
                let mut block = [[T::zero(); B]; B];
                for (k, block) in block.iter_mut().enumerate() {
                    let row = &rows[k * n + j0 * B..k * n + j0 * B + B];
                    for c in 0..B {
                        block[c] = scale * row[c];
                    }
                }
                for (j, strip) in strips.iter_mut().enumerate() {
                    for k in 0..B {
                        strip.0[i0 + k] = block[k][j];
                    }
                }
                continue;
            }
            for (j, strip) in strips.iter_mut().enumerate() {
                for (k, row) in rows.chunks_exact(n).enumerate() {
                    strip.0[i0 + k] = scale * row[j0 * B + j];
                }
            }
        }
    }
}
