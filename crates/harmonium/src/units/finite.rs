//! Units given by a list of values. U(x) = −bias·(x − offset), Γ = log Σₓ e^{(η + I)x} over the list.

use super::{BIAS, Field, Scalar};
use crate::real::Real;

/// A unit with one bias and a few values; everything else follows from the list.
///
/// The formulas are sums over the list. A unit on a hot path implements [`Scalar`] itself, with formulas of its own.
pub trait Finite: Send + Sync {
    /// The values: finite and different from each other, two or more.
    const VALUES: &'static [f64];
}

/// How far a data value may be from the value it stands for: a text file may have 0.333 for ⅓.
const TOLERANCE: f64 = 1e-3;

impl<F: Finite> Scalar for F {
    const FIELDS: &'static [Field] = &[BIAS];
    const STATS: usize = 1;
    const STATES: Option<&'static [f64]> = Some(checked(F::VALUES));

    fn read<T: Real>(&self, value: T) -> Option<T> {
        let distance = |x: &f64| (x - value.f64()).abs();
        let nearest = F::VALUES.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(&nearest) <= TOLERANCE).then_some(T::of(nearest))
    }
    fn domain(&self) -> String {
        let digits = |x: &f64| ((x * 1e4).round() / 1e4).to_string();
        let mut values: Vec<String> = F::VALUES.iter().map(digits).collect();
        let last = values.pop().unwrap_or_default();
        format!("{} or {last}", values.join(", "))
    }
    /// Solves ⟨x⟩ = m, where m is the mean with one row added that has every value equally. ⟨x⟩ grows with the bias.
    fn fit(&self, means: [f64; 2], rows: f64, _: f64) -> [f64; 2] {
        let (values, [low, high]) = (F::VALUES, ends::<F>());
        let spread = values.iter().sum::<f64>() / values.len() as f64;
        let target = (means[0] * rows + spread) / (rows + 1.0);
        let mean = |bias: f64| self.mean_stats([bias, 0.0], 0.0)[0];
        // At bias·(high − low) = 700 the smallest weight is the smallest number.
        let (mut from, mut to) = (-700.0 / (high - low), 700.0 / (high - low));
        // Each step halves the interval; after 64 it is as small as a number can tell.
        for _ in 0..64 {
            let middle = 0.5 * (from + to);
            if mean(middle) < target { from = middle } else { to = middle }
        }
        [0.5 * (from + to), 0.0]
    }
    fn stats<T: Real>(&self, x: T) -> [T; 2] {
        [x, T::zero()]
    }
    fn log_norm<T: Real>(&self, eta: [T; 2], input: T) -> T {
        let x = eta[0] + input;
        x * T::of(likeliest::<F, T>(x)) + weights::<F, T>(x).map(|w| w.1).sum::<T>().ln()
    }
    fn mean_stats<T: Real>(&self, eta: [T; 2], input: T) -> [T; 2] {
        let (mut sum, mut total) = (T::zero(), T::zero());
        for (value, weight) in weights::<F, T>(eta[0] + input) {
            (sum, total) = (sum + value * weight, total + weight);
        }
        [sum / total, T::zero()]
    }
    /// The last value first, as u grows: so two values are drawn as the kernels draw bits.
    fn sample<T: Real>(&self, eta: [T; 2], input: T, u: [T; 2]) -> T {
        let x = eta[0] + input;
        let threshold = u[0] * weights::<F, T>(x).map(|w| w.1).sum::<T>();
        let mut cumulative = T::zero();
        let drawn = weights::<F, T>(x).rev().find(|(_, weight)| {
            cumulative += *weight;
            threshold < cumulative
        });
        // Where rounding has passed the end, it is the first value.
        drawn.map_or(T::of(F::VALUES[0]), |(value, _)| value)
    }
}

/// Each value x with its weight e^{(η + I)(x − x*)}, where x* is the likeliest: no weight overflows, and one is 1.
fn weights<F: Finite, T: Real>(field: T) -> impl DoubleEndedIterator<Item = (T, T)> {
    let likeliest = likeliest::<F, T>(field);
    F::VALUES.iter().map(move |x| (T::of(*x), (field * T::of(x - likeliest)).exp()))
}

/// The largest value if the field is positive, otherwise the smallest.
fn likeliest<F: Finite, T: Real>(field: T) -> f64 {
    ends::<F>()[usize::from(field >= T::zero())]
}

/// The smallest and the largest value.
fn ends<F: Finite>() -> [f64; 2] {
    F::VALUES.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)])
}

/// The list, if it is one of values; otherwise compilation fails.
const fn checked(values: &'static [f64]) -> &'static [f64] {
    assert!(values.len() > 1, "a unit needs two or more values");
    let mut i = 0;
    while i < values.len() {
        assert!(values[i].is_finite(), "every value of a unit is a finite number");
        let mut k = 0;
        while k < i {
            assert!(values[k] != values[i], "the values of a unit differ from each other");
            k += 1;
        }
        i += 1;
    }
    values
}
