//! Activity: how often each hidden unit is on over the data, and how many never change.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::figure::Figure;
use crate::plot::Layout;
use crate::text::count;
use crate::values::{column_range, histogram, rows_between};
use ndarray::{Array1, Array2, ArrayView1, Axis as Dimension};

/// Bars of the histogram.
const BARS: usize = 20;
/// A unit whose mean is this close to the end of its range, as a part of the range, is nearly always off or on.
const NEARLY: f64 = 0.02;
/// Products of a row with the weights that are worth a histogram: about a second.
const MOST_PRODUCTS: usize = 500_000_000;

/// Histogram of the mean activities.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let means = hidden_means(report)?;
    let activity = means.mean_axis(Dimension(0))?;
    let (lo, hi) = hidden_range(report, activity.view())?;
    let bars = histogram(activity.iter().map(|x| f64::from(*x)), lo, hi, BARS);
    let most = bars.iter().copied().max().unwrap_or(0);
    let x = Axis::between(lo, hi, "mean activity over the rows");
    let y = Axis::counts(most);
    let mut plot = Layout::new("Hidden units by mean activity", "number of units", x, y).plot();
    for (i, bar) in bars.iter().enumerate().filter(|b| *b.1 > 0) {
        let edge = |i: usize| lo + (hi - lo) * i as f64 / BARS as f64;
        plot.bar(edge(i), edge(i + 1), *bar as f64);
    }
    let caption = in_words(report, activity.view(), &means, (lo, hi));
    Some(Figure { name: "activity".into(), caption, svg: plot.finish(), png: None })
}

/// h̄ of some rows of the data, rows × hidden columns.
fn hidden_means(report: &ReportData) -> Option<Array2<f32>> {
    let (n, m) = report.rbm.weights().dim();
    let rows = report.data.nrows().min((MOST_PRODUCTS / (n * m).max(1)).max(1));
    let lowered = report.rbm.lower();
    let x = lowered.visible().encode(rows_between(report.data, 0, rows), 1).ok()?;
    (rows > 0).then(|| lowered.up().means(x.view()))
}

/// The values a hidden unit can have: between its smallest and largest state, or what was seen.
fn hidden_range(report: &ReportData, activity: ArrayView1<f32>) -> Option<(f64, f64)> {
    let seen = || Axis::around(activity.iter().map(|x| f64::from(*x)), "");
    column_range(report.rbm.hidden().kind()).or_else(|| seen().map(|a| (a.lo, a.hi)))
}

fn in_words(report: &ReportData, activity: ArrayView1<f32>, means: &Array2<f32>, (lo, hi): (f64, f64)) -> String {
    let near = |end: f64| activity.iter().filter(|a| (f64::from(**a) - end).abs() < NEARLY * (hi - lo)).count();
    let spread: Array1<f32> = means.map_axis(Dimension(0), |h| {
        let seen = range(h.iter().map(|x| f64::from(*x)));
        seen.map_or(0.0, |(lo, hi)| (hi - lo) as f32)
    });
    let still = spread.iter().filter(|s| f64::from(**s) < NEARLY * (hi - lo)).count();
    let rows = count(means.nrows(), "row");
    // A single row cannot tell who reacts.
    let react = match means.nrows() {
        1 => String::new(),
        _ => format!("; {still} hardly react to which of the {rows} they see"),
    };
    let units = if report.rbm.hidden().kind().unit::<f32>().width() == 1 { "hidden unit" } else { "hidden column" };
    let all = count(activity.len(), units);
    match report.rbm.hidden().kind().unit::<f32>().n_states() {
        Some(_) => format!(
            "Of {all}, {} are nearly always off and {} nearly always on (within {:.0} % of the range){react}.",
            near(lo),
            near(hi),
            100.0 * NEARLY
        ),
        None => format!("Means of {all} over {rows}."),
    }
}
