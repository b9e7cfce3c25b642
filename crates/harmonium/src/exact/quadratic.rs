//! Γ of a Gaussian layer is quadratic in the states x of the other layer: Σ_i Γ_i = c + gᵀx + ½xᵀJx, with
//! J = W̃ diag(σ²) W̃ᵀ, g = W̃σ²θ and c = ½ Σ (σ²θ² + log 2πσ²). So a state costs a few additions, however many columns the
//! Gaussian layer has, and all statistics follow from ⟨x⟩ and ⟨xxᵀ⟩.

use crate::layout::Site;
use crate::lowered::Pass;
use crate::stats::Stats;
use ndarray::{Array1, Array2, ArrayView1, Axis, s};

/// What the cost of a state is counted as, in columns of the other layer: one exponential and some additions.
pub(super) const COLUMNS: f64 = 4.0;

/// The quadratic form, for states whose first sites are tabulated.
pub(super) struct Quadratic {
    /// J of the first sites with the others, and of the others.
    cross: Array2<f64>,
    high: Array2<f64>,
    high_field: Array1<f64>,
    /// c + gᵀx + ½xᵀJx of every combination of the first sites.
    low: Vec<f64>,
    /// The columns of every state of each of the first sites.
    site_states: Vec<Vec<Vec<f64>>>,
}

/// Sums over the states of some blocks: of p for every combination of the first sites, and of p·x for blocks.
pub(super) struct Sums {
    low: Vec<f64>,
    cross: Array2<f64>,
    high: Array2<f64>,
    high_mean: Array1<f64>,
}

/// Variances σ² and fields θ of the Gaussian layer.
fn parameters(pass: Pass<f64>) -> (Array1<f64>, Array1<f64>) {
    let variance = pass.to.eta().row(1).mapv(|e| -0.5 / e);
    (variance, pass.to.eta().row(0).to_owned())
}

impl Quadratic {
    /// Whether the other layer is Gaussian, and this one finite with its columns as its statistics.
    pub fn applies(pass: Pass<f64>) -> bool {
        pass.to.is_quadratic() && pass.from.statistics().0 == 1 && pass.from.is_finite()
    }

    /// `low` has one row of columns for every combination of the first sites.
    pub fn new(pass: Pass<f64>, low: &Array2<f64>) -> Quadratic {
        let (variance, theta) = parameters(pass);
        let scaled = &pass.weights * &variance.view().insert_axis(Axis(0));
        let (form, field) = (scaled.dot(&pass.weights.t()), scaled.dot(&theta));
        let log_tau = variance.mapv(|v| (std::f64::consts::TAU * v).ln()).sum();
        let constant = 0.5 * ((&theta * &theta * &variance).sum() + log_tau);
        let (n, first) = (low.ncols(), s![..low.ncols()]);
        let own = form.slice(s![..n, ..n]);
        let low = low.rows().into_iter().map(|x| constant + field.slice(first).dot(&x) + 0.5 * x.dot(&own.dot(&x)));
        let states = |site: Site| {
            let unit = site.kind.unit::<f64>();
            let state = |k: usize| {
                let mut x = vec![0.0; unit.width()];
                unit.state(k, &mut x);
                x
            };
            (0..unit.n_states().unwrap_or(1)).map(state).collect()
        };
        Quadratic {
            cross: form.slice(s![..n, n..]).to_owned(),
            high: form.slice(s![n.., n..]).to_owned(),
            high_field: field.slice(s![n..]).to_owned(),
            low: low.collect(),
            site_states: pass.from.each_site().take_while(|site| site.columns.end <= n).map(states).collect(),
        }
    }

