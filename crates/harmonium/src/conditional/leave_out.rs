//! Σ_{i ∈ B} log p(v_i | v_{B∖i}): the pseudo-likelihood of a row of which the cells B are known; the others are summed over.

use super::{Row, cost};
use crate::advice::Advice;
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::exact::budget;
use crate::lowered::LoweredModel;
use crate::threads;
use ndarray::{Array1, ArrayView2};

/// Log pseudo-likelihoods of rows of columns, of which some cells are `known`; `first` is the number of the first row.
pub fn pseudo_log_likelihoods(
    lowered: &LoweredModel<f64>,
    x: ArrayView2<f64>,
    known: &Bits,
    first: u64,
) -> Result<Array1<f64>> {
    let row = |r: usize| leave_each_out(lowered, x.row(r).to_vec(), known.select(&[r]), first + r as u64);
    threads::map(x.nrows() > 1, 0..x.nrows(), row).into_iter().collect()
}

/// log p*(v_B) − log p*(v_{B∖i}), summed over the known cells i.
fn leave_each_out(lowered: &LoweredModel<f64>, x: Vec<f64>, known: Bits, number: u64) -> Result<f64> {
    let mut cells: Vec<bool> = (0..known.sites()).map(|i| known.get(0, i)).collect();
    let whole = log_p(lowered, &x, &cells, number)?;
    let mut sum = 0.0;
    for i in 0..cells.len() {
        if std::mem::replace(&mut cells[i], false) {
            sum += whole - log_p(lowered, &x, &cells, number)?;
            cells[i] = true;
        }
    }
    Ok(sum)
}

/// log p*(v_B) of a row, if that can be summed in little time.
fn log_p(lowered: &LoweredModel<f64>, x: &[f64], cells: &[bool], number: u64) -> Result<f64> {
    let mut known = Bits::new(cells.len());
    known.push(cells.iter().copied());
    if !budget::ROW.allows(cost(lowered.layers(), &known, 0)) {
        let free = cells.len() - known.ones(0);
        let problem = format!("data row {number}: a sum over {free} cells that are missing or left out takes too long");
        return Err(Error::Undefined(problem).advise(&[Advice::FillCells]));
    }
    Row { lowered, x: x.to_vec(), known: &known, number: 0 }.log_p()
}
