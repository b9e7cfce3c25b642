//! What follows a product of two-valued units, while the numbers are still in the cache: σ(β(input + field)), a draw, its
//! bit in a word, the sums that statistics need.

use super::panels::{Strip, WIDTH};
use super::simd::dispatch;
use crate::math::logistic_flat;
use crate::real::Real;
use crate::rng::Key;

/// Where the random numbers of a panel come from: row r has the numbers of chain `first` + r.
#[derive(Clone, Copy)]
pub struct Draw {
    /// Key of the half-step.
    pub key: Key,
    /// Number of the panel.
    pub panel: usize,
    /// Number of the first row.
    pub first: usize,
}

dispatch! {
    /// Bits drawn from the inputs; at inverse temperature β_r if given.
    fn draw<T>(x: &[Strip<T>], field: &Strip<T>, beta: Option<&[T]>, draw: Draw, out: &mut [u32]) => draw_body;
}

dispatch! {
    /// Inputs become means, times the row's weight; `sums` takes their sum over rows.
    fn means<T>(x: &mut [Strip<T>], field: &Strip<T>, weights: Option<&[T]>, sums: &mut Strip<T>) => means_body;
}

dispatch! {
    /// Both at once, from one σ.
    fn means_and_draw<T>(
        x: &mut [Strip<T>], field: &Strip<T>, weights: Option<&[T]>, sums: &mut Strip<T>, draw: Draw, out: &mut [u32],
    ) => both_body;
}

#[inline(always)]
fn probabilities<T: Real>(x: &Strip<T>, field: &Strip<T>, beta: T) -> Strip<T> {
    let mut p = *x;
    for c in 0..WIDTH {
        p.0[c] = logistic_flat(beta * (p.0[c] + field.0[c]));
    }
    p
}

/// Bit c is set if the uniform of site c is below p_c.
#[inline(always)]
fn bits<T: Real>(p: &Strip<T>, draw: Draw, row: usize) -> u32 {
    let words = draw.key.group((draw.first + row) as u64, draw.panel as u32);
    let mut bits = 0;
    for (c, word) in words.into_iter().enumerate() {
        bits |= u32::from(T::from_word(word) < p.0[c]) << c;
    }
    bits
}

#[inline(always)]
fn draw_body<T: Real>(x: &[Strip<T>], field: &Strip<T>, beta: Option<&[T]>, draw: Draw, out: &mut [u32]) {
    for (r, (x, out)) in x.iter().zip(out).enumerate() {
        let p = probabilities(x, field, beta.map_or(T::one(), |b| b[r]));
        *out = bits(&p, draw, r);
    }
}

/// Rows that are summed by themselves first: rounding grows with the longest chain of additions.
const SUMMED: usize = 64;

#[inline(always)]
fn means_body<T: Real>(x: &mut [Strip<T>], field: &Strip<T>, weights: Option<&[T]>, sums: &mut Strip<T>) {
    visit(x, field, weights, sums, None);
}

#[inline(always)]
fn both_body<T: Real>(
    x: &mut [Strip<T>],
    field: &Strip<T>,
    weights: Option<&[T]>,
    sums: &mut Strip<T>,
    draw: Draw,
    out: &mut [u32],
) {
    visit(x, field, weights, sums, Some((draw, out)));
}

/// Means in place and their sums; draws before the weights. (No closures here: they would not be compiled for the level.)
#[inline(always)]
fn visit<T: Real>(
    x: &mut [Strip<T>],
    field: &Strip<T>,
    weights: Option<&[T]>,
    sums: &mut Strip<T>,
    mut draw: Option<(Draw, &mut [u32])>,
) {
    for (block, x) in x.chunks_mut(SUMMED).enumerate() {
        let mut part = Strip::zero();
        for (r, x) in x.iter_mut().enumerate() {
            let r = block * SUMMED + r;
            let mut p = probabilities(x, field, T::one());
            if let Some((draw, out)) = &mut draw {
                out[r] = bits(&p, *draw, r);
            }
            if let Some(weights) = weights {
                for c in 0..WIDTH {
                    p.0[c] *= weights[r];
                }
            }
            for c in 0..WIDTH {
                part.0[c] += p.0[c];
            }
            *x = p;
        }
        for c in 0..WIDTH {
            sums.0[c] += part.0[c];
        }
    }
}
