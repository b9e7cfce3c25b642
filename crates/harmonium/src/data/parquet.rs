//! Parquet: columns of numbers in groups of rows, as pandas, Polars, DuckDB and Spark write them.
//!
//! A field is a column; a list of numbers that has the same length in every row is that many columns. A missing number is
//! read as NaN. Files are read by column, one group of rows at a time, with the plain column readers of the parquet crate,
//! which need none of the Arrow crates.

use super::bytes::{most_unpacked, seekable};
use super::text::{arranged, places};
use super::{MOST_COLUMNS, ReadOptions, Source, shown};
use crate::advice::Advice;
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayViewMut2, s};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as Outcome};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Prefix of the columns in which pandas stores its row index.
const INDEX: &str = "__index_level_";

/// Whether a file with these first bytes is Parquet.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// Opens a Parquet file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let refuse = |problem: String| Error::Data { path: path.into(), problem };
    if options.skip_rows > 0 {
        return Err(refuse("a Parquet file has no lines to skip".into()));
    }
    let (file, length) = seekable(path)?;
    let reader = SerializedFileReader::new(file).map_err(|e| refusal(path, &e))?;
    let fields = fields(&reader, options, &refuse)?;
    let rows = rows(&reader)
        .ok_or_else(|| refuse("the row groups do not add up to the number of rows in the header".into()))?;
    let width = fields.iter().try_fold(0usize, |sum, f| sum.checked_add(f.width())).filter(|w| *w <= MOST_COLUMNS);
    let width = width.ok_or_else(|| refuse(format!("a row has more than {MOST_COLUMNS} numbers")))?;
    // Lists are decoded row by row, so a small file could claim rows that fill the memory.
    let lists = fields.iter().any(|f| f.list.is_some());
    let bytes = rows.checked_mul(8 * width as u64);
    if lists && bytes.is_none_or(|b| b > most_unpacked(length)) {
        return Err(refuse(format!("{rows} rows of {width} numbers are too many for a file of {length} bytes")));
    }
    if rows == 0 || width == 0 {
        return Err(refuse("the table is empty".into()));
    }
    let names: Vec<String> = fields.iter().flat_map(Field::names).collect();
    let readers = Vec::new();
    Ok(Box::new(ParquetTable { path: path.into(), reader, fields, readers, names, rows, done: 0, group: 0, left: 0 }))
}

fn refusal(path: &Path, error: &ParquetError) -> Error {
    Error::Data { path: path.into(), problem: format!("not readable as Parquet ({})", shown(&error.to_string())) }
}

/// The number of rows, if the groups agree with the header.
fn rows(reader: &SerializedFileReader<File>) -> Option<u64> {
    let groups = reader.metadata().row_groups().iter();
    let sum = groups.map(|g| u64::try_from(g.num_rows()).ok()).try_fold(0u64, |sum, n| sum.checked_add(n?))?;
    (u64::try_from(reader.metadata().file_metadata().num_rows()).ok() == Some(sum)).then_some(sum)
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
fn fields(
    reader: &SerializedFileReader<File>,
    options: &ReadOptions,
    refuse: &dyn Fn(String) -> Error,
) -> Result<Vec<Field>> {
    let schema = reader.metadata().file_metadata().schema_descr();
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
            field.list = Some(list_length(reader, field).map_err(refuse)?);
        }
    }
    Ok(fields)
}

/// The length of the lists of a field, which must be the same in all rows.
fn list_length(reader: &SerializedFileReader<File>, field: &Field) -> std::result::Result<usize, String> {
    let mut length = None;
    for group in reader.metadata().row_groups().iter().filter(|g| g.num_rows() > 0) {
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

/// Pages that are checked to have no more values than their group claims.
struct Guarded {
    pages: Box<dyn PageReader>,
    left: u64,
}

impl Iterator for Guarded {
    type Item = Outcome<Page>;

    fn next(&mut self) -> Option<Outcome<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Guarded {
    fn get_next_page(&mut self) -> Outcome<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = page.as_ref().filter(|p| !matches!(p, Page::DictionaryPage { .. })) {
            let left = self.left.checked_sub(u64::from(page.num_values()));
            self.left = left.ok_or_else(|| ParquetError::General("more values than its group claims".into()))?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Outcome<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Outcome<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Outcome<bool> {
        self.pages.at_record_boundary()
    }
}

/// A Parquet file being read.
struct ParquetTable {
    path: PathBuf,
    reader: SerializedFileReader<File>,
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
        let group = self.reader.get_row_group(self.group)?;
        let columns = self.fields.iter().map(|field| {
            let left = u64::try_from(group.metadata().column(field.leaf).num_values()).unwrap_or(0);
            let pages = Box::new(Guarded { pages: group.get_column_page_reader(field.leaf)?, left });
            Ok(get_column_reader(field.column.clone(), pages))
        });
        let readers = columns.collect::<Outcome<Vec<_>>>()?;
        self.left = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
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
        if self.done == self.rows {
            return Ok(None);
        }
        while self.left == 0 {
            self.next_group().map_err(|e| refusal(&self.path, &e))?;
        }
        let n = self.left.min(n.max(1) as u64) as usize;
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
