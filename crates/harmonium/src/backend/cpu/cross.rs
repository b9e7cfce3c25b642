//! Σ w v ⟨h|v⟩ᵀ: the means of a panel are multiplied by the rows, and the product goes to its place while it is in the cache.

use super::factor::Operand;
use super::panels::{Strip, WIDTH};
use super::small_batch::MOST_ROWS;
use super::{Cpu, Scratch, bit_values, dense};
use crate::real::Real;
use crate::simd::{Level, dispatch, prefetch};
use ndarray::{Array2, ArrayViewMut2, Axis};

/// How Σ w b cᵀ of bits becomes Σ w x hᵀ of values, panel by panel and while it is in the cache: with x = l + d·b and h = k + e·c,
/// Σ w x hᵀ = d e Σ w b cᵀ + k (d Σ w b + l Σ w) + l e Σ w cᵀ. Numbers are their own bits: l = 0, d = 1.
pub struct Finish<'a, T> {
    scale: T,
    /// What is added to every number of row i; nothing if it is empty.
    rows: Vec<T>,
    /// How often the sum of a column is added to its numbers.
    columns: T,
    add: bool,
    from: Option<Point<'a, T>>,
}

/// Where a difference is measured from, see [`crate::stats::Stats::measure_from`].
#[derive(Clone, Copy)]
struct Point<'a, T> {
    o_v: &'a [T],
    o_h: &'a [T],
    /// The difference of ⟨v⟩, and what that of ⟨h⟩ is before these rows.
    t_v: &'a [T],
    before: &'a [T],
    /// What a sum of c adds to it: times the first, plus the second, and all times the third.
    adds: [T; 3],
}

/// What a panel needs of that: o_h and the difference of ⟨h⟩.
type Columns<T> = [Strip<T>; 2];

impl<T: Real> Point<'_, T> {
    fn columns(&self, panel: usize, sums: &Strip<T>) -> Columns<T> {
        let (mut o, mut t) = (Strip::zero(), Strip::zero());
        let [e, low, factor] = self.adds;
        let columns = self.o_h.iter().zip(self.before).skip(panel * WIDTH);
        for (c, (origin, before)) in columns.take(WIDTH).enumerate() {
            o.0[c] = *origin;
            t.0[c] = *before + factor * (low + e * sums.0[c]);
        }
        [o, t]
    }
}

impl<'a, T: Real> Finish<'a, T> {
    /// For sums that count `factor` times, from the visible layer's own sums of bits.
    pub fn new(cpu: &Cpu<T>, factor: T, add: bool, weight: T, visible: &Array2<T>) -> Finish<'a, T> {
        let ([l, top], [k, high]) = (bit_values(cpu.lowered.visible()), bit_values(cpu.lowered.hidden()));
        let (d, e) = (top - l, high - k);
        let row = |b: &T| factor * k * (d * *b + l * weight);
        let plain = l == T::zero() && k == T::zero();
        let rows = if plain { Vec::new() } else { visible.row(0).iter().map(row).collect() };
        Finish { scale: factor * d * e, rows, columns: factor * l * e, add, from: None }
    }

    /// The result is measured from a point: with the difference of ⟨v⟩, and that of ⟨h⟩ before these rows.
    pub fn measure_from(
        &mut self,
        cpu: &Cpu<T>,
        [o_v, o_h]: &'a [Vec<T>; 2],
        (factor, weight): (T, T),
        (visible, hidden): (&'a Array2<T>, &'a Array2<T>),
    ) {
        let [low, high] = bit_values(cpu.lowered.hidden());
        let adds = [high - low, low * weight, factor];
        assert_eq!((o_v.len(), o_h.len()), (visible.ncols(), hidden.ncols()), "a point has a number for every column");
        // Statistics are in standard layout.
        let first = |x: &'a Array2<T>| x.row(0).to_slice().unwrap_or(&[]);
        self.from = Some(Point { o_v, o_h, t_v: first(visible), before: first(hidden), adds });
    }

    /// Puts or adds everything but the scaled sums, rows[i] + columns·sums. Returns whether the scaled sums are to be added to
    /// what is there.
    fn prepare(&self, sums: &[Strip<T>], out: &mut [T]) -> bool {
        if self.rows.is_empty() {
            return self.add;
        }
        let width = out.len() / self.rows.len();
        for (row, out) in self.rows.iter().zip(out.chunks_exact_mut(width)) {
            for (sums, out) in sums.iter().zip(out.chunks_mut(WIDTH)) {
                for (out, sum) in out.iter_mut().zip(&sums.0) {
                    let y = *row + self.columns * *sum;
                    *out = if self.add { *out + y } else { y };
                }
            }
        }
        true
    }
}

/// Rows that are fetched before they are needed: they are too far apart for the processor to guess. As many as a tile of
/// `dense` has, so that it is multiplied while the next ones arrive.
const AHEAD: isize = dense::MOST as isize;

