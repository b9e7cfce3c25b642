//! Factor analysis of rows with missing cells: the most probable loadings and noise given the known cells, by EM.
//!
//! With P = I + Σ_{i known} l_i l_iᵀ/ψ_i, the factors z of a row are normal with covariance P⁻¹ and mean P⁻¹ Σ_{i known} l_i (x_i − μ_i)/ψ_i
//! (Rubin and Thayer, *EM algorithms for ML factor analysis*, 1982). A step regresses every column on z and a constant, over the rows
//! in which it is known. A priori a loading is normal with variance σ_i²/2k: k factors explain half of a column. Rows with missing
//! cells teach less than complete ones, and with the prior more factors than they can teach do no harm.

use super::eigen::eigen;
use super::{FactorAnalysis, LARGEST_RATIO, LEAST_NOISE};
use crate::bits::Bits;
use crate::dataset::Dataset;
use crate::exact::Cholesky;
use crate::layout::Layout;
use crate::math::{add_scaled, dot};
use crate::real::Real;
use crate::threads;
use ndarray::{Array1, Array2, Axis, s};

/// Part of a column's variance that the factors explain a priori.
const EXPLAINED: f64 = 0.5;
/// Gain of an iteration in nats per row below which the fit has converged.
const TOLERANCE: f64 = 1e-5;
/// Multiplications that a fit may take, about half a minute on one core, and iterations within them. Of more rows some are used.
const WORK: f64 = 3e10;
const ITERATIONS: (usize, usize) = (50, 500);
const FEWEST_ROWS: usize = 2000;
/// Pieces that the rows are summed in, whatever the number of threads.
const SHARDS: usize = 8;
/// Part of a column's mean square below which its variance is rounding, so that the column is constant.
const ROUNDING: f64 = 1e-12;

/// Rows in units of their columns' standard deviations, measured from the means of the known cells; missing cells are 0.
struct Rows {
    x: Array2<f64>,
    known: Bits,
    weights: Vec<f64>,
    mean: Array1<f64>,
    scale: Array1<f64>,
}

/// Loadings with the mean as their last column, and the noise, in these units.
struct Fit {
    loadings: Array2<f64>,
    noise: Array1<f64>,
}

/// Sums over rows of w⟨(z,1)(z,1)ᵀ⟩, of all rows and of those that miss each column, and of w x⟨(z,1)⟩ and w x².
struct Sums {
    all: Vec<f64>,
    missed: Vec<Vec<f64>>,
    cross: Array2<f64>,
    squares: Array1<f64>,
    log_likelihood: f64,
}

/// What every row needs of a fit: lᵢlᵢᵀ/ψᵢ of every column, and their sum with the identity.
struct Precisions {
    each: Vec<Vec<f64>>,
    all: Vec<f64>,
}

impl FactorAnalysis {
    /// The most probable fit of the known cells with at most `factors` factors.
    pub(crate) fn of_known<T: Real>(layer: &Layout, data: &Dataset<T>, factors: usize) -> FactorAnalysis {
        Self::of_known_watched(layer, data, factors, |_| ())
    }

    /// The same; `watch` gets the log posterior per row before every iteration, but for a constant.
    pub fn of_known_watched<T: Real>(
        layer: &Layout,
        data: &Dataset<T>,
        factors: usize,
        mut watch: impl FnMut(f64),
    ) -> FactorAnalysis {
        let k = factors as f64;
        let cost = 1.5 * k.powi(3) + 2.0 * layer.columns() as f64 * k * k + 1.0;
        let most = (WORK / ITERATIONS.0 as f64 / cost) as usize;
        let rows = Rows::of(layer, data, most.max(FEWEST_ROWS));
        let weight: f64 = rows.weights.iter().sum();
        let iterations = (WORK / (cost * rows.weights.len() as f64)) as usize;
        let (mut fit, mut last) = (Fit::first(&rows, factors), f64::NEG_INFINITY);
        for _ in 0..iterations.clamp(ITERATIONS.0, ITERATIONS.1) {
            let sums = fit.sums(&rows);
            let now = (sums.log_likelihood + fit.log_prior()) / weight;
            watch(now);
            if now - last < TOLERANCE {
                break;
            }
            last = now;
            fit.step(&sums);
        }
        fit.finish(&rows)
    }

    /// ΛΛᵀ + Ψ, the covariances of the model.
    pub fn covariance(&self) -> Array2<f64> {
        let loadings = self.loadings();
        loadings.dot(&loadings.t()) + Array2::from_diag(&self.noise)
    }
}

