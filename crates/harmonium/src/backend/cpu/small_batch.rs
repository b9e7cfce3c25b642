//! Small batches: at most twenty rows of bits, or their transpose, times the numbers of all panels.
//!
//! With so few rows the work around a product costs as much as the product. The rows are not made into index lists: their set bits
//! are found while the strips are added, for two panels at a time. Of the transpose, five rows have 32 possible sums, which are
//! tabulated as in `lookup_tables`; a column looks up one sum of each table, and the total goes straight to its place. No branch
//! depends on a bit. In lists of a few entries the processor mispredicts where a list ends, which costs as much as adding ten
//! strips.

use super::bit_planes::BitPlanes;
use super::panels::{Panels, Strip, WIDTH};
use crate::real::Real;
use crate::simd::{Level, dispatch};
use std::ops::Range;

/// Rows that are looked up together.
const GROUP: usize = 5;
/// Sums of a group.
const SUMS: usize = 1 << GROUP;
/// Most rows: four tables of 4 kB, which leave room in the first-level cache.
pub const MOST_ROWS: usize = 4 * GROUP;

/// A small batch whose transpose is multiplied by numbers: a strip per row, panel after panel. Its product may be deferred until
/// the next small batch comes, to look up both together.
#[derive(Default)]
pub struct SmallBatch<T> {
    /// Rows of the deferred batch and of the one loaded last.
    rows: usize,
    /// Rows of the deferred batch, which come first, and their numbers.
    deferred: usize,
    deferred_strips: Vec<Strip<T>>,
    /// The rows transposed: a word for every column.
    words: Vec<u32>,
    /// How often the numbers of every row count.
    scales: [T; MOST_ROWS],
    transposed: BitPlanes,
    /// A table for every group, of one panel at a time. The first sum of each is 0.
    tables: Vec<Strip<T>>,
}

impl<T: Real> SmallBatch<T> {
    /// Takes rows, at most [`MOST_ROWS`] together with the deferred ones.
    pub fn load(&mut self, bits: &BitPlanes) {
        bits.transpose(&(0..bits.rows()), &mut self.transposed);
        if self.deferred == 0 {
            self.words.clear();
            self.words.resize(bits.columns(), 0);
        }
        for (word, transposed) in self.words.iter_mut().zip(self.transposed.words()) {
            *word |= transposed << self.deferred;
        }
        self.rows = self.deferred + bits.rows();
    }

    /// Sets the factor of the numbers of the rows that are not deferred.
    pub fn scale(&mut self, scale: T) {
        self.scales[self.deferred..self.rows].fill(scale);
    }

    /// Defers the product of the rows and keeps their numbers; `x` gets a buffer of any length in exchange.
    pub fn defer(&mut self, x: &mut Vec<Strip<T>>) {
        std::mem::swap(&mut self.deferred_strips, x);
        self.deferred = self.rows;
    }

    /// Number of deferred rows.
    pub fn deferred(&self) -> usize {
        self.deferred
    }

    /// Drops the deferred rows.
    pub fn drop_deferred(&mut self) {
        self.deferred = 0;
    }

    /// out[k] = Σ_r bit(r, k) · scale[r] · x[r], or += if it is to be added. `x` has the numbers of the rows that are not
    /// deferred; `out` is row after row without panels. Nothing is deferred afterwards.
    pub fn transposed_product(&mut self, level: Level, add: bool, x: &[Strip<T>], out: &mut [T]) {
        let width = out.len() / self.words.len().max(1);
        let (deferred, new) = (self.deferred, self.rows - self.deferred);
        self.tables.resize(self.rows.div_ceil(GROUP) * SUMS, Strip::zero());
        for (p, first) in (0..width).step_by(WIDTH).enumerate() {
            let columns = first..(first + WIDTH).min(width);
            let x = (&self.deferred_strips[p * deferred..(p + 1) * deferred], &x[p * new..(p + 1) * new]);
            tabulate(level, &self.scales, columns.len(), x, &mut self.tables);
            look_up(level, add, &self.tables, &self.words, width, columns, out);
        }
        self.deferred = 0;
    }
}

/// x[r] = Σ_k bit(r, k) · panel[k], panel after panel of a matrix whose rows are the columns of the bits.
pub fn products<T: Real>(level: Level, bits: &BitPlanes, panels: &Panels<T>, x: &mut [Strip<T>]) {
    let (rows, columns) = (bits.rows().max(1), bits.columns());
    let twos = panels.strips().chunks(2 * columns).zip(x.chunks_mut(2 * rows));
    for (k, (strips, x)) in twos.enumerate() {
        let width = panels.columns().saturating_sub((2 * k + 1) * WIDTH);
        two(level, bits, width, strips.split_at(columns), x.split_at_mut(rows));
    }
}

dispatch! {
    /// Two panels, of which the second has `width` columns; the last may be alone.
    pub(super) fn two<T>(level,
        bits: &BitPlanes, width: usize, panels: (&[Strip<T>], &[Strip<T>]), x: (&mut [Strip<T>], &mut [Strip<T>]),
    ) => two_body;
}

