//! From what was seen of a column to what it is used as.
//!
//! | column | becomes |
//! |---|---|
//! | two different values, numbers or words | bernoulli, with their names |
//! | words | potts, a state for each |
//! | up to 8 whole numbers, each ten times on average | potts, a state for each |
//! | other numbers | gaussian, standardised |
//! | constant, all missing, dates, identifiers, numbers of rows, too many different words | left out |
//!
//! Words among numbers are an error: nobody can know which of them are meant.

use super::asked::{Asked, AskedColumn, names};
use super::kinds::{Wish, potts};
use super::scan::{ColumnScan, FEW_NUMBERS, MOST_WORDS, Scan, Wrong, scan};
use super::words::number_name;
use super::{Column, Facts, MOST_CATEGORIES, Role, Schema};
use crate::advice::Advice;
use crate::data::Source;
use crate::error::{Error, Result, count, shown};
use crate::units::{Kind, Options};
use std::path::Path;

/// Columns beyond this are not described one by one.
pub(crate) const MOST_COLUMNS: usize = 1 << 16;
/// Different whole numbers up to which a column is learned as categories, and rows that each must have on average.
const MOST_FEW: usize = 8;
const ROWS_PER_VALUE: u64 = 10;
/// Different words from which a column is an identifier if more than half of its words differ.
const MANY_WORDS: usize = 50;
/// Rows from which a column that counts them is left out.
const MOST_COUNTED: u64 = 10;
/// Names of a last column that is often a label.
const LABELS: [&str; 5] = ["class", "label", "target", "y", "species"];

impl Schema {
    /// What the columns of a table are, as asked or else as they look. Reads the table once; `path` is for messages.
    pub fn infer(source: &mut dyn Source, path: &Path, asked: &Asked) -> Result<Schema> {
        let schema = Schema::describe(source, path, asked)?;
        schema.check().map_err(|e| e.in_file(path))?;
        Ok(schema)
    }

    /// The same, before it is checked that it can be learned and stored.
    pub(crate) fn describe(source: &mut dyn Source, path: &Path, asked: &Asked) -> Result<Schema> {
        let refuse = |problem: String| Error::Data { path: path.into(), problem };
        let columns = source.columns();
        if columns > MOST_COLUMNS {
            let problem = format!("has {columns} columns, but at most {MOST_COLUMNS} can have kinds of their own");
            return Err(refuse(problem).advise(&[Advice::OneKind]));
        }
        let has_header = source.names().is_some();
        let names = names(source.names(), columns).map_err(|e| e.in_file(path))?;
        let asked = asked.by_column(&names).map_err(|e| e.in_file(path))?;
        let scan = scan(source, &asked)?.map_err(|Wrong { row, column, problem }| {
            refuse(format!("data row {row}, column '{}': {problem}", shown(&names[column])))
        })?;
        let Scan { rows, columns } = scan;
        if rows == 0 {
            return Err(refuse("the table has no rows".into()));
        }
        let mut schema = Schema { columns: Vec::with_capacity(names.len()) };
        for ((seen, name), asked) in columns.into_iter().zip(names).zip(asked) {
            let column = one(&seen, &name, asked).map_err(|e| e.in_file(path))?;
            schema.columns.push(column);
        }
        point_out_label(&mut schema, has_header);
        Ok(schema)
    }
}

/// Points out a last column that looks like a label.
fn point_out_label(schema: &mut Schema, has_header: bool) {
    let several = schema.kept().count() > 1;
    let Some((last, others)) = schema.columns.split_last_mut() else { return };
    others.iter_mut().for_each(|column| column.facts.may_be_label = false);
    let is_named_so = LABELS.iter().any(|label| last.name.eq_ignore_ascii_case(label));
    last.facts.may_be_label &= several && last.kind().is_some() && (is_named_so || !has_header);
}

