//! Comma-separated numbers, one row per line; the first line is a header if a cell of it is no number.
//!
//! Cells may be quoted or padded with spaces; a byte-order mark and either line ending are fine. Missing values are
//! refused by row and column.

use super::{MOST_COLUMNS, Source};
use crate::error::{Error, Result};
use ::csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use ndarray::Array2;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest line in bytes: 2²⁴ cells of four bytes. A file without line ends cannot exhaust the memory.
const MOST_LINE: usize = 64 << 20;
/// Ways to write that a number is missing, in lower case.
const MISSING: [&str; 7] = ["", "nan", "na", "n/a", "null", "none", "?"];

/// Opens a .csv file.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.into(), action: "opening", source })?;
    Ok(Box::new(Table::new(path, file)?))
}

struct Table<R> {
    path: PathBuf,
    reader: Reader<Limited<R>>,
    left: Arc<AtomicUsize>,
    record: ByteRecord,
    /// Whether `record` is the first row, read to learn the number of columns and not yet given out.
    pending: bool,
    columns: usize,
    done: u64,
}

impl<R: Read> Table<R> {
    fn new(path: &Path, file: R) -> Result<Table<R>> {
        let left = Arc::new(AtomicUsize::new(MOST_LINE));
        let limited = Limited { file, left: left.clone() };
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(limited);
        let (record, path) = (ByteRecord::new(), path.into());
        let mut table = Table { path, reader, left, record, pending: true, columns: 0, done: 0 };
        if !table.advance()? {
            return Err(table.refuse("the file is empty".into()));
        }
        let is_header = table.record.iter().any(|cell| matches!(number(cell), Cell::Text));
        if is_header && !table.advance()? {
            return Err(table.refuse("there is only a header, no rows".into()));
        }
        // The first row counts, not the header: some headers describe the file instead of naming its columns.
        table.columns = table.record.len();
        if table.columns > MOST_COLUMNS {
            return Err(table.refuse(format!("a row has {} cells, the limit is {MOST_COLUMNS}", table.columns)));
        }
        Ok(table)
    }

    /// Reads the next line that is not empty; false at the end.
    fn advance(&mut self) -> Result<bool> {
        self.left.store(MOST_LINE, Ordering::Relaxed);
        self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            ::csv::ErrorKind::Io(source) => Error::Io { path: self.path.clone(), action: "reading", source },
            other => Error::Data { path: self.path.clone(), problem: format!("not readable as CSV ({other:?})") },
        })
    }

    /// Appends the numbers of the current record.
    fn push(&mut self, numbers: &mut Vec<f64>) -> Result<()> {
        self.done += 1;
        if self.record.len() != self.columns {
            let problem = format!("{} has {} cells, expected {}", self.row(), self.record.len(), self.columns);
            return Err(self.refuse(problem));
        }
        for (c, cell) in self.record.iter().enumerate() {
            let place = || format!("{}, column {}", self.row(), c + 1);
            match number(cell) {
                Cell::Number(x) => numbers.push(x),
                Cell::Missing => return Err(self.refuse(format!("{}: the value is missing", place()))),
                Cell::Text => {
                    let problem = format!("{}: '{}' is not a number", place(), shown(cell));
                    return Err(self.refuse(problem));
                }
            }
        }
        Ok(())
    }

    /// Where the current record stands: its number among the rows and, for an editor, its line.
    fn row(&self) -> String {
        let line = self.record.position().map_or(0, ::csv::Position::line);
        format!("row {} (line {line})", self.done)
    }

    fn refuse(&self, problem: String) -> Error {
        Error::Data { path: self.path.clone(), problem }
    }
}

impl<R: Read + Send> Source for Table<R> {
    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let mut numbers = Vec::new();
        let mut rows = 0;
        while rows < n.max(1) && (std::mem::take(&mut self.pending) || self.advance()?) {
            self.push(&mut numbers)?;
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        Array2::from_shape_vec((rows, self.columns), numbers).map(Some).map_err(|e| self.refuse(e.to_string()))
    }
}

enum Cell {
    Number(f64),
    Missing,
    Text,
}

fn number(cell: &[u8]) -> Cell {
    let text = std::str::from_utf8(cell).unwrap_or("not UTF-8");
    match text.parse::<f64>() {
        Ok(x) if !x.is_nan() => Cell::Number(x),
        _ if MISSING.iter().any(|m| text.eq_ignore_ascii_case(m)) => Cell::Missing,
        // What parses and is no number, such as "-nan".
        Ok(_) => Cell::Missing,
        Err(_) => Cell::Text,
    }
}

/// A cell in a message: short, without control characters.
fn shown(cell: &[u8]) -> String {
    super::shown(&String::from_utf8_lossy(cell))
}

/// A reader that gives at most `left` bytes until `left` is filled up again.
struct Limited<R> {
    file: R,
    left: Arc<AtomicUsize>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other(format!("a line is longer than {} MiB", MOST_LINE >> 20)));
        }
        let most = bytes.len().min(left);
        let n = self.file.read(&mut bytes[..most])?;
        self.left.store(left - n, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn read(text: &[u8]) -> Result<Array2<f64>> {
        let mut table = Table::new(Path::new("x.csv"), text)?;
        let mut all = Array2::zeros((0, table.columns()));
        while let Some(block) = table.read(2)? {
            all.append(ndarray::Axis(0), block.view()).unwrap();
        }
        Ok(all)
    }

    #[test]
    fn headers_marks_quotes_spaces_and_line_ends_are_understood() {
        let expected = array![[1.0, 2.5], [-3e2, 4.0], [5.0, 6.0]];
        for text in [
            "1,2.5\n-3e2,4\n5,6\n",
            "a,b\n1,2.5\n-300,4\n5,6",
            "3 rows\n1,2.5\n-300,4\n5,6",
            "\u{feff}1,2.5\r\n-300,4\r\n5,6\r\n",
            "\u{feff}\"a, b\",c\r\n\"1\", 2.5\r\n\r\n-300,\"4\"\r\n5,6\r\n",
        ] {
            assert_eq!(read(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_row_line_and_column() {
        for (text, message) in [
            ("", "the file is empty"),
            ("\n\n", "the file is empty"),
            ("a,b\n", "only a header"),
            ("a,b\nc,d\n", "row 1 (line 2), column 1: 'c' is not a number"),
            ("1,2\n3,x\n", "row 2 (line 2), column 2: 'x' is not a number"),
            ("a,b\n1,2\n3\n", "row 2 (line 3) has 1 cells, expected 2"),
            ("1,2\n1,2,3\n", "row 2 (line 2) has 3 cells, expected 2"),
            ("1,\n", "row 1 (line 1), column 2: the value is missing"),
            ("1,2\n1,NaN\n", "row 2 (line 2), column 2: the value is missing"),
            ("1,2\nNA,3\n", "row 2 (line 2), column 1: the value is missing"),
            ("1;2\n3;4\n", "row 1 (line 2), column 1: '3;4' is not a number"),
            ("1,2\n\u{7}\u{1b}[31m,3\n", "'\\u{7}\\u{1b}[31m' is not a number"),
        ] {
            let found = read(text.as_bytes()).unwrap_err().to_string();
            assert!(found.contains(message), "{text}: {found}");
        }
        assert!(read(b"1,2\n\xff\xfe,2\n").unwrap_err().to_string().contains("is not a number"));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        for byte in [b'1', b'"'] {
            let endless = io::repeat(byte).take(1 << 40);
            let message = Table::new(Path::new("x.csv"), endless).err().unwrap().to_string();
            assert!(message.contains("longer than 64 MiB"), "{message}");
        }
    }
}
