//! Exact results: log Z = log Σ_x exp(−F(x)) over the states of the cheaper finite layer, or by a Cholesky factorisation.
//!
//! The other layer is summed out in closed form, so a model of any width is exact as long as one layer is finite and small.
//! Everything is computed in f64, whatever the precision of the model, with the same result on any number of threads.

pub mod budget;
mod cholesky;
mod enumerate;
mod factors;
mod gaussian;
mod quadratic;
pub(crate) mod rounding;

pub use budget::MOST_STATES_LOG2;
pub(crate) use cholesky::Cholesky;
pub(crate) use gaussian::normalisable;

use crate::dataset::check_weights;
use crate::error::{Error, Result};
use crate::layout::{Layout, Site};
use crate::lowered::LoweredModel;
use crate::model::{Gradient, Rbm};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::stats::Stats;
use budget::MOST_COST_LOG2;
use enumerate::Enumeration;
use gaussian::Joint;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use std::collections::BTreeMap;

/// Called with (work done, total work) during an enumeration, from any thread.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// A model whose normalising constant is known exactly, with its coordinates, in which gradients are computed.
pub struct Exact {
    rbm: Rbm<f64>,
    solved: Solved,
}

/// A lowered model whose normalising constant is known exactly.
pub struct Solved {
    lowered: LoweredModel<f64>,
    solution: Solution,
    log_z: f64,
}

enum Solution {
    Enumerated(Enumeration),
    Gaussian(Joint),
}

impl Exact {
    /// Solves the model by enumerating the cheaper layer.
    pub fn new<T: Real>(rbm: &Rbm<T>) -> Result<Exact> {
        Self::with_progress(rbm, &|_, _| ())
    }

    /// The same with progress reports.
    pub fn with_progress<T: Real>(rbm: &Rbm<T>, progress: Progress) -> Result<Exact> {
        let rbm = rbm.cast::<f64>();
        Ok(Exact { solved: Solved::new(rbm.lower(), progress)?, rbm })
    }

    /// What solving a model costs, in terms (see [`budget`]); `None` if it cannot be done exactly.
    pub fn cost<T: Real>(lowered: &LoweredModel<T>) -> Option<f64> {
        Self::cost_of([lowered.visible(), lowered.hidden()])
    }

    /// The same for any model with such a visible and a hidden layer.
    pub(crate) fn cost_of(layers: [&Layout; 2]) -> Option<f64> {
        enumerate::cost_log2(layers).filter(|c| *c < MOST_COST_LOG2).map(f64::exp2)
    }

    /// The exact gradient of the weighted mean log likelihood of rows of data values.
    pub fn gradient(&self, rows: ArrayView2<f64>, weights: ArrayView1<f64>) -> Result<Gradient<f64>> {
        check_weights(rows.nrows(), weights.iter().copied())?;
        let x = self.lowered.visible().encode(rows, 1)?;
        let data = self.lowered.up().stats(x.view(), weights);
        Ok(self.rbm.gradient(&self.lowered, &data.minus(&self.stats())))
    }
}

/// Access to everything that does not depend on the coordinates.
impl std::ops::Deref for Exact {
    type Target = Solved;

    fn deref(&self) -> &Solved {
        &self.solved
    }
}

impl Solved {
    /// Solves a model by enumerating the cheaper layer, with progress reports. Parameters so large that rounding would leave
    /// no exact digits are an error.
    pub(crate) fn new(lowered: LoweredModel<f64>, progress: Progress) -> Result<Solved> {
        let (v, h) = (lowered.visible(), lowered.hidden());
        let (solution, log_z) = if v.is_finite() || h.is_finite() {
            let (e, log_z) = Enumeration::new(&lowered, progress)?;
            (Solution::Enumerated(e), log_z)
        } else if v.is_quadratic() && h.is_quadratic() {
            let joint = Joint::new(&lowered)?;
            let log_z = joint.log_z();
            (Solution::Gaussian(joint), log_z)
        } else {
            let (v, h) = (v.to_string(), h.to_string());
            return Err(Error::Undefined(format!("there is no exact method for {v} visible and {h} hidden units")));
        };
        if !log_z.is_finite() {
            return Err(Error::NotNormalisable(format!("the parameters are so large that log Z is {log_z}")));
        }
        rounding::check(&lowered, log_z)?;
        Ok(Solved { lowered, solution, log_z })
    }