fn one(seen: &ColumnScan, name: &str, asked: Option<&AskedColumn>) -> Result<Column> {
    let found = match asked {
        Some(asked) => as_asked(seen, asked),
        None => inferred(seen),
    };
    let Found { kind, categories, why } = found.map_err(|e| {
        let problem = e.to_string();
        Error::Undefined(format!("column '{}': {problem}", shown(name))).advise(e.advice())
    })?;
    let is_number = categories.is_empty() && kind.is_some();
    let standard = kind.as_ref().filter(|k| is_number && k.unit::<f64>().quadratic()).map(|_| seen.moments.standard());
    let values = values(seen, &categories);
    let may_be_label = asked.is_none() && seen.whole && seen.categories().is_some_and(|c| c.len() <= FEW_NUMBERS);
    let is_probability = seen.words == 0 && seen.other.is_none() && seen.smallest >= 0.0 && seen.largest <= 1.0;
    let facts = Facts { missing: seen.missing, standard, values, why, may_be_label, is_probability };
    let role = kind.map_or(Role::Ignored, Role::Units);
    Ok(Column { name: name.into(), role, categories, facts })
}

/// The values of a column in a few words.
fn values(seen: &ColumnScan, categories: &[String]) -> String {
    if !categories.is_empty() {
        return super::asked::brief(categories);
    }
    if seen.numbers == 0 {
        return seen.first_word.as_ref().map_or_else(String::new, |(_, word)| format!("{}, …", shown(word)));
    }
    format!("{} to {}, mean {}", digits(seen.smallest), digits(seen.largest), digits(seen.moments.mean()))
}

