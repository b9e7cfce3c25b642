//! Moments: means, standard deviations and covariances of the columns, of the data against samples.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::columns::Tables;
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::{short, shortened};
use ndarray::{Array2, ArrayView1};

/// Columns of a dot plot at most; more are drawn as one point each, data against samples.
const MOST_NAMES: usize = 32;
/// Pairs of columns whose correlation is drawn at most.
const MOST_PAIRS: usize = 2000;
/// Fewer pairs than this are no cloud.
const FEWEST_PAIRS: usize = 3;
/// Columns drawn at most.
const MOST_COLUMNS: usize = 2000;

/// Plots of the moments.
pub fn figures(report: &ReportData, tables: &Tables) -> Vec<Figure> {
    // A finite unit's deviation follows from its mean, nearly; numbers in units of their own are compared by correlations.
    let finite = report.rbm.visible().kind().unit::<f32>().n_states().is_some();
    let columns = match tables.names.len() <= MOST_NAMES && report.image().is_none() {
        true => vec![tables.dot_plot()],
        false => vec![
            tables.scatter_columns("means", "Means", |(mean, _)| mean),
            tables.scatter_columns("deviations", "Standard deviations", |(_, deviation)| deviation).filter(|_| !finite),
        ],
    };
    columns.into_iter().chain([tables.pairs(finite)]).flatten().collect()
}

impl Tables {
    /// One line per column: mean and standard deviation of data and samples.
    fn dot_plot(&self) -> Option<Figure> {
        let both = [("one", -0.17, &self.data), ("two", 0.17, &self.samples)];
        let ends = |table: &Array2<f64>| -> Vec<f64> {
            table.columns().into_iter().map(moments).flat_map(|(m, d)| [m - d, m + d]).collect()
        };
        let x = Axis::around(both.iter().flat_map(|b| ends(b.2)), "mean ± standard deviation, in the data's units")?;
        let y = Axis::names(self.names.iter().map(|n| shortened(n, 14)).collect());
        let mut layout = Layout::new("Columns", "", x, y);
        layout.height = Some(16.0 * self.names.len() as f64 + 8.0);
        layout.legend = keys();
        let mut plot = layout.plot();
        for (class, move_by, table) in both {
            for (i, (mean, deviation)) in table.columns().into_iter().map(moments).enumerate() {
                let y = i as f64 + move_by;
                plot.line(&[(mean - deviation, y), (mean + deviation, y)], &format!("line {class}"));
                plot.dot((mean, y), 2.6, &format!("dot {class}"));
            }
        }
        Some(Figure { name: "columns".into(), caption: self.caption("Every column"), svg: plot.finish(), png: None })
    }

    /// A moment of every column, data against samples.
    fn scatter_columns(&self, name: &str, title: &str, pick: fn((f64, f64)) -> f64) -> Option<Figure> {
        let every = self.names.len().div_ceil(MOST_COLUMNS);
        let values = |table: &Array2<f64>| -> Vec<f64> {
            table.columns().into_iter().step_by(every).map(|c| pick(moments(c))).collect()
        };
        let points: Vec<(f64, f64)> = values(&self.data).into_iter().zip(values(&self.samples)).collect();
        let what = if every == 1 { "Every column" } else { "Some columns" };
        scatter(name, title, &points, self.caption(what))
    }

    /// Covariances of pairs of columns, or their correlations, data against samples; columns that never change have none.
    fn pairs(&self, covariances: bool) -> Option<Figure> {
        let one = |table: &Array2<f64>, (i, j): (usize, usize)| {
            let (a, b) = (table.column(i), table.column(j));
            let (product, norm) = covariance(a, b)?;
            Some(if covariances { (product, norm) } else { (product / norm, 1.0) })
        };
        let both = |pair| Some((one(&self.data, pair)?, one(&self.samples, pair)?));
        let found: Vec<_> = pairs(self.names.len(), self.width).into_iter().filter_map(both).collect();
        if found.len() < FEWEST_PAIRS {
            return None;
        }
        let points: Vec<(f64, f64)> = found.iter().map(|(d, s)| (d.0, s.0)).collect();
        let mean_square = |each: &mut dyn Iterator<Item = f64>| each.map(|x| x * x).sum::<f64>() / found.len() as f64;
        let difference = mean_square(&mut points.iter().map(|p| p.0 - p.1)).sqrt();
        let rows = 1.0 / self.data.nrows() as f64 + 1.0 / self.samples.nrows() as f64;
        let (name, title) = if covariances { ("covariances", "Covariances") } else { ("correlations", "Correlations") };
        let alike = agreement(&points).map_or(String::new(), |r| format!(" They correlate with r = {r:.3}."));
        let caption = self.caption(&format!("{} pairs of columns", found.len()))
            + &format!(
                "{alike} The root mean square difference is {}; so few rows make about {} by chance.",
                short(difference),
                short((mean_square(&mut found.iter().map(|f| f.0.1)) * rows).sqrt())
            );
        scatter(name, title, &points, caption)
    }