#[inline(always)]
fn two_body<T: Real>(
    bits: &BitPlanes,
    width: usize,
    panels: (&[Strip<T>], &[Strip<T>]),
    x: (&mut [Strip<T>], &mut [Strip<T>]),
) {
    match width {
        0 => two_of::<T, 0>(bits, panels, x),
        1..=8 => two_of::<T, 8>(bits, panels, x),
        9..=16 => two_of::<T, 16>(bits, panels, x),
        _ => two_of::<T, WIDTH>(bits, panels, x),
    }
}

/// A panel and the first `N` columns of the next.
#[inline(always)]
fn two_of<T: Real, const N: usize>(
    bits: &BitPlanes,
    (a, b): (&[Strip<T>], &[Strip<T>]),
    (x, y): (&mut [Strip<T>], &mut [Strip<T>]),
) {
    let (words, rows) = (bits.words(), bits.rows());
    let b = if N == 0 { a } else { b };
    for (r, x) in x.iter_mut().enumerate() {
        let (mut sum, mut other) = (Strip::zero(), Strip::zero());
        for (q, (a, b)) in a.chunks(2 * WIDTH).zip(b.chunks(2 * WIDTH)).enumerate() {
            let (low, high) = (words[2 * q * rows + r], words.get((2 * q + 1) * rows + r));
            let mut word = u64::from(low) | u64::from(*high.unwrap_or(&0)) << WIDTH;
            while word != 0 {
                let k = word.trailing_zeros() as usize;
                let (a, b) = (&a[k], &b[k]);
                for c in 0..WIDTH {
                    sum.0[c] += a.0[c];
                }
                for c in 0..N {
                    other.0[c] += b.0[c];
                }
                word &= word - 1;
            }
        }
        *x = sum;
        if N > 0 {
            y[r] = other;
        }
    }
}

dispatch! {
    /// Sum k of a table is that of the rows whose bits k has, of five rows; of the first `width` columns, or of some more. The
    /// rows are in two pieces.
    pub(super) fn tabulate<T>(level,
        scales: &[T; MOST_ROWS], width: usize, x: (&[Strip<T>], &[Strip<T>]), tables: &mut [Strip<T>],
    ) => tabulate_body;
}

#[inline(always)]
fn tabulate_body<T: Real>(
    scales: &[T; MOST_ROWS],
    width: usize,
    x: (&[Strip<T>], &[Strip<T>]),
    tables: &mut [Strip<T>],
) {
    match width {
        ..=8 => tabulate_of::<T, 8>(scales, x, tables),
        9..=16 => tabulate_of::<T, 16>(scales, x, tables),
        _ => tabulate_of::<T, WIDTH>(scales, x, tables),
    }
}

#[inline(always)]
fn tabulate_of<T: Real, const N: usize>(
    scales: &[T; MOST_ROWS],
    (deferred, new): (&[Strip<T>], &[Strip<T>]),
    tables: &mut [Strip<T>],
) {
    for (first, rows) in [(0, deferred), (deferred.len(), new)] {
        for (r, x) in rows.iter().enumerate() {
            let (group, i) = ((first + r) / GROUP, (first + r) % GROUP);
            let table = &mut tables[group * SUMS..(group + 1) * SUMS];
            let mut w = [T::zero(); N];
            w.copy_from_slice(&x.0[..N]);
            w.iter_mut().for_each(|x| *x *= scales[first + r]);
            for k in 0..1 << i {
                // Arrays of constant length, or the compiler would gather numbers of several sums into one register.
                let mut sum = [T::zero(); N];
                sum.copy_from_slice(&table[k].0[..N]);
                for c in 0..N {
                    sum[c] += w[c];
                }
                table[(1 << i) + k].0[..N].copy_from_slice(&sum);
            }
        }
    }
}

dispatch! {
    /// Adds up what every column looks up, and puts or adds it to some columns of `out`, which has rows of `width` numbers.
    pub(super) fn look_up<T>(level,
        add: bool, tables: &[Strip<T>], words: &[u32], width: usize, columns: Range<usize>, out: &mut [T],
    ) => look_up_body;
}

#[inline(always)]
fn look_up_body<T: Real>(
    add: bool,
    tables: &[Strip<T>],
    words: &[u32],
    width: usize,
    columns: Range<usize>,
    out: &mut [T],
) {
    // The number of tables is a constant, which the compiler can unroll.
    match tables.as_chunks().0 {
        [a] => look_up_in(add, [a], words, width, columns, out),
        [a, b] => look_up_in(add, [a, b], words, width, columns, out),
        [a, b, c] => look_up_in(add, [a, b, c], words, width, columns, out),
        [a, b, c, d] => look_up_in(add, [a, b, c, d], words, width, columns, out),
        _ => {}
    }
}

