//! The model of some cells of a row, with the other cells clamped to known values.

use crate::data::Preprocess;
use crate::lowered::LoweredModel;
use ndarray::{Array2, Axis};

/// A model of all cells of a row, or of those that are not clamped.
pub struct Clamped {
    lowered: LoweredModel<f64>,
    /// The site of every column of whole rows.
    site_of: Vec<usize>,
    /// The values of the row in the units of the data, and which of them are clamped.
    known: Option<(Vec<f64>, Vec<bool>)>,
}

impl Clamped {
    /// The whole model, with nothing clamped.
    pub fn nothing(lowered: &LoweredModel<f64>) -> Clamped {
        Clamped { lowered: lowered.clone(), site_of: lowered.visible().site_of_columns(), known: None }
    }

    /// The model of the cells that are not `known`, given a row of columns `x` whose values in the units of the data are `raw`.
    pub fn cells(lowered: &LoweredModel<f64>, x: &[f64], raw: Vec<f64>, known: Vec<bool>) -> Clamped {
        let free = lowered.clamped(x, |site| known[site]);
        Clamped { lowered: free, site_of: lowered.visible().site_of_columns(), known: Some((raw, known)) }
    }

    /// The model to sample.
    pub fn lowered(&self) -> &LoweredModel<f64> {
        &self.lowered
    }

    /// The columns of whole rows that are not clamped.
    pub fn free_columns(&self, rows: &Array2<f64>) -> Array2<f64> {
        let Some((_, known)) = &self.known else { return rows.clone() };
        let free: Vec<usize> = (0..rows.ncols()).filter(|c| !known[self.site_of[*c]]).collect();
        rows.select(Axis(1), &free)
    }

    /// The sites that are not clamped, counted from 0.
    pub fn free_sites(&self) -> Vec<usize> {
        match &self.known {
            Some((_, known)) => (0..known.len()).filter(|i| !known[*i]).collect(),
            None => (0..self.lowered.visible().sites()).collect(),
        }
    }

    /// Rows of the model completed by the clamped cells, in the units of the data.
    pub fn whole(&self, preprocess: &Preprocess, mut rows: Array2<f64>) -> Array2<f64> {
        let Some((raw, known)) = &self.known else {
            preprocess.restore(&mut rows);
            return rows;
        };
        let mut all = Array2::zeros((rows.nrows(), known.len()));
        let free = (0..known.len()).filter(|i| !known[*i]);
        free.enumerate().for_each(|(k, i)| all.column_mut(i).assign(&rows.column(k)));
        preprocess.restore(&mut all);
        (0..known.len()).filter(|i| known[*i]).for_each(|i| all.column_mut(i).fill(raw[i]));
        all
    }
}
