//! Errors of the library: one variant per way to fail. A message names what is wrong, where, and what would be right.

use crate::advice::Advice;
use std::io;
use std::path::{Path, PathBuf};

/// The result of a function that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A unit kind that is not in the list.
    #[error("unknown unit kind '{name}'; known kinds are {known}")]
    UnknownKind {
        /// The unknown name.
        name: String,
        /// The known names.
        known: String,
    },

    /// A unit option (coupling, states) that is missing, unknown or out of range.
    #[error("{kind} units: {problem}")]
    UnitOption {
        /// The unit kind.
        kind: &'static str,
        /// What is wrong with the option.
        problem: String,
    },

    /// An array whose shape does not fit.
    #[error("{what} has shape {found}, expected {expected}")]
    Shape {
        /// The array.
        what: String,
        /// The shape it should have.
        expected: String,
        /// The shape it has.
        found: String,
    },

    /// A parameter outside its domain.
    #[error("{what}[{index}] is {}, but must be {domain}", number(*value))]
    Parameter {
        /// The tensor.
        what: String,
        /// Flat position in it.
        index: usize,
        /// The wrong number.
        value: f64,
        /// What is allowed.
        domain: String,
    },

    /// A data value outside the unit's domain.
    #[error("data row {row}, column {column}: {}", outside(*value, domain, kind))]
    Domain {
        /// Row, counted from 1.
        row: u64,
        /// Column, counted from 1.
        column: usize,
        /// The wrong number.
        value: f64,
        /// What is allowed.
        domain: String,
        /// The unit kind.
        kind: String,
    },

    /// Data with the wrong number of columns.
    #[error("the data has {found} columns, but the model has {expected} visible units")]
    Columns {
        /// Visible units of the model.
        expected: usize,
        /// Columns of the data.
        found: usize,
    },

    /// Row weights that are negative, not finite, or all zero.
    #[error("row weights: {0}")]
    RowWeights(String),

    /// An exact method on a model that is too large for it.
    #[error(
        "no layer is small enough to enumerate: the {layer} layer has {states} states, the limit is 2^{limit} \
         ({limit} binary units)"
    )]
    TooManyStates {
        /// The number of states as text, because it may not fit into a number.
        states: String,
        /// The cheaper finite layer: visible or hidden.
        layer: &'static str,
        /// log₂ of the limit.
        limit: u32,
    },

    /// A model whose energy does not define a distribution, or whose log Z cannot be computed accurately.
    #[error("{0}")]
    NotNormalisable(String),

    /// Something that is not defined for this model or this data.
    #[error("{0}")]
    Undefined(String),

    /// A log Z method that is not in the list.
    #[error("unknown log Z method '{name}'; known methods are {known}")]
    UnknownMethod {
        /// The unknown name.
        name: String,
        /// The known names.
        known: String,
    },

    /// A setting that makes no sense.
    #[error("{}", with_subject(key.rsplit('.').next().unwrap_or(key), problem))]
    Config {
        /// The setting: its key in [`SETTINGS`](crate::settings::SETTINGS), or the name of an option elsewhere.
        key: &'static str,
        /// What is wrong with it, and what is allowed.
        problem: String,
    },

    /// Settings that cannot be read.
    #[error("{}", path.as_ref().map_or(problem.clone(), |p| with_subject(p.display(), problem)))]
    Settings {
        /// The file they stand in, if it is known.
        path: Option<PathBuf>,
        /// What is wrong.
        problem: String,
    },

    /// A directory that cannot be used for what was asked.
    #[error("{}", with_subject(path.display(), problem))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// Training that failed too often to recover.
    #[error("training diverged at update {update}: {problem}")]
    Diverged {
        /// The update that failed last.
        update: u64,
        /// What was observed.
        problem: String,
    },

    /// A model file that is damaged, inconsistent, or not a model file.
    #[error("{}", with_subject(path.display(), problem))]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong, in one sentence.
        problem: String,
    },

    /// A data file that cannot be read as a table.
    #[error("{}", with_subject(path.display(), problem))]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        problem: String,
    },

    /// A file that is refused before it is read: not a regular file, or too large.
    #[error("{}", with_subject(path.display(), problem))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// A failure of the operating system.
    #[error("cannot {action} {}: {}", path.display(), reason(action, source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What failed: `open`, `read` or `write`.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },

    /// Another error, and what to do about it. Shown as that error alone: a front end adds the advice in its own words.
    #[error("{error}")]
    Advised {
        /// What is wrong.
        error: Box<Error>,
        /// What to do, the most useful first.
        advice: Vec<Advice>,
    },
}

