//! A matrix in panels of 32 columns: panel after panel, each with its rows one after another, the last filled up by zeros.
//!
//! A kernel works on one panel at a time and reads it from front to back; the edge of the matrix is inside the padding,
//! so no kernel has a special case for it.

use super::rounded::nearest;
use super::transpose::transposed;
use crate::real::Real;
use crate::simd::{Isa, Level, dispatch};
use crate::threads::{self, MANY};
use ndarray::{ArrayViewMut2, Axis};

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
    columns: usize,
    strips: Vec<Strip<T>>,
    /// The same as integers times a step, if they are; see `rounded`.
    shorts: Vec<Strip<i16>>,
    step: T,
}

/// One panel: a strip per row.
#[derive(Clone, Copy)]
pub struct Panel<'a, T> {
    pub strips: &'a [Strip<T>],
    /// The same as integers times a step.
    pub shorts: Option<(&'a [Strip<i16>], T)>,
}

impl<'a, T> From<&'a [Strip<T>]> for Panel<'a, T> {
    fn from(strips: &'a [Strip<T>]) -> Panel<'a, T> {
        Panel { strips, shorts: None }
    }
}

impl<T: Real> Panels<T> {
    /// Panel `p`.
    pub fn panel(&self, p: usize) -> Panel<'_, T> {
        let range = p * self.rows..(p + 1) * self.rows;
        let shorts = self.shorts.get(range.clone()).map(|shorts| (shorts, self.step));
        Panel { strips: &self.strips[range], shorts }
    }

    /// Makes the integers: all numbers are multiples of `step` by integers of 16 bits.
    pub fn shorten(&mut self, step: T) {
        self.shorts = self.strips.iter().map(|strip| Strip(strip.0.map(|x| nearest(x / step)))).collect();
        self.step = step;
    }

    /// Of these strips.
    #[cfg(test)]
    pub fn of_strips(rows: usize, columns: usize, strips: Vec<Strip<T>>) -> Panels<T> {
        Panels { rows, columns, strips, ..Panels::default() }
    }

    /// Number of panels.
    pub fn len(&self) -> usize {
        self.strips.len() / self.rows.max(1)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All panels, one after another.
    pub fn strips(&self) -> &[Strip<T>] {
        &self.strips
    }

    fn resize(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.shorts.clear();
        self.strips.resize(rows * panels_of(columns), Strip::zero());
    }
}

/// Copies a matrix into panels, and its transpose into others, each times a number of its own. The matrix comes in blocks, of
/// which `make` makes 32 rows (the last may have fewer); a task copies a block while it is in the cache.
pub fn set<'a, T: Real, B: Send>(
    level: Level,
    (rows, columns): (usize, usize),
    blocks: impl Iterator<Item = B>,
    make: impl Fn(B) -> &'a [T] + Sync + Send,
    (plain, scale): (&mut Panels<T>, T),
    (transposed, transposed_scale): (&mut Panels<T>, T),
) {
    let parallel = rows * columns >= MANY;
    plain.resize(rows, columns);
    transposed.resize(columns, rows);
    // The buffer has the shape by construction.
    let Ok(mut strips) = ArrayViewMut2::from_shape((panels_of(columns), rows), &mut plain.strips) else { return };
    let places = strips.axis_chunks_iter_mut(Axis(1), WIDTH).zip(transposed.strips.chunks_mut(columns));
    threads::each(parallel, places.zip(blocks), |((mut plain, transposed), block)| {
        let w = make(block);
        for (p, mut panel) in plain.rows_mut().into_iter().enumerate() {
            if let Some(panel) = panel.as_slice_mut() {
                copy(level, &w[p * WIDTH..], columns, scale, panel);
            }
        }
        transpose(level, w, transposed_scale, transposed);
    });
}

dispatch! {
    /// panel[i][c] = scale · w[i·columns + c], up to the end of the row.
    pub(super) fn copy<T>(level, w: &[T], columns: usize, scale: T, panel: &mut [Strip<T>]) => copy_body;
}

#[inline(always)]
fn copy_body<T: Real>(w: &[T], columns: usize, scale: T, panel: &mut [Strip<T>]) {
    let last = panel.len().wrapping_sub(1);
    let width = WIDTH.min(w.len() - last * columns);
    // The compiler can unroll constant lengths.
    let fours = if width == WIDTH { 0 } else { width / 4 * 4 };
    for (strip, row) in panel.iter_mut().zip(w.chunks(columns)) {
        if width == WIDTH {
            times::<T, WIDTH>(scale, 0, row, strip);
            continue;
        }
        for c in (0..fours).step_by(4) {
            times::<T, 4>(scale, c, row, strip);
        }
        for c in fours..width {
            times::<T, 1>(scale, c, row, strip);
        }
    }
}

