//! Ternary unit, x ∈ {−1, 0, +1}: U(x) = −bias·(x − offset), Γ = log(1 + 2cosh(η + I)).

use super::{Finite, Options, Spec};
use crate::error::Result;

/// A unit with the values −1, 0 and +1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ternary;

impl Finite for Ternary {
    const VALUES: &'static [f64] = &[-1.0, 0.0, 1.0];
}

impl Spec for Ternary {
    const NAME: &'static str = "ternary";
    const ABOUT: &'static str = "three values, -1, 0 or 1";
    fn from_options(_: &mut Options) -> Result<Self> {
        Ok(Ternary)
    }
    fn examples() -> Vec<Self> {
        vec![Ternary]
    }
}
