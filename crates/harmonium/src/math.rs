//! σ(x) = 1/(1+e⁻ˣ), softplus(x) = log(1+eˣ) and log Σ eˣ, for one number and for long rows.

use crate::elementary::exp_flat_f64;
use crate::real::Real;
use crate::simd::dispatch;

/// softplus(x) = log(1 + eˣ), without overflow.
pub(crate) fn softplus<T: Real>(x: T) -> T {
    x.max(T::zero()) + (-x.abs()).exp().ln_1p()
}

/// σ(x) = 1/(1 + e⁻ˣ), without overflow and with full relative precision in the left tail.
pub(crate) fn logistic<T: Real>(x: T) -> T {
    let e = (-x.abs()).exp();
    let p = T::one() / (T::one() + e);
    if x >= T::zero() { p } else { e * p }
}

/// log Σ exp(xₖ), shifted by the largest term; −∞ for no terms.
pub fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + x.map(|v| (v - max).exp()).sum::<f64>().ln()
}

dispatch! {
    /// exp(xₖ − shift) for a whole row.
    pub(crate) fn exp_row(x: &[f64], shift: f64, out: &mut [f64]) => exp_row_body;
}

#[inline(always)]
fn exp_row_body(x: &[f64], shift: f64, out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = exp_flat_f64(x - shift);
    }
}

/// A standard normal number from two uniforms in (0, 1) (Box and Muller, 1958): √(−2 log u₀) cos 2πu₁.
#[inline(always)]
pub fn normal<T: Real>(u: [T; 2]) -> T {
    // cos 2πu = sin 2π(|u − ½| − ¼), whose argument is within a quarter turn.
    let turns = (u[1] - T::of(0.5)).abs() - T::of(0.25);
    (T::of(-2.0) * u[0].ln_flat()).sqrt() * turns.sin_turns()
}

dispatch! {
    /// A draw from N((a + b)σ², σ²) for a whole row: `u` has two uniforms for each number, and `c` is −1/2σ².
    pub(crate) fn draw_normal_row<T>(a: &[T], b: &[T], c: &[T], u: &[T], out: &mut [T]) => draw_normal_row_body;
}

#[inline(always)]
fn draw_normal_row_body<T: Real>(a: &[T], b: &[T], c: &[T], u: &[T], out: &mut [T]) {
    for ((((a, b), c), u), out) in a.iter().zip(b).zip(c).zip(u.chunks_exact(2)).zip(out) {
        let variance = (T::of(-2.0) * *c).recip();
        *out = (*a + *b) * variance + normal([u[0], u[1]]) * variance.sqrt();
    }
}

dispatch! {
    /// Σᵢ softplus(scale·(aᵢ + bᵢ)), in f64: one exponential per term, one logarithm per 512 terms.
    ///
    /// softplus(x) = max(x, 0) + log(1 + e^−|x|), and a product of 512 factors in [1, 2] stays below 2⁵¹².
    pub(crate) fn sum_softplus<T>(a: &[T], b: &[T], scale: T) -> f64 => sum_softplus_body;
}

#[inline(always)]
fn sum_softplus_body<T: Real>(a: &[T], b: &[T], scale: T) -> f64 {
    const LANES: usize = 8;
    let (mut linear, mut logs) = (0.0, 0.0);
    for (a, b) in a.chunks(64 * LANES).zip(b.chunks(64 * LANES)) {
        let (mut lin, mut prod) = ([0.0; LANES], [1.0; LANES]);
        let (mut a8, mut b8) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        for (a, b) in (&mut a8).zip(&mut b8) {
            for k in 0..LANES {
                let x = (scale * (a[k] + b[k])).f64();
                lin[k] += x.max(0.0);
                prod[k] *= 1.0 + exp_flat_f64(-x.abs());
            }
        }
        for (k, (a, b)) in a8.remainder().iter().zip(b8.remainder()).enumerate() {
            let x = (scale * (*a + *b)).f64();
            lin[k] += x.max(0.0);
            prod[k] *= 1.0 + exp_flat_f64(-x.abs());
        }
        linear += lin.iter().sum::<f64>();
        logs += prod.iter().product::<f64>().ln();
    }
    linear + logs
}

