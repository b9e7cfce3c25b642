//! A table read by a schema: the columns that are learned, in the schema's order, words as codes, missing cells as NaN.

use super::asked::{listed, unlisted};
use super::words::{named_number, number_name};
use super::{Column, Schema};
use crate::advice::Advice;
use crate::data::{Cell, Source};
use crate::error::{Error, Result, nearest, shown};
use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What is done with words that the schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unseen {
    /// They are errors.
    #[default]
    Error,
    /// Their cells are missing.
    Missing,
}

impl Unseen {
    /// Every value with its name and what it means.
    pub const LIST: [(&'static str, Unseen, &'static str); 2] =
        [("error", Unseen::Error, "an error"), ("missing", Unseen::Missing, "treat the cell as missing")];
}

impl Schema {
    /// The rows of a table as numbers for the visible units. Columns are matched by their names, in any order, or by their places
    /// if the table or the schema has none; `path` is for messages.
    pub fn coded(&self, source: Box<dyn Source>, path: &Path, unseen: Unseen) -> Result<Box<dyn Source>> {
        let places = self.places(&*source).map_err(|e| e.in_file(path))?;
        let columns = self.kept().map(Codes::new).collect();
        let names = self.names();
        Ok(Box::new(Coded { source, path: path.into(), places, columns, names, unseen, done: 0 }))
    }

    /// For every column of a table the column of the coded rows, if it has one.
    fn places(&self, source: &dyn Source) -> Result<Vec<Option<usize>>> {
        match source.names().filter(|_| !self.is_unnamed()) {
            Some(names) => self.by_name(&super::asked::names(Some(names), names.len())?),
            None => self.by_place(source.columns()),
        }
    }

    fn by_name(&self, names: &[String]) -> Result<Vec<Option<usize>>> {
        let kept: BTreeMap<&str, usize> = self.kept().enumerate().map(|(k, c)| (c.name.as_str(), k)).collect();
        let there: BTreeSet<&String> = names.iter().collect();
        let missing: Vec<&String> = self.kept().map(|c| &c.name).filter(|name| !there.contains(name)).collect();
        if !missing.is_empty() {
            let near = nearest(missing[0], names.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |name| format!("; is '{}' the same?", shown(name)));
            let problem = format!("has no {}, which the model was trained on{hint}", columns(missing));
            return Err(Error::Undefined(problem));
        }
        let known: BTreeSet<&String> = self.columns.iter().map(|c| &c.name).collect();
        let extra: Vec<&String> = names.iter().filter(|name| !known.contains(name)).collect();
        if !extra.is_empty() {
            let problem = format!("has the {}, which the model was not trained on", columns(extra));
            return Err(Error::Undefined(problem).advise(&[Advice::LeaveOutColumn, Advice::ChooseColumns]));
        }
        Ok(names.iter().map(|name| kept.get(name.as_str()).copied()).collect())
    }

    fn by_place(&self, columns: usize) -> Result<Vec<Option<usize>>> {
        let kept = self.kept().count();
        if columns == kept {
            return Ok((0..kept).map(Some).collect());
        }
        if columns != self.columns.len() {
            let all = self.columns.len();
            let expected =
                if all == kept { format!("{kept}") } else { format!("{all}, or the {kept} that are learned") };
            return Err(Error::Undefined(format!("has {columns} columns, expected {expected}")));
        }
        let mut next = 0..;
        Ok(self.columns.iter().map(|c| c.kind().and_then(|_| next.next())).collect())
    }
}

fn columns(names: Vec<&String>) -> String {
    let what = if names.len() == 1 { "column" } else { "columns" };
    format!("{what} {}", listed(names.into_iter()))
}

/// The codes of the cells of a column.
struct Codes {
    name: String,
    /// Words, in the order of the states.
    known: Vec<String>,
    words: HashMap<String, f64>,
    /// Categories that are numbers, by their bits.
    numbers: HashMap<u64, f64>,
}

impl Codes {
    fn new(column: &Column) -> Codes {
        let pairs = || column.categories.iter().zip(column.codes());
        let words = pairs().map(|(word, code)| (word.clone(), code)).collect();
        let numbers = pairs().filter_map(|(word, code)| Some((named_number(word)?.to_bits(), code))).collect();
        Codes { name: column.name.clone(), known: column.categories.clone(), words, numbers }
    }

    /// The number for a cell; an error is what is wrong with it, and what to do.
    fn of(&self, cell: Cell, unseen: Unseen) -> std::result::Result<f64, (String, &'static [Advice])> {
        let (found, code) = match cell {
            Cell::Missing => return Ok(f64::NAN),
            Cell::Number(x) if self.known.is_empty() => return Ok(x),
            Cell::Word(word) if self.known.is_empty() => {
                return Err((format!("'{}' is not a number", shown(word)), &[]));
            }
            Cell::Number(x) => (number_name(x), self.numbers.get(&(x + 0.0).to_bits()).copied()),
            Cell::Word(word) => match self.words.get(word) {
                Some(code) => return Ok(*code),
                None => (word.to_string(), None),
            },
            Cell::Other(what) => return Err((format!("it holds {what}"), &[])),
        };
        match code {
            Some(code) => Ok(code),
            None if unseen == Unseen::Missing => Ok(f64::NAN),
            None => Err((unlisted(&found, self.known.iter()), &[Advice::UnseenWords])),
        }
    }
}

/// A table read by a schema.
struct Coded {
    source: Box<dyn Source>,
    path: PathBuf,
    places: Vec<Option<usize>>,
    columns: Vec<Codes>,
    names: Vec<String>,
    unseen: Unseen,
    done: u64,
}

impl Source for Coded {
    fn columns(&self) -> usize {
        self.columns.len()
    }

    fn rows(&self) -> Option<u64> {
        self.source.rows()
    }

    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn file_column(&self, column: usize) -> usize {
        let place = self.places.iter().position(|p| p.is_some_and(|p| p + 1 == column));
        place.map_or(column, |c| self.source.file_column(c + 1))
    }

    fn note(&self) -> Option<String> {
        self.source.note()
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let (width, mut numbers, mut wrong) = (self.columns.len(), Vec::new(), None);
        let (places, columns, unseen) = (&self.places, &self.columns, self.unseen);
        let rows = self.source.read_cells(n, &mut |r, c, cell| {
            let Some(place) = places[c] else { return Ok(()) };
            if numbers.len() < (r + 1) * width {
                numbers.resize((r + 1) * width, f64::NAN);
            }
            match columns[place].of(cell, unseen) {
                Ok(x) => numbers[r * width + place] = x,
                Err(problem) => _ = wrong.get_or_insert((r, place, problem)),
            }
            Ok(())
        })?;
        if let Some((r, place, (problem, advice))) = wrong {
            let (row, name) = (self.done + r as u64 + 1, shown(&self.columns[place].name));
            let problem = format!("data row {row}, column '{name}': {problem}");
            return Err(Error::Data { path: self.path.clone(), problem }.advise(advice));
        }
        self.done += rows as u64;
        if rows == 0 {
            return Ok(None);
        }
        Array2::from_shape_vec((rows, width), numbers).map(Some).map_err(|e| Error::Undefined(e.to_string()))
    }
}
