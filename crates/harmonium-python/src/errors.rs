//! The library's errors as Python's: OSError for files, ArithmeticError for runs that went wrong, ValueError for the rest.

use harmonium::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyFileNotFoundError, PyOSError, PyValueError};
use std::io::ErrorKind;

/// Settings that Python calls by another name than the command line, and what it is told where a message names the option.
const NAMES: &[(&str, &str)] = &[
    ("lr", "learning_rate"),
    ("chains", "n_chains"),
    ("valid-fraction", "validation_fraction"),
    ("valid", "validation_fraction"),
    ("early-stop", "early_stopping"),
    ("data", "X"),
];

/// The name of a setting in Python.
fn name(key: &str) -> String {
    let other = NAMES.iter().find(|n| n.0 == key);
    other.map_or_else(|| key.replace('-', "_"), |n| n.1.into())
}

/// A message without the command line's dashes.
pub fn words(text: &str) -> String {
    let option = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        name(&rest[..end]) + &rest[end..]
    };
    let mut parts = text.split("--");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, rest| all + &option(rest))
}

/// What to do about a value that no unit has.
fn hint(value: f64, kind: &str) -> &'static str {
    match kind {
        _ if value.is_nan() => "; missing=True takes NaN for unknown cells, and impute fills them",
        "bernoulli" if value.is_finite() => {
            "; binarize='threshold:T' makes values 0 or 1, visible='gaussian' takes any"
        }
        _ => "",
    }
}

/// The exception for an error.
pub fn exception(error: Error) -> PyErr {
    match &error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        Error::Io { .. } => PyOSError::new_err(error.to_string()),
        Error::Domain { value, kind, .. } => PyValueError::new_err(format!("{error}{}", hint(*value, kind))),
        Error::RowWeights(problem) => PyValueError::new_err(format!("sample_weight: {problem}")),
        Error::Diverged { .. } => PyArithmeticError::new_err(words(&error.to_string())),
        Error::Config { key, problem } => PyValueError::new_err(format!("{}: {}", name(key), words(problem))),
        _ => PyValueError::new_err(words(&error.to_string())),
    }
}