/// 1/σ(x) = 1 + e⁻ˣ, branch-free; with full relative precision in the left tail of σ.
#[inline(always)]
pub(crate) fn inverse_logistic<T: Real>(x: T) -> T {
    T::one() + (-x).exp_flat()
}

dispatch! {
    /// outᵢ = low + (high − low)·σ(scale·(aᵢ + bᵢ)): the mean of a two-valued unit, for a whole row.
    pub(crate) fn logistic_row<T>(a: &[T], b: &[T], scale: T, low: T, high: T, out: &mut [T]) => logistic_row_body;
}

#[inline(always)]
fn logistic_row_body<T: Real>(a: &[T], b: &[T], scale: T, low: T, high: T, out: &mut [T]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = low + (high - low) / inverse_logistic(scale * (*a + *b));
    }
}

dispatch! {
    /// outᵢ = high where uᵢ < σ(scale·(aᵢ + bᵢ)), else low: a draw of a two-valued unit, for a whole row. Multiplying by 1/σ
    /// saves a division.
    pub(crate) fn draw_row<T>(a: &[T], b: &[T], scale: T, low: T, high: T, u: &[T], out: &mut [T]) => draw_row_body;
}

#[inline(always)]
fn draw_row_body<T: Real>(a: &[T], b: &[T], scale: T, low: T, high: T, u: &[T], out: &mut [T]) {
    for (((a, b), u), out) in a.iter().zip(b).zip(u).zip(out) {
        *out = if *u * inverse_logistic(scale * (*a + *b)) < T::one() { high } else { low };
    }
}

/// Partial sums: enough that no addition depends on the one before.
const SUMS: usize = 16;

dispatch! {
    /// Σ aᵢ bᵢ in f64, the same bits on every instruction set.
    pub(crate) fn dot<A, B>(a: &[A], b: &[B]) -> f64 => dot_body;
}

#[inline(always)]
fn dot_body<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    sum_of(a, b, |a, b| a.f64() * b.f64())
}

dispatch! {
    /// Σ aᵢ bᵢ in the numbers' own precision, the same bits on every instruction set.
    pub(crate) fn own_dot<T>(a: &[T], b: &[T]) -> T => own_dot_body;
}

#[inline(always)]
fn own_dot_body<T: Real>(a: &[T], b: &[T]) -> T {
    sum_of(a, b, |a, b| a * b)
}

#[inline(always)]
fn sum_of<A: Real, B: Real, S: Real>(a: &[A], b: &[B], term: impl Fn(A, B) -> S) -> S {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    let mut sums = [S::zero(); SUMS];
    for (a, b) in a.iter().zip(b) {
        for k in 0..SUMS {
            sums[k] += term(a[k], b[k]);
        }
    }
    let rest: S = a_rest.iter().zip(b_rest).map(|(a, b)| term(*a, *b)).sum();
    in_pairs(&sums) + rest
}

/// The sum of all in pairs, because sequential additions would depend on each other. Not inlined, because the compiler would then
/// make the loop before it as narrow as the last pair.
#[inline(never)]
fn in_pairs<T: Real>(s: &[T; SUMS]) -> T {
    let four = |k: usize| (s[k] + s[k + 8]) + (s[k + 4] + s[k + 12]);
    (four(0) + four(2)) + (four(1) + four(3))
}

dispatch! {
    /// yᵢ += a·xᵢ in f64.
    pub(crate) fn add_scaled<T>(a: f64, x: &[T], y: &mut [f64]) => add_scaled_body;
}

#[inline(always)]
fn add_scaled_body<T: Real>(a: f64, x: &[T], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x.f64();
    }
}

dispatch! {
    /// yᵢ += a·xᵢ.
    pub(crate) fn add_times<T>(a: T, x: &[T], y: &mut [T]) => add_times_body;
}

#[inline(always)]
fn add_times_body<T: Real>(a: T, x: &[T], y: &mut [T]) {
    let step = |x: &[T], y: &mut [T]| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * *x);
    // Writes start at a cache line: a register that spans two lines takes twice as long.
    let first = y.as_ptr().align_offset(64).min(y.len()).min(x.len());
    step(&x[..first], &mut y[..first]);
    step(&x[first..], &mut y[first..]);
}

