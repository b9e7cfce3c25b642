//! Convergence diagnostics of chains: rank-normalised split R̂, bulk and tail effective sample size, and the standard error of
//! the mean (Vehtari, Gelman, Simpson, Carpenter and Bürkner, *Rank-normalization, folding, and
//! localization: an improved R̂ for assessing convergence of MCMC*, 2021), with ArviZ's conventions.
//!
//! Draws are arrays of chains × draws. The result is `None` for fewer than four draws and for numbers that are not finite; R̂ is
//! also `None` if nothing varies.

use crate::averages::{mean, median, variance};
use crate::lags::lagged_sums;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};

/// Fewest draws: half a chain has two.
const LEAST_DRAWS: usize = 4;
/// A range below which all draws are considered equal, as in ArviZ.
const SAME: f64 = 1e-15;
/// The quantiles whose effective sample sizes make up the tail ESS.
const TAILS: [f64; 2] = [0.05, 0.95];

/// R̂ of at least two chains: √(variance of all draws / variance within half chains), the larger of that of the normal scores of
/// the draws (do the chains agree in location?) and of their distances from the median (in scale?).
pub fn r_hat(draws: ArrayView2<f64>) -> Option<f64> {
    let halves = halves(draws)?;
    if draws.nrows() < 2 {
        return None;
    }
    let middle = median(&flat(halves.view()));
    let bulk = variance_ratio(scores(halves.view()).view())?;
    let folded = variance_ratio(scores(halves.mapv(|x| (x - middle).abs()).view()).view());
    Some(folded.map_or(bulk, |folded| folded.max(bulk)))
}

/// Bulk effective sample size: that of the mean of the normal scores of the draws.
pub fn ess_bulk(draws: ArrayView2<f64>) -> Option<f64> {
    Some(effective_size(scores(halves(draws)?.view()).view()))
}

/// Tail effective sample size: the smaller of those of the 5 % and 95 % quantiles.
pub fn ess_tail(draws: ArrayView2<f64>) -> Option<f64> {
    let mut sorted = flat(draws);
    sorted.sort_by(f64::total_cmp);
    let sizes = TAILS.map(|p| {
        let below = draws.mapv(|x| f64::from(u8::from(x <= quantile(&sorted, p))));
        halves(draws).and(halves(below.view())).map(|h| effective_size(h.view()))
    });
    Some(sizes[0]?.min(sizes[1]?))
}

/// Effective sample size for the mean of the draws.
pub fn ess_mean(draws: ArrayView2<f64>) -> Option<f64> {
    Some(effective_size(halves(draws)?.view()))
}

/// Standard error of the mean of all draws.
pub fn mcse_mean(draws: ArrayView2<f64>) -> Option<f64> {
    Some((variance(&flat(draws)) / ess_mean(draws)?).sqrt())
}

/// First and last halves of all chains as chains; the middle of an odd number of draws is dropped.
fn halves(draws: ArrayView2<f64>) -> Option<Array2<f64>> {
    let (n, half) = (draws.ncols(), draws.ncols() / 2);
    if n < LEAST_DRAWS || draws.nrows() == 0 || !draws.iter().all(|x| x.is_finite()) {
        return None;
    }
    concatenate(Axis(0), &[draws.slice(s![.., ..half]), draws.slice(s![.., n - half..])]).ok()
}

/// All numbers, one chain after another.
fn flat(x: ArrayView2<f64>) -> Vec<f64> {
    x.iter().copied().collect()
}

/// `f` of every chain.
fn of_chains(chains: ArrayView2<f64>, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    chains.rows().into_iter().map(|chain| f(&chain.to_vec())).collect()
}

/// √((B/W + n − 1)/n), with W the mean variance within chains of n draws and B/n that of their means.
fn variance_ratio(chains: ArrayView2<f64>) -> Option<f64> {
    let n = chains.ncols() as f64;
    let between = n * variance(&of_chains(chains, mean));
    let within = mean(&of_chains(chains, variance));
    let ratio = ((between / within + n - 1.0) / n).sqrt();
    (!ratio.is_nan()).then_some(ratio)
}

