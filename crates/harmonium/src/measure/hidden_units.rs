//! Hidden units that are always off, always on, or that never change: ⟨h_j|v⟩ over the rows.

use super::inputs::column_moments;
use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::layout::Site;
use crate::lowered::LoweredLayer;
use ndarray::ArrayView2;
use serde::Serialize;

/// A unit is always off (dead) or always on (saturated) if its mean is within this fraction of its range from one end in every row.
const NEARLY: f64 = 0.05;
/// Any other unit is constant (still) if the standard deviation of its mean over the rows is below this fraction of its range (Gaussian units: of its
/// conditional standard deviation).
const STILL: f64 = 0.01;

const fn part(name: &'static str, title: &'static str) -> Quantity {
    Quantity {
        name,
        family: "idle hidden units",
        title,
        unit: "(fraction of units)",
        about: "Hidden units that hardly change from row to row; each is counted once, as always off, always on or constant. Off and on \
                mean within 5 % of that end of the range in every row; the others are constant if the standard deviation of the \
                activation is below 1 % of the range. A Potts unit is always on if it is always in one state; a Gaussian unit can \
                only be constant.",
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
    let idle = Idle::of(hidden, rows.hidden.view(), &rows.weights)?;
    let value = |name, n: usize| Value::exact(name, n as f64 / hidden.sites() as f64);
    let mut values = vec![value("still_units", idle.constant)];
    if hidden.has_finite() {
        values.push(value("saturated_units", idle.on));
        if hidden.each_site().any(|site| site.n_states().is_some() && site.columns.len() == 1) {
            values.push(value("dead_units", idle.off));
        }
    }
    Some(values)
}

/// Hidden units that hardly change from row to row; none is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Idle {
    /// Always off.
    pub off: usize,
    /// Always on; of a Potts unit, always in one state.
    pub on: usize,
    /// Neither, and constant.
    pub constant: usize,
}

impl Idle {
    /// Counts them by the hidden means of rows; none of a single row, which does not show what varies.
    pub(crate) fn of(hidden: &LoweredLayer<f64>, means: ArrayView2<f64>, weights: &[f64]) -> Option<Idle> {
        if means.nrows() < 2 {
            return None;
        }
        let (scale, ends) = (scales(hidden), ends(means));
        let variance = column_moments(means, weights).1;
        let mut idle = Idle::default();
        for site in hidden.each_site() {
            let near_end = range(&site).map(|(low, high)| (low, high, NEARLY * (high - low)));
            let mut columns = site.columns;
            let on = near_end.is_some_and(|(_, high, near)| columns.clone().any(|c| ends[c].0 > high - near));
            let first = columns.start;
            let off = columns.len() == 1 && near_end.is_some_and(|(low, _, near)| ends[first].1 < low + near);
            let constant = columns.all(|c| variance[c].sqrt() < STILL * scale[c]);
            idle.off += usize::from(off);
            idle.on += usize::from(on);
            idle.constant += usize::from(constant && !on && !off);
        }
        Some(idle)
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.off + self.on + self.constant
    }
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
fn range(site: &Site) -> Option<(f64, f64)> {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let states = site.n_states().map(|_| site.states::<f64>())?;
    Some(states.iter().flatten().fold(ends, |(lo, hi), x| (lo.min(*x), hi.max(*x))))
}

/// What a change is measured by: the range, or without one the conditional standard deviation at the mean of no input.
fn scales(layer: &LoweredLayer<f64>) -> Vec<f64> {
    let mut t = ndarray::Array2::zeros(layer.eta().dim());
    layer.mean_stats(layer.eta(), &vec![0.0; layer.columns()], t.view_mut());
    let deviation = |c: usize| match t.nrows() {
        1 => f64::NAN,
        _ => (t[[1, c]] - t[[0, c]].powi(2)).max(0.0).sqrt(),
    };
    let of = |site: Site| {
        let ends = range(&site);
        site.columns.map(move |c| ends.map_or_else(|| deviation(c), |(low, high)| high - low))
    };
    layer.each_site().flat_map(of).collect()
}
