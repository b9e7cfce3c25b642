//! Data and samples as columns of numbers: a Potts site has one per state, others are as they were in the data.

use crate::ReportData;
use crate::values::rows_between;
use ndarray::{Array2, ArrayView2};

/// Rows of each table at most.
const MOST_ROWS: usize = 10_000;

/// Data and samples in columns, and what the columns are called.
pub struct Tables {
    /// Rows of the data.
    pub data: Array2<f64>,
    /// Rows of the model.
    pub samples: Array2<f64>,
    /// Names of the columns.
    pub names: Vec<String>,
    /// Columns of a site.
    pub width: usize,
}

impl Tables {
    /// `None` if one of them has no rows, or rows that the units do not have.
    pub fn new(report: &ReportData) -> Option<Tables> {
        if !report.fits(report.data) || !report.fits(report.samples) {
            return None;
        }
        let lowered = report.rbm.lower();
        let side = lowered.visible();
        let width = side.unit().width();
        let (shift, scale): (Vec<f64>, Vec<f64>) = (0..side.sites()).map(|i| report.unprepared(i)).unzip();
        let columns = |rows: ArrayView2<f32>| -> Option<Array2<f64>> {
            let rows = rows_between(rows, 0, rows.nrows().min(MOST_ROWS));
            let mut x = side.encode(rows, 1).ok()?.mapv(f64::from);
            if width == 1 {
                x.indexed_iter_mut().for_each(|((_, i), x)| *x = *x * scale[i] + shift[i]);
            }
            Some(x)
        };
        let name = |c: usize| match width {
            1 => report.column(c),
            q => format!("{} = {}", report.column(c / q), report.state(c % q)),
        };
        let names = (0..side.columns()).map(name).collect();
        Some(Tables { data: columns(report.data)?, samples: columns(report.samples)?, names, width })
    }
}
