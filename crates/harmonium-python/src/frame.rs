//! Data frames of Python's as tables: columns of numbers, of words, or of both, read block by block.

use harmonium::data::{Cell, SeeCell, Source, is_missing_word};
use harmonium::error::shown;
use harmonium::{Error, Result};
use ndarray::Array2;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A column: numbers (NaN is missing), words by their places in a list (negative is no word), both, or what no unit learns.
struct Column {
    numbers: Option<Py<PyArray1<f64>>>,
    codes: Option<Py<PyArray1<i32>>>,
    /// None for words that stand for a missing cell.
    words: Vec<Option<String>>,
    other: Option<&'static str>,
}

/// The columns of a data frame and their names.
pub struct Frame {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

/// What Python calls a column: its numbers, its codes, their words, and what else it holds.
type Given = (Option<Py<PyArray1<f64>>>, Option<Py<PyArray1<i32>>>, Vec<String>, Option<String>);

impl Frame {
    /// The columns that a Python object lists.
    pub fn extract(object: Borrowed<'_, '_, PyAny>, rows: usize) -> PyResult<Frame> {
        let given: Vec<Given> = object.getattr("columns")?.extract()?;
        let column = |(numbers, codes, words, other): Given| {
            let other = other.map(|what| if what == "dates" { "dates or times" } else { "objects" });
            let words = words.into_iter().map(|word| (!is_missing_word(&word)).then_some(word)).collect();
            Column { numbers, codes, words, other }
        };
        let columns = given.into_iter().map(column).collect();
        Ok(Frame { names: object.getattr("names")?.extract()?, columns, rows })
    }
}

impl Column {
    fn part(&self, py: Python, rows: &Range<usize>) -> Part<'_> {
        Part { column: self, numbers: copied(py, &self.numbers, rows), codes: copied(py, &self.codes, rows) }
    }
}

/// A part of a column, copied so that it can be read without the interpreter's lock.
struct Part<'a> {
    column: &'a Column,
    numbers: Vec<f64>,
    codes: Vec<i32>,
}

impl Part<'_> {
    fn cell(&self, row: usize) -> Cell<'_> {
        if let Some(what) = self.column.other {
            return Cell::Other(what);
        }
        let code = self.codes.get(row).and_then(|code| usize::try_from(*code).ok());
        match code.and_then(|code| self.column.words.get(code)) {
            Some(word) => word.as_deref().map_or(Cell::Missing, Cell::Word),
            None => self.numbers.get(row).map_or(Cell::Missing, |x| Cell::of(*x)),
        }
    }
}

/// Copies a part of an array.
fn copied<T: Element + Copy>(py: Python, array: &Option<Py<PyArray1<T>>>, rows: &Range<usize>) -> Vec<T> {
    let Some(array) = array else { return Vec::new() };
    let array = array.bind(py).readonly();
    array.as_array().iter().skip(rows.start).take(rows.len()).copied().collect()
}

/// The rows of a frame from the first on; `path` is for messages.
pub struct FrameSource {
    pub frame: Arc<Frame>,
    pub path: &'static str,
    pub done: usize,
}

impl Source for FrameSource {
    fn columns(&self) -> usize {
        self.frame.columns.len()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.frame.rows as u64)
    }

    fn names(&self) -> Option<&[String]> {
        Some(&self.frame.names)
    }

    fn has_cells(&self) -> bool {
        true
    }

    /// The numbers of a frame that no schema describes.
    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let (first, frame, path) = (self.done, self.frame.clone(), self.path);
        let mut block = Array2::from_elem((n.min(frame.rows - first), frame.columns.len()), f64::NAN);
        let rows = self.read_cells(n, &mut |r, c, cell| {
            let what = match cell {
                Cell::Missing => return Ok(()),
                Cell::Number(x) => {
                    block[(r, c)] = x;
                    return Ok(());
                }
                Cell::Word(word) => format!("'{}' is not a number", shown(word)),
                Cell::Other(what) => format!("it holds {what}"),
            };
            let problem = format!("data row {}, column '{}': {what}", first + r + 1, shown(&frame.names[c]));
            Err(Error::Data { path: Path::new(path).into(), problem })
        })?;
        Ok((rows > 0).then_some(block))
    }

    fn read_cells(&mut self, n: usize, see: SeeCell) -> Result<usize> {
        let rows = self.done..self.done.saturating_add(n.max(1)).min(self.frame.rows);
        for (c, column) in self.frame.columns.iter().enumerate() {
            let part = Python::attach(|py| column.part(py, &rows));
            (0..rows.len()).try_for_each(|r| see(r, c, part.cell(r)))?;
        }
        self.done = rows.end;
        Ok(rows.len())
    }
}
