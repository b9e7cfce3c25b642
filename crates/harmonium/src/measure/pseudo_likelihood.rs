//! log PL(v) = Σ_i log p(v_i | all other v), exact for finite visible units.
//!
//! p(v_i = k | rest) ∝ exp(−F(v with v_i = k)), and changing one site changes the inputs to the hidden layer by one
//! difference of weight rows (Besag, *Statistical analysis of non-lattice data*, 1975).

use crate::math::log_sum_exp;
use crate::natural::Natural;
use ndarray::{Array1, ArrayView2, s};
use rayon::prelude::*;

/// Pseudo log likelihood of every row of visible columns, in nats; `None` if the visible units are continuous.
pub fn pseudo_log_likelihood(machine: &Natural<f64>, x: ArrayView2<f64>) -> Option<Array1<f64>> {
    machine.visible().unit().n_states()?;
    let inputs = machine.up().inputs(x);
    let rows: Vec<usize> = (0..x.nrows()).collect();
    let row = |&r: &usize| one_row(machine, &x.row(r).to_vec(), &inputs.row(r).to_vec());
    Some(rows.par_iter().map(row).collect::<Vec<f64>>().into())
}

fn one_row(machine: &Natural<f64>, x: &[f64], inputs: &[f64]) -> f64 {
    let (visible, hidden) = (machine.visible(), machine.hidden());
    let (unit, width) = (visible.unit(), visible.unit().width());
    let mut state = vec![0.0; width];
    let mut t = ndarray::Array2::zeros((visible.eta().nrows(), width));
    let mut sum = 0.0;
    for (site, now) in x.chunks_exact(width).enumerate() {
        let columns = site * width..(site + 1) * width;
        let eta = visible.eta();
        let eta = eta.slice(s![.., columns.clone()]);
        // −F with this site in the state `state`, up to what all states share.
        let mut log_weight = |state: &[f64]| {
            let mut moved = inputs.to_vec();
            for ((c, new), old) in columns.clone().zip(state).zip(now) {
                if new != old {
                    moved.iter_mut().zip(machine.weights().row(c)).for_each(|(i, w)| *i += (new - old) * w);
                }
            }
            unit.stats(state, t.view_mut());
            (&eta * &t).sum() + hidden.unit().log_norm(hidden.eta(), &moved)
        };
        let own = log_weight(now);
        let mut all = Vec::new();
        for k in 0..unit.n_states().unwrap_or(0) {
            unit.state(k, &mut state);
            all.push(log_weight(&state));
        }
        sum += own - log_sum_exp(all.into_iter());
    }
    sum
}
