//! Gaussian–Gaussian: p(v,h) is normal with precision P = [[γ_v, −W̃], [−W̃ᵀ, γ_h]] and P·mean = θ.
//!
//! log Z = ½(n+m) log 2π − ½ log det P + ½ θᵀP⁻¹θ − constant, if P is positive definite; otherwise there is no machine.

use super::cholesky::Cholesky;
use crate::error::{Error, Result};
use crate::natural::{Natural, Side};
use crate::rng::{Key, normal};
use crate::stats::Stats;
use ndarray::{Array1, Array2, ArrayView1, concatenate, s};

/// The joint normal distribution of both layers.
pub(super) struct Joint {
    n_visible: usize,
    factor: Cholesky,
    mean: Array1<f64>,
    log_z: f64,
}

impl Joint {
    pub fn new(machine: &Natural<f64>) -> Result<Joint> {
        let (v, h) = (machine.visible(), machine.hidden());
        let (n, m) = (v.columns(), h.columns());
        // η = (θ, −γ/2)
        let precision = |side: &Side<f64>| side.eta().row(1).mapv(|e| -2.0 * e);
        let mut p = Array2::zeros((n + m, n + m));
        p.diag_mut().slice_mut(s![..n]).assign(&precision(v));
        p.diag_mut().slice_mut(s![n..]).assign(&precision(h));
        p.slice_mut(s![n.., ..n]).assign(&machine.weights().t().mapv(|w| -w));
        let factor = Cholesky::new(p).ok_or_else(|| {
            Error::NotNormalisable(
                "both layers are Gaussian and their joint precision matrix is not positive definite \
                 (some weights are too large against the variances)"
                    .into(),
            )
        })?;
        let theta = concatenate![ndarray::Axis(0), v.eta().row(0), h.eta().row(0)];
        let mean = factor.solve(theta.view());
        let log_2pi = std::f64::consts::TAU.ln();
        let log_z = 0.5 * ((n + m) as f64 * log_2pi - factor.log_det() + theta.dot(&mean)) - machine.constant();
        Ok(Joint { n_visible: n, factor, mean, log_z })
    }

    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    /// ⟨x⟩ = mean, ⟨x xᵀ⟩ = P⁻¹ + mean meanᵀ.
    pub fn stats(&self) -> Stats<f64> {
        let n = self.n_visible;
        let column = self.mean.view().insert_axis(ndarray::Axis(1));
        let second = self.factor.inverse() + column.dot(&column.t());
        let rows = |mean: ArrayView1<f64>, square: ArrayView1<f64>| {
            let mut t = Array2::zeros((2, mean.len()));
            t.row_mut(0).assign(&mean);
            t.row_mut(1).assign(&square);
            t
        };
        let squares = second.diag();
        Stats {
            visible: rows(self.mean.slice(s![..n]), squares.slice(s![..n])),
            hidden: rows(self.mean.slice(s![n..]), squares.slice(s![n..])),
            cross: second.slice(s![..n, n..]).to_owned(),
            weight: 1.0,
        }
    }

    /// mean + L⁻ᵀ z with z standard normal.
    pub fn sample(&self, rows: usize, key: Key) -> (Array2<f64>, Array2<f64>) {
        let size = self.mean.len();
        let mut all = Array2::zeros((rows, size));
        for (r, mut row) in all.rows_mut().into_iter().enumerate() {
            let z: Array1<f64> = (0..size).map(|site| normal(key.uniforms(r as u64, site as u32))).collect();
            row.assign(&(&self.mean + &self.factor.solve_transposed(z.view())));
        }
        (all.slice(s![.., ..self.n_visible]).to_owned(), all.slice(s![.., self.n_visible..]).to_owned())
    }
}
