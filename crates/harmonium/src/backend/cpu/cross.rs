//! Σ w v ⟨h|v⟩ᵀ: the means of a panel meet the rows, and the product goes where it belongs while it is in the cache.

use super::factor::Operand;
use super::few::MOST;
use super::panels::{Strip, WIDTH};
use super::simd::{Level, dispatch, prefetch};
use super::{Cpu, Scratch, bit_values, dense};
use crate::real::Real;
use ndarray::{Array2, ArrayViewMut2, Axis};

/// What becomes of Σ w b cᵀ, panel by panel and while it is in the cache: with x = l + d·b and h = k + e·c,
/// Σ w x hᵀ = d e Σ w b cᵀ + k (d Σ w b + l Σ w) + l e Σ w cᵀ. Numbers are their own bits: l = 0, d = 1.
pub struct Finish<T> {
    scale: T,
    /// What is added to the numbers of row i, nothing if it is empty, and how often the sum of a column.
    rows: Vec<T>,
    columns: T,
    add: bool,
}

impl<T: Real> Finish<T> {
    /// For sums that count `factor` times, from the visible layer's own sums of bits.
    pub fn new(cpu: &Cpu<T>, factor: T, add: bool, weight: T, visible: &Array2<T>) -> Finish<T> {
        let ([l, top], [k, high]) = (bit_values(cpu.machine.visible()), bit_values(cpu.machine.hidden()));
        let (d, e) = (top - l, high - k);
        let row = |b: &T| factor * k * (d * *b + l * weight);
        let plain = l == T::zero() && k == T::zero();
        let rows = if plain { Vec::new() } else { visible.row(0).iter().map(row).collect() };
        Finish { scale: factor * d * e, rows, columns: factor * l * e, add }
    }

    /// Puts or adds everything but the scaled sums, rows[i] + columns·sums; whether there is something that they add to.
    fn begin(&self, sums: &[Strip<T>], out: &mut [T]) -> bool {
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

/// Rows that are asked for before they are needed: they are too far apart for the processor to guess. As many as a tile of
/// `dense` has, so that it is multiplied while the next ones come.
const AHEAD: isize = dense::MOST as isize;

dispatch! {
    /// out[i] = scale·x[i] + rows[i] + columns·sums, or += if it is to be added.
    fn put<T>(x: &[Strip<T>], finish: &Finish<T>, sums: &Strip<T>, out: ArrayViewMut2<T>) => put_body;
}

#[inline(always)]
fn put_body<T: Real>(x: &[Strip<T>], finish: &Finish<T>, sums: &Strip<T>, mut out: ArrayViewMut2<T>) {
    let (width, ahead) = (out.ncols(), AHEAD * out.strides()[0]);
    for (i, (x, mut out)) in x.iter().zip(out.rows_mut()).enumerate() {
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
    }
}

/// How the means of a panel meet the rows.
pub struct Across<'a, T> {
    pub level: Level,
    /// The rows transposed; done if they are few and meet all panels at the end.
    pub of: &'a Operand<T>,
    pub finish: &'a Finish<T>,
    /// Whether there were rows before these.
    pub more: bool,
    /// Whether there are none after these.
    pub is_last: bool,
}

impl<T: Real> Across<'_, T> {
    /// Means `x` of a panel, whose sums over rows are `sums`. Numbers whose products need nothing but a scale go straight to the
    /// end.
    pub fn run(&self, x: &[Strip<T>], cross: &mut [Strip<T>], sums: &Strip<T>, mut out: ArrayViewMut2<T>) {
        if let Some(numbers) = self.of.numbers().filter(|_| self.finish.rows.is_empty()) {
            let finish = Finish { rows: Vec::new(), add: self.finish.add || self.more, ..*self.finish };
            let width = out.ncols();
            let mut places = out.axis_chunks_iter_mut(Axis(0), numbers.group());
            return dense::each_group(self.level, numbers, x, width, |_, x| {
                if let Some(out) = places.next() {
                    put(self.level, x, &finish, sums, out);
                }
            });
        }
        self.of.product(self.level, self.more, x, cross);
        if self.is_last && !self.of.is_done() {
            put(self.level, cross, self.finish, sums, out);
        }
    }
}

impl<T: Real> Scratch<T> {
    /// Means times rows, straight to where they go, if the rows are few; they may wait for others, which are taken from them.
    pub fn across_few(&mut self, level: Level, finish: &Finish<T>, may_wait: bool, out: &mut Array2<T>) {
        if let (true, Some(out)) = (self.across.is_done(), out.as_slice_mut()) {
            self.few.scale(finish.scale);
            if may_wait && finish.rows.is_empty() {
                return self.few.wait(&mut self.inputs);
            }
            let add = finish.begin(&self.sums, out) && self.few.waiting() == 0;
            self.few.across(level, add, &self.inputs, out);
        }
    }

    /// Lets rows that wait meet the next ones, `few` if these are few; otherwise they go where they belong. If nothing will be
    /// taken from them they are forgotten.
    pub fn meet(&mut self, level: Level, few: Option<usize>, out: &mut Array2<T>) {
        let waiting = self.few.waiting();
        let Some(few) = few else { return self.few.forget() };
        if let (true, Some(out)) = (waiting > 0 && (few == 0 || waiting + few > MOST), out.as_slice_mut()) {
            self.few.across(level, false, &[], out);
        }
    }
}
