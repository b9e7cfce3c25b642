//! The Cholesky factorisation P = L Lᵀ of a symmetric positive-definite matrix.

use ndarray::{Array1, Array2, ArrayView1, s};

/// The lower factor L.
pub(crate) struct Cholesky(Array2<f64>);

impl Cholesky {
    /// Factors `p` (only its lower half is read); `None` if it is not positive definite to working precision.
    pub fn new(mut p: Array2<f64>) -> Option<Cholesky> {
        for j in 0..p.nrows() {
            let row = p.row(j).to_owned();
            let diagonal = row[j];
            let pivot = diagonal - row.iter().take(j).map(|x| x * x).sum::<f64>();
            // A pivot that lost all but three digits of its diagonal is rounding error.
            if pivot.is_nan() || pivot <= diagonal.abs() * 1e-13 {
                return None;
            }
            let root = pivot.sqrt();
            for mut other in p.slice_mut(s![j + 1.., ..]).rows_mut() {
                let dot: f64 = other.iter().zip(&row).take(j).map(|(a, b)| a * b).sum();
                other[j] = (other[j] - dot) / root;
            }
            p[[j, j]] = root;
        }
        Some(Cholesky(p))
    }

    /// log det P = 2 Σ log L_jj.
    pub fn log_det(&self) -> f64 {
        2.0 * self.0.diag().iter().map(|x| x.ln()).sum::<f64>()
    }

    /// L⁻ᵀ y, by back substitution.
    pub fn solve_transposed(&self, y: ArrayView1<f64>) -> Array1<f64> {
        let mut x = y.to_owned();
        for j in (0..x.len()).rev() {
            x[j] /= self.0[[j, j]];
            let xj = x[j];
            for k in 0..j {
                x[k] -= self.0[[j, k]] * xj;
            }
        }
        x
    }

    /// P⁻¹ b.
    pub fn solve(&self, b: ArrayView1<f64>) -> Array1<f64> {
        let mut y = b.to_owned();
        for j in 0..y.len() {
            let dot: f64 = self.0.row(j).iter().zip(&y).take(j).map(|(l, y)| l * y).sum();
            y[j] = (y[j] - dot) / self.0[[j, j]];
        }
        self.solve_transposed(y.view())
    }

    /// P⁻¹.
    pub fn inverse(&self) -> Array2<f64> {
        let n = self.0.nrows();
        let mut inverse = Array2::eye(n);
        for mut column in inverse.columns_mut() {
            let x = self.solve(column.view());
            column.assign(&x);
        }
        inverse
    }
}
