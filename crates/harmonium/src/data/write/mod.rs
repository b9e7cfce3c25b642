//! Writing tables: the extension determines the format, rows are written as they arrive, and no partial file is left.
//!
//! **To add a format: write its file, add its line to [`WRITERS`].**

mod csv;
mod fasta;
mod idx;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;

use super::extension;
use crate::atomic;
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView2};
use std::io::{self, Write};
use std::path::Path;

/// What is known of a table before its rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableHead<'a> {
    /// Numbers per row.
    pub columns: usize,
    /// Number of rows, if it is known.
    pub rows: Option<u64>,
    /// Whether it is a vector and not a table of one column, for formats that distinguish them.
    pub vector: bool,
    /// Names of the columns.
    pub names: Option<&'a [String]>,
    /// Height × width, if the rows are images.
    pub image: Option<(usize, usize)>,
    /// The letters of the codes, if the rows are sequences.
    pub alphabet: Option<&'a str>,
    /// For every column the words that stand for its values, if columns have words.
    pub words: Option<&'a [Words]>,
}

impl TableHead<'_> {
    /// The word for a value of a column, if the column has words. A value between two is the nearer one; NaN has none.
    fn word(&self, column: usize, x: f64) -> Option<&str> {
        let Words { values, words } = self.words?.get(column)?;
        let off = |k: &usize| (values[*k] - x).abs();
        let nearest = (0..values.len().min(words.len())).min_by(|a, b| off(a).total_cmp(&off(b)))?;
        words.get(nearest).map(String::as_str)
    }

    /// Whether a column has words.
    fn has_words(&self, column: usize) -> bool {
        self.words.and_then(|words| words.get(column)).is_some_and(|words| !words.words.is_empty())
    }
}

/// The words that stand for the values of a column; empty if its cells are numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The values.
    pub values: Vec<f64>,
    /// The word of each.
    pub words: Vec<String>,
}

/// A format that tables are written in.
pub struct Writer {
    /// Name for messages and documentation.
    pub name: &'static str,
    /// Its file extensions, in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// Whether its header has the number of rows.
    counts_rows: bool,
    /// Refuses tables that the format cannot hold, before any row is computed.
    check: fn(&TableHead) -> Outcome,
    /// How its bytes are made.
    how: How,
}

/// How the bytes of a format are made.
#[derive(Clone, Copy)]
enum How {
    /// From the table and the rows alone.
    Plain {
        /// Writes what comes before the rows.
        head: fn(&TableHead, rows: u64, &mut Vec<u8>) -> Outcome,
        /// Appends rows; the first of them has this number, counted from 1.
        rows: fn(&TableHead, ArrayView2<f64>, first: u64, &mut Vec<u8>) -> Outcome,
    },
    /// By something that remembers what it has written.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))] // the only such format
    Kept(for<'a> fn(&'a TableHead<'a>) -> std::result::Result<Box<dyn Appender + 'a>, String>),
}

/// A table that is being written in some format.
trait Appender {
    /// Appends rows to `out`, now or later; the first of them has this number, counted from 1.
    fn append(&mut self, block: ArrayView2<f64>, first: u64, out: &mut Vec<u8>) -> Outcome;

    /// Appends what is left.
    fn finish(&mut self, _: &mut Vec<u8>) -> Outcome {
        Ok(())
    }
}

/// A format without memory.
struct Plain<'a> {
    table: &'a TableHead<'a>,
    rows: fn(&TableHead, ArrayView2<f64>, first: u64, &mut Vec<u8>) -> Outcome,
}

impl Appender for Plain<'_> {
    fn append(&mut self, block: ArrayView2<f64>, first: u64, out: &mut Vec<u8>) -> Outcome {
        (self.rows)(self.table, block, first, out)
    }
}

impl How {
    /// Begins a table; its head goes to `out`.
    fn begin<'a>(
        self,
        table: &'a TableHead<'a>,
        out: &mut Vec<u8>,
    ) -> std::result::Result<Box<dyn Appender + 'a>, String> {
        match self {
            How::Plain { head, rows } => {
                head(table, table.rows.unwrap_or(0), out)?;
                Ok(Box::new(Plain { table, rows }))
            }
            How::Kept(open) => open(table),
        }
    }
}

