//! The fields of a Parquet file: their names, what their cells are, and the length of their lists.

use super::super::text::{arranged, places};
use super::super::{MOST_COLUMNS, ReadOptions, shown};
use crate::error::{Error, Result};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescPtr;

/// Prefix of the columns in which pandas stores its row index.
const INDEX: &str = "__index_level_";

/// A field of the table.
#[derive(Clone)]
pub(super) struct Field {
    /// Its index among the columns of the file.
    pub leaf: usize,
    pub name: String,
    pub column: ColumnDescPtr,
    /// Numbers per row, if it is a list.
    pub list: Option<usize>,
}

/// The fields to read, in their order.
pub(super) fn fields(
    meta: &ParquetMetaData,
    options: &ReadOptions,
    refuse: &dyn Fn(String) -> Error,
) -> Result<Vec<Field>> {
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
        if field.column.max_rep_level() > 0 && field.holds() == Holds::Numbers {
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

/// What the cells of a field are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Holds {
    Numbers,
    Truth,
    Words,
    /// What no unit learns.
    Other(&'static str),
}

impl Field {
    pub fn width(&self) -> usize {
        self.list.unwrap_or(1)
    }

    /// The names of its columns; those of a list are numbered from 0.
    pub fn names(&self) -> Vec<String> {
        match self.list {
            None => vec![self.name.clone()],
            Some(n) => (0..n).map(|i| format!("{}[{i}]", self.name)).collect(),
        }
    }

    pub fn holds(&self) -> Holds {
        let list = self.column.max_rep_level();
        match self.column.physical_type() {
            _ if list > 1 => Holds::Other("lists of lists"),
            _ if self.is_time() => Holds::Other("dates or times"),
            Physical::BOOLEAN if list == 0 => Holds::Truth,
            Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE => {
                Holds::Numbers
            }
            Physical::BYTE_ARRAY if list == 0 && !self.is_decimal() => Holds::Words,
            _ => Holds::Other("bytes, or lists of words"),
        }
    }

    fn is_decimal(&self) -> bool {
        matches!(self.column.logical_type_ref(), Some(LogicalType::Decimal(_)))
            || self.column.converted_type() == ConvertedType::DECIMAL
    }

    /// Refuses a field that is not numbers.
    pub fn check(&self) -> std::result::Result<(), String> {
        let is = match self.holds() {
            Holds::Numbers | Holds::Truth => return Ok(()),
            Holds::Words => "text or bytes",
            Holds::Other(what) => what,
        };
        Err(format!("column '{}' holds {is}, expected numbers", shown(&self.name)))
    }

    fn is_time(&self) -> bool {
        use LogicalType as L;
        let logical = self.column.logical_type_ref();
        matches!(logical, Some(L::Date | L::Time { .. } | L::Timestamp { .. }))
            || self.column.physical_type() == Physical::INT96
    }

    pub fn is_unsigned(&self) -> bool {
        use ConvertedType as C;
        matches!(self.column.logical_type_ref(), Some(LogicalType::Integer(i)) if !i.is_signed)
            || matches!(self.column.converted_type(), C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64)
    }

    /// 10^−scale of decimal numbers.
    pub fn unit(&self) -> f64 {
        match self.column.logical_type_ref() {
            Some(LogicalType::Decimal(d)) => 10f64.powi(d.scale.saturating_neg()),
            _ => 1.0,
        }
    }
}
