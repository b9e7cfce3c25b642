//! Free energies: F(v) of training rows, held-out rows and samples on one axis. Where the model is right they agree.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::{fixed, number};
use crate::values::histogram;
use ndarray::ArrayView2;

/// Parts of the axis.
const BARS: usize = 40;
/// Quartile ranges beyond the quartiles after which a row is an outlier, which would squeeze all others together.
const OUTLIER: f64 = 4.0;

/// Free energies of one kind of rows.
struct Energies {
    class: &'static str,
    name: &'static str,
    sorted: Vec<f64>,
}

/// The histogram, if there are rows of at least one kind.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let kinds = [
        ("line one", "training rows", report.data),
        ("line two", "held-out rows", report.held_out),
        ("line three", "samples", report.samples),
    ];
    outlines(&kinds.into_iter().filter_map(|kind| Energies::new(report, kind)).collect::<Vec<_>>())
}

fn outlines(all: &[Energies]) -> Option<Figure> {
    let (lo, hi) = range(all.iter().flat_map(Energies::usual))?;
    let around = Axis::around([lo, hi], "F(v), nats")?;
    let bars: Vec<Vec<f64>> = all.iter().map(|e| e.parts(around.lo, around.hi)).collect();
    let most = bars.iter().flatten().copied().fold(0.0, f64::max);
    let (lo, hi) = (around.lo, around.hi);
    let mut layout = Layout::new("Free energies", "% of the rows", around, Axis::between(0.0, 1.05 * most, ""));
    layout.legend = all.iter().map(|e| Key { class: e.class, label: e.in_words() }).collect();
    let mut plot = layout.plot();
    for (energies, bars) in all.iter().zip(&bars) {
        plot.line(&outline(bars, lo, hi), energies.class);
    }
    let beyond: usize = all.iter().map(|e| e.sorted.iter().filter(|f| **f < lo || **f > hi).count()).sum();
    let outliers = match beyond {
        0 => String::new(),
        n => format!(" {n} of them lie beyond an end of the axis and are counted there."),
    };
    let caption = format!(
        "Free energies of {}; log p(v) = −F(v) − log Z, so what is likely is at the left. Held-out rows to the right of training rows: \
         overfitting. Samples elsewhere than rows: the lowered makes what the data do not have, or the chains have not \
         mixed.{outliers}",
        all.iter().map(|e| format!("{} {}", e.sorted.len(), e.name)).collect::<Vec<_>>().join(", ")
    );
    Some(Figure { name: "free-energies".into(), caption, svg: plot.finish(), png: None })
}

/// The upper edge of bars, down to 0 at both ends.
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

    /// The smallest and the largest that are no outliers.
    fn usual(&self) -> [f64; 2] {
        let n = self.sorted.len();
        let at = |part: usize| self.sorted[(part * (n - 1) + 2) / 4];
        let reach = OUTLIER * (at(3) - at(1));
        [self.sorted[0].max(at(1) - reach), self.sorted[n - 1].min(at(3) + reach)]
    }

    /// Per cent of the rows in every part of the axis.
    fn parts(&self, lo: f64, hi: f64) -> Vec<f64> {
        let counts = histogram(self.sorted.iter().copied(), lo, hi, BARS);
        counts.into_iter().map(|n| 100.0 * n as f64 / self.sorted.len() as f64).collect()
    }

    /// The mean with its standard error, to as many digits as that allows.
    fn in_words(&self) -> String {
        let n = self.sorted.len() as f64;
        let mean = self.sorted.iter().sum::<f64>() / n;
        let variance = self.sorted.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        match error.is_finite() && error > 0.0 {
            true => {
                let decimals = (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize;
                format!("{} {} ± {}", self.name, fixed(mean, decimals), fixed(error, decimals))
            }
            false => format!("{} {}", self.name, number(mean)),
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
        assert_eq!(energies(all.clone()).usual()[0], 0.0);
        assert!(energies(all.clone()).usual()[1] < 400.0);
        let figure = outlines(&[energies(all)]).unwrap();
        assert!(figure.caption.contains("1 of them lie beyond"));
    }

    #[test]
    fn the_parts_add_up_and_the_mean_has_its_error() {
        let two = energies(vec![1.0, 3.0]);
        assert!((two.parts(0.0, 4.0).iter().sum::<f64>() - 100.0).abs() < 1e-9);
        // Deviation √2, by √2 rows.
        assert_eq!(two.in_words(), "rows 2.0 ± 1.0");
        assert_eq!(energies(vec![5.0]).in_words(), "rows 5");
    }
}
