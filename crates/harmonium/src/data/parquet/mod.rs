//! Parquet: columns of numbers in groups of rows, as pandas, Polars, DuckDB and Spark write them.
//!
//! A field is a column; a list of numbers that has the same length in every row is that many columns. A missing number is
//! read as NaN. Files are read by column, one group of rows at a time, with the plain column readers of the parquet crate,
//! which need none of the Arrow crates.

mod pages;
mod thrift;

use super::bytes::{most_held, seekable};
use super::guard::guarded;
use super::rows::BLOCK_CELLS;
use super::text::{arranged, places};
use super::{MOST_COLUMNS, ReadOptions, Source, shown};
use crate::advice::Advice;
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayViewMut2, s};
use pages::{Bounded, Pages};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as Outcome};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescPtr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Prefix of the columns in which pandas stores its row index.
const INDEX: &str = "__index_level_";

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
    if options.skip_rows > 0 {
        return Err(refuse("a Parquet file has no lines to skip".into()));
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

/// A field of the table.
#[derive(Clone)]
struct Field {
    /// Its index among the columns of the file.
    leaf: usize,
    name: String,
    column: ColumnDescPtr,
    /// Numbers per row, if it is a list.
    list: Option<usize>,
}

/// The fields to read, in their order; refuses those that are not numbers.
fn fields(meta: &ParquetMetaData, options: &ReadOptions, refuse: &dyn Fn(String) -> Error) -> Result<Vec<Field>> {
    let schema = meta.file_metadata().schema_descr();
    let field = |(leaf, column): (usize, &ColumnDescPtr)| {
        let parts = column.path().parts();
        let name =
            if column.max_rep_level() > 0 { parts.first().cloned().unwrap_or_default() } else { parts.join(".") };
        Field { leaf, name, column: column.clone(), list: None }
    };
    let all: Vec<Field> = schema.columns().iter().enumerate().map(field).collect();
    let header = all.iter().map(|f| f.name.as_bytes()).collect::<Vec<_>>();
    let places = places(options, all.len(), Some(header.iter().copied())).map_err(refuse)?;
    let mut fields = arranged(all, places.as_deref());
    fields.retain(|f| options.columns.is_some() || !f.name.starts_with(INDEX));
    for field in &mut fields {
        let other = &[Advice::LeaveOutColumn, Advice::ChooseColumns];
        field.check().map_err(|problem| refuse(problem).advise(other))?;
        if field.column.max_rep_level() > 0 {
            field.list = Some(list_length(meta, field).map_err(refuse)?);
        }
    }
    Ok(fields)
}

/// The length of the lists of a field, which must be the same in all rows.
fn list_length(meta: &ParquetMetaData, field: &Field) -> std::result::Result<usize, String> {
    let mut length = None;
    for group in meta.row_groups().iter().filter(|g| g.num_rows() > 0) {
        let (rows, values) = (group.num_rows(), group.columns().get(field.leaf).map_or(0, |c| c.num_values()));
        let here = usize::try_from(values / rows).ok().filter(|n| values % rows == 0 && *n > 0);
        let same = here.filter(|n| length.is_none_or(|l| l == *n) && *n <= MOST_COLUMNS);
        length = Some(same.ok_or_else(|| {
            format!(
                "the lists of column '{}' have different lengths, expected one length for all rows",
                shown(&field.name)
            )
        })?);
    }
    Ok(length.unwrap_or(0))
}

impl Field {
    fn width(&self) -> usize {
        self.list.unwrap_or(1)
    }

    /// The names of its columns; those of a list are numbered from 0.
    fn names(&self) -> Vec<String> {
        match self.list {
            None => vec![self.name.clone()],
            Some(n) => (0..n).map(|i| format!("{}[{i}]", self.name)).collect(),
        }
    }

    /// Refuses a field that is not numbers.
    fn check(&self) -> std::result::Result<(), String> {
        let is = match self.column.physical_type() {
            _ if self.column.max_rep_level() > 1 => "lists of lists",
            _ if self.is_time() => "dates or times",
            Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE => return Ok(()),
            _ => "text or bytes",
        };
        Err(format!("column '{}' holds {is}, expected numbers", shown(&self.name)))
    }

    fn is_time(&self) -> bool {
        use LogicalType as L;
        let logical = self.column.logical_type_ref();
        matches!(logical, Some(L::Date | L::Time { .. } | L::Timestamp { .. }))
            || self.column.physical_type() == Physical::INT96
    }

    fn is_unsigned(&self) -> bool {
        use ConvertedType as C;
        matches!(self.column.logical_type_ref(), Some(LogicalType::Integer(i)) if !i.is_signed)
            || matches!(self.column.converted_type(), C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64)
    }

    /// 10^−scale of decimal numbers.
    fn unit(&self) -> f64 {
        match self.column.logical_type_ref() {
            Some(LogicalType::Decimal(d)) => 10f64.powi(d.scale.saturating_neg()),
            _ => 1.0,
        }
    }
}

/// A Parquet file being read.
struct ParquetTable {
    path: PathBuf,
    file: Arc<Bounded>,
    meta: ParquetMetaData,
    fields: Vec<Field>,
    /// One per field, in the group that is being read.
    readers: Vec<ColumnReader>,
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
            let pages = Pages::new(&self.file, group.column(field.leaf), rows, &held)?;
            Ok(get_column_reader(field.column.clone(), Box::new(pages)))
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

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let path = self.path.clone();
        guarded(&path, NAME, || self.next_rows(n))
    }
}