#[inline(always)]
fn look_up_in<T: Real, const N: usize>(
    add: bool,
    tables: [&[Strip<T>; SUMS]; N],
    words: &[u32],
    width: usize,
    columns: Range<usize>,
    out: &mut [T],
) {
    let whole = columns.len() == WIDTH;
    for (word, out) in words.iter().zip(out.chunks_exact_mut(width)) {
        let mut parts = [&tables[0][0]; N];
        for g in 0..N {
            parts[g] = &tables[g][(*word >> (GROUP * g)) as usize % SUMS];
        }
        let out = &mut out[columns.clone()];
        if whole {
            put::<T, N, WIDTH>(add, &parts, 0, out);
            continue;
        }
        let mut first = 0;
        while first + 4 <= out.len() {
            put::<T, N, 4>(add, &parts, first, out);
            first += 4;
        }
        while first < out.len() {
            put::<T, N, 1>(add, &parts, first, out);
            first += 1;
        }
    }
}

/// Puts the sum of C columns of some strips, or adds it.
#[inline(always)]
fn put<T: Real, const N: usize, const C: usize>(add: bool, parts: &[&Strip<T>; N], first: usize, out: &mut [T]) {
    let mut sum = [T::zero(); C];
    sum.copy_from_slice(&parts[0].0[first..first + C]);
    for part in &parts[1..] {
        let part = &part.0[first..first + C];
        for c in 0..C {
            sum[c] += part[c];
        }
    }
    let out = &mut out[first..first + C];
    if add {
        for c in 0..C {
            out[c] += sum[c];
        }
    } else {
        out.copy_from_slice(&sum);
    }
}

#[cfg(test)]
mod tests {
    use super::super::panels::panels_of;
    use super::super::reference::{Numbers, bit_planes_of, tables_reference};
    use super::*;

    /// Reference of `products`: set columns are summed one after another.
    fn reference<T: Real>(row: &[bool], panel: &[Strip<T>], c: usize) -> T {
        let set = row.iter().zip(panel).filter(|(b, _)| **b);
        set.fold(T::zero(), |sum, (_, strip)| sum + strip.0[c])
    }

    fn small_batches_equal_their_reference<T: Real>() {
        let (mut r, mut small_batch) = (Numbers(21), SmallBatch::default());
        let shapes = [(1, 1, 1), (2, 31, 32), (5, 33, 45), (10, 64, 100), (11, 70, 64), (16, 129, 33), (20, 257, 130)];
        for ((rows, columns, width), kind) in shapes.into_iter().flat_map(|s| (0..4).map(move |k| (s, k))) {
            for density in [0.0, 0.3, 1.0] {
                let bits = r.bits(rows, columns, density);
                let transposed: Vec<Vec<bool>> =
                    (0..columns).map(|k| bits.iter().map(|row| row[k]).collect()).collect();
                let (bit_planes, panels) = (bit_planes_of(&bits), panels_of(width));
                let (w, y) = (r.strips::<T>(panels * columns, kind), r.strips::<T>(panels * rows, kind));
                let matrix = Panels::of_strips(columns, width, w.clone());
                let (scale, old) = (T::of(-0.7), T::of(0.3));
                let scaled: Vec<Strip<T>> = y.iter().map(|y| Strip(y.0.map(|y| y * scale))).collect();
                for level in Level::available() {
                    let mut x = vec![Strip([T::one(); WIDTH]); panels * rows];
                    products(level, &bit_planes, &matrix, &mut x);
                    let within = |k: usize| 0..WIDTH.min(width - k / rows * WIDTH);
                    for (k, c) in (0..x.len()).flat_map(|k| within(k).map(move |c| (k, c))) {
                        let panel = &w[k / rows * columns..(k / rows + 1) * columns];
                        assert!(
                            x[k].0[c] == reference(&bits[k % rows], panel, c),
                            "{rows} x {columns}, {}",
                            level.name()
                        );
                    }
                    // The first rows may be deferred.
                    for (add, first) in [(false, 0), (true, 0), (false, rows / 3)] {
                        let mut out = vec![old; columns * width];
                        for part in [0..first, first..rows].into_iter().filter(|p| !p.is_empty()) {
                            let mut y = y.chunks(rows).flat_map(|y| &y[part.clone()]).copied().collect::<Vec<_>>();
                            small_batch.load(&bit_planes_of(&bits[part.clone()]));
                            small_batch.scale(scale);
                            if part.end < rows {
                                small_batch.defer(&mut y);
                            } else {
                                small_batch.transposed_product(level, add, &y, &mut out);
                            }
                        }
                        for (k, c) in (0..columns).flat_map(|k| (0..width).map(move |c| (k, c))) {
                            let panel = &scaled[c / WIDTH * rows..(c / WIDTH + 1) * rows];
                            let sum = tables_reference(&transposed[k], panel, c % WIDTH);
                            let want = if add { old + sum } else { sum };
                            assert!(out[k * width + c] == want, "{rows} x {columns} x {width}, {}", level.name());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn small_batches_equal_their_scalar_reference() {
        small_batches_equal_their_reference::<f32>();
        small_batches_equal_their_reference::<f64>();
    }
}
