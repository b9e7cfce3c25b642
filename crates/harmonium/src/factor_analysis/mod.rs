//! Factor analysis: v = μ + Λz + ε with z ∼ N(0, I) and ε ∼ N(0, Ψ), Ψ diagonal, so that p(v) = N(μ, ΛΛᵀ + Ψ).
//!
//! This is p(v) of a model with two Gaussian layers, and its maximum likelihood has closed steps. At fixed Ψ the best Λ is
//! Ψ^½ U (e − 1)^½, with e and U the largest eigenvalues and eigenvectors of Ψ^−½CΨ^−½ (Lawley 1940). At fixed Λ the best single
//! ψ_i is ψ_i + (b − a)/a², with a = (Σ⁻¹)_ii and b = (Σ⁻¹CΣ⁻¹)_ii (Zhao, Yu and Jiang, *ML estimation for factor analysis: EM or
//! non-EM?*, 2008). Both steps raise the likelihood, also if ψ_i has a lower limit, because it has one maximum along ψ_i.

mod choice;
mod covariance;
mod eigen;
mod missing;

pub use choice::default_factors;
pub(crate) use choice::most_factors;
pub use covariance::Covariance;

use eigen::eigen;
use ndarray::{Array1, Array2, Axis};

/// Smallest noise of a column, as a part of its variance: below it a column would be a copy of the factors (a Heywood case), and
/// the density of the rows unbounded. A little above the smallest variance that training allows.
pub const LEAST_NOISE: f64 = 1.05e-4;
/// Largest ratio of the variance along a factor, noise included, to the noise: single precision still tells both apart.
const LARGEST_RATIO: f64 = 1e6;

/// When a fit ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Gain of an iteration, in nats per row, below which it has converged.
    pub(crate) tolerance: f64,
    /// Iterations at most.
    pub(crate) iterations: usize,
}

impl Effort {
    /// Close to the maximum: what is left is far below the error of any likelihood.
    pub const FULL: Effort = Effort { tolerance: 1e-7, iterations: 2000 };
}

/// A fitted model. `directions` are the unit vectors U, one row per factor, and `ratios` the eigenvalues e > 1.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorAnalysis {
    /// μ.
    pub mean: Array1<f64>,
    /// Ψ, the variance of every column that the factors leave.
    pub noise: Array1<f64>,
    /// U: factors × columns.
    pub(crate) directions: Array2<f64>,
    /// e.
    pub ratios: Array1<f64>,
}

impl FactorAnalysis {
    /// The maximum of the likelihood with at most `factors` factors.
    pub fn fit(data: &Covariance, factors: usize, effort: Effort) -> FactorAnalysis {
        Self::fit_watched(data, factors, effort, None, |_| ())
    }

    /// The same from the noise of another fit if there is one; `watch` gets the log likelihood before every iteration.
    pub fn fit_watched(
        data: &Covariance,
        factors: usize,
        effort: Effort,
        start: Option<&Array1<f64>>,
        mut watch: impl FnMut(f64),
    ) -> FactorAnalysis {
        let mut noise = start.cloned().unwrap_or_else(|| first_noise(data, factors));
        let mut last = f64::NEG_INFINITY;
        for _ in 0..effort.iterations {
            let now = Self::at_noise(data, noise.clone(), factors);
            let found = now.log_likelihood(data);
            watch(found);
            if found - last < effort.tolerance {
                return now;
            }
            last = found;
            noise = now.next_noise(data);
        }
        Self::at_noise(data, noise, factors)
    }

    /// The best factors for a given noise.
    pub(crate) fn at_noise(data: &Covariance, noise: Array1<f64>, factors: usize) -> FactorAnalysis {
        let (values, vectors) = eigen(&data.scaled(&noise));
        let used = values.iter().take(factors).take_while(|e| **e > 1.0).count();
        let ratios = values[..used].iter().map(|e| e.min(LARGEST_RATIO)).collect();
        let directions = vectors.select(Axis(0), &(0..used).collect::<Vec<_>>());
        FactorAnalysis { mean: data.mean.clone(), noise, directions, ratios }
    }

    /// Λ: columns × factors.
    pub fn loadings(&self) -> Array2<f64> {
        let sizes = self.ratios.mapv(|e| (e - 1.0).sqrt());
        let deviations = self.noise.mapv(f64::sqrt);
        (&self.directions.t() * &sizes.insert_axis(Axis(0))) * &deviations.insert_axis(Axis(1))
    }

    /// Mean log likelihood of rows with these means and covariances, in nats.
    pub fn log_likelihood(&self, rows: &Covariance) -> f64 {
        let shift = (&rows.mean - &self.mean) / &self.noise.mapv(f64::sqrt);
        let scaled = rows.scaled(&self.noise);
        let mut trace = scaled.diag().sum() + shift.dot(&shift);
        for (u, e) in self.directions.rows().into_iter().zip(&self.ratios) {
            trace -= (e - 1.0) / e * (u.dot(&scaled.dot(&u)) + u.dot(&shift).powi(2));
        }
        let log_det: f64 = self.noise.iter().chain(&self.ratios).map(|x| x.ln()).sum();
        -0.5 * (self.noise.len() as f64 * std::f64::consts::TAU.ln() + log_det + trace)
    }

    /// The noise of every column in turn at its maximum, the loadings and all other noise fixed.
    fn next_noise(&self, data: &Covariance) -> Array1<f64> {
        let n = self.noise.len();
        // Both in units of the noise: A = Σ⁻¹ and B = Σ⁻¹CΣ⁻¹.
        let parts = self.ratios.mapv(|e| (e - 1.0) / e);
        let mut a = Array2::eye(n) - (&self.directions.t() * &parts.insert_axis(Axis(0))).dot(&self.directions);
        let mut b = a.dot(&data.scaled(&self.noise)).dot(&a);
        let mut noise = self.noise.clone();
        for i in 0..n {
            let least = LEAST_NOISE * data.covariance[[i, i]] / self.noise[i];
            let grown = 1.0 + (b[[i, i]] - a[[i, i]]) / a[[i, i]].powi(2);
            let change = grown.max(least) - 1.0;
            noise[i] *= 1.0 + change;
            // Σ + δ e eᵀ has the inverse A − c u uᵀ, with u = A e and c = δ/(1 + δ A_ii).
            let c = change / (1.0 + change * a[[i, i]]);
            let (u, w, s) = (a.row(i).to_owned(), b.row(i).to_owned(), b[[i, i]]);
            for j in 0..n {
                let (uj, wj) = (u[j], w[j]);
                a.row_mut(j).scaled_add(-c * uj, &u);
                let mut row = b.row_mut(j);
                row.scaled_add(-c * uj, &w);
                row.scaled_add(c * (c * s * uj - wj), &u);
            }
        }
        noise
    }
}

/// Half of what the other columns leave of each column by linear regression, as Jöreskog (1967) starts, with more for few factors.
fn first_noise(data: &Covariance, factors: usize) -> Array1<f64> {
    /// Smallest eigenvalue of the correlations that is believed.
    const LEAST: f64 = 0.01;
    let n = data.mean.len();
    let variances = data.covariance.diag().to_owned();
    let (values, vectors) = eigen(&data.scaled(&variances));
    let mut inverse = Array1::<f64>::zeros(n);
    for (value, vector) in values.iter().zip(vectors.rows()) {
        inverse += &(&vector * &vector / value.max(LEAST));
    }
    let part = 1.0 - 0.5 * factors.min(n) as f64 / n as f64;
    variances * inverse.mapv(|x| (part / x).clamp(LEAST_NOISE, 1.0))
}
