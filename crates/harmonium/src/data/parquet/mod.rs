//! Parquet: columns of numbers and words in groups of rows, as pandas, Polars, DuckDB and Spark write them.
//!
//! A field is a column; a list of numbers that has the same length in every row is that many columns. A missing number is
//! read as NaN. Read as cells, texts are words, truth values are the words false and true, and dates are what no unit learns. Files are read by column, one group of rows at a time, with the plain column readers of the parquet crate,
//! which need none of the Arrow crates.

mod field;
mod pages;
mod thrift;

use super::bytes::{most_held, seekable};
use super::guard::guarded;
use super::rows::BLOCK_CELLS;
use super::{Cell, Header, MOST_COLUMNS, ReadOptions, SeeCell, Source, shown};
use crate::advice::Advice;
use crate::error::{Error, Result};
use field::{Field, Holds, fields};
use ndarray::{Array2, ArrayViewMut2, s};
use pages::{Bounded, Pages};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as Outcome};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Whether a file with these first bytes is Parquet.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// What is said to be at fault if the parquet crate panics.
const NAME: &str = "Parquet";

/// Opens a Parquet file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    guarded(path, NAME, || table(path, options))
}

fn table(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let refuse = |problem: String| Error::Data { path: path.into(), problem };
    if options.skip_rows > 0 || options.header != Header::Auto {
        return Err(refuse("a Parquet file has no lines to skip, and always names its columns".into()));
    }
    let (file, length) = seekable(path)?;
    let file = Arc::new(Bounded { file, length });
    let meta = file.footer().and_then(|f| ParquetMetaDataReader::decode_metadata(&f)).map_err(|e| refusal(path, &e))?;
    let fields = fields(&meta, options, &refuse)?;
    let rows =
        rows(&meta).ok_or_else(|| refuse("the row groups do not add up to the number of rows in the header".into()))?;
    let width = fields.iter().try_fold(0usize, |sum, f| sum.checked_add(f.width())).filter(|w| *w <= MOST_COLUMNS);
    let width = width.ok_or_else(|| refuse(format!("a row has more than {MOST_COLUMNS} numbers")))?;
    // Lists are decoded row by row, so a small file could claim rows that fill the memory.
    let lists = fields.iter().any(|f| f.list.is_some());
    let bytes = rows.checked_mul(8 * width as u64);
    if lists && bytes.is_none_or(|b| b > most_held(length)) {
        return Err(refuse(format!("{rows} rows of {width} numbers are too many for a file of {length} bytes")));
    }
    if rows == 0 || width == 0 {
        return Err(refuse("the table is empty".into()));
    }
    let names: Vec<String> = fields.iter().flat_map(Field::names).collect();
    let readers = Vec::new();
    let path = path.into();
    Ok(Box::new(ParquetTable { path, file, meta, fields, readers, names, rows, done: 0, group: 0, left: 0 }))
}

fn refusal(path: &Path, error: &ParquetError) -> Error {
    let text = error.to_string();
    let text = text.trim_start_matches("Parquet error: ");
    Error::Data { path: path.into(), problem: format!("not readable as Parquet ({})", shown(text)) }
}

/// The number of rows, if the groups agree with the header.
fn rows(meta: &ParquetMetaData) -> Option<u64> {
    let groups = meta.row_groups().iter();
    let sum = groups.map(|g| u64::try_from(g.num_rows()).ok()).try_fold(0u64, |sum, n| sum.checked_add(n?))?;
    (u64::try_from(meta.file_metadata().num_rows()).ok() == Some(sum)).then_some(sum)
}

/// A Parquet file being read.
struct ParquetTable {
    path: PathBuf,
    file: Arc<Bounded>,
    meta: ParquetMetaData,
    fields: Vec<Field>,
    /// One per field that can be learned, in the group that is being read.
    readers: Vec<Option<ColumnReader>>,
    names: Vec<String>,
    rows: u64,
    done: u64,
    /// The next group, and the rows of the current one that are not read yet.
    group: usize,
    left: u64,
}