dispatch! {
    /// out[i] = scale·x[i] + rows[i] + columns·sums, or += if it is to be added; measured from `from` if it is given. The first row
    /// of x and out is row `first`.
    pub(super) fn put<T>(level,
        first: usize, x: &[Strip<T>], finish: &Finish<T>, sums: &Strip<T>, from: Option<&Columns<T>>, out: ArrayViewMut2<T>,
    ) => put_body;
}

#[inline(always)]
fn put_body<T: Real>(
    first: usize,
    x: &[Strip<T>],
    finish: &Finish<T>,
    sums: &Strip<T>,
    from: Option<&Columns<T>>,
    mut out: ArrayViewMut2<T>,
) {
    let from = finish.from.as_ref().zip(from);
    let (width, ahead) = (out.ncols(), AHEAD * out.strides()[0]);
    for (i, (x, mut out)) in (first..).zip(x.iter().zip(out.rows_mut())) {
        let Some(out) = out.as_slice_mut() else { return };
        prefetch::<T, WIDTH>(out.as_ptr().wrapping_offset(ahead));
        // A whole strip has a constant length, which the compiler can unroll.
        let out = if width == WIDTH { &mut out[..WIDTH] } else { &mut out[..width] };
        match (finish.rows.is_empty(), finish.add) {
            (true, true) => {
                for (out, x) in out.iter_mut().zip(&x.0) {
                    *out += finish.scale * *x;
                }
            }
            (true, false) => {
                for (out, x) in out.iter_mut().zip(&x.0) {
                    *out = finish.scale * *x;
                }
            }
            (false, add) => {
                for (c, (out, x)) in out.iter_mut().zip(&x.0).enumerate() {
                    let y = finish.scale * *x + (finish.rows[i] + finish.columns * sums.0[c]);
                    *out = if add { *out + y } else { y };
                }
            }
        }
        if let Some((from, [o, t])) = from {
            let (t_v, o_v) = (from.t_v[i], from.o_v[i]);
            for (out, (o, t)) in out.iter_mut().zip(o.0.iter().zip(&t.0)) {
                *out -= t_v * *o + o_v * *t;
            }
        }
    }
}

/// The product of a chunk's rows, transposed, with panels of means.
pub struct CrossProduct<'a, T> {
    pub level: Level,
    /// The rows transposed; done if they are a small batch, which is multiplied by all panels at the end.
    pub rows: &'a Operand<T>,
    pub finish: &'a Finish<'a, T>,
    /// Whether there are chunks before this one.
    pub more: bool,
    /// Whether there are none after it.
    pub is_last: bool,
}

impl<T: Real> CrossProduct<'_, T> {
    /// Multiplies by the means `x` of the panel with this number, whose sums over rows are `sums`. Products of numbers that need
    /// only a scale go straight to `out`.
    pub fn run(
        &self,
        panel: usize,
        x: &[Strip<T>],
        cross: &mut [Strip<T>],
        sums: &Strip<T>,
        mut out: ArrayViewMut2<T>,
    ) {
        let from = self.finish.from.filter(|_| self.is_last).map(|from| from.columns(panel, sums));
        if let Some(numbers) = self.rows.numbers().filter(|_| self.finish.rows.is_empty()) {
            let finish = Finish { rows: Vec::new(), add: self.finish.add || self.more, ..*self.finish };
            let width = out.ncols();
            let mut places = out.axis_chunks_iter_mut(Axis(0), numbers.group());
            return dense::each_group(self.level, numbers, x, width, |rows, x| {
                if let Some(out) = places.next() {
                    put(self.level, rows.start, x, &finish, sums, from.as_ref(), out);
                }
            });
        }
        self.rows.product(self.level, self.more, x, cross);
        if self.is_last && !self.rows.is_done() {
            put(self.level, 0, cross, self.finish, sums, from.as_ref(), out);
        }
    }
}

impl<T: Real> Scratch<T> {
    /// Means times the rows of a small batch, straight to `out`, unless the rows are no small batch. The product may be deferred
    /// until the next batch, which is subtracted from it.
    pub fn cross_small_batch(&mut self, level: Level, finish: &Finish<T>, may_defer: bool, out: &mut Array2<T>) {
        if let (true, Some(out)) = (self.transposed.is_done(), out.as_slice_mut()) {
            self.small_batch.scale(finish.scale);
            if may_defer && finish.rows.is_empty() {
                return self.small_batch.defer(&mut self.inputs);
            }
            let add = finish.prepare(&self.sums, out) && self.small_batch.deferred() == 0;
            self.small_batch.transposed_product(level, add, &self.inputs, out);
        }
    }

    /// Prepares a deferred batch for the next rows. If these are to be subtracted, `next` is their number, or 0 if they are no
    /// small batch; the deferred batch then is flushed to `out` unless both fit in one product. If nothing will be subtracted, it
    /// is dropped.
    pub fn flush(&mut self, level: Level, next: Option<usize>, out: &mut Array2<T>) {
        let deferred = self.small_batch.deferred();
        let Some(next) = next else { return self.small_batch.drop_deferred() };
        if let (true, Some(out)) = (deferred > 0 && (next == 0 || deferred + next > MOST_ROWS), out.as_slice_mut()) {
            self.small_batch.transposed_product(level, false, &[], out);
        }
    }
}