/// `N` numbers times `scale`.
#[inline(always)]
fn times<T: Real, const N: usize>(scale: T, first: usize, row: &[T], strip: &mut Strip<T>) {
    let (row, out) = (&row[first..first + N], &mut strip.0[first..first + N]);
    for c in 0..N {
        out[c] = scale * row[c];
    }
}

/// panel[j][i] = scale · w[i][j] for up to 32 rows w of panel.len() numbers.
fn transpose<T: Real>(level: Level, w: &[T], scale: T, panel: &mut [Strip<T>]) {
    match level.isa() {
        Isa::Portable => transpose_fours(level, w, scale, panel),
        Isa::Avx2 | Isa::Avx512 => transpose_eights(level, w, scale, panel),
    }
}

dispatch! {
    /// In blocks of four rows.
    pub(super) fn transpose_fours<T>(level, w: &[T], scale: T, panel: &mut [Strip<T>]) => transpose_body::<T, 4>;
}

dispatch! {
    /// In blocks of eight rows; not on the portable level.
    pub(super) fn transpose_eights<T>(level, w: &[T], scale: T, panel: &mut [Strip<T>]) => transpose_body::<T, 8>;
}

#[inline(always)]
fn transpose_body<T: Real, const R: usize>(w: &[T], scale: T, panel: &mut [Strip<T>]) {
    let (n, rows) = (panel.len(), w.len() / panel.len());
    let (whole, done) = (n / 4 * 4, rows / R * R);
    assert!(rows <= WIDTH && w.len() == rows * n);
    for (k, strips) in panel.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for i in (0..done).step_by(R) {
            let mut block = [[T::zero(); 4]; R];
            for (r, four) in block.iter_mut().enumerate() {
                // SAFETY: i + r is one of the rows, and 4k … 4k + 3 are columns.
                *four = unsafe { w.as_ptr().add((i + r) * n + 4 * k).cast::<[T; 4]>().read() };
                four.iter_mut().for_each(|x| *x *= scale);
            }
            // SAFETY: eight rows are not for the portable level.
            let transposed = unsafe { transposed(block) };
            for (strip, column) in strips.iter_mut().zip(transposed) {
                strip.0[i..i + R].copy_from_slice(&column);
            }
        }
    }
    // What the blocks leave: the last columns, and the last rows.
    let first = if done == rows { whole } else { 0 };
    for (j, strip) in panel.iter_mut().enumerate().skip(first) {
        for i in if j < whole { done } else { 0 }..rows {
            strip.0[i] = scale * w[i * n + j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number (i, j) of a matrix in panels is number (i, j) of the matrix, whatever the edges.
    fn panels_are_the_matrix<T: Real>() {
        for (rows, columns) in [(1, 1), (3, 5), (4, 4), (31, 33), (32, 32), (70, 45), (33, 64)] {
            let matrix: Vec<T> = (0..rows * columns).map(|x| T::of(x as f64)).collect();
            for level in Level::available() {
                let (mut plain, mut transposed) = (Panels::default(), Panels::default());
                let (plain_of, transposed_of) = ((&mut plain, T::of(2.0)), (&mut transposed, T::of(3.0)));
                set(level, (rows, columns), matrix.chunks(WIDTH * columns), |w| w, plain_of, transposed_of);
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let (found, across) = (
                        plain.panel(j / WIDTH).strips[i].0[j % WIDTH],
                        transposed.panel(i / WIDTH).strips[j].0[i % WIDTH],
                    );
                    let want = (i * columns + j) as f64;
                    assert_eq!([found, across].map(T::f64), [2.0 * want, 3.0 * want], "{i}, {j} of {rows} x {columns}");
                }
                let edge = &plain.panel(panels_of(columns) - 1).strips[0].0[(columns - 1) % WIDTH + 1..];
                assert!(edge.iter().all(|x| *x == T::zero()), "padding is zero");
            }
        }
    }

    #[test]
    fn panels_are_the_matrix_in_both_precisions() {
        panels_are_the_matrix::<f32>();
        panels_are_the_matrix::<f64>();
    }
}