impl Rows {
    fn of<T: Real>(layer: &Layout, data: &Dataset<T>, most: usize) -> Rows {
        let n = data.len().min(most);
        let data = data.select(&(0..n).map(|r| r * data.len() / n.max(1)).collect::<Vec<_>>());
        let mut x = data.states().columns(layer, 0, n).mapv(T::f64);
        let weights: Vec<f64> = data.weights().iter().map(|w| w.f64()).collect();
        let known = data.known().cloned().unwrap_or_else(|| all_known(n, x.ncols()));
        let (mean, scale) = (0..x.ncols()).map(|i| moments(&x, &known, &weights, i)).unzip::<_, _, Vec<_>, Vec<_>>();
        for ((r, i), x) in x.indexed_iter_mut() {
            *x = if known.get(r, i) { (*x - mean[i]) / scale[i] } else { 0.0 };
        }
        Rows { x, known, weights, mean: mean.into(), scale: scale.into() }
    }
}

fn all_known(rows: usize, sites: usize) -> Bits {
    let mut bits = Bits::new(sites);
    (0..rows).for_each(|_| bits.push(std::iter::repeat_n(true, sites)));
    bits
}

/// Mean and standard deviation of the known cells of a column; 1 of a constant one.
fn moments(x: &Array2<f64>, known: &Bits, weights: &[f64], i: usize) -> (f64, f64) {
    let rows = || (0..x.nrows()).filter(|r| known.get(*r, i));
    let weight = rows().map(|r| weights[r]).sum::<f64>();
    if weight <= 0.0 {
        return (0.0, 1.0);
    }
    let mean = rows().map(|r| weights[r] * x[[r, i]]).sum::<f64>() / weight;
    let variance = rows().map(|r| weights[r] * (x[[r, i]] - mean).powi(2)).sum::<f64>() / weight;
    let is_constant = variance.is_nan() || variance <= ROUNDING * (variance + mean * mean);
    (mean, if is_constant { 1.0 } else { variance.sqrt() })
}

impl Fit {
    /// Principal components of the correlations, with half of every column's variance as noise.
    fn first(rows: &Rows, factors: usize) -> Fit {
        let n = rows.x.ncols();
        let weights = Array1::from(rows.weights.clone());
        let weighted = &rows.x * &weights.view().insert_axis(Axis(1));
        let mut correlations = rows.x.t().dot(&weighted) / weights.sum();
        let part = |i: usize| {
            let known = (0..rows.weights.len()).filter(|r| rows.known.get(*r, i)).map(|r| rows.weights[r]);
            (known.sum::<f64>() / weights.sum()).max(f64::EPSILON)
        };
        let parts: Array1<f64> = (0..n).map(part).collect();
        correlations = correlations / parts.view().insert_axis(Axis(0)) / parts.view().insert_axis(Axis(1));
        correlations.diag_mut().fill(1.0);
        /// Least variance along a factor, so that it can grow.
        const LEAST: f64 = 0.05;
        let (values, vectors) = eigen(&correlations);
        let mut loadings = Array2::zeros((n, factors + 1));
        for (j, (value, vector)) in values.iter().zip(vectors.rows()).take(factors).enumerate() {
            loadings.column_mut(j).assign(&(&vector * (value - (1.0 - EXPLAINED)).max(LEAST).sqrt()));
        }
        Fit { loadings, noise: Array1::from_elem(n, 1.0 - EXPLAINED) }
    }

    fn factors(&self) -> usize {
        self.loadings.ncols() - 1
    }

    /// Prior precision of a loading.
    fn precision(&self) -> f64 {
        self.factors() as f64 / EXPLAINED
    }

    fn log_prior(&self) -> f64 {
        -0.5 * self.precision() * self.loadings.slice(s![.., ..self.factors()]).iter().map(|l| l * l).sum::<f64>()
    }

    /// The sums over all rows.
    fn sums(&self, rows: &Rows) -> Sums {
        let k = self.factors();
        let outer = |i: usize| -> Vec<f64> {
            let l = self.loadings.row(i).to_vec();
            l[..k].iter().flat_map(|a| l[..k].iter().map(move |b| (a, b))).map(|(a, b)| a * b / self.noise[i]).collect()
        };
        let each: Vec<Vec<f64>> = (0..self.noise.len()).map(outer).collect();
        let mut all: Vec<f64> = Array2::eye(k).into_iter().collect();
        each.iter().for_each(|o| add_scaled(1.0, o, &mut all));
        let precisions = Precisions { each, all };
        let (n, size) = (rows.weights.len(), rows.weights.len().div_ceil(SHARDS).max(1));
        let parts = threads::map(n * k * k >= threads::MANY, (0..n).step_by(size), |from| {
            let mut sums = Sums::zeros(self.noise.len(), k + 1);
            (from..(from + size).min(n)).for_each(|r| self.add_row(rows, r, &precisions, &mut sums));
            sums
        });
        let mut total = Sums::zeros(self.noise.len(), k + 1);
        parts.iter().for_each(|part| total.add(part));
        total
    }