/// A number in five digits, with an exponent if it would be long otherwise.
fn digits(x: f64) -> String {
    let x: f64 = format!("{x:.4e}").parse().unwrap_or(x);
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// What a column is used as, and why.
struct Found {
    kind: Option<Kind>,
    categories: Vec<String>,
    why: String,
}

fn ignored(why: impl Into<String>) -> Result<Found> {
    Ok(Found { kind: None, categories: Vec::new(), why: why.into() })
}

fn learned(kind: Kind, categories: Vec<String>, why: impl Into<String>) -> Result<Found> {
    Ok(Found { kind: Some(kind), categories, why: why.into() })
}

fn plain(name: &str) -> Result<Kind> {
    Kind::new(name, &Options::new())
}

fn inferred(seen: &ColumnScan) -> Result<Found> {
    if let Some(what) = seen.other {
        return ignored(what);
    }
    match (seen.numbers, seen.words) {
        (0, 0) => ignored("all cells are missing"),
        (0, _) => of_words(seen),
        (_, 0) => of_numbers(seen),
        _ => Err(mixed(seen)),
    }
}

/// The error for a column of words and numbers.
fn mixed(seen: &ColumnScan) -> Error {
    let (number, x) = seen.first_number.unwrap_or_default();
    let (word, text) = seen.first_word.clone().unwrap_or_default();
    let text = shown(&text);
    let problem = format!("data row {word} has the word '{text}', but data row {number} the number {}", number_name(x));
    Error::Undefined(problem).advise(&[Advice::ColumnOfWords, Advice::LeaveOutColumn])
}

fn of_words(seen: &ColumnScan) -> Result<Found> {
    let (known, different) = (seen.known(), seen.vocabulary.len());
    if seen.dates == known {
        return ignored("dates or times");
    }
    let note = seen.number_like.as_ref().map_or_else(String::new, |word| {
        format!("; '{word}' looks like a number with signs for people: write it without them if it measures something")
    });
    if let Some((row, why)) = seen.unusable {
        return ignored(format!("the word of row {row} {why}"));
    }
    if seen.overflow {
        let is_identifier = MOST_WORDS as u64 > known / 2;
        let what = if is_identifier { "an identifier: nearly all words differ" } else { "too many different words" };
        return ignored(format!("{what}, more than {MOST_WORDS}{note}"));
    }
    let categories = seen.categories().unwrap_or_default();
    match different {
        1 => ignored(format!("constant: always '{}'", shown(&categories[0]))),
        2 => learned(plain("bernoulli")?, categories, format!("two words{note}")),
        _ if different as u64 == known => ignored(format!("an identifier: all {known} words differ{note}")),
        _ if different > MANY_WORDS && different as u64 > known / 2 => {
            ignored(format!("an identifier: {different} of {known} words differ{note}"))
        }
        _ => learned(potts(different)?, categories, format!("{different} words{note}")),
    }
}

fn of_numbers(seen: &ColumnScan) -> Result<Found> {
    let (known, different) = (seen.known(), seen.values().map(|v| v.len()));
    let categories = || seen.categories().unwrap_or_default();
    if different == Some(1) || seen.moments.is_constant() && different != Some(2) {
        return ignored(format!("constant: always {}", number_name(seen.smallest)));
    }
    if different == Some(2) {
        return learned(plain("bernoulli")?, categories(), "two numbers");
    }
    if seen.counts && known >= MOST_COUNTED {
        return ignored("it counts the rows");
    }
    match different.filter(|n| seen.whole && *n <= MOST_FEW && known >= ROWS_PER_VALUE * *n as u64) {
        Some(n) => learned(potts(n)?, categories(), format!("{n} whole numbers; gaussian if they measure something")),
        None if seen.whole => learned(plain("gaussian")?, Vec::new(), "whole numbers"),
        None => learned(plain("gaussian")?, Vec::new(), "real numbers"),
    }
}

fn as_asked(seen: &ColumnScan, asked: &AskedColumn) -> Result<Found> {
    if asked.kind == Wish::Ignore {
        return ignored("as asked");
    }
    if let Some(what) = seen.other {
        return Err(Error::Undefined(format!(
            "it holds {what}, which no kind of units learns: it can only be left out"
        )));
    }
    if !asked.categories.is_empty() {
        let kind = asked.kind.kind(asked.categories.len())?;
        return Ok(Found { kind, categories: asked.categories.clone(), why: "as asked".into() });
    }
    match &asked.kind {
        Wish::Kind(kind) => of_kind(seen, kind),
        _ => {
            let categories = different(seen)?;
            let two = "it has fewer than two different values, which is too few for categories";
            potts(categories.len())
                .map_err(|_| Error::Undefined(two.into()))
                .and_then(|kind| learned(kind, categories, "as asked"))
        }
    }
}

/// A column of a kind that was asked for.
fn of_kind(seen: &ColumnScan, kind: &Kind) -> Result<Found> {
    let unit = kind.unit::<f64>();
    let mut state = vec![0.0; unit.width()];
    let mut takes = |x: f64| unit.encode(x, &mut state);
    let Some(states) = unit.n_states() else {
        return match &seen.first_word {
            Some((row, word)) => {
                Err(Error::Undefined(format!("data row {row} has '{}', which is not a number", shown(word))))
            }
            None => learned(kind.clone(), Vec::new(), "as asked"),
        };
    };
    let values = seen.values();
    let all_fit = match &values {
        Some(values) => values.iter().all(|x| takes(*x)),
        None => takes(seen.smallest) && takes(seen.largest) && kind.name() == "bernoulli",
    };
    if seen.words == 0 && all_fit && (unit.width() > 1 || states == 2) {
        // The numbers are values of the units as they stand: codes, or 0 and 1 with probabilities between them.
        let own: Vec<String> = (0..states).map(|k| number_name(unit.value(k))).collect();
        let are_states = values.is_some_and(|v| v.iter().all(|x| own.contains(&number_name(*x))));
        return learned(kind.clone(), if are_states { own } else { Vec::new() }, "as asked");
    }
    if seen.words == 0 && all_fit {
        return learned(kind.clone(), Vec::new(), "as asked");
    }
    let categories = different(seen)?;
    if categories.len() != states {
        let problem = format!(
            "it has {}, but {kind} units have {states} states",
            count(categories.len() as u64, "different value")
        );
        return Err(Error::Undefined(problem));
    }
    learned(kind.clone(), categories, "as asked")
}

/// The different values of a column that are to be its categories.
fn different(seen: &ColumnScan) -> Result<Vec<String>> {
    if let Some((row, why)) = seen.unusable {
        return Err(Error::Undefined(format!("the word of data row {row} {why}, so it cannot be a category")));
    }
    let too_many = || format!("it has more than {MOST_CATEGORIES} different values, too many for categories");
    seen.categories().ok_or_else(|| Error::Undefined(too_many()))
}
