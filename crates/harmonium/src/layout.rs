//! How rows of a table become states of a layer, and back.
//!
//! | form | what it is |
//! |---|---|
//! | values | one number per unit, as in a table |
//! | columns | what a product takes: one number per unit, or for a Potts unit one per state |
//! | [`States`](crate::States) | rows in the smallest storage: bits, codes or numbers |

use crate::error::{Error, Result};
use crate::real::Real;
use crate::units::{Kind, Unit};
use ndarray::{Array2, ArrayView1, ArrayView2};

/// The kind and number of the units of a layer: all that it takes to read and write rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    kind: Kind,
    sites: usize,
}

impl Layout {
    /// So many units of a kind.
    pub fn new(kind: Kind, sites: usize) -> Layout {
        Layout { kind, sites }
    }

    /// The kind of the units.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The mathematics of the units.
    pub(crate) fn unit<T: Real>(&self) -> &dyn Unit<T> {
        self.kind.unit::<T>()
    }

    /// Number of units.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// Number of columns: units × columns of a unit.
    pub fn columns(&self) -> usize {
        self.sites * self.unit::<f64>().width()
    }

    /// Statistics of a unit and number of columns.
    pub(crate) fn statistics(&self) -> (usize, usize) {
        (self.unit::<f64>().n_stats(), self.columns())
    }

    /// The two values of a unit that has one column and two states.
    pub(crate) fn two_values<T: Real>(&self) -> Option<[T; 2]> {
        let unit = self.unit::<T>();
        let value = |state| {
            let mut x = [T::zero()];
            unit.state(state, &mut x);
            x[0]
        };
        (unit.n_states() == Some(2) && unit.width() == 1).then(|| [0, 1].map(value))
    }

    /// Refuses the first value outside the units' domain. `first` is the number of the first row, counted from 1.
    pub fn check<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<()> {
        self.check_columns(rows)?;
        let (unit, mut site) = (self.unit::<T>(), vec![T::zero(); self.unit::<T>().width()]);
        for (r, row) in rows.rows().into_iter().enumerate() {
            if let Some(c) = row.iter().position(|x| !unit.encode(*x, &mut site)) {
                return Err(self.refused(row, c, first + r as u64));
            }
        }
        Ok(())
    }

    /// Rows of values as rows of columns; refuses what [`check`](Layout::check) refuses.
    pub fn encode<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<Array2<T>> {
        self.check_columns(rows)?;
        let unit = self.unit::<T>();
        let mut columns = Array2::zeros((rows.nrows(), self.columns()));
        // Rows of a new array are slices.
        let outputs = columns.rows_mut().into_iter().filter_map(|out| out.into_slice());
        for (r, (row, out)) in rows.rows().into_iter().zip(outputs).enumerate() {
            let refused = match row.as_slice() {
                Some(values) => unit.encode_row(values, out),
                None => unit.encode_row(&row.to_vec(), out),
            };
            if let Some(c) = refused {
                return Err(self.refused(row, c, first + r as u64));
            }
        }
        Ok(columns)
    }

    fn check_columns<T: Real>(&self, rows: ArrayView2<T>) -> Result<()> {
        if rows.ncols() == self.sites {
            return Ok(());
        }
        Err(Error::Columns { expected: self.sites, found: rows.ncols() })
    }

    fn refused<T: Real>(&self, row: ArrayView1<T>, column: usize, number: u64) -> Error {
        let (value, domain) = (row[column].f64(), self.unit::<T>().domain());
        Error::Domain { row: number, column: column + 1, value, domain, kind: self.kind.to_string() }
    }

    /// Rows of columns as rows of values.
    pub fn decode<T: Real>(&self, columns: ArrayView2<T>) -> Array2<T> {
        let (unit, width) = (self.unit::<T>(), self.unit::<T>().width());
        if width == 1 {
            return columns.mapv(|x| unit.decode(&[x]));
        }
        Array2::from_shape_fn((columns.nrows(), self.sites), |(r, site)| {
            let x: Vec<T> = (site * width..(site + 1) * width).map(|c| columns[[r, c]]).collect();
            unit.decode(&x)
        })
    }
}
