//! A data set in memory: packed rows and their weights.

use crate::error::{Error, Result};
use crate::natural::Side;
use crate::real::Real;
use crate::states::States;
use ndarray::{Array2, ArrayView2};

/// Rows to learn from, or to judge by.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset<T> {
    states: States<T>,
    weights: Vec<T>,
    uniform: bool,
}

impl<T: Real> Dataset<T> {
    /// No rows yet, for the units of a layer.
    pub fn new(side: &Side<T>) -> Dataset<T> {
        Dataset { states: States::new(side.unit(), side.sites()), weights: Vec::new(), uniform: true }
    }

    /// Rows of data values, each with weight 1; refuses values outside the units' domain.
    pub fn from_values(side: &Side<T>, values: ArrayView2<T>) -> Result<Dataset<T>> {
        let mut data = Dataset::new(side);
        data.push(side, side.encode(values, 1)?.view());
        Ok(data)
    }

    /// Appends rows of columns (see [`Side::encode`]) with weight 1.
    pub fn push(&mut self, side: &Side<T>, columns: ArrayView2<T>) {
        self.states.push(side, columns);
        self.weights.resize(self.states.rows(), T::one());
    }

    /// Sets the weight of every row; refuses what is not one positive or zero number per row.
    pub fn set_weights(&mut self, weights: &[f64]) -> Result<()> {
        check_weights(self.len(), weights.iter().copied())?;
        self.weights = weights.iter().map(|w| T::of(*w)).collect();
        self.uniform = weights.iter().all(|w| *w == 1.0);
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.states.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed rows.
    pub fn states(&self) -> &States<T> {
        &self.states
    }

    /// The weight of every row.
    pub fn weights(&self) -> &[T] {
        &self.weights
    }

    /// Whether every row counts once.
    pub fn uniform(&self) -> bool {
        self.uniform
    }

    /// The rows with these numbers.
    pub fn select(&self, rows: &[usize]) -> Dataset<T> {
        let weights = rows.iter().map(|&r| self.weights[r]).collect();
        Dataset { states: self.states.select(rows), weights, uniform: self.uniform }
    }

    /// Weighted mean of T(v) (statistics × columns), and the sum of the weights, in f64.
    pub fn moments(&self, side: &Side<T>) -> (Array2<f64>, f64) {
        let (unit, wide) = (side.unit(), side.kind().unit::<f64>());
        let mut sum = Array2::zeros(side.eta().dim());
        let mut t = sum.clone();
        let mut total = 0.0;
        for first in (0..self.len()).step_by(1024) {
            let last = (first + 1024).min(self.len());
            let columns = self.states.columns(unit, first, last).mapv(T::f64);
            for (row, w) in columns.rows().into_iter().zip(&self.weights[first..last]) {
                wide.stats(&row.to_vec(), t.view_mut());
                sum.scaled_add(w.f64(), &t);
                total += w.f64();
            }
        }
        (sum / total, total)
    }
}

/// Row weights must be as many as the rows, finite, not negative, and not all zero.
pub(crate) fn check_weights(rows: usize, weights: impl ExactSizeIterator<Item = f64>) -> Result<()> {
    if weights.len() != rows {
        return Err(Error::RowWeights(format!("there are {} for {rows} rows", weights.len())));
    }
    let mut sum = 0.0;
    for (i, w) in weights.enumerate() {
        if !w.is_finite() || w < 0.0 {
            return Err(Error::RowWeights(format!("weight {} is {w}, but must be 0 or more", i + 1)));
        }
        sum += w;
    }
    match sum > 0.0 {
        true => Ok(()),
        false => Err(Error::RowWeights("their sum is 0".into())),
    }
}
