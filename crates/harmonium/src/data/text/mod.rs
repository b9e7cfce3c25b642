//! Text tables: cells separated by commas, tabs, semicolons or white space, one row per line.
//!
//! The separator is the one that splits the first row into the most numbers. `header.rs` decides whether the first line is a
//! header. Cells may be quoted or padded; a byte-order mark and either line ending are accepted; empty lines and lines that
//! start with `#` are skipped. Read as numbers, missing values are errors unless [`ReadOptions::missing`] is set, and words are
//! errors; read as cells, both are what they are.

mod ahead;
mod cells;
mod columns;
mod header;
mod lines;

pub use cells::is_missing_word;
pub(super) use cells::{Cell, number};
pub use columns::column_list;
pub(super) use columns::{arranged, largest, places};
pub(super) use lines::Lines;

use super::bytes::Bytes;
use super::{MOST_COLUMNS, ReadOptions, SeeCell, Source, shown};
use crate::advice::Advice;
use crate::error::{Error, Result, count};
use ahead::Ahead;
use cells::{Separator, has_decimal_commas};
use header::First;
use ndarray::Array2;
use std::borrow::Cow;
use std::path::Path;

/// Opens a text file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    Ok(Box::new(TextTable::new(Lines::new(Bytes::open(path)?), options)?))
}

/// A text table being read.
pub(super) struct TextTable {
    lines: Ahead,
    separator: Separator,
    /// Cells per line.
    cells: usize,
    /// For every cell its column in a row of data, if it has one; none if all cells stay where they are.
    places: Option<Vec<Option<u32>>>,
    columns: usize,
    /// The column names, if the header has one for every column.
    names: Option<Vec<String>>,
    /// How the first line was read, if that may surprise.
    note: Option<String>,
    /// Whether missing cells are read as NaN.
    missing: bool,
    done: u64,
}

impl TextTable {
    /// Reads lines until the separator, the header and the columns are clear; mostly two.
    pub fn new(mut lines: Lines, options: &ReadOptions) -> Result<TextTable> {
        lines.skip(options.skip_rows)?;
        let mut lines = Ahead::new(lines);
        let Some(first) = lines.line(0)?.map(<[u8]>::to_vec) else {
            let left =
                if options.skip_rows > 0 { "no line is left after the skipped ones" } else { "the file is empty" };
            return Err(lines.lines.refuse(left.into()));
        };
        if [[0xff, 0xfe], [0xfe, 0xff]].iter().any(|mark| first.starts_with(mark)) {
            return Err(lines.lines.refuse("the file is UTF-16 text: save it as UTF-8".into()));
        }
        let separator = Separator::guess(lines.line(1)?.unwrap_or(&first), &first);
        let (is, note) = header::decide(separator, &mut lines, options)?;
        let header = if is == First::Data { None } else { lines.next()? };
        // Counted in the first row, not in the header: some headers describe the file instead of naming its columns.
        let Some(number) = lines.number()? else {
            return Err(lines.lines.refuse("read as text, the file has only a header line and no rows".into()));
        };
        let row = lines.line(0)?.unwrap_or_default().to_vec();
        let refuse = |problem: String| lines.lines.refuse(problem);
        let cells = separator.cells(&row).take(MOST_COLUMNS + 1).count();
        if cells > MOST_COLUMNS {
            return Err(refuse(format!("line {number} has more than {MOST_COLUMNS} cells")));
        }
        if has_decimal_commas(&row) {
            let row = header::quoted(&row);
            return Err(refuse(format!("line {number}, '{row}', has decimal commas: write decimal points")));
        }
        let header = header.filter(|_| is == First::Names);
        let lacks_one = header.as_ref().is_some_and(|(_, line)| header::lacks_first_name(separator, line, &row));
        let mut header: Option<Vec<&[u8]>> = header.as_ref().map(|(_, line)| separator.cells(line).collect());
        if let Some(names) = header.as_mut().filter(|_| lacks_one) {
            names.insert(0, b"");
        }
        let places = places(options, cells, header.as_ref().map(|names| names.iter().copied())).map_err(refuse)?;
        let columns = places.as_ref().map_or(cells, |p| p.iter().flatten().count());
        let names: Option<Vec<String>> = header.map(|names| names.into_iter().map(header::name).collect());
        let names = names.filter(|names| names.len() == cells).map(|names| arranged(names, places.as_deref()));
        Ok(TextTable { lines, separator, cells, places, columns, names, note, missing: options.missing, done: 0 })
    }

