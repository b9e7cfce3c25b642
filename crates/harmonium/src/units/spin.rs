//! Spin unit, x ∈ {−1, +1}: U(x) = −bias·(x − offset), Γ = log 2cosh(η + I), ⟨x⟩ = tanh(η + I).

use super::{BIAS, Field, Options, Scalar, Spec, slice_of};
use crate::error::Result;
use crate::math::{draw_row, logistic, logistic_row, softplus, sum_softplus};
use crate::real::Real;
use ndarray::ArrayView2;

/// A binary unit with values −1 and +1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin;

impl Spec for Spin {
    const NAME: &'static str = "spin";
    const ABOUT: &'static str = "binary, -1 or +1";
    fn from_options(_: &mut Options) -> Result<Self> {
        Ok(Spin)
    }
    fn examples() -> Vec<Self> {
        vec![Spin]
    }
}

impl Scalar for Spin {
    const FIELDS: &'static [Field] = &[BIAS];
    const STATS: usize = 1;
    const STATES: Option<&'static [f64]> = Some(&[-1.0, 1.0]);
    fn read<T: Real>(&self, value: T) -> Option<T> {
        (value.abs() == T::one()).then_some(value)
    }
    fn domain(&self) -> String {
        "-1 or +1".into()
    }
    /// artanh⟨x⟩, with half a row of each value added.
    fn fit(&self, means: [f64; 2], rows: f64, _: f64) -> [f64; 2] {
        [(means[0] * rows / (rows + 1.0)).atanh(), 0.0]
    }
    fn stats<T: Real>(&self, x: T) -> [T; 2] {
        [x, T::zero()]
    }
    fn log_norm<T: Real>(&self, eta: [T; 2], input: T) -> T {
        let x = (eta[0] + input).abs();
        x + softplus(T::of(-2.0) * x)
    }
    fn mean_stats<T: Real>(&self, eta: [T; 2], input: T) -> [T; 2] {
        [(eta[0] + input).tanh(), T::zero()]
    }
    fn sample<T: Real>(&self, eta: [T; 2], input: T, u: [T; 2]) -> T {
        if u[0] < logistic(T::of(2.0) * (eta[0] + input)) { T::one() } else { -T::one() }
    }
    /// log 2cosh(x) = softplus(2x) − x.
    fn log_norm_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        let mut copy = Vec::new();
        let field = slice_of(eta.row(0), &mut copy);
        let sum: f64 = field.iter().zip(input).map(|(&e, &x)| (e + x).f64()).sum();
        sum_softplus(field, input, T::of(2.0)) - sum
    }
    fn means_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        logistic_row(slice_of(eta.row(0), &mut Vec::new()), input, T::of(2.0), -T::one(), T::one(), x);
    }
    fn sample_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        draw_row(slice_of(eta.row(0), &mut Vec::new()), input, T::of(2.0), -T::one(), T::one(), u, x);
    }
}