    /// Adds a row: ⟨z⟩ and ⟨zzᵀ⟩ given its known cells.
    fn add_row(&self, rows: &Rows, r: usize, precisions: &Precisions, sums: &mut Sums) {
        let (k, n, weight) = (self.factors(), self.noise.len(), rows.weights[r]);
        let (known, missing): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| rows.known.get(r, *i));
        let mut precision = precisions.all.clone();
        missing.iter().for_each(|i| add_scaled(-1.0, &precisions.each[*i], &mut precision));
        // A sum of the identity and squares: it has a factor.
        let Some(factor) = Array2::from_shape_vec((k, k), precision).ok().and_then(Cholesky::new) else { return };
        let (mut t, mut log_likelihood) = (vec![0.0; k], -0.5 * factor.log_det());
        for &i in &known {
            let (off, noise) = (rows.x[[r, i]] - self.loadings[[i, k]], self.noise[i]);
            t.iter_mut().zip(self.loadings.row(i)).for_each(|(t, l)| *t += l * off / noise);
            log_likelihood -= 0.5 * (off * off / noise + (std::f64::consts::TAU * noise).ln());
        }
        let covariance = factor.inverse();
        let t = Array1::from(t);
        let mut z = covariance.dot(&t).to_vec();
        sums.log_likelihood += weight * (log_likelihood + 0.5 * dot(&z, &t.to_vec()));
        z.push(1.0);
        let mut second = Array2::from_shape_fn((k + 1, k + 1), |(a, b)| z[a] * z[b]);
        let mut factors = second.slice_mut(s![..k, ..k]);
        factors += &covariance;
        let second: Vec<f64> = second.into_iter().collect();
        add_scaled(weight, &second, &mut sums.all);
        missing.iter().for_each(|i| add_scaled(weight, &second, &mut sums.missed[*i]));
        for i in known {
            let x = weight * rows.x[[r, i]];
            sums.cross.row_mut(i).iter_mut().zip(&z).for_each(|(c, z)| *c += x * z);
            sums.squares[i] += x * rows.x[[r, i]];
        }
    }

    /// Every column's regression on the factors, and what it leaves.
    fn step(&mut self, sums: &Sums) {
        let (k, precision) = (self.factors(), self.precision());
        for i in 0..self.noise.len() {
            let known: Vec<f64> = sums.all.iter().zip(&sums.missed[i]).map(|(all, missed)| all - missed).collect();
            let Ok(second) = Array2::from_shape_vec((k + 1, k + 1), known) else { continue };
            let (mut form, weight, cross) = (second.clone(), second[[k, k]], sums.cross.row(i));
            form.diag_mut().iter_mut().take(k).for_each(|d| *d += precision * self.noise[i]);
            // Without known cells there is nothing to learn.
            let Some(factor) = Cholesky::new(form).filter(|_| weight > 0.0) else { continue };
            let found = factor.solve(cross);
            if sums.squares[i] <= ROUNDING * weight {
                // As everywhere in training, a constant column has the variance 1.
                self.loadings.row_mut(i).fill(0.0);
                self.noise[i] = 1.0;
                continue;
            }
            let left = (sums.squares[i] - 2.0 * found.dot(&cross) + found.dot(&second.dot(&found))) / weight;
            self.noise[i] = left.max(LEAST_NOISE);
            self.loadings.row_mut(i).assign(&found);
        }
    }

    /// In the units of the rows: with UDUᵀ = Ψ^−½ΛΛᵀΨ^−½, the directions are U and the ratios 1 + D.
    fn finish(self, rows: &Rows) -> FactorAnalysis {
        let k = self.factors();
        let deviations = self.noise.mapv(f64::sqrt);
        let scaled = &self.loadings.slice(s![.., ..k]) / &deviations.insert_axis(Axis(1));
        let (values, vectors) = eigen(&scaled.t().dot(&scaled));
        // Directions of no length have no unit vector.
        let used = values.iter().take_while(|d| **d > 1e-9).count();
        let mut directions = vectors.slice(s![..used, ..]).dot(&scaled.t());
        for (mut u, d) in directions.rows_mut().into_iter().zip(&values) {
            u /= d.sqrt();
        }
        FactorAnalysis {
            mean: &rows.mean + &(&self.loadings.column(k) * &rows.scale),
            noise: &self.noise * &rows.scale * &rows.scale,
            directions,
            ratios: values[..used].iter().map(|d| (1.0 + d).min(LARGEST_RATIO)).collect(),
        }
    }
}

impl Sums {
    fn zeros(columns: usize, n: usize) -> Sums {
        Sums {
            all: vec![0.0; n * n],
            missed: vec![vec![0.0; n * n]; columns],
            cross: Array2::zeros((columns, n)),
            squares: Array1::zeros(columns),
            log_likelihood: 0.0,
        }
    }

    fn add(&mut self, other: &Sums) {
        add_scaled(1.0, &other.all, &mut self.all);
        self.missed.iter_mut().zip(&other.missed).for_each(|(a, b)| add_scaled(1.0, b, a));
        self.cross += &other.cross;
        self.squares += &other.squares;
        self.log_likelihood += other.log_likelihood;
    }
}
