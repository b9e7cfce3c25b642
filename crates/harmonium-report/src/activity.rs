//! Histogram of how often each hidden unit is on over the data, and how many units are idle.

use crate::ReportData;
use crate::axis::Axis;
use crate::figure::Figure;
use crate::plot::Layout;
use crate::sentences::idle_in_words;
use crate::text::count;
use crate::values::{column_range, histogram, rows_between};
use ndarray::{Array2, ArrayView1, Axis as Dimension};

/// Number of bars of the histogram.
const BARS: usize = 20;
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
    let caption = caption(report, &means);
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
    column_range(report.rbm.hidden().layout()).or_else(|| observed().map(|a| (a.lo, a.hi)))
}

fn caption(report: &ReportData, means: &Array2<f32>) -> String {
    let (rows, columns) = means.dim();
    let hidden = report.rbm.hidden();
    let units = if hidden.columns() == hidden.sites() { "hidden unit" } else { "hidden column" };
    let shown = format!("Mean activation of {} over {}.", count(columns, units), count(rows, "row"));
    match &report.idle {
        None => shown,
        Some(idle) if idle.total() == 0 => format!("{shown} None is idle (always off, always on or constant)."),
        Some(idle) => format!(
            "{shown} {}, counted on at most 1,000 training rows. Idle units carry little information.",
            idle_in_words(idle, report.rbm.hidden().sites())
        ),
    }
}
