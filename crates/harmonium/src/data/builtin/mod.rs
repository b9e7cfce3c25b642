//! Built-in data: `builtin:NAME` or `builtin:NAME:ARGUMENT`, embedded or generated, always the same numbers.
//!
//! **To add one: write its file, add its line to [`BUILTINS`].**

mod bars;

use super::{Memory, Source};
use crate::error::{Error, Result};

/// A data set that needs no file.
pub struct Builtin {
    /// Its name behind `builtin:`.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// The kind of visible unit it suits.
    pub visible: &'static str,
    /// Makes it; the argument stands behind the name and a colon. A refusal says what the argument may be.
    pub make: fn(argument: Option<&str>) -> std::result::Result<Memory, String>,
}

/// The list.
pub const BUILTINS: &[Builtin] = &[Builtin {
    name: "bars",
    about: "bars and stripes on K × K pixels, each pattern once; bars:K, default 3",
    visible: "bernoulli",
    make: bars::make,
}];

/// The entry a data argument names, if it begins with `builtin:`.
pub fn find(spec: &str) -> Option<Result<(&'static Builtin, Option<&str>)>> {
    let rest = spec.strip_prefix("builtin:")?;
    let (name, argument) = rest.split_once(':').map_or((rest, None), |(name, argument)| (name, Some(argument)));
    Some(BUILTINS.iter().find(|b| b.name == name).map(|b| (b, argument)).ok_or_else(|| {
        let known: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
        let problem = format!("no built-in data has this name; known are {}", known.join(", "));
        Error::Data { path: spec.into(), problem }
    }))
}

/// Makes built-in data.
pub(super) fn open(spec: &str, builtin: &Builtin, argument: Option<&str>) -> Result<Box<dyn Source>> {
    match (builtin.make)(argument) {
        Ok(memory) => Ok(Box::new(memory)),
        Err(problem) => Err(Error::Data { path: spec.into(), problem }),
    }
}

/// The size an argument states, or `default`.
fn size(
    argument: Option<&str>,
    default: usize,
    range: std::ops::RangeInclusive<usize>,
) -> std::result::Result<usize, String> {
    let Some(text) = argument else { return Ok(default) };
    let number = text.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| {
        let (text, low, high) = (super::shown(text), range.start(), range.end());
        format!("the size is '{text}', but must be a whole number from {low} to {high}")
    })
}
