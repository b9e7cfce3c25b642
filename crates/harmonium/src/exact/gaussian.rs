//! Gaussian–Gaussian: with x the smaller layer and y the larger, p(x) is normal with precision S = γ_x − W̃γ_y⁻¹W̃ᵀ.
//!
//! S is the Schur complement of the joint precision [[γ_x, −W̃], [−W̃ᵀ, γ_y]]: the model can be normalised if and only if
//! S is positive definite. S·mean = t with t = θ_x + W̃γ_y⁻¹θ_y, and
//! log Z = ½ Σ log(2π/γ_y) + ½ θ_yᵀγ_y⁻¹θ_y + ½ |x| log 2π − ½ log det S + ½ tᵀS⁻¹t − constant.

use super::budget::MOST_GAUSSIAN_UNITS;
use super::cholesky::Cholesky;
use crate::error::{Error, Result};
use crate::layout::{Block, Layout};
use crate::lowered::{LoweredLayer, LoweredModel, Pass};
use crate::real::Real;
use crate::rng::{Key, normal};
use crate::stats::Stats;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// The normal distribution of the smaller layer.
pub(super) struct Joint {
    over_visible: bool,
    factor: Cholesky,
    mean: Array1<f64>,
    log_z: f64,
}

/// γ, from η = (θ, −γ/2).
fn precision(layer: &LoweredLayer<f64>) -> Array1<f64> {
    layer.eta().row(1).mapv(|e| -2.0 * e)
}

/// Refuses a model that cannot be normalised. Sums over finite units are finite, so only the Gaussian units of both layers count.
pub(crate) fn normalisable<T: Real>(lowered: &LoweredModel<T>) -> Result<()> {
    let gaussian = |layer: &Layout| {
        let blocks = layer.blocks().iter().filter(|b| b.unit::<f64>().quadratic());
        blocks.flat_map(Block::columns).collect::<Vec<_>>()
    };
    let (v, h) = (gaussian(lowered.visible()), gaussian(lowered.hidden()));
    if v.is_empty() || h.is_empty() {
        return Ok(());
    }
    let gamma = |layer: &LoweredLayer<T>, columns: &[usize]| -> Array1<f64> {
        columns.iter().map(|c| -2.0 * layer.eta()[[1, *c]].f64()).collect()
    };
    let weights = lowered.weights().select(Axis(0), &v).select(Axis(1), &h).mapv(T::f64);
    let (gamma_v, gamma_h) = (gamma(lowered.visible(), &v), gamma(lowered.hidden(), &h));
    // The smaller side costs less.
    match v.len() <= h.len() {
        true => factor(weights.view(), &gamma_v, &gamma_h),
        false => factor(weights.t(), &gamma_h, &gamma_v),
    }
    .map(|_| ())
}

/// The factor of S, for weights from x to y and the precisions of both.
fn factor(weights: ArrayView2<f64>, from: &Array1<f64>, to: &Array1<f64>) -> Result<Cholesky> {
    let scaled = &weights / &to.view().insert_axis(Axis(0));
    let mut schur = -scaled.dot(&weights.t());
    let mut diagonal = schur.diag_mut();
    diagonal += from;
    Cholesky::new(schur).ok_or_else(|| {
        Error::NotNormalisable(
            "the model cannot be normalised: both layers have Gaussian units and their joint precision matrix is not positive \
             definite (some weights are too large for the variances)"
                .into(),
        )
    })
}

impl Joint {
    pub fn new(lowered: &LoweredModel<f64>) -> Result<Joint> {
        let over_visible = lowered.visible().columns() <= lowered.hidden().columns();
        let pass = if over_visible { lowered.up() } else { lowered.down() };
        let (n, m) = (pass.from.columns(), pass.to.columns());
        if n > MOST_GAUSSIAN_UNITS {
            return Err(Error::Undefined(format!(
                "two Gaussian layers can be solved up to {MOST_GAUSSIAN_UNITS} units in the smaller layer, which has {n} here"
            )));
        }
        let (gamma, theta) = (precision(pass.to), pass.to.eta().row(0).to_owned());
        let scaled = &pass.weights / &gamma.view().insert_axis(Axis(0));
        let factor = factor(pass.weights, &precision(pass.from), &gamma)?;
        let t = &pass.from.eta().row(0) + &scaled.dot(&theta);
        let mean = factor.solve(t.view());
        let log_2pi = std::f64::consts::TAU.ln();
        let other = (m as f64) * log_2pi - gamma.mapv(f64::ln).sum() + (&theta * &theta / &gamma).sum();
        let own = (n as f64) * log_2pi - factor.log_det() + t.dot(&mean);
        Ok(Joint { over_visible, factor, mean, log_z: 0.5 * (other + own) - lowered.constant() })
    }

    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    pub fn over_visible(&self) -> bool {
        self.over_visible
    }

    fn pass<'a>(&self, lowered: &'a LoweredModel<f64>) -> Pass<'a, f64> {
        if self.over_visible { lowered.up() } else { lowered.down() }
    }

    /// y = γ_y⁻¹(θ_y + W̃ᵀx) + noise of variance γ_y⁻¹, so moments of y follow from those of x.
    pub fn stats(&self, lowered: &LoweredModel<f64>) -> Stats<f64> {
        let pass = self.pass(lowered);
        let gamma = precision(pass.to);
        let gain = &pass.weights / &gamma.view().insert_axis(Axis(0));
        let mean_y = &pass.to.eta().row(0) / &gamma + gain.t().dot(&self.mean);
        let covariance = self.factor.inverse();
        let joint = covariance.dot(&gain);
        let outer =
            |a: &Array1<f64>, b: &Array1<f64>| a.view().insert_axis(Axis(1)).dot(&b.view().insert_axis(Axis(0)));
        let variance_y = (&gain * &joint).sum_axis(Axis(0)) + gamma.mapv(f64::recip);
        let stats = Stats {
            visible: moments(&self.mean, &covariance.diag().to_owned()),
            hidden: moments(&mean_y, &variance_y),
            cross: joint + outer(&self.mean, &mean_y),
            weight: 1.0,
        };
        if self.over_visible { stats } else { stats.mirrored() }
    }

    /// Rows of the smaller layer: mean + L⁻ᵀ z with z standard normal.
    pub fn sample(&self, rows: usize, key: Key) -> Array2<f64> {
        let size = self.mean.len();
        let mut all = Array2::zeros((rows, size));
        for (r, mut row) in all.rows_mut().into_iter().enumerate() {
            let z: Array1<f64> = (0..size).map(|site| normal(key.uniforms(r as u64, site as u32))).collect();
            row.assign(&(&self.mean + &self.factor.solve_transposed(z.view())));
        }
        all
    }
}

/// ⟨x⟩ and ⟨x²⟩.
fn moments(mean: &Array1<f64>, variance: &Array1<f64>) -> Array2<f64> {
    let mut t = Array2::zeros((2, mean.len()));
    t.row_mut(0).assign(mean);
    t.row_mut(1).assign(&(variance + mean * mean));
    t
}