impl ParquetTable {
    fn next_rows(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        if self.done == self.rows {
            return Ok(None);
        }
        while self.left == 0 {
            self.next_group().map_err(|e| refusal(&self.path, &e))?;
        }
        let most = n.clamp(1, (BLOCK_CELLS / self.names.len()).max(1));
        let n = self.left.min(most as u64) as usize;
        let mut block = Array2::zeros((n, self.names.len()));
        let mut start = 0;
        for (field, reader) in self.fields.iter().zip(&mut self.readers) {
            let part = block.slice_mut(s![.., start..start + field.width()]);
            fill(field, reader, part).map_err(|error| match error {
                ReadError::File(e) => refusal(&self.path, &e),
                ReadError::Row(row, problem) => {
                    let (row, name) = (self.done + row as u64 + 1, shown(&field.name));
                    Error::Data {
                        path: self.path.clone(),
                        problem: format!("data row {row}, column '{name}': {problem}"),
                    }
                }
            })?;
            start += field.width();
        }
        (self.left, self.done) = (self.left - n as u64, self.done + n as u64);
        Ok(Some(block))
    }
}

/// What can go wrong while rows are read.
enum ReadError {
    File(ParquetError),
    /// In this row of the block.
    Row(usize, String),
}

/// Reads as many rows of a field as `out` has.
fn fill(field: &Field, reader: &mut ColumnReader, out: ArrayViewMut2<f64>) -> std::result::Result<(), ReadError> {
    let (unit, unsigned) = (field.unit(), field.is_unsigned());
    match reader {
        ColumnReader::BoolColumnReader(r) => take(field, r, |x| f64::from(u8::from(*x)), out),
        ColumnReader::Int32ColumnReader(r) if unsigned => take(field, r, |x| f64::from(*x as u32), out),
        ColumnReader::Int32ColumnReader(r) => take(field, r, |x| f64::from(*x) * unit, out),
        ColumnReader::Int64ColumnReader(r) if unsigned => take(field, r, |x| *x as u64 as f64, out),
        ColumnReader::Int64ColumnReader(r) => take(field, r, |x| *x as f64 * unit, out),
        ColumnReader::FloatColumnReader(r) => take(field, r, |x| f64::from(*x), out),
        ColumnReader::DoubleColumnReader(r) => take(field, r, |x| *x, out),
        _ => Err(ReadError::Row(0, "not a number".into())),
    }
}

fn take<D: DataType>(
    field: &Field,
    reader: &mut ColumnReaderImpl<D>,
    number: impl Fn(&D::T) -> f64,
    mut out: ArrayViewMut2<f64>,
) -> std::result::Result<(), ReadError> {
    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let n = out.nrows();
    let read = reader.read_records(n, Some(&mut defined), Some(&mut repeated), &mut values);
    let (records, _, levels) = read.map_err(ReadError::File)?;
    if records != n {
        return Err(ReadError::Row(records, "the data ends here".into()));
    }
    // A definition level below the highest is a missing number; in a list, one level lower is a missing list.
    let full = field.column.max_def_level();
    let entry = full - i16::from(field.column.self_type().is_optional());
    let list = field.list.is_some();
    let (mut row, mut place, mut values) = (0, 0, values.iter());
    for i in 0..levels {
        let level = defined.get(i).copied().unwrap_or(full);
        if i > 0 && (!list || repeated.get(i) == Some(&0)) {
            check_length(list, row, place, out.ncols())?;
            (row, place) = (row + 1, 0);
        }
        if list && level < entry {
            continue;
        }
        let x = if level == full { values.next().map_or(f64::NAN, &number) } else { f64::NAN };
        let cell = out.get_mut((row, place)).ok_or_else(|| ReadError::Row(row, "the list is too long".into()))?;
        (*cell, place) = (x, place + 1);
    }
    check_length(list, row, place, out.ncols())
}

/// Refuses a list with the wrong length.
fn check_length(list: bool, row: usize, found: usize, expected: usize) -> std::result::Result<(), ReadError> {
    if list && found != expected {
        Err(ReadError::Row(row, format!("the list has {found} numbers, expected {expected}")))
    } else {
        Ok(())
    }
}
