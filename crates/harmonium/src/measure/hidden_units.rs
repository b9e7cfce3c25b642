//! Hidden units that are always off, always on, or that never change: ⟨h_j|v⟩ over the rows.

use super::inputs::column_moments;
use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::lowered::LoweredLayer;
use ndarray::ArrayView2;

/// A unit is dead or saturated if its mean is within this fraction of its range from one end in every row.
const NEARLY: f64 = 0.05;
/// A unit is still if the standard deviation of its mean over the rows is below this fraction of its range (Gaussian units: of its
/// conditional standard deviation).
const STILL: f64 = 0.01;

const fn part(name: &'static str, title: &'static str) -> Quantity {
    Quantity {
        name,
        family: "idle hidden units",
        title,
        unit: "(fraction of units)",
        about: "Hidden units that hardly change from row to row: dead (always off), saturated (always on) or constant. Off and on \
                mean within 5 % of that end of the range in every row; constant means that the standard deviation of the activation \
                is below 1 % of the range. A Potts unit is saturated if it is always in one state; a Gaussian unit can only be constant.",
        better: Better::Smaller,
        mean_of_rows: false,
    }
}

pub(super) const MEASURE: Measure = Measure {
    name: "hidden-units",
    needs: Needs::Rows,
    quantities: &[
        part("dead_units", "always off"),
        part("saturated_units", "always on"),
        part("still_units", "constant"),
    ],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let (rows, hidden) = (cx.rows?, cx.lowered.hidden());
    // One row does not show what varies.
    if rows.hidden.nrows() < 2 {
        return None;
    }
    let width = hidden.unit().width();
    let (scale, ends) = (scales(hidden), ends(rows.hidden.view()));
    let variance = column_moments(rows.hidden.view(), &rows.weights).1;
    let sites = hidden.sites();
    let columns = |site: usize| site * width..(site + 1) * width;
    let count = |is: &dyn Fn(usize) -> bool| (0..sites).filter(|s| is(*s)).count() as f64 / sites as f64;
    let still = count(&|s| columns(s).all(|c| variance[c].sqrt() < STILL * scale[c]));
    let mut values = vec![Value::exact("still_units", still)];
    if let Some((low, high)) = range(hidden) {
        let near = NEARLY * (high - low);
        values.push(Value::exact("saturated_units", count(&|s| columns(s).any(|c| ends[c].0 > high - near))));
        if width == 1 {
            values.push(Value::exact("dead_units", count(&|s| ends[s].1 < low + near)));
        }
    }
    Some(values)
}

/// Smallest and largest mean of every column.
fn ends(means: ArrayView2<f64>) -> Vec<(f64, f64)> {
    let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); means.ncols()];
    for row in means.rows() {
        ends.iter_mut().zip(row).for_each(|(e, x)| *e = (e.0.min(*x), e.1.max(*x)));
    }
    ends
}

/// The smallest and the largest number of a finite unit's columns.
fn range(layer: &LoweredLayer<f64>) -> Option<(f64, f64)> {
    let unit = layer.unit();
    let mut state = vec![0.0; unit.width()];
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for k in 0..unit.n_states()? {
        unit.state(k, &mut state);
        ends = state.iter().fold(ends, |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    }
    Some(ends)
}

/// What a change is measured by: the range, or without one the conditional standard deviation at the mean of no input.
fn scales(layer: &LoweredLayer<f64>) -> Vec<f64> {
    if let Some((low, high)) = range(layer) {
        return vec![high - low; layer.columns()];
    }
    let mut t = ndarray::Array2::zeros(layer.eta().dim());
    layer.unit().mean_stats(layer.eta(), &vec![0.0; layer.columns()], t.view_mut());
    let deviation = |c: usize| match t.nrows() {
        1 => f64::NAN,
        _ => (t[[1, c]] - t[[0, c]].powi(2)).max(0.0).sqrt(),
    };
    (0..layer.columns()).map(deviation).collect()
}