dispatch! {
    /// yᵢ += Σᵣ aᵣwᵣᵢ, with the result of [`add_times`] for one row of w after another; four rows at a time read and write y once.
    pub(crate) fn add_rows<T>(a: &[T], w: &[T], y: &mut [T]) => add_rows_body;
}

#[inline(always)]
fn add_rows_body<T: Real>(a: &[T], w: &[T], y: &mut [T]) {
    let n = y.len().max(1);
    let (fours, rest) = a.as_chunks::<4>();
    for (a, w) in fours.iter().zip(w.chunks_exact(4 * n)) {
        let ([b, c], [d, e]) = ([&w[..n], &w[n..2 * n]], [&w[2 * n..3 * n], &w[3 * n..]]);
        for ((((y, b), c), d), e) in y.iter_mut().zip(b).zip(c).zip(d).zip(e) {
            *y = (((*y + a[0] * *b) + a[1] * *c) + a[2] * *d) + a[3] * *e;
        }
    }
    for (a, w) in rest.iter().zip(w.chunks_exact(n).skip(4 * fours.len())) {
        add_times(*a, w, y);
    }
}

dispatch! {
    /// xᵢ −= a·yᵢ + b·zᵢ.
    pub(crate) fn subtract_two<T>(x: &mut [T], a: T, y: &[T], b: T, z: &[T]) => subtract_two_body;
}

#[inline(always)]
fn subtract_two_body<T: Real>(x: &mut [T], a: T, y: &[T], b: T, z: &[T]) {
    for ((x, y), z) in x.iter_mut().zip(y).zip(z) {
        *x -= a * *y + b * *z;
    }
}

dispatch! {
    /// cᵢ becomes cᵢ·a·sᵢ and vᵢ −= wᵢcᵢ; returns Σ wᵢcᵢ. One pass for all three.
    pub(crate) fn shrink_row<T>(c: &mut [T], w: &[T], a: T, s: &[T], v: &mut [T]) -> T => shrink_row_body;
}

#[inline(always)]
fn shrink_row_body<T: Real>(c: &mut [T], w: &[T], a: T, s: &[T], v: &mut [T]) -> T {
    let mut sums = [T::zero(); SUMS];
    for (((c, w), s), v) in c.chunks_mut(SUMS).zip(w.chunks(SUMS)).zip(s.chunks(SUMS)).zip(v.chunks_mut(SUMS)) {
        // With a constant length the compiler unrolls the loop.
        let n = c.len();
        if n == SUMS && w.len() == n && s.len() == n && v.len() == n {
            shrink_part(&mut c[..SUMS], &w[..SUMS], a, &s[..SUMS], &mut v[..SUMS], &mut sums)
        } else {
            shrink_part(c, w, a, s, v, &mut sums)
        }
    }
    sums.into_iter().sum()
}

#[inline(always)]
fn shrink_part<T: Real>(c: &mut [T], w: &[T], a: T, s: &[T], v: &mut [T], sums: &mut [T; SUMS]) {
    for ((((c, w), s), v), sum) in c.iter_mut().zip(w).zip(s).zip(v).zip(sums) {
        let product = *w * *c;
        *sum += product;
        *v -= product;
        *c *= a * *s;
    }
}

dispatch! {
    /// outᵢ = wᵢ·a·sᵢ, in f64 until the end.
    pub(crate) fn scale_row<T>(w: &[T], a: f64, s: &[f64], out: &mut [T]) => scale_row_body;
}

#[inline(always)]
fn scale_row_body<T: Real>(w: &[T], a: f64, s: &[f64], out: &mut [T]) {
    for ((w, s), out) in w.iter().zip(s).zip(out) {
        *out = T::of(w.f64() * a * s);
    }
}

dispatch! {
    /// Whether every number is finite.
    pub(crate) fn all_finite<T>(x: &[T]) -> bool => all_finite_body;
}

