//! A unit with the values −⅓, 2, ½ and −1: not sorted, not evenly spaced, and not all of them exact binary numbers.

use super::{Finite, Options, Spec};
use crate::error::Result;

/// A unit with four uneven values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven;

impl Finite for Uneven {
    const VALUES: &'static [f64] = &[-1.0 / 3.0, 2.0, 0.5, -1.0];
}

impl Spec for Uneven {
    const NAME: &'static str = "uneven";
    const ABOUT: &'static str = "four values, -1/3, 2, 1/2 or -1";
    fn from_options(_: &mut Options) -> Result<Self> {
        Ok(Uneven)
    }
    fn examples() -> Vec<Self> {
        vec![Uneven]
    }
}
