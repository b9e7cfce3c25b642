//! Effective couplings between visible sites with the hidden units summed out, J_ij(a, b) = ⟨L(a, b) − L(·, b) − L(a, ·) + L(·, ·)⟩.
//!
//! L(a, b) = log p(v) with v_i = a and v_j = b in a row v, a dot is the mean over all states of the site (zero-sum gauge), and ⟨⟩
//! is the mean over rows (Tubiana, Cocco and Monasson, *Learning protein constitutive motifs from sequence data*, 2019). If log p(v)
//! is a sum of fields and pair terms, the difference does not depend on the row, and J is exact. The fields of the visible
//! layer cancel, so L is Σ_μ Γ_μ(I) of the hidden units alone.

use crate::error::{Error, Result};
use crate::exact::Progress;
use crate::layout::{Site, two_values};
use crate::lowered::LoweredModel;
use crate::memory;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// The effective coupling of two sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCoupling {
    /// The two sites, counted from 0, the smaller first.
    pub sites: [usize; 2],
    /// J of J·v_i·v_j, for units of two values in one column; J_ij is a matrix for others.
    pub coupling: Option<f64>,
    /// Frobenius norm of the matrix J_ij in the zero-sum gauge.
    pub norm: f64,
    /// How strong the coupling is, compared with others: |J| for units of two values, otherwise the norm with the average product
    /// correction, F_ij − F_i F_j/F (Dunn, Wahl and Gloor, 2008).
    pub score: f64,
}

/// A model and the rows that its couplings are averaged over.
pub struct Couplings<'a> {
    lowered: &'a LoweredModel<f64>,
    /// Hidden inputs of the rows.
    inputs: Array2<f64>,
    /// Rows of visible columns.
    rows: ArrayView2<'a, f64>,
    /// What each state of a site adds to the hidden inputs: for every site, states × hidden columns.
    shifts: Vec<Array2<f64>>,
}

/// What one row costs, in terms: evaluations of Γ for one hidden column. Refuses models that have no such couplings.
pub fn terms_per_row(lowered: &LoweredModel<f64>) -> Result<f64> {
    let states: Vec<f64> = states(lowered)?.into_iter().map(|q| q as f64).collect();
    let (sum, squares) = (states.iter().sum::<f64>(), states.iter().map(|q| q * q).sum::<f64>());
    Ok(0.5 * (sum * sum - squares) * lowered.hidden().columns() as f64)
}

/// Number of states of every visible site; refuses units without.
fn states(lowered: &LoweredModel<f64>) -> Result<Vec<usize>> {
    let visible = lowered.visible();
    if visible.sites() < 2 {
        return Err(Error::Undefined("couplings need at least two visible units, but the model has one".into()));
    }
    visible.each_site().map(|site| site.kind.unit::<f64>().n_states()).collect::<Option<_>>().ok_or_else(|| {
        let units = visible.layout();
        Error::Undefined(format!("couplings need visible units with finitely many states, but these are {units}"))
    })
}

