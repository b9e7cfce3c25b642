//! The steps after a product of two-valued units, while the numbers are in the cache: σ(β(input + field)), a draw, its bit in
//! a word, the sums that statistics need, log(1 + e^…).

use super::panels::{Strip, WIDTH};
use crate::math::inverse_logistic;
use crate::real::Real;
use crate::rng::Key;
use crate::simd::dispatch;

/// Where the random numbers of a panel come from: row r has the numbers of chain `first` + r.
#[derive(Clone, Copy)]
pub struct Draw {
    /// Key of the half-step.
    pub key: Key,
    /// Number of the panel.
    pub panel: usize,
    /// Number of the first row's chain.
    pub first: u64,
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
    pub(super) fn draw<T>(level, x: &[Strip<T>], odds: Odds<T>, draw: Draw, out: &mut [u32]) => draw_body;
}

dispatch! {
    /// out[r] = Σ log(1 + e^z) + `low`·z over the first `width` bits' log odds z of row r; bits drawn from the same e^z.
    pub(super) fn log_norms<T>(level,
        x: &[Strip<T>], odds: Odds<T>, low: T, width: usize, out: &mut [f64], draw: Option<(Draw, &mut [u32])>,
    ) => log_norms_body;
}

dispatch! {
    /// Inputs of the first `width` columns, or of some more, become means, times the row's weight; `sums` takes their sum over
    /// rows. Bits are drawn from the same σ, if there is a place for them.
    pub(super) fn means<T>(level,
        x: &mut [Strip<T>], width: usize, field: &Strip<T>, weights: Option<&[T]>, sums: &mut Strip<T>,
        draw: Option<(Draw, &mut [u32])>,
    ) => means_body;
}

#[inline(always)]
fn ones<T: Real>() -> Strip<T> {
    Strip([T::one(); WIDTH])
}

/// 1/σ(z).
#[inline(always)]
fn inverse<T: Real>(mut z: Strip<T>) -> Strip<T> {
    for c in 0..WIDTH {
        z.0[c] = inverse_logistic(z.0[c]);
    }
    z
}

/// A bit of the first `N` is set if the uniform of its site is below σ = part/whole.
#[inline(always)]
fn bits<T: Real, const N: usize>(part: &Strip<T>, whole: &Strip<T>, words: &[u32; WIDTH]) -> u32 {
    let mut bits = 0;
    for (c, word) in words.iter().enumerate().take(N) {
        bits |= u32::from(T::from_word(*word) * whole.0[c] < part.0[c]) << c;
    }
    bits
}

/// Rows that draw their random numbers together.
const TOGETHER: usize = 2;

impl Draw {
    /// The random words of some rows.
    #[inline(always)]
    fn words(self, row: usize) -> [[u32; WIDTH]; TOGETHER] {
        let (chain, panel) = (self.first + row as u64, self.panel as u32);
        self.key.groups([(chain, panel), (chain + 1, panel)])
    }
}

#[inline(always)]
fn draw_body<T: Real>(x: &[Strip<T>], odds: Odds<T>, draw: Draw, out: &mut [u32]) {
    for (pair, (x, out)) in x.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).enumerate() {
        let words = draw.words(pair * TOGETHER);
        for (k, (x, out)) in x.iter().zip(out).enumerate() {
            *out = bits::<T, WIDTH>(&ones(), &inverse(odds.row(pair * TOGETHER + k, x)), &words[k]);
        }
    }
}

/// Rows whose logarithms are taken together: they do not depend on each other, so none delays the next.
const LOGS: usize = 8;
/// Numbers to which a row's terms, and its factors, are reduced before rows are combined.
const LANES: usize = WIDTH / 4;

/// log(1 + e^z) = max(z, 0) + log(1 + e^−|z|). A row's 32 factors 1 + e^−|z| are at most 2: their product is a number, and
/// one logarithm does for all.
#[inline(always)]
fn log_norms_body<T: Real>(
    x: &[Strip<T>],
    odds: Odds<T>,
    low: T,
    width: usize,
    out: &mut [f64],
    mut draw: Option<(Draw, &mut [u32])>,
) {
    for (block, (x, out)) in x.chunks(LOGS).zip(out.chunks_mut(LOGS)).enumerate() {
        let (mut sums, mut products) = ([[T::zero(); LANES]; LOGS], [[T::one(); LANES]; LOGS]);
        let mut words = [[0; WIDTH]; TOGETHER];
        for (k, x) in x.iter().enumerate() {
            let r = block * LOGS + k;
            let z = odds.row(r, x);
            let (part, whole) = fraction(&z);
            if let Some((draw, out)) = &mut draw {
                if k % TOGETHER == 0 {
                    words = draw.words(r);
                }
                out[r] = bits::<T, WIDTH>(&part, &whole, &words[k % TOGETHER]);
            }
            (sums[k], products[k]) = to_lanes(&z, &whole, low, width);
        }
        let mut total = [0.0; LOGS];
        for (total, (s, p)) in total.iter_mut().zip(sums.iter().zip(&products)) {
            let sum = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
            let product = ((p[0] * p[4]) * (p[2] * p[6])) * ((p[1] * p[5]) * (p[3] * p[7]));
            *total = sum.f64() + product.ln_flat().f64();
        }
        out.copy_from_slice(&total[..out.len()]);
    }
}

/// σ(z) as a fraction whose whole is 1 + e^−|z|.
#[inline(always)]
fn fraction<T: Real>(z: &Strip<T>) -> (Strip<T>, Strip<T>) {
    let (mut part, mut whole) = (ones(), ones());
    for c in 0..WIDTH {
        let e = (-z.0[c].abs()).exp_flat();
        part.0[c] = if z.0[c] >= T::zero() { T::one() } else { e };
        whole.0[c] += e;
    }
    (part, whole)
}

/// Terms max(z, 0) + `low`·z of the first `width` columns in [`LANES`] sums, and their factors in as many products.
#[inline(always)]
fn to_lanes<T: Real>(z: &Strip<T>, factors: &Strip<T>, low: T, width: usize) -> ([T; LANES], [T; LANES]) {
    let (mut t, mut f) = ([T::zero(); WIDTH], [T::one(); WIDTH]);
    for c in 0..WIDTH {
        let (term, factor) = (z.0[c].max(T::zero()) + low * z.0[c], factors.0[c]);
        t[c] = if c < width { term } else { T::zero() };
        f[c] = if c < width { factor } else { T::one() };
    }
    let (mut sums, mut products) = ([T::zero(); LANES], [T::one(); LANES]);
    for c in 0..LANES {
        let [d, e, g] = [c + LANES, c + 2 * LANES, c + 3 * LANES];
        sums[c] = (t[c] + t[e]) + (t[d] + t[g]);
        products[c] = (f[c] * f[e]) * (f[d] * f[g]);
    }
    (sums, products)
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
                    out[first + k] = bits::<T, N>(&ones(), &p, &words[k]);
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
