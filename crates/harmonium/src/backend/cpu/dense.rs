//! Numbers times numbers: a tile of some rows and up to 32 columns of the result stays in registers while the panel is read.
//!
//! The panel is read as it is. The left factor is packed, once for all panels: in groups of as many rows as a tile has, in which
//! the numbers that multiply one strip are side by side. Multiplications and additions are fused, on every instruction set, and
//! each number of the result is summed in the order of the strips.

use super::panels::{Strip, WIDTH};
use super::transpose::transposed;
use crate::real::Real;
use crate::simd::{Isa, Level, dispatch};
use crate::threads;
use std::ops::Range;

/// Strips whose products are summed by themselves first: rounding grows with the longest chain of additions.
const SUMMED: usize = 256;

/// Most rows of a tile.
pub const MOST: usize = 8;

/// Rows of a tile: as many as the registers hold, with 128 bytes of each in 32 registers of 64 bytes, or with 64 bytes in 16 of
/// 32. The result does not depend on it.
fn rows_of_tile(level: Level) -> usize {
    match level.isa() {
        Isa::Avx512 => MOST,
        Isa::Avx2 | Isa::Portable => 6,
    }
}

/// Groups of rows whose last one is filled up by zeros: number k of row i is number k · rows + i of its group.
#[derive(Clone, Debug, Default)]
pub struct Packed<T> {
    /// Number of rows, rows of a group, and columns.
    len: usize,
    rows: usize,
    columns: usize,
    values: Vec<T>,
}

impl<T: Real> Packed<T> {
    /// Takes rows of `columns` numbers.
    pub fn load(&mut self, level: Level, parallel: bool, columns: usize, values: &[T]) {
        self.resize(level, values.len() / columns.max(1), columns);
        let rows = self.rows;
        let groups = self.values.chunks_mut((rows * columns).max(1)).zip(values.chunks((rows * columns).max(1)));
        threads::each(parallel, groups, |(group, values)| pack(level, rows, columns, values, group));
    }

    /// Takes the columns of rows of `columns` numbers as rows.
    pub fn load_transposed(&mut self, level: Level, parallel: bool, columns: usize, values: &[T]) {
        let len = values.len() / columns.max(1);
        self.resize(level, columns, len);
        let rows = self.rows;
        threads::each(parallel, self.values.chunks_mut((rows * len).max(1)).enumerate(), |(g, group)| {
            let first = g * rows;
            // Constant lengths need no calls.
            match rows.min(columns - first) {
                MOST => pick::<T, MOST>(first, columns, values, group),
                6 if rows == 6 => pick::<T, 6>(first, columns, values, group),
                width => {
                    for (group, row) in group.chunks_exact_mut(rows).zip(values.chunks_exact(columns)) {
                        group[..width].copy_from_slice(&row[first..first + width]);
                    }
                }
            }
        });
    }

    /// Rows of a group.
    pub fn group(&self) -> usize {
        self.rows
    }

    fn resize(&mut self, level: Level, len: usize, columns: usize) {
        (self.len, self.rows, self.columns) = (len, rows_of_tile(level), columns);
        self.values.resize(len.next_multiple_of(self.rows) * columns, T::zero());
        // The caller writes all other numbers.
        if !len.is_multiple_of(self.rows) {
            self.values[len / self.rows * self.rows * columns..].fill(T::zero());
        }
    }
}

/// group[k · N + i] = values[k][first + i].
fn pick<T: Real, const N: usize>(first: usize, columns: usize, values: &[T], group: &mut [T]) {
    for (group, row) in group.as_chunks_mut::<N>().0.iter_mut().zip(values.chunks_exact(columns)) {
        group.copy_from_slice(&row[first..first + N]);
    }
}

dispatch! {
    /// group[k · rows + i] = values[i][k].
    pub(super) fn pack<T>(level, rows: usize, columns: usize, values: &[T], group: &mut [T]) => pack_body;
}

#[inline(always)]
fn pack_body<T: Real>(rows: usize, columns: usize, values: &[T], group: &mut [T]) {
    if values.len() == MOST * columns {
        pack_of::<T, MOST>(rows, columns, values, group);
    } else {
        pack_of::<T, 4>(rows, columns, values, group);
    }
}

/// In blocks of R rows and four columns.
#[inline(always)]
fn pack_of<T: Real, const R: usize>(rows: usize, columns: usize, values: &[T], group: &mut [T]) {
    let (whole, done) = (columns / 4 * 4, values.len() / columns / R * R);
    for (q, values) in values.chunks_exact(R * columns).enumerate() {
        for (k, group) in group.chunks_exact_mut(4 * rows).enumerate() {
            let mut block = [[T::zero(); 4]; R];
            for (four, row) in block.iter_mut().zip(values.chunks_exact(columns)) {
                four.copy_from_slice(&row[4 * k..4 * k + 4]);
            }
            // SAFETY: groups of eight rows are for AVX-512 alone.
            let transposed = unsafe { transposed(block) };
            for (row, column) in group.chunks_exact_mut(rows).zip(transposed) {
                row[R * q..R * q + R].copy_from_slice(&column);
            }
        }
    }
    // What the blocks leave: the last columns, and the last rows.
    for (i, row) in values.chunks_exact(columns).enumerate() {
        let first = if i < done { whole } else { 0 };
        for (group, x) in group.chunks_exact_mut(rows).zip(row).skip(first) {
            group[i] = *x;
        }
    }
}

/// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
pub fn product<T: Real>(level: Level, add: bool, x: &Packed<T>, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    assert!(x.len == out.len());
    each_group(level, x, panel, WIDTH, |rows, sums| {
        for (out, sum) in out[rows].iter_mut().zip(sums) {
            for (out, sum) in out.0.iter_mut().zip(&sum.0) {
                *out = if add { *out + *sum } else { *sum };
            }
        }
    });
}

/// Calls `f` with groups of rows and their sums Σ_k x[r, k] · panel[k], of the first `width` columns.
pub fn each_group<T: Real>(
    level: Level,
    x: &Packed<T>,
    panel: &[Strip<T>],
    width: usize,
    mut f: impl FnMut(Range<usize>, &[Strip<T>]),
) {
    assert!(x.columns == panel.len() && width <= WIDTH);
    let mut sums = [Strip::zero(); MOST];
    for (g, values) in x.values.chunks((x.rows * x.columns).max(1)).enumerate() {
        let rows = g * x.rows..((g + 1) * x.rows).min(x.len);
        for (k, (values, panel)) in values.chunks(SUMMED * x.rows).zip(panel.chunks(SUMMED)).enumerate() {
            tile(level, k > 0, [rows.len(), width], values, x.rows, panel, &mut sums);
        }
        f(rows, &sums);
    }
}

dispatch! {
    /// sums = the products of a group of rows with some strips, or += if they are to be added: of at least as many rows and columns
    /// as `size` has.
    pub(super) fn tile<T>(level,
        add: bool, size: [usize; 2], values: &[T], stride: usize, panel: &[Strip<T>], sums: &mut [Strip<T>; MOST],
    ) => tile_body;
}

#[inline(always)]
fn tile_body<T: Real>(
    add: bool,
    [rows, width]: [usize; 2],
    values: &[T],
    stride: usize,
    panel: &[Strip<T>],
    sums: &mut [Strip<T>; MOST],
) {
    // As many columns as the registers of a whole tile hold.
    let step = if stride == MOST { 128 } else { 64 } / size_of::<T>();
    for first in (0..width).step_by(step) {
        match (rows, step) {
            (..=2, 32) => tile_of::<T, 2, 32>(values, stride, panel, first, add, sums),
            (..=4, 32) => tile_of::<T, 4, 32>(values, stride, panel, first, add, sums),
            (_, 32) => tile_of::<T, MOST, 32>(values, stride, panel, first, add, sums),
            (..=2, 16) => tile_of::<T, 2, 16>(values, stride, panel, first, add, sums),
            (..=4, 16) => tile_of::<T, 4, 16>(values, stride, panel, first, add, sums),
            (..=6, 16) => tile_of::<T, 6, 16>(values, stride, panel, first, add, sums),
            (_, 16) => tile_of::<T, MOST, 16>(values, stride, panel, first, add, sums),
            _ => tile_of::<T, 6, 8>(values, stride, panel, first, add, sums),
        }
    }
}

/// A loop over the rows of a tile, written out: otherwise the compiler would put numbers of several rows into one register.
macro_rules! each_row {
    ($i:ident of $rows:ident, $body:expr) => {
        each_row!($i of $rows, $body, 0 1 2 3 4 5 6 7)
    };
    ($i:ident of $rows:ident, $body:expr, $($row:literal)*) => {
        $(if $row < $rows {
            let $i = $row;
            $body
        })*
    };
}

/// R rows, and N columns from `first` on.
#[inline(always)]
fn tile_of<T: Real, const R: usize, const N: usize>(
    values: &[T],
    stride: usize,
    panel: &[Strip<T>],
    first: usize,
    add: bool,
    sums: &mut [Strip<T>; MOST],
) {
    let mut part = [[T::zero(); N]; R];
    for (values, strip) in values.chunks(stride).zip(panel) {
        let (Some(x), Some(strip)) = (values.first_chunk::<R>(), strip.0[first..].first_chunk::<N>()) else { break };
        each_row!(i of R, for c in 0..N {
            part[i][c] = x[i].mul_add(strip[c], part[i][c]);
        });
    }
    each_row!(i of R, for (sum, part) in sums[i].0[first..first + N].iter_mut().zip(&part[i]) {
        *sum = if add { *sum + *part } else { *part };
    });
}