impl<'a> Couplings<'a> {
    /// Prepares to average over rows of visible columns.
    pub fn new(lowered: &'a LoweredModel<f64>, rows: ArrayView2<'a, f64>) -> Result<Couplings<'a>> {
        let (states, visible) = (states(lowered)?, lowered.visible());
        if rows.ncols() != visible.columns() {
            return Err(Error::Columns { expected: visible.columns(), found: rows.ncols() });
        }
        if rows.nrows() == 0 {
            return Err(Error::Undefined("couplings need at least one row to average over".into()));
        }
        let q = states.into_iter().max().unwrap_or(0);
        memory::check("states", q, 32.0 * (q as f64).powi(2) * rayon::current_num_threads() as f64)?;
        let weights = |columns| lowered.weights().slice_move(s![columns, ..]);
        let shifts = visible.each_site().map(|site| state_columns(&site).dot(&weights(site.columns))).collect();
        Ok(Couplings { inputs: lowered.up().inputs(rows), lowered, rows, shifts })
    }

    /// The matrix J_ij(a, b) of two different sites: states × states, zero-sum.
    pub fn matrix(&self, sites: [usize; 2]) -> Array2<f64> {
        let mut sum = Array2::zeros(sites.map(|i| self.shifts[i].nrows()));
        (0..self.rows.nrows()).for_each(|r| self.add_logs(r, sites, &mut sum));
        zero_sum(sum / self.rows.nrows() as f64)
    }

    /// Adds L(a, b) of one row, up to terms of a alone and of b alone.
    fn add_logs(&self, row: usize, [i, j]: [usize; 2], sum: &mut Array2<f64>) {
        let hidden = self.lowered.hidden();
        let rest = self.inputs_without(row, [i, j]);
        let mut input = vec![0.0; rest.len()];
        for (a, shift_a) in self.shifts[i].rows().into_iter().enumerate() {
            let with_a = &rest + &shift_a;
            for (b, shift_b) in self.shifts[j].rows().into_iter().enumerate() {
                input.iter_mut().zip(&with_a).zip(&shift_b).for_each(|((x, a), b)| *x = a + b);
                sum[[a, b]] += hidden.log_norm(hidden.eta(), &input);
            }
        }
    }

    /// The hidden inputs of a row without what some sites add to them.
    fn inputs_without(&self, row: usize, sites: [usize; 2]) -> Array1<f64> {
        let mut input = self.inputs.row(row).to_owned();
        for c in sites.into_iter().flat_map(|i| self.lowered.visible().columns_of(i)) {
            input.scaled_add(-self.rows[[row, c]], &self.lowered.weights().row(c));
        }
        input
    }

    /// The couplings of all pairs of sites, the strongest first. The norm leaves out the state `gap`, if there is one.
    pub fn pairs(&self, gap: Option<usize>, progress: Progress) -> Vec<PairCoupling> {
        let sites = self.lowered.visible().sites();
        let all: Vec<[usize; 2]> = (0..sites).flat_map(|i| (i + 1..sites).map(move |j| [i, j])).collect();
        let done = AtomicU64::new(0);
        let pair = |sites: &[usize; 2]| {
            let found = self.pair(*sites, gap);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, all.len() as u64);
            found
        };
        let mut pairs: Vec<PairCoupling> = all.par_iter().map(pair).collect();
        score(&mut pairs, sites);
        pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
        pairs
    }

    fn pair(&self, sites: [usize; 2], gap: Option<usize>) -> PairCoupling {
        let matrix = self.matrix(sites);
        let squares = matrix.indexed_iter().filter(|((a, b), _)| gap != Some(*a) && gap != Some(*b));
        let norm = squares.map(|(_, x)| x * x).sum::<f64>().sqrt();
        // In the zero-sum gauge, J x_i x_j has the entry J (x₁ − x₀)²/4.
        let spread =
            |i: usize| two_values::<f64>(self.lowered.visible().site(i).kind.unit()).map(|[low, high]| high - low);
        let coupling = spread(sites[0]).zip(spread(sites[1])).map(|(a, b)| 4.0 * matrix[[1, 1]] / (a * b));
        PairCoupling { sites, coupling, norm, score: 0.0 }
    }
}

/// The columns of every state of a site.
fn state_columns(site: &Site) -> Array2<f64> {
    let unit = site.kind.unit::<f64>();
    let states = unit.n_states().unwrap_or(0);
    let mut columns = vec![0.0; unit.width()];
    let mut all = Array2::zeros((states, unit.width()));
    for (state, mut row) in all.rows_mut().into_iter().enumerate() {
        unit.state(state, &mut columns);
        row.assign(&Array1::from(columns.clone()));
    }
    all
}

/// A matrix minus the means of its rows and of its columns, plus the mean of all.
fn zero_sum(matrix: Array2<f64>) -> Array2<f64> {
    let mean = |axis| matrix.sum_axis(axis) / matrix.len_of(axis) as f64;
    let (rows, columns) = (mean(Axis(1)).insert_axis(Axis(1)), mean(Axis(0)));
    let all = columns.sum() / columns.len() as f64;
    &matrix - &rows - &columns + all
}

/// Fills in the scores of all pairs: |J|, or the norm with the average product correction.
fn score(pairs: &mut [PairCoupling], sites: usize) {
    let mut sums = vec![0.0; sites];
    pairs.iter().for_each(|p| p.sites.iter().for_each(|i| sums[*i] += p.norm));
    // The means of n − 1 pairs of a site and of n(n − 1)/2 pairs.
    let (of_site, all) = ((sites - 1) as f64, sums.iter().sum::<f64>() / (sites * (sites - 1)) as f64);
    for pair in pairs {
        let [i, j] = pair.sites.map(|i| sums[i] / of_site);
        let product = if all > 0.0 { i * j / all } else { 0.0 };
        pair.score = pair.coupling.map_or(pair.norm - product, f64::abs);
    }
}
