//! Text tables: numbers separated by commas, tabs, semicolons or white space, one row per line.
//!
//! The separator is the one that splits the first row into the most numbers. The first line is a header if it has text and no
//! number, or text above a number, or text and a different number of cells than the next line. Cells may be quoted or padded;
//! a byte-order mark and either line ending are accepted; empty lines and lines that start with `#` are skipped. Missing
//! values are errors unless [`ReadOptions::missing`] is set.

mod cells;
mod columns;
mod lines;

pub(super) use cells::{Cell, number};
pub use columns::column_list;
pub(super) use columns::{arranged, largest, places};
pub(super) use lines::Lines;

use super::bytes::Bytes;
use super::{MOST_COLUMNS, ReadOptions, Source};
use crate::advice::Advice;
use crate::error::{Error, Result, count};
use cells::Separator;
use ndarray::Array2;
use std::path::Path;

/// Opens a text file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    Ok(Box::new(TextTable::new(Lines::new(Bytes::open(path)?), options)?))
}

/// A text table being read.
pub(super) struct TextTable {
    lines: Lines,
    separator: Separator,
    /// Lines that were read to inspect the table and not returned yet: number and text, the next one last.
    pending: Vec<(u64, Vec<u8>)>,
    /// Cells per line.
    cells: usize,
    /// For every cell its column in a row of data, if it has one; none if all cells stay where they are.
    places: Option<Vec<Option<u32>>>,
    columns: usize,
    /// The column names, if the header has one for every column.
    names: Option<Vec<String>>,
    /// Whether missing cells are read as NaN.
    missing: bool,
    done: u64,
}

impl TextTable {
    /// Reads two lines to find the separator, the header and the columns.
    pub fn new(mut lines: Lines, options: &ReadOptions) -> Result<TextTable> {
        lines.skip(options.skip_rows)?;
        let Some(first) = lines.next()? else {
            let left =
                if options.skip_rows > 0 { "no line is left after the skipped ones" } else { "the file is empty" };
            return Err(lines.refuse(left.into()));
        };
        let second = lines.next()?;
        let separator = Separator::guess(&second.as_ref().unwrap_or(&first).1, &first.1);
        let mut pending: Vec<_> = second.into_iter().chain([first]).collect();
        let header = is_header(separator, &pending, options).then(|| pending.pop()).flatten();
        // Counted in the first row, not in the header: some headers describe the file instead of naming its columns.
        let Some((number, row)) = pending.last() else {
            return Err(lines.refuse("read as text, the file has only a header line and no rows".into()));
        };
        let cells = separator.cells(row).take(MOST_COLUMNS + 1).count();
        if cells > MOST_COLUMNS {
            return Err(lines.refuse(format!("line {number} has more than {MOST_COLUMNS} cells")));
        }
        let names = header.as_ref().map(|(_, line)| separator.cells(line));
        let places = places(options, cells, names).map_err(|problem| lines.refuse(problem))?;
        let columns = places.as_ref().map_or(cells, |p| p.iter().flatten().count());
        let names: Option<Vec<String>> = header.map(|(_, line)| separator.cells(&line).map(name).collect());
        let names = names.filter(|names| names.len() == cells).map(|names| arranged(names, places.as_deref()));
        Ok(TextTable { lines, separator, pending, cells, places, columns, names, missing: options.missing, done: 0 })
    }

    /// Appends the numbers of a line.
    fn push(&self, line: &[u8], at: impl Fn() -> String, numbers: &mut Vec<f64>) -> Result<()> {
        let start = numbers.len();
        numbers.resize(start + self.columns, 0.0);
        let (mut found, mut problem) = (0u64, None);
        for (c, cell) in self.separator.cells(line).enumerate() {
            found += 1;
            let place = self.places.as_ref().map_or(Some(c as u32), |p| p.get(c).copied().flatten());
            let Some(place) = place.filter(|_| c < self.cells && problem.is_none()) else { continue };
            match number(cell) {
                Cell::Number(x) => numbers[start + place as usize] = x,
                Cell::Missing if self.missing => numbers[start + place as usize] = f64::NAN,
                wrong => problem = Some(self.refuse_cell(&format!("{}, column {}", at(), c + 1), wrong, cell)),
            }
        }
        if found != self.cells as u64 {
            problem = Some(self.refuse(format!("{} has {}, expected {}", at(), count(found, "cell"), self.cells)));
        }
        problem.map_or(Ok(()), Err)
    }

    /// The error for a cell that is not a number.
    fn refuse_cell(&self, place: &str, found: Cell, cell: &[u8]) -> Error {
        let cell = super::shown(&String::from_utf8_lossy(cell));
        match found {
            Cell::Missing => {
                let what = if cell.is_empty() {
                    "the cell is empty".into()
                } else {
                    format!("'{cell}' means that the cell is missing")
                };
                self.refuse(format!("{place}: {what}")).advise(&[Advice::MissingCells])
            }
            _ => {
                let advice = [Advice::LeaveOutColumn, Advice::ChooseColumns];
                self.refuse(format!("{place}: '{cell}' is not a number")).advise(&advice)
            }
        }
    }

    fn refuse(&self, problem: String) -> Error {
        self.lines.refuse(problem)
    }
}

impl Source for TextTable {
    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    fn file_column(&self, column: usize) -> usize {
        let place = |places: &Vec<Option<u32>>| places.iter().position(|p| p.is_some_and(|p| p as usize + 1 == column));
        self.places.as_ref().and_then(place).map_or(column, |c| c + 1)
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let mut numbers = Vec::new();
        let mut rows = 0;
        while rows < n.max(1) {
            let line = match self.pending.pop() {
                Some(line) => Some(line),
                None => self.lines.next()?,
            };
            let Some((number, line)) = line else { break };
            self.done += 1;
            self.push(&line, || format!("data row {} (line {number})", self.done), &mut numbers)?;
            self.lines.give_back(line);
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        Array2::from_shape_vec((rows, self.columns), numbers).map(Some).map_err(|e| self.refuse(e.to_string()))
    }
}

/// Whether the last of these lines (in reverse order) is a header, by the rule at the top of this file, or because an option
/// names one of its cells.
fn is_header(separator: Separator, lines: &[(u64, Vec<u8>)], options: &ReadOptions) -> bool {
    let Some(((_, first), below)) = lines.split_last() else { return false };
    let cells = || separator.cells(first).map(|cell| (number(cell), cell));
    let has_number = cells().any(|c| matches!(c.0, Cell::Number(_)));
    let mut texts = cells().filter(|c| matches!(c.0, Cell::Text)).peekable();
    if texts.peek().is_none() {
        return false;
    }
    if !has_number || texts.any(|(_, cell)| columns::names(options).any(|name| name.as_bytes() == cell)) {
        return true;
    }
    let Some((_, second)) = below.first() else { return false };
    let text_above_number = |(a, b): ((Cell, _), &[u8])| matches!((a.0, number(b)), (Cell::Text, Cell::Number(_)));
    cells().count() != separator.cells(second).count() || cells().zip(separator.cells(second)).any(text_above_number)
}

/// A header cell as a name; a doubled quote is one quote.
fn name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).replace("\"\"", "\"")
}

#[cfg(test)]
mod tests;
