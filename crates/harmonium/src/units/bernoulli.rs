//! Bernoulli unit, x ∈ {0, 1}: U(x) = −bias·(x − offset), Γ = softplus(η + I), ⟨x⟩ = σ(η + I).
//!
//! Schlüter 2014, section 2. Values between 0 and 1 are accepted as data: probabilities of a 1.

use super::{BIAS, Field, Options, Scalar, Spec, slice_of};
use crate::error::Result;
use crate::math::{draw_row, logistic, logistic_row, softplus, sum_softplus};
use crate::real::Real;
use ndarray::ArrayView2;

/// A binary unit with values 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bernoulli;

impl Spec for Bernoulli {
    const NAME: &'static str = "bernoulli";
    const ABOUT: &'static str = "binary, 0 or 1";
    fn from_options(_: &mut Options) -> Result<Self> {
        Ok(Bernoulli)
    }
    fn examples() -> Vec<Self> {
        vec![Bernoulli]
    }
}

impl Scalar for Bernoulli {
    const FIELDS: &'static [Field] = &[BIAS];
    const STATS: usize = 1;
    const STATES: Option<&'static [f64]> = Some(&[0.0, 1.0]);
    fn read<T: Real>(&self, value: T) -> Option<T> {
        (T::zero()..=T::one()).contains(&value).then_some(value)
    }
    fn domain(&self) -> String {
        "a number from 0 to 1".into()
    }
    /// log p/(1−p), with half a row of each value added.
    fn fit(&self, means: [f64; 2], rows: f64, _: f64) -> [f64; 2] {
        let p = (means[0] * rows + 0.5) / (rows + 1.0);
        [(p / (1.0 - p)).ln(), 0.0]
    }
    fn stats<T: Real>(&self, x: T) -> [T; 2] {
        [x, T::zero()]
    }
    fn log_norm<T: Real>(&self, eta: [T; 2], input: T) -> T {
        softplus(eta[0] + input)
    }
    fn mean_stats<T: Real>(&self, eta: [T; 2], input: T) -> [T; 2] {
        [logistic(eta[0] + input), T::zero()]
    }
    fn sample<T: Real>(&self, eta: [T; 2], input: T, u: [T; 2]) -> T {
        if u[0] < logistic(eta[0] + input) { T::one() } else { T::zero() }
    }
    fn log_norm_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        sum_softplus(slice_of(eta.row(0), &mut Vec::new()), input, T::one())
    }
    fn means_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        logistic_row(slice_of(eta.row(0), &mut Vec::new()), input, T::one(), T::zero(), T::one(), x);
    }
    fn sample_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        draw_row(slice_of(eta.row(0), &mut Vec::new()), input, T::one(), T::zero(), T::one(), u, x);
    }
}
