//! Means and covariances of the columns of some rows, from sums that add and subtract.

use super::{FactorAnalysis, most_factors};
use crate::dataset::Dataset;
use crate::layout::Layout;
use crate::real::Real;
use ndarray::{Array1, Array2, Axis};

/// Rows that are summed at a time.
const BLOCK: usize = 1024;
/// Part of a column's mean square below which its variance is rounding, so that the column is constant.
const ROUNDING: f64 = 1e-12;

/// Weighted means and covariances. A constant column has the variance 1, as everywhere in training.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    /// Means.
    pub mean: Array1<f64>,
    /// Covariances, divided by the weight.
    pub covariance: Array2<f64>,
    /// Sum of the weights of the rows.
    pub weight: f64,
}

/// Sums over rows, measured from a common point.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    origin: Array1<f64>,
    first: Array1<f64>,
    second: Array2<f64>,
    weight: f64,
}

impl Covariance {
    /// Of all rows of continuous data; where cells are missing, those of the factor analysis with the most factors.
    pub fn of<T: Real>(layer: &Layout, data: &Dataset<T>) -> Covariance {
        if data.known().is_none() {
            return Sums::of(layer, data, 1)[0].covariance();
        }
        let weight = data.weights().iter().map(|w| w.f64()).sum();
        let found = FactorAnalysis::of_known(layer, data, most_factors(layer.columns(), weight));
        Covariance { covariance: found.covariance(), mean: found.mean, weight }
    }

    /// Ψ^−½ C Ψ^−½.
    pub(super) fn scaled(&self, noise: &Array1<f64>) -> Array2<f64> {
        let shrink = noise.mapv(|x| x.sqrt().recip());
        &self.covariance * &shrink.view().insert_axis(Axis(0)) * shrink.view().insert_axis(Axis(1))
    }
}

impl Sums {
    /// The sums of `folds` parts of the rows: row r is in part r modulo `folds`.
    pub fn of<T: Real>(layer: &Layout, data: &Dataset<T>, folds: usize) -> Vec<Sums> {
        let origin = data.moments(layer).means.row(0).to_owned();
        let n = origin.len();
        let empty =
            Sums { origin: origin.clone(), first: Array1::zeros(n), second: Array2::zeros((n, n)), weight: 0.0 };
        let mut all = vec![empty; folds];
        for (fold, sums) in all.iter_mut().enumerate() {
            let rows: Vec<usize> = (fold..data.len()).step_by(folds).collect();
            for rows in rows.chunks(BLOCK) {
                let part = data.select(rows);
                let x = part.states().columns(layer, 0, part.len()).mapv(T::f64) - &origin;
                let weights: Array1<f64> = part.weights().iter().map(|w| w.f64()).collect();
                let weighted = &x * &weights.view().insert_axis(Axis(1));
                sums.first += &weighted.sum_axis(Axis(0));
                sums.second += &x.t().dot(&weighted);
                sums.weight += weights.sum();
            }
        }
        all
    }

    /// The sums of several parts together.
    pub fn total<'a>(mut parts: impl Iterator<Item = &'a Sums>) -> Option<Sums> {
        let mut total = parts.next()?.clone();
        for part in parts {
            total.first += &part.first;
            total.second += &part.second;
            total.weight += part.weight;
        }
        Some(total)
    }

    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// As it is: a constant column has the variance 0.
    pub fn plain_covariance(&self) -> Covariance {
        let shift = &self.first / self.weight;
        let outer = shift.view().insert_axis(Axis(1)).dot(&shift.view().insert_axis(Axis(0)));
        Covariance { mean: &self.origin + &shift, covariance: &self.second / self.weight - outer, weight: self.weight }
    }

    /// Constant columns have the variance 1.
    pub fn covariance(&self) -> Covariance {
        let Covariance { mean, mut covariance, weight } = self.plain_covariance();
        for i in 0..mean.len() {
            let square = covariance[[i, i]] + mean[i] * mean[i];
            if covariance[[i, i]].is_nan() || covariance[[i, i]] <= ROUNDING * square {
                covariance.row_mut(i).fill(0.0);
                covariance.column_mut(i).fill(0.0);
                covariance[[i, i]] = 1.0;
            }
        }
        Covariance { mean, covariance, weight }
    }
}
