//! The inputs of measures: rows with their hidden means and reconstructions, and chains with their free energies.

use crate::backend::{self, Slot, Sweeps};
use crate::dataset::Dataset;
use crate::lowered::LoweredModel;
use crate::real::Real;
use crate::rng::Key;
use crate::states::States;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// States kept per observed chain at most.
const KEPT: u64 = 8;

/// Rows of data with their free energies and, for the first of them, hidden means and reconstructions.
#[derive(Clone, Debug)]
pub struct MeasuredRows {
    /// F(v) of every row.
    pub free_energies: Array1<f64>,
    /// Weight of every row.
    pub weights: Vec<f64>,
    /// The first rows, as columns.
    pub x: Array2<f64>,
    /// Their hidden means ⟨h|v⟩.
    pub hidden: Array2<f64>,
    /// Their reconstructions ⟨v|⟨h|v⟩⟩.
    pub reconstruction: Array2<f64>,
}

impl MeasuredRows {
    /// Computes the free energies of all rows, and everything else for the first `few`.
    pub fn new<T: Real>(backend: &mut dyn backend::Chains<T>, data: &Dataset<T>, few: usize) -> MeasuredRows {
        let free_energies = backend.free_energy(data.states());
        let lowered = backend.model();
        let x = data.states().columns(lowered.visible(), 0, data.len().min(few));
        let hidden = lowered.up().means(x.view());
        let reconstruction = lowered.down().means(hidden.view());
        let [x, hidden, reconstruction] = [x, hidden, reconstruction].map(|m| m.mapv(T::f64));
        MeasuredRows {
            free_energies,
            weights: data.weights().iter().map(|w| w.f64()).collect(),
            x,
            hidden,
            reconstruction,
        }
    }
}

/// States of chains, and the trace of their free energies.
#[derive(Clone, Debug)]
pub struct Chains {
    /// The states, as columns: those of the first chain, then those of the second, and so on.
    pub x: Array2<f64>,
    /// Number of states of every chain.
    pub states_per_chain: usize,
    /// F(v) after every sweep: sweeps × chains; empty if none was run.
    pub trace: Array2<f64>,
}

impl Chains {
    /// The current states of chains, without a trace.
    pub(crate) fn still<T: Real>(lowered: &LoweredModel<T>, states: &States<T>) -> Chains {
        let x = states.columns(lowered.visible(), 0, states.rows()).mapv(T::f64);
        Chains { x, states_per_chain: 1, trace: Array2::zeros((0, states.rows())) }
    }

    /// Runs some sweeps from `states` in a slot and records the trace; states are kept from the second half of the sweeps.
    pub fn watched<T: Real>(
        backend: &mut dyn backend::Chains<T>,
        slot: Slot,
        states: &States<T>,
        sweeps: u64,
        key: Key,
    ) -> Chains {
        backend.put(slot, states, None);
        let mut trace = Array2::zeros((sweeps as usize, states.rows()));
        let (mut kept, apart) = (Vec::new(), (sweeps / (2 * KEPT)).max(1));
        for (first, mut energies) in (0..).zip(trace.rows_mut()) {
            backend.gibbs(slot, Sweeps { steps: 1, key, first, beta: None });
            let now = backend.get(slot);
            energies.assign(&backend.free_energy(&now));
            let left = sweeps - first - 1;
            if left.is_multiple_of(apart) && left / apart < KEPT {
                kept.push(now.columns(backend.layers()[0], 0, now.rows()));
            }
        }
        let n = kept.len().max(1);
        let rows = if kept.is_empty() { 0 } else { states.rows() * n };
        let columns = backend.layers()[0].columns();
        let x = Array2::from_shape_fn((rows, columns), |(r, c)| kept[r % n][[r / n, c]].f64());
        Chains { x, states_per_chain: n, trace }
    }
}

/// Mean and variance of every column, rows counted by weight.
pub(super) fn column_moments(x: ArrayView2<f64>, weights: &[f64]) -> (Array1<f64>, Array1<f64>) {
    let total: f64 = weights.iter().take(x.nrows()).sum();
    let mut mean = Array1::zeros(x.ncols());
    x.axis_iter(Axis(0)).zip(weights).for_each(|(row, w)| mean.scaled_add(w / total, &row));
    let mut variance = Array1::zeros(x.ncols());
    for (row, w) in x.axis_iter(Axis(0)).zip(weights) {
        ndarray::Zip::from(&mut variance).and(&row).and(&mean).for_each(|v, x, m| *v += w / total * (x - m).powi(2));
    }
    (mean, variance)
}