impl Error {
    /// The same error with more advice.
    #[must_use]
    pub fn advise(self, more: &[Advice]) -> Error {
        let (error, mut advice) = match self {
            Error::Advised { error, advice } => (error, advice),
            other => (Box::new(other), Vec::new()),
        };
        advice.extend(more);
        if advice.is_empty() { *error } else { Error::Advised { error, advice } }
    }

    /// What to do about it; empty if nothing is known.
    pub fn advice(&self) -> &[Advice] {
        match self {
            Error::Advised { advice, .. } => advice,
            _ => &[],
        }
    }

    /// The error without its advice.
    pub fn plain(&self) -> &Error {
        match self {
            Error::Advised { error, .. } => error.plain(),
            other => other,
        }
    }

    /// The same problem as one of a data file, with the same advice.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Error {
        Error::Data { path: path.into(), problem: self.to_string() }.advise(self.advice())
    }
}

/// Verbs that go on with the subject's sentence.
const VERBS: [&str; 8] = ["already", "cannot", "does", "has", "holds", "is", "needs", "was"];

/// What is wrong with `subject`: one sentence if the problem starts with a verb (`lr is -1, but …`), otherwise after a colon.
pub fn with_subject(subject: impl std::fmt::Display, problem: &str) -> String {
    let colon = if VERBS.contains(&problem.split(' ').next().unwrap_or_default()) { "" } else { ":" };
    format!("{subject}{colon} {problem}")
}

/// "1 cell", "2 cells".
pub fn count(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What is wrong with a data value.
fn outside(value: f64, domain: &str, kind: &str) -> String {
    if value.is_nan() {
        return "NaN means that the cell is missing".into();
    }
    format!("{} is not {domain} (the visible units are {kind})", number(value))
}

/// Characters of a number that a message shows in full.
const DIGITS: usize = 24;

/// A number for a message: with an exponent if it would be long otherwise.
pub fn number(x: f64) -> String {
    let plain = x.to_string();
    if plain.len() <= DIGITS { plain } else { format!("{x:e}") }
}

/// The system's reason for a failure, in plain words.
fn reason(action: &str, error: &io::Error) -> String {
    match error.kind() {
        // What does not exist is the file to read, or the directory to write into.
        io::ErrorKind::NotFound if action == "write" => "no such directory".into(),
        io::ErrorKind::NotFound => "no such file".into(),
        _ => system_reason(error),
    }
}

/// What the operating system says, without its error number: `file too large`.
pub fn system_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.into(),
    }
}

/// The one of `known` that `name` is probably meant to be: at most one edit per three letters away.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = name.chars().count().div_ceil(3);
    let distances = known.into_iter().map(|word| (edits(name, word), word));
    distances.filter(|(distance, _)| *distance <= far).min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// The Levenshtein distance: letters to insert, remove or change.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Characters of a file's text that a message shows at most.
const SHOWN: usize = 60;

/// Text from a file for a message: short, and without control characters, which could disturb a terminal.
pub fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_system_are_worded_plainly() {
        let failed = |action, source| Error::Io { path: "x.csv".into(), action, source }.to_string();
        let missing = || io::Error::from_raw_os_error(2);
        assert_eq!(failed("open", missing()), "cannot open x.csv: no such file");
        assert_eq!(failed("write", missing()), "cannot write x.csv: no such directory");
        assert_eq!(
            failed("open", io::Error::from(io::ErrorKind::PermissionDenied)),
            "cannot open x.csv: permission denied"
        );
        assert_eq!(
            failed("read", io::Error::other("the gzip data is damaged")),
            "cannot read x.csv: the gzip data is damaged"
        );
    }

    #[test]
    fn problems_that_start_with_a_verb_need_no_colon() {
        assert_eq!(with_subject("run", "holds a finished run"), "run holds a finished run");
        assert_eq!(with_subject("x.csv", "the file is empty"), "x.csv: the file is empty");
        let value = |value| Error::Domain { row: 2, column: 1, value, domain: "-1 or +1".into(), kind: "spin".into() };
        assert_eq!(value(0.5).to_string(), "data row 2, column 1: 0.5 is not -1 or +1 (the visible units are spin)");
        assert_eq!(value(f64::NAN).to_string(), "data row 2, column 1: NaN means that the cell is missing");
    }

    #[test]
    fn misspelt_names_find_the_one_that_was_meant() {
        let known = ["digits", "bars", "mixture", "moons"];
        for (name, meant) in [
            ("digit", Some("digits")),
            ("digist", Some("digits")),
            ("moon", Some("moons")),
            ("mnist", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), meant, "{name}");
        }
    }
}
