//! Parquet: columns of numbers and of words, missing cells as nulls, groups of rows as they fill.

use super::{Appender, How, Outcome, TableHead, Writer};
use crate::data::rows::BLOCK_CELLS;
use ndarray::ArrayView2;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as Outcome2};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

pub(super) const WRITER: Writer = Writer {
    name: "Parquet",
    extensions: &["parquet", "pq"],
    about: "columns of numbers and words, as pandas and Polars read them",
    counts_rows: false,
    check: |_| Ok(()),
    how: How::Kept(open),
};

/// Rows of a group at most.
const MOST_ROWS: usize = 1 << 16;

fn open<'a>(table: &'a TableHead<'a>) -> Result<Box<dyn Appender + 'a>, String> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer = schema(table).and_then(|schema| SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)));
    Ok(Box::new(Groups { table, writer: writer.map_err(said)?, pending: Vec::new() }))
}

fn said(error: ParquetError) -> String {
    format!("cannot be written as Parquet ({error})")
}

/// A column of texts or of numbers for each column of the table.
fn schema(table: &TableHead) -> Outcome2<TypePtr> {
    let column = |c: usize| {
        let name = table.names.and_then(|names| names.get(c)).cloned().unwrap_or_else(|| format!("column_{}", c + 1));
        let (physical, logical) = if table.has_words(c) {
            (Physical::BYTE_ARRAY, Some(LogicalType::String))
        } else {
            (Physical::DOUBLE, None)
        };
        let column = Type::primitive_type_builder(&name, physical).with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let columns = (0..table.columns).map(column).collect::<Outcome2<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(columns).build().map(Arc::new)
}

/// A file that is being written.
struct Groups<'a> {
    table: &'a TableHead<'a>,
    writer: SerializedFileWriter<Vec<u8>>,
    /// Rows of the next group, one after the other.
    pending: Vec<f64>,
}

impl Appender for Groups<'_> {
    fn append(&mut self, block: ArrayView2<f64>, _: u64, out: &mut Vec<u8>) -> Outcome {
        self.pending.extend(block.iter());
        let columns = self.table.columns.max(1);
        if self.pending.len() < BLOCK_CELLS.min(MOST_ROWS * columns) {
            return Ok(());
        }
        self.group().map_err(said)?;
        self.flush(out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if !self.pending.is_empty() {
            self.group().map_err(said)?;
        }
        self.writer.finish().map_err(said)?;
        self.flush(out)
    }
}

impl Groups<'_> {
    /// Hands over the bytes written so far; the writer counts them itself.
    fn flush(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.writer.flush().map_err(|e| e.to_string())?;
        out.append(self.writer.inner_mut());
        Ok(())
    }

    /// Writes the pending rows as a group.
    fn group(&mut self) -> Outcome2<()> {
        let (columns, table) = (self.table.columns, self.table);
        let mut group = self.writer.next_row_group()?;
        let mut c = 0;
        while let Some(mut column) = group.next_column()? {
            let cells = || self.pending.iter().skip(c).step_by(columns).copied();
            let levels: Vec<i16> = cells().map(|x| i16::from(!x.is_nan())).collect();
            let known = cells().filter(|x| !x.is_nan());
            match column.untyped() {
                ColumnWriter::DoubleColumnWriter(w) => {
                    w.write_batch(&known.collect::<Vec<f64>>(), Some(&levels), None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let words = known.map(|x| ByteArray::from(table.word(c, x).unwrap_or_default()));
                    w.write_batch(&words.collect::<Vec<_>>(), Some(&levels), None)?;
                }
                _ => return Err(ParquetError::General("a column is neither numbers nor words".into())),
            }
            column.close()?;
            c += 1;
        }
        group.close()?;
        self.pending.clear();
        Ok(())
    }
}