/// An error is a sentence.
type Outcome = std::result::Result<(), String>;

/// The list; the first format is for names without an extension.
pub const WRITERS: &[Writer] = &[
    npy::WRITER,
    csv::WRITER,
    #[cfg(feature = "parquet")]
    parquet::WRITER,
    idx::WRITER,
    fasta::WRITER,
];

/// Returns the blocks of a table one after the other, `None` at the end.
pub(crate) type Blocks<'a> = &'a mut dyn FnMut() -> Result<Option<Array2<f64>>>;

impl Writer {
    /// The format for the name of a file.
    pub fn of(path: &Path) -> Result<&'static Writer> {
        let extension = match path.extension() {
            None if extension(path).is_empty() => WRITERS[0].extensions[0].into(),
            _ => extension(path),
        };
        let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let found = WRITERS.iter().find(|w| w.extensions.contains(&extension.as_str()) && !packed);
        found.ok_or_else(|| {
            let known: Vec<String> = WRITERS.iter().map(|w| format!(".{}", w.extensions[0])).collect();
            Error::Data {
                path: path.into(),
                problem: format!("unknown extension: tables are written as {}", known.join(", ")),
            }
        })
    }
}

/// Writes the blocks that `next` returns and returns the number of rows. If `next` fails, no file is left.
///
/// If the header needs the number of rows and it is not known, all rows are kept in memory until the last.
pub fn write_table(path: &Path, table: &TableHead, next: Blocks) -> Result<u64> {
    let writer = Writer::of(path)?;
    (writer.check)(table).map_err(|problem| Error::Data { path: path.into(), problem })?;
    if writer.counts_rows && table.rows.is_none() {
        let mut blocks = Vec::new();
        while let Some(block) = next()? {
            blocks.push(block);
        }
        let rows = Some(blocks.iter().map(|b| b.nrows() as u64).sum());
        let mut blocks = blocks.into_iter();
        return write_table(path, &TableHead { rows, ..*table }, &mut || Ok(blocks.next()));
    }
    // The atomic writer passes on I/O errors only; any other error is kept here while the file is removed.
    let (mut failure, mut done) = (None, 0);
    let written = atomic::write(path, |out| {
        Streamed { path, writer, table }.write(out, next, &mut done).map_err(|e| match e {
            Failure::Io(e) => e,
            Failure::Other(e) => {
                failure = Some(e);
                io::Error::other("no rows to write")
            }
        })
    });
    match failure {
        Some(error) => Err(error),
        None => written.map(|()| done),
    }
}

enum Failure {
    Io(io::Error),
    Other(Error),
}

/// A table that is being written.
struct Streamed<'a> {
    path: &'a Path,
    writer: &'static Writer,
    table: &'a TableHead<'a>,
}

impl Streamed<'_> {
    fn write(&self, out: &mut dyn Write, next: Blocks, done: &mut u64) -> std::result::Result<(), Failure> {
        let mut bytes = Vec::new();
        let mut rows = self.writer.how.begin(self.table, &mut bytes).map_err(|e| self.refused(e))?;
        while let Some(block) = next().map_err(Failure::Other)? {
            self.expect("a block", "columns", self.table.columns as u64, block.ncols() as u64)?;
            rows.append(block.view(), *done + 1, &mut bytes).map_err(|e| self.refused(e))?;
            *done += block.nrows() as u64;
            out.write_all(&bytes).map_err(Failure::Io)?;
            bytes.clear();
        }
        rows.finish(&mut bytes).map_err(|e| self.refused(e))?;
        out.write_all(&bytes).map_err(Failure::Io)?;
        self.expect("the output", "rows", self.table.rows.unwrap_or(*done), *done)
    }

    fn refused(&self, problem: String) -> Failure {
        Failure::Other(Error::Data { path: self.path.into(), problem })
    }

    fn expect(&self, what: &str, unit: &str, expected: u64, found: u64) -> std::result::Result<(), Failure> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (format!("{expected} {unit}"), found.to_string());
        Err(Failure::Other(Error::Shape { what: what.into(), expected, found }))
    }
}
