//! Built-in data: `builtin:NAME` or `builtin:NAME:ARGUMENT`, embedded or generated, always with the same numbers.
//!
//! **To add one: write its file, add its line to [`BUILTINS`].**

mod bars;
mod digits;
mod ising;
mod planar;
mod shifter;

use super::{Memory, Source, shown};
use crate::error::{Error, Result, nearest};
use crate::rng::{Key, Purpose};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;

/// A data set that needs no file.
pub struct Builtin {
    /// Its name after `builtin:`.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// The kind of visible units for it.
    pub(crate) visible: &'static str,
    /// Makes it. The argument follows the name and a colon; an error states what it may be.
    make: fn(argument: Option<&str>) -> std::result::Result<Memory, String>,
}

/// The list.
pub const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "digits",
        about: "1797 handwritten digits of 8 × 8 pixels, grey values in [0, 1] (scikit-learn, UCI)",
        visible: "bernoulli",
        make: digits::make,
    },
    Builtin {
        name: "bars",
        about: "bars and stripes on K × K pixels, each pattern once; bars:K, default 3",
        visible: "bernoulli",
        make: bars::make,
    },
    Builtin {
        name: "shifter",
        about: "N bits, the same bits shifted cyclically by -1, 0 or +1, and 3 bits that name the shift; every row once; shifter:N, default 8",
        visible: "bernoulli",
        make: shifter::make,
    },
    Builtin {
        name: "ising",
        about: "2000 samples of the critical Ising model on L × L spins, periodic; ising:L, default 8",
        visible: "spin",
        make: ising::make,
    },
    Builtin {
        name: "mixture",
        about: "2000 points from four Gaussians at the corners of a square",
        visible: "gaussian",
        make: planar::mixture,
    },
    Builtin {
        name: "moons",
        about: "2000 points on two interleaved half circles",
        visible: "gaussian",
        make: planar::moons,
    },
    Builtin {
        name: "rings",
        about: "2000 points on two circles around the origin",
        visible: "gaussian",
        make: planar::rings,
    },
];

/// The entry and the argument that a data path names, if it starts with `builtin:`.
pub fn find(spec: &str) -> Option<Result<(&'static Builtin, Option<&str>)>> {
    let rest = spec.strip_prefix("builtin:")?;
    let (name, argument) = rest.split_once(':').map_or((rest, None), |(name, argument)| (name, Some(argument)));
    Some(BUILTINS.iter().find(|b| b.name == name).map(|b| (b, argument)).ok_or_else(|| {
        let known: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
        let meant = nearest(name, known.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean builtin:{name}?"));
        let problem = format!("is not a built-in data set{meant} (known are {})", known.join(", "));
        Error::Data { path: spec.into(), problem }
    }))
}

/// The error, with a hint if it is about a file that does not exist and has the name of built-in data.
pub(super) fn hinted(path: &Path, error: Error) -> Error {
    let missing = matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound);
    let spec = path.display().to_string();
    let name = spec.split(':').next().unwrap_or_default();
    if !missing || !BUILTINS.iter().any(|b| b.name == name) {
        return error;
    }
    Error::Data { path: path.into(), problem: format!("no such file; did you mean builtin:{spec}?") }
}

/// Opens built-in data.
pub(super) fn open(spec: &str, builtin: &Builtin, argument: Option<&str>) -> Result<Box<dyn Source>> {
    match (builtin.make)(argument) {
        Ok(memory) => Ok(Box::new(memory)),
        Err(problem) => Err(Error::Data { path: spec.into(), problem }),
    }
}

/// The size in an argument, or `default`.
fn size(argument: Option<&str>, default: usize, range: RangeInclusive<usize>) -> std::result::Result<usize, String> {
    let Some(text) = argument else { return Ok(default) };
    text.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
        let (text, low, high) = (shown(text), range.start(), range.end());
        format!("the size is '{text}', but must be a whole number from {low} to {high}")
    })
}

/// Refuses any argument.
fn no_argument(argument: Option<&str>) -> std::result::Result<(), String> {
    argument.map_or(Ok(()), |text| Err(format!("this data set takes no argument, but '{}' was given", shown(text))))
}

/// The random numbers of one generator, always the same.
fn key(generator: u64) -> Key {
    Key::root(0).of(Purpose::Builtin).step(generator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;

    #[test]
    fn every_set_is_the_same_twice_and_in_the_domain_of_its_units() {
        for builtin in BUILTINS {
            let table = (builtin.make)(None).unwrap().into_table();
            assert_eq!(table, (builtin.make)(None).unwrap().into_table(), "{}", builtin.name);
            let kind = Kind::new(builtin.visible, &Default::default()).unwrap();
            assert!(table.iter().all(|x| kind.unit::<f64>().encode(*x, &mut [0.0])), "{}", builtin.name);
        }
    }

    #[test]
    fn names_and_arguments_that_do_not_exist_are_refused() {
        for (spec, message) in [
            ("builtin:mnist", "is not a built-in data set (known are digits, bars, shifter"),
            ("builtin:digit", "is not a built-in data set; did you mean builtin:digits? (known"),
            ("builtin:", "is not a built-in data set"),
            ("builtin:bars:0", "from 1 to 12"),
            ("builtin:bars:13", "from 1 to 12"),
            ("builtin:bars:x", "the size is 'x'"),
            ("builtin:ising:1", "from 2 to 32"),
            ("builtin:shifter:99999999999999999999", "from 2 to 12"),
            ("builtin:moons:3", "takes no argument, but '3'"),
            ("builtin:digits:", "takes no argument, but ''"),
        ] {
            let found = super::super::open_with(spec, &Default::default()).err().unwrap().to_string();
            assert!(found.starts_with(spec) && found.contains(message), "{found}");
        }
        assert!(find("digits").is_none());
        let found = super::super::open_with("bars:3", &Default::default()).err().unwrap().to_string();
        assert_eq!(found, "bars:3: no such file; did you mean builtin:bars:3?");
    }
}
