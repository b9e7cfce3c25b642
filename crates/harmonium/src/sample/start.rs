//! Where chains start.

use crate::backend::{Backend, Slot, Sweeps};
use crate::error::{Error, Result};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use ndarray::{Array2, Axis};

/// A slot that is free before the chains are started.
const FIRST: Slot = 0;

/// Where chains start.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// Visible units are drawn from their biases, as if all weights were zero.
    Random,
    /// Hidden units are drawn with all states equally likely, h ∼ Bernoulli(½), then the visible ones given them (Corro, *Lab
    /// Exercise 2*). Continuous units are drawn from their own parameters.
    Hidden,
    /// Chain k starts from row k of these rows of columns (see [`Layout::encode`](crate::Layout::encode)), cyclically.
    Rows(&'a Array2<f64>),
}

impl Start<'_> {
    /// Refuses rows that do not fit.
    pub(super) fn check(&self, lowered: &LoweredModel<f64>) -> Result<()> {
        let Start::Rows(rows) = self else { return Ok(()) };
        if rows.nrows() == 0 {
            return Err(Error::Config { key: "start", problem: "needs at least one row to start from".into() });
        }
        if rows.ncols() != lowered.visible().columns() {
            return Err(Error::Columns { expected: lowered.visible().columns(), found: rows.ncols() });
        }
        Ok(())
    }

    /// The first visible states of the chains.
    pub(super) fn states<T: Real>(&self, backend: &mut dyn Backend<T>, chains: usize, key: Key) -> States<T> {
        let key = key.of(Purpose::Chains);
        match self {
            Start::Random => {
                let layer = backend.layers()[0];
                States::of(layer, drawn(layer, layer.eta().to_owned(), chains, key).view())
            }
            Start::Hidden => {
                let layer = backend.layers()[1];
                let flat = layer.flat();
                let eta = if layer.is_finite() { flat } else { layer.eta().to_owned() };
                let states = States::of(layer, drawn(layer, eta, chains, key).view());
                backend.put_hidden(FIRST, &states);
                backend.gibbs(FIRST, Sweeps { steps: 1, key, first: 0, beta: None });
                backend.get(FIRST)
            }
            Start::Rows(rows) => {
                let which: Vec<usize> = (0..chains).map(|k| k % rows.nrows()).collect();
                States::of(backend.layers()[0], rows.select(Axis(0), &which).mapv(T::of).view())
            }
        }
    }
}

/// Rows of independent units with these natural parameters.
fn drawn<T: Real>(layer: &LoweredLayer<T>, eta: Array2<T>, rows: usize, key: Key) -> Array2<T> {
    let (zero, mut u) = (vec![T::zero(); layer.columns()], vec![T::zero(); layer.n_uniforms()]);
    let mut out = Array2::zeros((rows, layer.columns()));
    for (chain, mut row) in out.rows_mut().into_iter().enumerate() {
        key.fill(chain as u64, &mut u);
        if let Some(row) = row.as_slice_mut() {
            layer.sample(eta.view(), &zero, &u, row);
        }
    }
    out
}
