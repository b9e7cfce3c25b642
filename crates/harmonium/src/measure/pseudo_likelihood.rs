//! log PL(v) = Σ_i log p(v_i | all other v) (Besag, *Statistical analysis of non-lattice data*, 1975).

use super::conditional::Conditional;
use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::lowered::LoweredModel;
use crate::rng::{Key, Purpose};
use ndarray::{Array1, ArrayView2};
use rayon::prelude::*;

/// Most rows that are measured.
const ROWS: usize = 1000;
/// Fewest rows that are measured, and the fraction of their sites: another row costs a product with the weights, another site of
/// the same row only its exponentials, and is almost as informative.
const FEWEST: f64 = 20.0;
const PART: f64 = 0.125;
/// Steps of this size fill the unit interval evenly, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

pub(super) const MEASURE: Measure = Measure {
    name: "pseudo-likelihood",
    needs: Needs::Rows,
    quantities: &[Quantity {
        name: "pseudo_log_likelihood",
        family: "log pseudo-likelihood",
        title: "",
        unit: "nats per row",
        about: "For each column, the log probability (or density) of its value given all other columns; summed over columns and \
                averaged over rows. For large models it is estimated from a random part of the columns.",
        better: Better::Larger,
        mean_of_rows: true,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let rows = cx.rows?;
    let a_row = PART * cx.lowered.visible().sites() as f64 * Conditional::new(cx.lowered)?.terms();
    let few = rows.x.nrows().min(((cx.terms / a_row).max(FEWEST) as usize).min(ROWS));
    let x = rows.x.slice(ndarray::s![..few, ..]);
    let key = cx.key.of(Purpose::Monitor);
    let each = sampled_pseudo_log_likelihood(cx.lowered, x, cx.terms, key)? + cx.log_jacobian;
    Some(vec![Value::mean("pseudo_log_likelihood", each.iter().copied(), &rows.weights)])
}

/// Pseudo log likelihood of every row of visible columns, in nats; `None` if a layer is neither finite nor Gaussian.
pub fn pseudo_log_likelihood(lowered: &LoweredModel<f64>, x: ArrayView2<f64>) -> Option<Array1<f64>> {
    sampled_pseudo_log_likelihood(lowered, x, f64::INFINITY, Key::root(0))
}

/// An unbiased estimate for every row, from as many sites per row as about `terms` terms of Γ in all allow: at least one, and
/// exact if all sites are used. Sites are equally spaced, starting from a random one in the first row; the rows after it start at other
/// ones, so that a few rows see all columns equally often. (In a table of mixed columns they differ by more than a nat.)
pub fn sampled_pseudo_log_likelihood(
    lowered: &LoweredModel<f64>,
    x: ArrayView2<f64>,
    terms: f64,
    key: Key,
) -> Option<Array1<f64>> {
    let conditional = Conditional::new(lowered)?;
    let all = lowered.visible().sites();
    let most = (terms / (conditional.terms() * x.nrows() as f64)).max(1.0);
    let (n, taken) = (all as f64, all.min(most as usize));
    let inputs = lowered.up().inputs(x);
    let start: f64 = key.uniforms(0, 0)[0];
    let row = |r: usize| {
        let mut line = conditional.line(&x.row(r).to_vec(), &inputs.row(r).to_vec());
        let first = (start + r as f64 * GOLDEN).fract();
        let site = |k: usize| (((first + k as f64) * n / taken as f64) as usize).min(all - 1);
        let sum: f64 = (0..taken).map(|k| conditional.log_p(&mut line, site(k))).sum();
        sum * n / taken as f64
    };
    Some((0..x.nrows()).into_par_iter().map(row).collect::<Vec<f64>>().into())
}