    fn caption(&self, what: &str) -> String {
        format!("{what}, over {} rows of data and {} samples.", self.data.nrows(), self.samples.nrows())
    }
}

fn keys() -> Vec<Key> {
    vec![Key { class: "dot one", label: "data".into() }, Key { class: "dot two", label: "samples".into() }]
}

/// Points of (data, samples) with the line where they are equal.
fn scatter(name: &str, title: &str, points: &[(f64, f64)], caption: String) -> Option<Figure> {
    let axis = Axis::around(points.iter().flat_map(|p| [p.0, p.1]), "data")?;
    let ends = (axis.lo, axis.hi);
    let mut layout = Layout::new(title, "samples ↑", axis.clone(), axis);
    layout.height = None;
    layout.legend = vec![Key { class: "line base", label: "equal".into() }];
    layout.legend.extend(agreement(points).map(|r| Key { class: "dot many", label: format!("r = {r:.3}") }));
    let mut plot = layout.plot();
    plot.line(&[(ends.0, ends.0), (ends.1, ends.1)], "line base");
    points.iter().for_each(|p| plot.dot(*p, 2.0, "dot many"));
    Some(Figure { name: name.into(), caption, svg: plot.finish(), png: None })
}

/// Mean and standard deviation.
fn moments(column: ArrayView1<f64>) -> (f64, f64) {
    let mean = column.mean().unwrap_or(f64::NAN);
    (mean, column.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt() / (column.len() as f64).sqrt())
}

/// Covariance, and the product of the standard deviations; `None` if one column never changes.
fn covariance(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Option<(f64, f64)> {
    let ((mean_a, dev_a), (mean_b, dev_b)) = (moments(a), moments(b));
    let product = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>() / a.len() as f64;
    Some((product, dev_a * dev_b)).filter(|c| (c.0 / c.1).is_finite() && changes(a) && changes(b))
}

/// Correlation of points' coordinates, if both change.
fn agreement(points: &[(f64, f64)]) -> Option<f64> {
    let (a, b): (Vec<f64>, Vec<f64>) = points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).unzip();
    let (product, norm) = covariance(ArrayView1::from(&a), ArrayView1::from(&b))?;
    (a.len() >= FEWEST_PAIRS).then_some(product / norm)
}

/// Rounding gives equal numbers a tiny deviation; only their range tells.
fn changes(column: ArrayView1<f64>) -> bool {
    range(column.iter().copied()).is_some_and(|(lo, hi)| hi > lo)
}

/// Pairs of columns of different sites: all, or some spread evenly when there are many.
fn pairs(columns: usize, width: usize) -> Vec<(usize, usize)> {
    let apart = |&(i, j): &(usize, usize)| i < j && i / width != j / width;
    if columns * columns.saturating_sub(1) / 2 <= MOST_PAIRS {
        return (0..columns).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(apart).collect();
    }
    // Steps of the plastic number fill the square evenly (Roberts 2018), so that no columns are favoured.
    let at = |k: usize, step: f64| ((k as f64 * step).fract() * columns as f64) as usize;
    let pair = |k| (at(k, 0.754_877_666_246_693), at(k, 0.569_840_290_998_053));
    let ordered = |(i, j): (usize, usize)| (i.min(j), i.max(j));
    let mut pairs: Vec<(usize, usize)> = (1..=MOST_PAIRS).map(pair).map(ordered).filter(apart).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn moments_are_those_of_the_textbook() {
        assert_eq!(moments(array![1.0, 3.0].view()), (2.0, 1.0));
        let (a, b) = (array![1.0, 2.0, 3.0, 4.0], array![-2.0, -4.0, -6.0, -8.0]);
        let (product, norm) = covariance(a.view(), b.view()).unwrap();
        assert!((product + 2.5).abs() < 1e-12 && (product / norm + 1.0).abs() < 1e-12);
        assert_eq!(covariance(a.view(), array![0.1, 0.1, 0.1, 0.1].view()), None);
        assert_eq!(
            agreement(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (f64::NAN, 1.0)]).map(|r| (1e9 * r).round()),
            Some(1e9)
        );
    }

    #[test]
    fn pairs_are_of_different_sites_and_not_too_many() {
        assert_eq!(pairs(4, 2), [(0, 2), (0, 3), (1, 2), (1, 3)]);
        let many = pairs(5000, 5);
        assert!(many.len() > 1900 && many.len() <= MOST_PAIRS);
        assert!(many.iter().all(|(i, j)| i / 5 < j / 5 && *j < 5000));
        assert_eq!(pairs(1, 1), []);
    }
}
