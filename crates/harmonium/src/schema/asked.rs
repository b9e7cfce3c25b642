//! What is asked for columns by their names: a kind, and categories if they are known.

use super::kinds::Wish;
use super::{made_up, words};
use crate::error::{Error, Result, nearest, shown};
use std::collections::BTreeMap;

/// What is asked for some columns of a table; the others are inferred.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub(super) columns: Vec<AskedColumn>,
}

/// What is asked for a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedColumn {
    pub name: String,
    pub kind: Wish,
    /// Its categories, in the order of the states; empty if the table decides.
    pub categories: Vec<String>,
}

impl Asked {
    /// Adds `NAME=KIND`; it takes the place of what was asked for the column before.
    pub fn push(&mut self, text: &str) -> Result<()> {
        let refuse = |problem: String| Error::Undefined(format!("'{}' {problem}", shown(text)));
        // The name may hold '=', options of the kind do too, but behind a parenthesis.
        let end = text.find('(').filter(|_| text.ends_with(')')).unwrap_or(text.len());
        let (name, _) = text[..end].rsplit_once('=').ok_or_else(|| refuse("is not NAME=KIND".into()))?;
        let kind = Wish::parse(&text[name.len() + 1..]).map_err(|e| refuse(format!("names no kind: {e}")))?;
        self.put(AskedColumn { name: name.trim().into(), kind, categories: Vec::new() });
        Ok(())
    }

    /// Adds what is asked for elsewhere, which comes first.
    pub fn append(&mut self, other: Asked) {
        other.columns.into_iter().for_each(|column| self.put(column));
    }

    pub(super) fn put(&mut self, column: AskedColumn) {
        self.columns.retain(|c| c.name != column.name);
        self.columns.push(column);
    }

    /// For every column of a table what is asked for it. Numbers, counted from 1, name columns that have no such name; a column
    /// that the table does not have is refused.
    pub(super) fn by_column(&self, names: &[String]) -> Result<Vec<Option<&AskedColumn>>> {
        let mut all = vec![None; names.len()];
        let places: BTreeMap<&String, usize> = names.iter().zip(0..).collect();
        for asked in &self.columns {
            let place = places.get(&asked.name).copied();
            let number = || asked.name.parse().ok().and_then(|n: usize| n.checked_sub(1)).filter(|c| *c < names.len());
            match place.or_else(number) {
                Some(place) => all[place] = Some(asked),
                None => return Err(unknown(&asked.name, names)),
            }
        }
        Ok(all)
    }
}

fn unknown(name: &str, names: &[String]) -> Error {
    let near = nearest(name, names.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("did you mean '{}'?", shown(near)),
        None => format!("its columns are {}", listed(names.iter())),
    };
    Error::Undefined(format!("the table has no column '{}'; {hint}", shown(name)))
}

/// The first few names.
pub(super) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    const MOST: usize = 8;
    let more = names.len().saturating_sub(MOST);
    let first: Vec<String> = names.take(MOST).map(|name| format!("'{}'", shown(name))).collect();
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
}

/// A word without control characters for a table.
pub(super) fn short(word: &str) -> String {
    const MOST: usize = 32;
    if word.chars().count() <= MOST { word.into() } else { word.chars().take(MOST - 1).chain(['…']).collect() }
}

/// The first few categories, for a table.
pub(super) fn brief(categories: &[String]) -> String {
    const MOST: usize = 4;
    let first: Vec<String> = categories.iter().take(MOST).map(|word| short(word)).collect();
    let more = categories.len().saturating_sub(MOST);
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
}

/// What is wrong with a word that is not one of the categories of its column.
pub(super) fn unlisted<'a>(word: &str, known: impl ExactSizeIterator<Item = &'a String>) -> String {
    format!("'{}' is not one of the known values: {}", shown(word), listed(known))
}

/// The names of the columns of a table; those without a name are numbered. Refuses names that are there twice or cannot be stored.
pub(super) fn names(given: Option<&[String]>, columns: usize) -> Result<Vec<String>> {
    let name = |c: usize| match given.and_then(|names| names.get(c)) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => made_up(c),
    };
    let names: Vec<String> = (0..columns).map(name).collect();
    let mut places = BTreeMap::new();
    for (c, name) in names.iter().enumerate() {
        if let Some(why) = words::unusable(name) {
            return Err(Error::Undefined(format!("column {}: its name '{}' {why}", c + 1, shown(name))));
        }
        if let Some(first) = places.insert(name, c) {
            let problem = format!("the columns {} and {} are both named '{}'", first + 1, c + 1, shown(name));
            return Err(Error::Undefined(format!("{problem}: give them different names")));
        }
    }
    Ok(names)
}
