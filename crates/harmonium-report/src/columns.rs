//! Data and samples as columns of numbers, in the units of the data; a Potts site has one column per state.

use crate::ReportData;
use crate::values::{rows_between, two_values};
use ndarray::{Array2, ArrayView2};

/// Rows used at most, of data and of samples.
const MAX_ROWS: usize = 10_000;

/// Columns of data and samples, and their names.
pub struct ColumnValues {
    /// Data, rows × columns.
    pub data: Array2<f64>,
    /// Samples of the model, rows × columns.
    pub samples: Array2<f64>,
    /// Names of the columns.
    pub names: Vec<String>,
    /// The site of every column.
    pub sites: Vec<usize>,
    /// The two values that a column can take, such as 0 and 1, in the units of the data; `None` if it can take others.
    pub two_values: Vec<Option<(f64, f64)>>,
}

impl ColumnValues {
    /// The columns of a report; `None` if data or samples have no rows, or values that the units cannot take.
    pub fn new(report: &ReportData) -> Option<ColumnValues> {
        if !report.fits(report.data) || !report.fits(report.samples) {
            return None;
        }
        let lowered = report.rbm.lower();
        let layer = lowered.visible();
        let (shift, scale): (Vec<f64>, Vec<f64>) = (0..layer.sites()).map(|i| report.shift_and_scale(i)).unzip();
        let sites = layer.site_of_columns();
        let original = |column: usize, x: f64| {
            let site = sites[column];
            if layer.columns_of(site).len() == 1 { x * scale[site] + shift[site] } else { x }
        };
        let columns = |rows: ArrayView2<f32>| -> Option<Array2<f64>> {
            let rows = rows_between(rows, 0, rows.nrows().min(MAX_ROWS));
            let mut x = layer.encode(rows, 1).ok()?.mapv(f64::from);
            x.indexed_iter_mut().for_each(|((_, column), x)| *x = original(column, *x));
            Some(x)
        };
        let name = |c: usize| {
            let of = layer.columns_of(sites[c]);
            let column = report.column(sites[c]);
            match (of.len(), report.words(sites[c])) {
                (1, [_, larger]) => format!("{column} = {larger}"),
                (1, _) => column,
                (_, words) => {
                    let state = c - of.start;
                    format!("{column} = {}", words.get(state).cloned().unwrap_or_else(|| report.state(state)))
                }
            }
        };
        let names = (0..layer.columns()).map(name).collect();
        let (data, samples) = (columns(report.data)?, columns(report.samples)?);
        let both = |(c, ends): (usize, Option<(f64, f64)>)| ends.map(|(lo, hi)| (original(c, lo), original(c, hi)));
        let two_values = two_values(layer).into_iter().enumerate().map(both).collect();
        Some(ColumnValues { data, samples, names, sites, two_values })
    }
}