    /// Adds Γ of every state of a block, whose last sites have the columns `high`. `table` is overwritten.
    pub fn add_log_norms(&self, high: &[f64], table: &mut Vec<f64>, out: &mut [f64]) {
        let high = ArrayView1::from(high);
        let own = self.high_field.dot(&high) + 0.5 * high.dot(&self.high.dot(&high));
        let field = self.cross.dot(&high);
        table.clear();
        table.push(own);
        // The first site is the last digit of a state's number, so that every further site repeats the table.
        let mut field = field.as_slice().unwrap_or_default();
        for states in &self.site_states {
            let (site, rest) = field.split_at(states[0].len());
            field = rest;
            let size = table.len();
            for state in &states[1..] {
                let more: f64 = state.iter().zip(site).map(|(x, f)| x * f).sum();
                table.extend_from_within(..size);
                let from = table.len() - size;
                table[from..].iter_mut().for_each(|t| *t += more);
            }
            let more: f64 = states[0].iter().zip(site).map(|(x, f)| x * f).sum();
            table[..size].iter_mut().for_each(|t| *t += more);
        }
        for ((out, low), cross) in out.iter_mut().zip(&self.low).zip(table.iter()) {
            *out += low + cross;
        }
    }

    /// No states yet.
    pub fn sums(&self) -> Sums {
        let (low, high) = self.cross.dim();
        Sums {
            low: vec![0.0; self.low.len()],
            cross: Array2::zeros((low, high)),
            high: Array2::zeros((high, high)),
            high_mean: Array1::zeros(high),
        }
    }
}

impl Sums {
    /// Adds a block with these probabilities.
    pub fn add_block(&mut self, low: &Array2<f64>, high: &[f64], p: &[f64]) {
        self.low.iter_mut().zip(p).for_each(|(sum, p)| *sum += p);
        let high = ArrayView1::from(high);
        let (mass, mean) = (p.iter().sum::<f64>(), low.t().dot(&ArrayView1::from(p)));
        for (k, x) in high.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.high_mean[k] += mass * x;
            self.high.row_mut(k).scaled_add(mass * x, &high);
            self.cross.column_mut(k).scaled_add(*x, &mean);
        }
    }

    /// Adds the states of other blocks.
    pub fn add(&mut self, other: &Sums) {
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a += b);
        self.cross += &other.cross;
        self.high += &other.high;
        self.high_mean += &other.high_mean;
    }

    /// Statistics of both layers: with y the Gaussian layer, ⟨y|x⟩ = σ²(θ + W̃ᵀx).
    pub fn stats(&self, pass: Pass<f64>, low: &Array2<f64>) -> Stats<f64> {
        let (n, m) = (low.ncols(), pass.from.columns());
        let p = ArrayView1::from(&self.low[..]);
        let (mut mean, mut second) = (Array1::zeros(m), Array2::zeros((m, m)));
        mean.slice_mut(s![..n]).assign(&low.t().dot(&p));
        mean.slice_mut(s![n..]).assign(&self.high_mean);
        let weighted = low * &p.insert_axis(Axis(1));
        second.slice_mut(s![..n, ..n]).assign(&low.t().dot(&weighted));
        second.slice_mut(s![..n, n..]).assign(&self.cross);
        second.slice_mut(s![n.., ..n]).assign(&self.cross.t());
        second.slice_mut(s![n.., n..]).assign(&self.high);
        let weight = p.sum();
        let (variance, theta) = parameters(pass);
        let (input, product) = (pass.weights.t().dot(&mean), second.dot(&pass.weights));
        let square = (&pass.weights * &product).sum_axis(Axis(0));
        let mut other = Array2::zeros(pass.to.eta().dim());
        other.row_mut(0).assign(&(&variance * &(&theta * weight + &input)));
        let squares = &theta * &theta * weight + &theta * &input * 2.0 + &square;
        other.row_mut(1).assign(&(&variance * weight + &variance * &variance * &squares));
        let outer = mean.view().insert_axis(Axis(1)).dot(&theta.view().insert_axis(Axis(0)));
        let cross = ((outer + product) * variance.view().insert_axis(Axis(0))).as_standard_layout().into_owned();
        Stats { visible: mean.insert_axis(Axis(0)), hidden: other, cross, weight }
    }
}
