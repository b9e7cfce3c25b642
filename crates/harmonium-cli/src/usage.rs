//! Usage errors in plain words: clap's own text, but for what it takes from Rust, and with tips of ours.

use crate::output::{program, shell_word};
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::path::Path;

/// The error with plain words for what is wrong with a number, and a tip where there is one.
pub fn plain(mut error: Error) -> Error {
    if let Some(tip) = tip(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let (argument, value) = (text(&error, ContextKind::InvalidArg), text(&error, ContextKind::InvalidValue));
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match expected(&cause, &value) {
        Some(expected) if error.kind() == ErrorKind::ValueValidation => {
            let message = format!("invalid value '{value}' for '{argument}': expected {expected}");
            Error::raw(error.kind(), message + "\n\nFor more information, try '--help'.\n")
        }
        _ => error,
    }
}

fn text(error: &Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// What a number should have been, if `cause` is a complaint of Rust's parsers or of clap's ranges.
fn expected(cause: &str, value: &str) -> Option<String> {
    match cause {
        "invalid float literal" | "cannot parse float from empty string" => Some("a number".into()),
        "number too large to fit in target type" => Some("a smaller number".into()),
        "invalid digit found in string" if value.starts_with('-') => Some("a whole number that is not negative".into()),
        "invalid digit found in string" | "cannot parse integer from empty string" => Some("a whole number".into()),
        "number too small to fit in target type" => Some("a larger number".into()),
        _ => cause.split_once(" is not in ").and_then(|(_, range)| range_in_words(range)),
    }
}

/// `1..=1024` as "a whole number from 1 to 1024", `1..` as "a whole number of at least 1".
fn range_in_words(range: &str) -> Option<String> {
    let (low, high) = range.split_once("..")?;
    let low: i128 = low.parse().ok()?;
    let high: i128 = match high.strip_prefix('=') {
        Some(inclusive) => inclusive.parse().ok()?,
        None if high.is_empty() => i128::MAX,
        None => high.parse::<i128>().ok()? - 1,
    };
    // A range without an end reaches to the largest number of its type.
    let endless = high >= i128::from(i64::MAX) - 1;
    Some(if endless {
        format!("a whole number of at least {low}")
    } else {
        format!("a whole number from {low} to {high}")
    })
}

/// Advice about mistakes that are easy to make here.
fn tip(error: &Error) -> Option<String> {
    let (argument, value) = (text(error, ContextKind::InvalidArg), text(error, ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation
            if argument.starts_with("--hidden ") && value.parse::<u64>().is_ok() =>
        {
            Some(format!("for the number of hidden units use '--n-hidden {value}'"))
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            let data = name.starts_with("builtin:") || Path::new(&name).is_file();
            data.then(|| format!("to train a model on it use '{} train {} -o DIR'", program(), shell_word(&name)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_words() {
        for (range, words) in [
            ("1..=1024", Some("a whole number from 1 to 1024")),
            ("1..16777216", Some("a whole number from 1 to 16777215")),
            ("2..9223372036854775807", Some("a whole number of at least 2")),
            ("0..", Some("a whole number of at least 0")),
            ("something else", None),
        ] {
            assert_eq!(range_in_words(range).as_deref(), words, "{range}");
        }
    }
}