    /// Shows the columns of a row and their cells in a line, up to the first that is refused.
    fn each_cell(
        &self,
        line: &[u8],
        at: &dyn Fn() -> String,
        mut see: impl FnMut(usize, &[u8]) -> Option<Error>,
    ) -> Result<()> {
        let (mut found, mut problem) = (0u64, None);
        for (c, cell) in self.separator.cells(line).enumerate() {
            found += 1;
            let place = self.places.as_ref().map_or(Some(c as u32), |p| p.get(c).copied().flatten());
            let Some(place) = place.filter(|_| c < self.cells && problem.is_none()) else { continue };
            problem = see(place as usize, cell);
        }
        if found != self.cells as u64 {
            problem = Some(self.refuse(format!("{} has {}, expected {}", at(), count(found, "cell"), self.cells)));
        }
        problem.map_or(Ok(()), Err)
    }

    /// Appends the numbers of a line.
    fn push(&self, line: &[u8], at: &dyn Fn() -> String, numbers: &mut Vec<f64>) -> Result<()> {
        let start = numbers.len();
        numbers.resize(start + self.columns, 0.0);
        self.each_cell(line, at, |c, cell| match number(cell) {
            Cell::Number(x) => {
                numbers[start + c] = x;
                None
            }
            Cell::Missing if self.missing => {
                numbers[start + c] = f64::NAN;
                None
            }
            wrong => Some(self.refuse_cell(&self.place(at, c), wrong, cell)),
        })
    }

    /// Shows the cells of a line.
    fn show(&self, line: &[u8], at: &dyn Fn() -> String, row: usize, see: SeeCell) -> Result<()> {
        self.each_cell(line, at, |c, cell| match (number(cell), word(cell)) {
            (Cell::Number(x), _) => see(row, c, super::Cell::Number(x)).err(),
            (Cell::Missing, _) => see(row, c, super::Cell::Missing).err(),
            (Cell::Text, Some(word)) => see(row, c, super::Cell::Word(&word)).err(),
            (Cell::Text, None) => {
                let cell = header::quoted(cell);
                Some(self.refuse(format!("{}: '{cell}' is not UTF-8 text: save the file as UTF-8", self.place(at, c))))
            }
        })
    }

    /// Where a cell is: its row, line and column in the file.
    fn place(&self, at: &dyn Fn() -> String, column: usize) -> String {
        format!("{}, column {}", at(), self.file_column(column + 1))
    }

    /// The error for a cell that is not a number.
    fn refuse_cell(&self, place: &str, found: Cell, cell: &[u8]) -> Error {
        let cell = shown(&String::from_utf8_lossy(cell));
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
        self.lines.lines.refuse(problem)
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

    fn has_cells(&self) -> bool {
        true
    }

    fn note(&self) -> Option<String> {
        self.note.clone()
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let mut numbers = Vec::new();
        let rows = self.each_line(n, |table, line, at, _| table.push(line, at, &mut numbers))?;
        if rows == 0 {
            return Ok(None);
        }
        Array2::from_shape_vec((rows, self.columns), numbers).map(Some).map_err(|e| self.refuse(e.to_string()))
    }

    fn read_cells(&mut self, n: usize, see: SeeCell) -> Result<usize> {
        self.each_line(n, |table, line, at, row| table.show(line, at, row, see))
    }
}

impl TextTable {
    /// Does `work` with the next lines, at most `n`, their places for messages, and their numbers from 0; returns how many there were.
    fn each_line(
        &mut self,
        n: usize,
        mut work: impl FnMut(&TextTable, &[u8], &dyn Fn() -> String, usize) -> Result<()>,
    ) -> Result<usize> {
        let mut rows = 0;
        while rows < n.max(1) {
            let Some((number, line)) = self.lines.next()? else { break };
            self.done += 1;
            work(self, &line, &|| format!("data row {} (line {number})", self.done), rows)?;
            self.lines.lines.give_back(line);
            rows += 1;
        }
        Ok(rows)
    }
}

/// A cell as text; a doubled quote is one quote. None if it is not UTF-8.
fn word(cell: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(cell).ok()?;
    Some(if text.contains("\"\"") { text.replace("\"\"", "\"").into() } else { text.into() })
}

#[cfg(test)]
mod tests;
