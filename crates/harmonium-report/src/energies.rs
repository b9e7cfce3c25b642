//! Histograms of the free energy F(v) of training rows, held-out rows and samples on one axis.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::with_error;
use crate::text::{fixed, number};
use crate::values::histogram;
use ndarray::ArrayView2;

/// Bins of the histogram.
const BINS: usize = 40;
/// A row is an outlier if it lies this many interquartile ranges beyond a quartile. Outliers do not stretch the axis.
const OUTLIER: f64 = 4.0;

/// Names of the rows, in legend and caption.
const HELD_OUT: &str = "held-out rows";
const SAMPLES: &str = "samples";

/// Free energies of one kind of rows.
struct Energies {
    class: &'static str,
    name: &'static str,
    sorted: Vec<f64>,
}

/// The histograms, if there are rows of at least one kind.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let kinds = [
        ("line one", "training rows", report.data),
        ("line two", HELD_OUT, report.held_out),
        ("line three", SAMPLES, report.samples),
    ];
    outlines(&kinds.into_iter().filter_map(|kind| Energies::new(report, kind)).collect::<Vec<_>>())
}

/// The histograms as outlines.
fn outlines(all: &[Energies]) -> Option<Figure> {
    let (lo, hi) = range(all.iter().flat_map(Energies::range_without_outliers))?;
    let around = Axis::around([lo, hi], "F(v), nats")?;
    let bars: Vec<Vec<f64>> = all.iter().map(|e| e.percentages(around.lo, around.hi)).collect();
    let highest = bars.iter().flatten().copied().fold(0.0, f64::max);
    let (lo, hi) = (around.lo, around.hi);
    let mut layout = Layout::new("Free energies", "% of the rows", around, Axis::between(0.0, 1.05 * highest, ""));
    layout.legend = all.iter().map(|e| Key { class: e.class, label: e.label() }).collect();
    let mut plot = layout.plot();
    for (energies, bars) in all.iter().zip(&bars) {
        plot.line(&outline(bars, lo, hi), energies.class);
    }
    let beyond: usize = all.iter().map(|e| e.sorted.iter().filter(|f| **f < lo || **f > hi).count()).sum();
    let outliers = match beyond {
        0 => String::new(),
        1 => " 1 outlier is counted at an end of the axis.".into(),
        n => format!(" {n} outliers are counted at the ends of the axis."),
    };
    let has = |name: &str| all.iter().any(|e| e.name == name);
    let counts: Vec<String> = all.iter().map(|e| format!("{} {}", fixed(e.sorted.len() as f64, 0), e.name)).collect();
    let mut caption = format!(
        "Free energy F(v), computed with the saved model, of {}. Rows on the left are more probable: log p(v) is −F(v) \
         minus one number for all rows. All curves should overlap.",
        counts.join(", ")
    );
    if has(HELD_OUT) {
        caption += " Held-out rows to the right of training rows mean overfitting.";
    }
    if has(SAMPLES) {
        caption += " Samples away from the data mean that the model generates what the data do not contain, or that sampling has not \
                    converged.";
    }
    caption += &outliers;
    Some(Figure { name: "free-energies".into(), caption, svg: plot.finish(), png: None })
}

/// The outline of a histogram.
fn outline(bars: &[f64], lo: f64, hi: f64) -> Vec<(f64, f64)> {
    let edge = |i: usize| lo + (hi - lo) * i as f64 / bars.len() as f64;
    let steps = bars.iter().enumerate().flat_map(|(i, y)| [(edge(i), *y), (edge(i + 1), *y)]);
    [(lo, 0.0)].into_iter().chain(steps).chain([(hi, 0.0)]).collect()
}

impl Energies {
    fn new(
        report: &ReportData,
        (class, name, rows): (&'static str, &'static str, ArrayView2<f32>),
    ) -> Option<Energies> {
        if !report.fits(rows) {
            return None;
        }
        let lowered = report.rbm.lower();
        let x = lowered.visible().encode(rows, 1).ok()?;
        let mut sorted: Vec<f64> = lowered.up().free_energy(x.view()).into_iter().filter(|f| f.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then_some(Energies { class, name, sorted })
    }

    /// The smallest and the largest value that are not outliers.
    fn range_without_outliers(&self) -> [f64; 2] {
        let n = self.sorted.len();
        let at = |part: usize| self.sorted[(part * (n - 1) + 2) / 4];
        let reach = OUTLIER * (at(3) - at(1));
        [self.sorted[0].max(at(1) - reach), self.sorted[n - 1].min(at(3) + reach)]
    }

    /// Percentage of the rows in every bin.
    fn percentages(&self, lo: f64, hi: f64) -> Vec<f64> {
        let counts = histogram(self.sorted.iter().copied(), lo, hi, BINS);
        counts.into_iter().map(|n| 100.0 * n as f64 / self.sorted.len() as f64).collect()
    }

    /// The name with the mean and its standard error, to as many digits as the error allows.
    fn label(&self) -> String {
        let n = self.sorted.len() as f64;
        let mean = self.sorted.iter().sum::<f64>() / n;
        let variance = self.sorted.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        if error.is_finite() && error > 0.0 {
            format!("{} {}", self.name, with_error(mean, error))
        } else {
            format!("{} {}", self.name, number(mean))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energies(sorted: Vec<f64>) -> Energies {
        Energies { class: "line one", name: "rows", sorted }
    }

    #[test]
    fn an_outlier_does_not_squeeze_the_rest() {
        let mut all: Vec<f64> = (0..100).map(f64::from).collect();
        all.push(1e9);
        assert_eq!(energies(all.clone()).range_without_outliers()[0], 0.0);
        assert!(energies(all.clone()).range_without_outliers()[1] < 400.0);
        let figure = outlines(&[energies(all)]).unwrap();
        assert!(figure.caption.contains("1 outlier is counted"));
        assert!(!figure.caption.contains("eld-out"), "there are no held-out rows");
    }

    #[test]
    fn the_percentages_add_up_and_the_mean_has_its_error() {
        let two = energies(vec![1.0, 3.0]);
        assert!((two.percentages(0.0, 4.0).iter().sum::<f64>() - 100.0).abs() < 1e-9);
        // Deviation √2, by √2 rows.
        assert_eq!(two.label(), "rows 2.0 ± 1.0");
        assert_eq!(energies(vec![5.0]).label(), "rows 5");
    }
}