impl ParquetTable {
    /// Opens the next group of rows.
    fn next_group(&mut self) -> Outcome<()> {
        let group = self.meta.row_groups().get(self.group);
        let group = group.ok_or_else(|| ParquetError::General("there are fewer rows than the header claims".into()))?;
        let rows = u64::try_from(group.num_rows())?;
        let held = Arc::new(AtomicU64::new(0));
        let columns = self.fields.iter().map(|field| {
            if let Holds::Other(_) = field.holds() {
                return Ok(None);
            }
            let pages = Pages::new(&self.file, group.column(field.leaf), rows, &held)?;
            Ok(Some(get_column_reader(field.column.clone(), Box::new(pages))))
        });
        let readers = columns.collect::<Outcome<Vec<_>>>()?;
        self.left = rows;
        (self.readers, self.group) = (readers, self.group + 1);
        Ok(())
    }
}

impl Source for ParquetTable {
    fn columns(&self) -> usize {
        self.names.len()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn file_column(&self, column: usize) -> usize {
        let mut fields = self.fields.iter().flat_map(|f| std::iter::repeat_n(f.leaf + 1, f.width()));
        fields.nth(column.saturating_sub(1)).unwrap_or(column)
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let path = self.path.clone();
        guarded(&path, NAME, || self.next_rows(n))
    }

    fn read_cells(&mut self, n: usize, see: SeeCell) -> Result<usize> {
        let path = self.path.clone();
        guarded(&path, NAME, || self.next_cells(n, see))
    }
}

impl ParquetTable {
    /// How many rows can be read at once, at most `n`; 0 at the end.
    fn ready(&mut self, n: usize) -> Result<usize> {
        if self.done == self.rows {
            return Ok(0);
        }
        while self.left == 0 {
            self.next_group().map_err(|e| refusal(&self.path, &e))?;
        }
        let most = n.clamp(1, (BLOCK_CELLS / self.names.len()).max(1));
        Ok(self.left.min(most as u64) as usize)
    }

    fn next_rows(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        for field in &self.fields {
            let refuse = |problem| Error::Data { path: self.path.clone(), problem };
            let advice = &[Advice::LeaveOutColumn, Advice::ChooseColumns];
            field.check().map_err(|problem| refuse(problem).advise(advice))?;
        }
        let n = self.ready(n)?;
        if n == 0 {
            return Ok(None);
        }
        let mut block = Array2::zeros((n, self.names.len()));
        let mut start = 0;
        for (field, reader) in self.fields.iter().zip(&mut self.readers) {
            let part = block.slice_mut(s![.., start..start + field.width()]);
            let filled = reader.as_mut().map_or(Ok(()), |reader| fill(field, reader, part));
            filled.map_err(|e| e.located(&self.path, self.done, &field.name))?;
            start += field.width();
        }
        (self.left, self.done) = (self.left - n as u64, self.done + n as u64);
        Ok(Some(block))
    }