    /// log Z in nats, of the energy in the coordinates of the model, constants included.
    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    /// The model, lowered, in f64.
    pub fn lowered(&self) -> &LoweredModel<f64> {
        &self.lowered
    }

    /// A description of what was done.
    pub fn method(&self) -> String {
        match &self.solution {
            Solution::Enumerated(e) => e.describe(),
            Solution::Gaussian(_) => "Gaussian integral by Cholesky factorisation".into(),
        }
    }

    /// log p(v) = −F(v) − log Z of every row of data values, in nats.
    pub fn log_likelihood(&self, rows: ArrayView2<f64>) -> Result<Array1<f64>> {
        let x = self.lowered.visible().encode(rows, 1)?;
        Ok(self.lowered.up().free_energy(x.view()).mapv(|f| -f - self.log_z))
    }

    /// Exact expectations of the sufficient statistics under the model, weight 1: marginals, moments, ⟨vhᵀ⟩.
    pub fn stats(&self) -> Stats<f64> {
        match &self.solution {
            Solution::Enumerated(e) => e.stats(&self.lowered, self.log_z),
            Solution::Gaussian(joint) => joint.stats(&self.lowered),
        }
    }

    /// `n` independent exact samples: rows of visible and of hidden data values.
    pub fn sample(&self, n: usize, key: Key) -> (Array2<f64>, Array2<f64>) {
        let (visible, hidden) = (self.lowered.visible(), self.lowered.hidden());
        let state_key = key.of(Purpose::ExactState);
        let (x, over_visible) = match &self.solution {
            Solution::Enumerated(e) => (e.sample(&self.lowered, self.log_z, n, state_key), e.over_visible()),
            Solution::Gaussian(joint) => (joint.sample(n, state_key), joint.over_visible()),
        };
        let pass = if over_visible { self.lowered.up() } else { self.lowered.down() };
        let y = pass.sample(x.view(), key.of(Purpose::ExactRest), 0);
        let (v, h) = if over_visible { (x, y) } else { (y, x) };
        (visible.decode(v.view()), hidden.decode(h.view()))
    }

    /// KL(q‖p) = Σ q log(q/p) in nats. Rows of data values and their weights define q: equal rows are merged, and weights need not
    /// sum to 1; an empirical distribution has weights 1.
    pub fn kl(&self, rows: ArrayView2<f64>, weights: ArrayView1<f64>) -> Result<Divergence> {
        check_weights(rows.nrows(), weights.iter().copied())?;
        let visible = self.lowered.visible();
        let x = visible.encode(rows, 1)?;
        if visible.decode(x.view()) != rows || !self.all_states(x.view()) {
            return Err(Error::Undefined(format!(
                "the divergence needs discrete visible units and data values that are their states; \
                 the visible units are {}",
                visible.layout()
            )));
        }
        let log_p = self.log_likelihood(rows)?;
        let total = weights.sum();
        let mut q: BTreeMap<Vec<u64>, (f64, f64)> = BTreeMap::new();
        for ((row, &w), &log_p) in rows.rows().into_iter().zip(weights).zip(&log_p) {
            q.entry(row.iter().map(|x| x.to_bits()).collect()).or_insert((0.0, log_p)).0 += w / total;
        }
        let support = || q.values().filter(|q| q.0 > 0.0);
        let entropy = -support().map(|&(q, _)| q * q.ln()).sum::<f64>();
        let cross = -support().map(|&(q, log_p)| q * log_p).sum::<f64>();
        Ok(Divergence { kl: cross - entropy, entropy })
    }

    /// Whether every site of every row is a state of its unit and not, for example, a grey value.
    fn all_states(&self, x: ArrayView2<f64>) -> bool {
        let visible = self.lowered.visible();
        let is_state = |site: &Site, x: &[f64]| {
            let unit = site.kind.unit::<f64>();
            let mut state = vec![0.0; unit.width()];
            (0..unit.n_states().unwrap_or(0)).any(|k| {
                unit.state(k, &mut state);
                state == x
            })
        };
        x.rows().into_iter().all(|row| {
            let row = row.to_vec();
            visible.each_site().all(|site| is_state(&site, &row[site.columns.clone()]))
        })
    }
}

/// KL(q‖p) and the entropy of q, both in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divergence {
    /// Σ q log(q/p).
    pub kl: f64,
    /// −Σ q log q.
    pub entropy: f64,
}
