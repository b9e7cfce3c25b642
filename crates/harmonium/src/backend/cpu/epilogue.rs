//! What follows a product of two-valued units, while the numbers are still in the cache: σ(β(input + field)), a draw, its
//! bit in a word, the sums that statistics need.

use super::panels::{Strip, WIDTH};
use super::simd::dispatch;
use crate::math::inverse_logistic;
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

/// 1/σ(β(x + field)).
#[inline(always)]
fn inverse<T: Real>(x: &Strip<T>, field: &Strip<T>, beta: Option<T>) -> Strip<T> {
    let mut q = *x;
    for c in 0..WIDTH {
        q.0[c] += field.0[c];
    }
    if let Some(beta) = beta {
        for c in 0..WIDTH {
            q.0[c] *= beta;
        }
    }
    for c in 0..WIDTH {
        q.0[c] = inverse_logistic(q.0[c]);
    }
    q
}

/// A bit is set if the uniform of its site, times 1/σ, is below 1.
#[inline(always)]
fn bits<T: Real>(inverse: &Strip<T>, words: &[u32; WIDTH]) -> u32 {
    let mut bits = 0;
    for (c, word) in words.iter().enumerate() {
        bits |= u32::from(T::from_word(*word) * inverse.0[c] < T::one()) << c;
    }
    bits
}

/// Rows that draw their random numbers together.
const TOGETHER: usize = 2;

impl Draw {
    /// The random words of some rows.
    #[inline(always)]
    fn words(self, row: usize) -> [[u32; WIDTH]; TOGETHER] {
        let (chain, panel) = ((self.first + row) as u64, self.panel as u32);
        self.key.groups([(chain, panel), (chain + 1, panel)])
    }
}

#[inline(always)]
fn draw_body<T: Real>(x: &[Strip<T>], field: &Strip<T>, beta: Option<&[T]>, draw: Draw, out: &mut [u32]) {
    for (pair, (x, out)) in x.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).enumerate() {
        let words = draw.words(pair * TOGETHER);
        for (k, (x, out)) in x.iter().zip(out).enumerate() {
            *out = bits(&inverse(x, field, beta.map(|b| b[pair * TOGETHER + k])), &words[k]);
        }
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

/// Means in place and their sums; draws before the weights. (A closure that is not inlined would not be compiled for the level.)
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
        for (pair, x) in x.chunks_mut(TOGETHER).enumerate() {
            let first = block * SUMMED + pair * TOGETHER;
            let mut words = [[0; WIDTH]; TOGETHER];
            if let Some((draw, _)) = &draw {
                words = draw.words(first);
            }
            for (k, x) in x.iter_mut().enumerate() {
                let mut p = inverse(x, field, None);
                if let Some((_, out)) = &mut draw {
                    out[first + k] = bits(&p, &words[k]);
                }
                for c in 0..WIDTH {
                    p.0[c] = T::one() / p.0[c];
                }
                if let Some(weights) = weights {
                    for c in 0..WIDTH {
                        p.0[c] *= weights[first + k];
                    }
                }
                for c in 0..WIDTH {
                    part.0[c] += p.0[c];
                }
                *x = p;
            }
        }
        for c in 0..WIDTH {
            sums.0[c] += part.0[c];
        }
    }
}