/// Number of draws divided by their autocorrelation time, which is at least 1/log₁₀ of their number: negatively correlated draws
/// may exceed independent ones, but not without limit. ρ is relative to the variance of all chains together, so that chains in
/// different modes have a small effective size.
fn effective_size(chains: ArrayView2<f64>) -> f64 {
    let size = chains.len() as f64;
    let (low, high) = chains.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    if high - low < SAME { size } else { size / summed(&correlations(chains)).max(1.0 / size.log10()) }
}

/// 1 − (W − c_t)/V for every lag t, with c_t the mean autocovariance at that lag, W the mean variance within chains, and V the
/// variance of all draws.
fn correlations(chains: ArrayView2<f64>) -> Vec<f64> {
    let (m, n) = chains.dim();
    let means = of_chains(chains, mean);
    let mut covariance = vec![0.0; n];
    for (chain, mean) in chains.rows().into_iter().zip(&means) {
        let sums = lagged_sums(&chain.mapv(|x| x - mean).to_vec());
        covariance.iter_mut().zip(sums).for_each(|(c, s)| *c += s / (m * n) as f64);
    }
    let within = covariance[0] * n as f64 / (n as f64 - 1.0);
    let all = covariance[0] + variance(&means);
    let rho = |(t, c): (usize, &f64)| if t == 0 { 1.0 } else { 1.0 - (within - c) / all };
    covariance.iter().enumerate().map(rho).collect()
}

/// −1 + 2 Σ (ρ_2k + ρ_2k+1), summed while these pairs are positive, each at most as large as the pair before (Geyer, *Practical
/// Markov chain Monte Carlo*, 1992). As in ArviZ, the first term of the pair that ends the sum counts once if it is positive.
fn summed(rho: &[f64]) -> f64 {
    let (mut sum, mut k) = (-1.0, 0);
    let (mut pair, mut least) = (rho[0] + rho[1], f64::MAX);
    while 2 * k + 4 < rho.len() && pair > 0.0 {
        least = least.min(pair);
        sum += 2.0 * least;
        k += 1;
        pair = rho[2 * k] + rho[2 * k + 1];
    }
    sum + if pair < 0.0 { rho[2 * k].max(0.0) } else { rho[2 * k] }
}

/// Normal scores Φ⁻¹((r − 3/8)/(N + 1/4)) with r the rank among all N numbers; ties share their mean rank (Blom, 1958).
fn scores(x: ArrayView2<f64>) -> Array2<f64> {
    let flat = flat(x);
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_by(|a, b| flat[*a].total_cmp(&flat[*b]));
    let mut out = vec![0.0; flat.len()];
    let mut first = 0;
    for group in order.chunk_by(|a, b| flat[*a] == flat[*b]) {
        let rank = first as f64 + 0.5 * (group.len() + 1) as f64;
        let score = normal_quantile((rank - 0.375) / (flat.len() as f64 + 0.25));
        group.iter().for_each(|i| out[*i] = score);
        first += group.len();
    }
    Array2::from_shape_fn(x.dim(), |(r, c)| out[r * x.ncols() + c])
}

/// The p quantile of sorted numbers by linear interpolation (type 7 of Hyndman and Fan, 1996).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    if n < 2 {
        return sorted.first().copied().unwrap_or(f64::NAN);
    }
    let place = n as f64 * p + (1.0 - p);
    let k = place.clamp(1.0, (n - 1) as f64).floor();
    let part = (place - k).clamp(0.0, 1.0);
    (1.0 - part) * sorted[k as usize - 1] + part * sorted[k as usize]
}

/// Φ⁻¹(p) for 0 < p < 1 by rational functions, to 16 digits (Wichura, *Algorithm AS 241: the percentage points of the normal
/// distribution*, 1988).
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180625 - q * q);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let x = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    x.copysign(q)
}

/// A quotient of two polynomials of x, coefficients from the constant up.
fn ratio(coefficients: &[[f64; 8]; 2], x: f64) -> f64 {
    let [above, below] = coefficients.map(|c| c.iter().rev().fold(0.0, |sum, c| sum * x + c));
    above / below
}

/// |p − ½| ≤ 0.425.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
/// √(−ln p) ≤ 5.
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
/// Beyond.
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];
