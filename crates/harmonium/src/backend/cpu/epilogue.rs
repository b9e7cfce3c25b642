//! What follows a product of two-valued units, while the numbers are still in the cache: σ(β(input + field)), a draw, its
//! bit in a word, the sums that statistics need, log(1 + e^…).

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

/// The log odds of a panel's bits besides their inputs.
#[derive(Clone, Copy)]
pub struct Odds<'a, T> {
    /// At inverse temperature 1.
    pub field: &'a Strip<T>,
    /// If at another one.
    pub heat: Option<Heat<'a, T>>,
}

/// Inverse temperatures: odds are base + β(input + field − base).
#[derive(Clone, Copy)]
pub struct Heat<'a, T> {
    /// β of every row.
    pub beta: &'a [T],
    /// Log odds at β = 0, if not 0.
    pub base: Option<&'a Strip<T>>,
}

impl<T: Real> Odds<'_, T> {
    /// Of row `r`, whose inputs are `x`.
    #[inline(always)]
    fn row(&self, r: usize, x: &Strip<T>) -> Strip<T> {
        let mut q = *x;
        for c in 0..WIDTH {
            q.0[c] += self.field.0[c];
        }
        match self.heat {
            None => {}
            Some(Heat { beta, base: None }) => {
                for c in 0..WIDTH {
                    q.0[c] *= beta[r];
                }
            }
            Some(Heat { beta, base: Some(base) }) => {
                for c in 0..WIDTH {
                    q.0[c] = base.0[c] + beta[r] * (q.0[c] - base.0[c]);
                }
            }
        }
        q
    }
}

dispatch! {
    /// Bits drawn from the inputs.
    fn draw<T>(x: &[Strip<T>], odds: Odds<T>, draw: Draw, out: &mut [u32]) => draw_body;
}

dispatch! {
    /// out[r] = Σ log(1 + e^z) + `low`·z over the first `width` bits' log odds z of row r.
    fn log_norms<T>(x: &[Strip<T>], odds: Odds<T>, low: T, width: usize, out: &mut [f64]) => log_norms_body;
}

dispatch! {
    /// Inputs of the first `width` columns, or of some more, become means, times the row's weight; `sums` takes their sum over
    /// rows. Bits are drawn from the same σ, if there is a place for them.
    fn means<T>(
        x: &mut [Strip<T>], width: usize, field: &Strip<T>, weights: Option<&[T]>, sums: &mut Strip<T>,
        draw: Option<(Draw, &mut [u32])>,
    ) => means_body;
}

/// 1/σ(z).
#[inline(always)]
fn inverse<T: Real>(mut z: Strip<T>) -> Strip<T> {
    for c in 0..WIDTH {
        z.0[c] = inverse_logistic(z.0[c]);
    }
    z
}

/// log(1 + e^z) = max(z, 0) + log(1 + e^−|z|). A row's 32 factors 1 + e^−|z| are at most 2: their product is a number, and
/// one logarithm does for all.
#[inline(always)]
fn log_norms_body<T: Real>(x: &[Strip<T>], odds: Odds<T>, low: T, width: usize, out: &mut [f64]) {
    for (r, (x, out)) in x.iter().zip(out).enumerate() {
        let z = odds.row(r, x);
        let (mut sum, mut product) = (Strip::zero(), Strip::zero());
        for c in 0..WIDTH {
            let inside = c < width;
            let part = z.0[c].max(T::zero()) + low * z.0[c];
            let factor = T::one() + (-z.0[c].abs()).exp_flat();
            sum.0[c] = if inside { part } else { T::zero() };
            product.0[c] = if inside { factor } else { T::one() };
        }
        let mut half = WIDTH / 2;
        while half > 0 {
            for c in 0..half {
                sum.0[c] += sum.0[c + half];
                product.0[c] *= product.0[c + half];
            }
            half /= 2;
        }
        *out = sum.0[0].f64() + product.0[0].ln_flat().f64();
    }
}

/// A bit of the first `N` is set if the uniform of its site, times 1/σ, is below 1.
#[inline(always)]
fn bits<T: Real, const N: usize>(inverse: &Strip<T>, words: &[u32; WIDTH]) -> u32 {
    let mut bits = 0;
    for (c, word) in words.iter().enumerate().take(N) {
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
fn draw_body<T: Real>(x: &[Strip<T>], odds: Odds<T>, draw: Draw, out: &mut [u32]) {
    for (pair, (x, out)) in x.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).enumerate() {
        let words = draw.words(pair * TOGETHER);
        for (k, (x, out)) in x.iter().zip(out).enumerate() {
            *out = bits::<T, WIDTH>(&inverse(odds.row(pair * TOGETHER + k, x)), &words[k]);
        }
    }
}

/// Rows that are summed by themselves first: rounding grows with the longest chain of additions.
const SUMMED: usize = 64;

#[inline(always)]
fn means_body<T: Real>(
    x: &mut [Strip<T>],
    width: usize,
    field: &Strip<T>,
    weights: Option<&[T]>,
    sums: &mut Strip<T>,
    draw: Option<(Draw, &mut [u32])>,
) {
    match width {
        ..=8 => visit::<T, 8>(x, field, weights, sums, draw),
        9..=16 => visit::<T, 16>(x, field, weights, sums, draw),
        _ => visit::<T, WIDTH>(x, field, weights, sums, draw),
    }
}

/// Means of the first `N` columns in place and their sums; draws before the weights. (A closure that is not inlined would not
/// be compiled for the level.)
#[inline(always)]
fn visit<T: Real, const N: usize>(
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
                let mut p = *x;
                for c in 0..N {
                    p.0[c] = inverse_logistic(p.0[c] + field.0[c]);
                }
                if let Some((_, out)) = &mut draw {
                    out[first + k] = bits::<T, N>(&p, &words[k]);
                }
                for c in 0..N {
                    p.0[c] = T::one() / p.0[c];
                }
                if let Some(weights) = weights {
                    for c in 0..N {
                        p.0[c] *= weights[first + k];
                    }
                }
                for c in 0..N {
                    part.0[c] += p.0[c];
                }
                *x = p;
            }
        }
        for c in 0..N {
            sums.0[c] += part.0[c];
        }
    }
}
