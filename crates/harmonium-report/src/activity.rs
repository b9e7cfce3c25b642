//! Histogram of how often each hidden unit is on over the data, and how many units never change.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::figure::Figure;
use crate::plot::Layout;
use crate::text::{count, short};
use crate::values::{column_range, histogram, rows_between};
use ndarray::{Array1, Array2, ArrayView1, Axis as Dimension};

/// Number of bars of the histogram.
const BARS: usize = 20;
/// A unit is nearly always off or on if its mean is within this fraction of its range from an end.
const TOLERANCE: f64 = 0.02;
/// Weights visited at most, rows times weights: about a second.
const MAX_PRODUCTS: usize = 500_000_000;

/// The histogram, if there are rows of data.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let means = hidden_means(report)?;
    let activity = means.mean_axis(Dimension(0))?;
    let (lo, hi) = hidden_range(report, activity.view())?;
    let bars = histogram(activity.iter().map(|x| f64::from(*x)), lo, hi, BARS);
    let x = Axis::between(lo, hi, "mean activation over the rows");
    let y = Axis::counts(bars.iter().copied().max().unwrap_or(0));
    let mut plot = Layout::new("Mean activation of hidden units", "number of units", x, y).plot();
    for (i, bar) in bars.iter().enumerate().filter(|b| *b.1 > 0) {
        let edge = |i: usize| lo + (hi - lo) * i as f64 / BARS as f64;
        plot.bar(edge(i), edge(i + 1), *bar as f64);
    }
    let caption = caption(report, activity.view(), &means, (lo, hi));
    Some(Figure { name: "activity".into(), caption, svg: plot.finish(), png: None })
}

/// ⟨h | v⟩ of some rows of the data, rows × hidden columns.
fn hidden_means(report: &ReportData) -> Option<Array2<f32>> {
    let (n, m) = report.rbm.weights().dim();
    let rows = report.data.nrows().min((MAX_PRODUCTS / (n * m).max(1)).max(1));
    let lowered = report.rbm.lower();
    let x = lowered.visible().encode(rows_between(report.data, 0, rows), 1).ok()?;
    (rows > 0).then(|| lowered.up().means(x.view()))
}

/// The range of a hidden unit: its smallest and largest state, or the observed range if it is continuous.
fn hidden_range(report: &ReportData, activity: ArrayView1<f32>) -> Option<(f64, f64)> {
    let observed = || Axis::around(activity.iter().map(|x| f64::from(*x)), "");
    column_range(report.rbm.hidden().kind()).or_else(|| observed().map(|a| (a.lo, a.hi)))
}

fn caption(report: &ReportData, activity: ArrayView1<f32>, means: &Array2<f32>, (lo, hi): (f64, f64)) -> String {
    let near = |end: f64| activity.iter().filter(|a| (f64::from(**a) - end).abs() < TOLERANCE * (hi - lo)).count();
    let spread: Array1<f32> = means.map_axis(Dimension(0), |h| {
        let observed = range(h.iter().map(|x| f64::from(*x)));
        observed.map_or(0.0, |(lo, hi)| (hi - lo) as f32)
    });
    let constant = spread.iter().filter(|s| f64::from(**s) < TOLERANCE * (hi - lo)).count();
    let rows = count(means.nrows(), "row");
    // With a single row every unit is constant.
    let constant = match means.nrows() {
        1 => String::new(),
        _ => format!("; {constant} are nearly constant over the {rows}; a unit can be counted twice"),
    };
    let units = if report.rbm.hidden().kind().unit::<f32>().width() == 1 { "hidden unit" } else { "hidden column" };
    let all = count(activity.len(), units);
    match report.rbm.hidden().kind().unit::<f32>().n_states() {
        Some(_) => format!(
            "{all} by mean activation. {} are nearly always off (mean below {}), {} nearly always on (mean above {}){constant}. \
             Such units carry little information.",
            near(lo),
            short(lo + TOLERANCE * (hi - lo)),
            near(hi),
            short(hi - TOLERANCE * (hi - lo))
        ),
        None => format!("Mean activation of {all} over {rows}."),
    }
}