    fn next_cells(&mut self, n: usize, see: SeeCell) -> Result<usize> {
        let n = self.ready(n)?;
        if n == 0 {
            return Ok(0);
        }
        let mut start = 0;
        for (field, reader) in self.fields.iter().zip(&mut self.readers) {
            show(field, reader.as_mut(), n, start, see).map_err(|e| e.located(&self.path, self.done, &field.name))?;
            start += field.width();
        }
        (self.left, self.done) = (self.left - n as u64, self.done + n as u64);
        Ok(n)
    }
}

/// What can go wrong while rows are read.
enum ReadError {
    File(ParquetError),
    /// In this row of the block.
    Row(usize, String),
    /// What the one who sees the cells refuses.
    Seen(Error),
}

impl ReadError {
    /// The error for a file, `done` rows after its beginning.
    fn located(self, path: &Path, done: u64, name: &str) -> Error {
        match self {
            ReadError::File(e) => refusal(path, &e),
            ReadError::Row(row, problem) => {
                let (row, name) = (done + row as u64 + 1, shown(name));
                Error::Data { path: path.into(), problem: format!("data row {row}, column '{name}': {problem}") }
            }
            ReadError::Seen(error) => error,
        }
    }
}

type Read = std::result::Result<(), ReadError>;

/// Takes a row, a place in its list, and the value there, if there is one.
type Put<'a, T> = &'a mut dyn FnMut(usize, usize, Option<&T>);

/// Reads as many rows of a field as `out` has.
fn fill(field: &Field, reader: &mut ColumnReader, mut out: ArrayViewMut2<f64>) -> Read {
    let rows = out.nrows();
    numbers(field, reader, rows, &mut |row, place, x| out[[row, place]] = x)
}

/// Shows `n` rows of a field whose first column is `start`.
fn show(field: &Field, reader: Option<&mut ColumnReader>, n: usize, start: usize, see: SeeCell) -> Read {
    let mut refused = Ok(());
    let mut seen = |row, place, cell: Cell| {
        if refused.is_ok() {
            refused = see(row, start + place, cell);
        }
    };
    match (field.holds(), reader) {
        (Holds::Words, Some(ColumnReader::ByteArrayColumnReader(r))) => {
            take(field, r, n, &mut |row, place, x: Option<&ByteArray>| {
                let word = x.map(|bytes| std::str::from_utf8(bytes.data()));
                seen(
                    row,
                    place,
                    word.map_or(Cell::Missing, |w| w.map_or(Cell::Other("bytes that are not text"), Cell::Word)),
                );
            })?;
        }
        (Holds::Truth, Some(ColumnReader::BoolColumnReader(r))) => {
            let word = |x: &bool| Cell::Word(if *x { "true" } else { "false" });
            take(field, r, n, &mut |row, place, x| seen(row, place, x.map_or(Cell::Missing, word)))?;
        }
        (Holds::Numbers, Some(r)) => numbers(field, r, n, &mut |row, place, x| seen(row, place, Cell::of(x)))?,
        (Holds::Other(what), _) => (0..n).for_each(|row| seen(row, 0, Cell::Other(what))),
        _ => return Err(ReadError::Row(0, "the data is not of the type that its header claims".into())),
    }
    refused.map_err(ReadError::Seen)
}

/// Passes on the numbers of `n` rows of a field: row, place in its list, number.
fn numbers(field: &Field, reader: &mut ColumnReader, n: usize, put: &mut dyn FnMut(usize, usize, f64)) -> Read {
    let (unit, unsigned) = (field.unit(), field.is_unsigned());
    match reader {
        ColumnReader::BoolColumnReader(r) => mapped(field, r, n, |x| f64::from(u8::from(*x)), put),
        ColumnReader::Int32ColumnReader(r) if unsigned => mapped(field, r, n, |x| f64::from(*x as u32), put),
        ColumnReader::Int32ColumnReader(r) => mapped(field, r, n, |x| f64::from(*x) * unit, put),
        ColumnReader::Int64ColumnReader(r) if unsigned => mapped(field, r, n, |x| *x as u64 as f64, put),
        ColumnReader::Int64ColumnReader(r) => mapped(field, r, n, |x| *x as f64 * unit, put),
        ColumnReader::FloatColumnReader(r) => mapped(field, r, n, |x| f64::from(*x), put),
        ColumnReader::DoubleColumnReader(r) => mapped(field, r, n, |x| *x, put),
        _ => Err(ReadError::Row(0, "not a number".into())),
    }
}

fn mapped<D: DataType>(
    field: &Field,
    reader: &mut ColumnReaderImpl<D>,
    n: usize,
    number: impl Fn(&D::T) -> f64,
    put: &mut dyn FnMut(usize, usize, f64),
) -> Read {
    take(field, reader, n, &mut |row, place, x| put(row, place, x.map_or(f64::NAN, &number)))
}

/// Passes on the values of `n` rows of a field: row, place in its list, value; none for a missing one.
fn take<D: DataType>(field: &Field, reader: &mut ColumnReaderImpl<D>, n: usize, put: Put<D::T>) -> Read {
    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let read = reader.read_records(n, Some(&mut defined), Some(&mut repeated), &mut values);
    let (records, _, levels) = read.map_err(ReadError::File)?;
    if records != n {
        return Err(ReadError::Row(records, "the data ends here".into()));
    }
    // A definition level below the highest is a missing number; in a list, one level lower is a missing list.
    let full = field.column.max_def_level();
    let entry = full - i16::from(field.column.self_type().is_optional());
    let (list, width) = (field.list.is_some(), field.width());
    let (mut row, mut place, mut values) = (0, 0, values.iter());
    for i in 0..levels {
        let level = defined.get(i).copied().unwrap_or(full);
        if i > 0 && (!list || repeated.get(i) == Some(&0)) {
            check_length(list, row, place, width)?;
            (row, place) = (row + 1, 0);
        }
        if list && level < entry {
            continue;
        }
        let x = if level == full { values.next() } else { None };
        if row >= n || place >= width {
            return Err(ReadError::Row(row, "the list is too long".into()));
        }
        put(row, place, x);
        place += 1;
    }
    check_length(list, row, place, width)
}

/// Refuses a list with the wrong length.
fn check_length(list: bool, row: usize, found: usize, expected: usize) -> Read {
    if list && found != expected {
        Err(ReadError::Row(row, format!("the list has {found} numbers, expected {expected}")))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::{Encoding, Repetition, Type as Physical};
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::ByteArray;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    /// The cells of a column of texts that were written in some encoding; none is missing.
    fn read_back(texts: &[Option<&[u8]>], encoding: Option<Encoding>) -> Result<Vec<String>> {
        let column = Type::primitive_type_builder("w", Physical::BYTE_ARRAY).with_repetition(Repetition::OPTIONAL);
        let column = Arc::new(column.build().unwrap());
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(vec![column]).build().unwrap());
        let properties = WriterProperties::builder();
        let properties = match encoding {
            Some(encoding) => properties.set_dictionary_enabled(false).set_encoding(encoding),
            None => properties,
        };
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut writer = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = texts.iter().flatten().map(|text| ByteArray::from(text.to_vec())).collect();
        let levels: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
        if let ColumnWriter::ByteArrayColumnWriter(w) = writer.untyped() {
            w.write_batch(&values, Some(&levels), None).unwrap();
        }
        writer.close().unwrap();
        group.close().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        std::fs::write(&path, file.into_inner().unwrap()).unwrap();
        let mut cells = Vec::new();
        let mut table = open(&path, &ReadOptions::default())?;
        while table.read_cells(2, &mut |_, _, cell| {
            cells.push(format!("{cell:?}"));
            Ok(())
        })? > 0
        {}
        Ok(cells)
    }

    #[test]
    fn texts_are_words_in_every_encoding_but_the_one_that_explodes() {
        let texts = [Some(&b"red"[..]), None, Some(b"redder"), Some(b"red"), Some(b"\xff")];
        let expected =
            ["Word(\"red\")", "Missing", "Word(\"redder\")", "Word(\"red\")", "Other(\"bytes that are not text\")"];
        for encoding in [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)] {
            assert_eq!(read_back(&texts, encoding).unwrap(), expected, "{encoding:?}");
        }
        let refused = read_back(&texts, Some(Encoding::DELTA_BYTE_ARRAY)).unwrap_err().to_string();
        assert!(refused.contains("packed as DELTA_BYTE_ARRAY, which is not read"), "{refused}");
    }
}
