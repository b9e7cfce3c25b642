//! Rows of values as rows of columns, and back.

use super::Layout;
use crate::error::{Error, Result};
use crate::real::Real;
use ndarray::{Array2, ArrayView2, s};

impl Layout {
    /// Refuses the first value outside the units' domain. `first` is the number of the first row, counted from 1.
    pub fn check<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<()> {
        self.check_columns(rows)?;
        for block in &self.blocks {
            let (unit, mut site) = (block.unit::<T>(), vec![T::zero(); block.width()]);
            for (r, row) in rows.slice(s![.., block.sites()]).rows().into_iter().enumerate() {
                if let Some(c) = row.iter().position(|x| !unit.encode(*x, &mut site)) {
                    return Err(block.refused(row, c, first + r as u64));
                }
            }
        }
        Ok(())
    }

    /// Rows of values as rows of columns; refuses what [`check`](Layout::check) refuses.
    pub fn encode<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<Array2<T>> {
        self.check_columns(rows)?;
        let mut columns = Array2::zeros((rows.nrows(), self.columns()));
        for block in &self.blocks {
            let unit = block.unit::<T>();
            // Rows of a new array are slices.
            let outputs = columns.rows_mut().into_iter().filter_map(|out| out.into_slice());
            for (r, (row, out)) in rows.slice(s![.., block.sites()]).rows().into_iter().zip(outputs).enumerate() {
                let out = &mut out[block.columns()];
                let refused = match row.as_slice() {
                    Some(values) => unit.encode_row(values, out),
                    None => unit.encode_row(&row.to_vec(), out),
                };
                if let Some(c) = refused {
                    return Err(block.refused(row, c, first + r as u64));
                }
            }
        }
        Ok(columns)
    }

    fn check_columns<T: Real>(&self, rows: ArrayView2<T>) -> Result<()> {
        if rows.ncols() == self.sites() {
            return Ok(());
        }
        Err(Error::Columns { expected: self.sites(), found: rows.ncols() })
    }

    /// Rows of columns as rows of values.
    pub fn decode<T: Real>(&self, columns: ArrayView2<T>) -> Array2<T> {
        let mut values = Array2::zeros((columns.nrows(), self.sites()));
        for block in &self.blocks {
            let (unit, width) = (block.unit::<T>(), block.width());
            let from = columns.slice(s![.., block.columns()]);
            let mut out = values.slice_mut(s![.., block.sites()]);
            if width == 1 {
                out.zip_mut_with(&from, |out, x| *out = unit.decode(&[*x]));
                continue;
            }
            for (mut out, row) in out.rows_mut().into_iter().zip(from.rows()) {
                let row = row.to_vec();
                out.iter_mut().zip(row.chunks_exact(width)).for_each(|(out, x)| *out = unit.decode(x));
            }
        }
        values
    }
}