#[inline(always)]
fn all_finite_body<T: Real>(x: &[T]) -> bool {
    // 0·x is 0 for a finite number and NaN otherwise, and a sum with NaN is NaN. Without branches this compiles to SIMD code.
    let mut sums = [T::zero(); SUMS];
    let mut chunks = x.chunks_exact(SUMS);
    for x in &mut chunks {
        for k in 0..SUMS {
            sums[k] += T::zero() * x[k];
        }
    }
    sums.iter().chain(chunks.remainder()).all(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_agree_with_single_numbers_at_every_length() {
        for n in [0, 1, 7, 8, 9, 511, 512, 513, 1300] {
            let a: Vec<f64> = (0..n).map(|i| ((i * 37) % 101) as f64 - 50.0).collect();
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 3.0).collect();
            let want: f64 = a.iter().zip(&b).map(|(a, b)| softplus(2.0 * (a + b))).sum();
            assert!((sum_softplus(&a, &b, 2.0) - want).abs() <= 1e-13 * want.abs().max(1.0), "{n}");
            let mut out = vec![0.0; n];
            logistic_row(&a, &b, 2.0, -1.0, 1.0, &mut out);
            for i in 0..n {
                assert!((out[i] - (a[i] + b[i]).tanh()).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn sums_of_products_agree_with_plain_loops_at_every_length() {
        for n in [0, 1, 15, 16, 17, 100] {
            let a: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.11).cos()).collect();
            let want: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * b).sum();
            assert!((dot(&a, &b) - want).abs() < 1e-14 * (1.0 + n as f64));
            let narrow: Vec<f32> = b.iter().map(|b| *b as f32).collect();
            assert!((f64::from(own_dot(&a, &narrow)) - want).abs() < 1e-6 * (1.0 + (n as f64).sqrt()));
            let mut y = b.clone();
            add_scaled(0.5, &a, &mut y);
            assert!(y.iter().zip(&a).zip(&b).all(|((y, a), b)| *y == b + 0.5 * f64::from(*a)));
            for rows in 1..=9 {
                let w: Vec<f32> = (0..rows * n).map(|i| (i as f32 * 0.7).sin()).collect();
                let scales: Vec<f32> = (0..rows).map(|r| 0.3 * r as f32 - 0.5).collect();
                let (mut y, mut want) = (narrow.clone(), narrow.clone());
                add_rows(&scales, &w, &mut y);
                for (w, a) in w.chunks_exact(n.max(1)).zip(&scales) {
                    want.iter_mut().zip(w).for_each(|(y, w)| *y += a * w);
                }
                assert_eq!(y, want, "{rows} x {n}");
            }
            assert!(all_finite(&a));
            for (i, bad) in (0..n).zip([f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().cycle()) {
                let mut a = a.clone();
                a[i] = bad;
                assert!(!all_finite(&a), "{bad} at {i} of {n}");
            }
        }
    }

    #[test]
    fn normals_are_finite_at_the_ends_of_the_uniforms() {
        let (lo, hi) = (f32::uniform([0, 0]), f32::uniform([u32::MAX; 2]));
        for u in [[lo, lo], [lo, hi], [hi, lo], [hi, hi]] {
            assert!(normal(u).is_finite() && normal(u).abs() < 6.0);
        }
    }

    /// The tail on the left is e^x, to full relative precision: rare events keep their odds.
    #[test]
    fn small_probabilities_are_relatively_exact() {
        for x in [-20.0f64, -40.0, -300.0] {
            assert!((logistic(x) / x.exp() - 1.0).abs() < 1e-8, "{x}");
            let mut row = [0.0];
            logistic_row(&[x], &[0.0], 1.0, 0.0, 1.0, &mut row);
            assert!((row[0] / x.exp() - 1.0).abs() < 1e-8, "{x}");
        }
    }

    #[test]
    fn extreme_inputs_stay_finite() {
        for x in [1e4f64, -1e4, 1e-310, 0.0, -0.0] {
            assert_eq!(softplus(x), if x > 1.0 { x } else { softplus(x) });
            assert!(softplus(x).is_finite() && (0.0..=1.0).contains(&logistic(x)));
            assert!((sum_softplus(&[x], &[0.0], 1.0) - softplus(x)).abs() < 1e-12);
        }
        assert_eq!(log_sum_exp([].into_iter()), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp([1e4, 1e4].into_iter()), 1e4 + 2f64.ln());
    }
}
