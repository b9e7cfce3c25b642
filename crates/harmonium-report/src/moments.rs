//! Moments of data against samples: means, standard deviations and covariances of the columns.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::columns::ColumnValues;
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::{capital, fixed, short, shortened};
use crate::values::fraction;
use ndarray::{Array2, ArrayView1};

/// Columns of a dot plot at most; more are drawn as a scatter plot, one point each.
const MAX_NAMES: usize = 32;
/// Characters of a name in a plot.
const LONGEST_NAME: usize = 22;
/// Largest standard deviation, as a multiple of the smallest, up to which columns share an axis in their own units.
const MOST_APART: f64 = 20.0;
/// Pairs of columns drawn at most.
const MAX_PAIRS: usize = 2000;
/// Pairs needed for a scatter plot.
const MIN_PAIRS: usize = 3;
/// Columns drawn at most.
const MAX_COLUMNS: usize = 2000;
/// Standard errors of a 95 % interval.
const Z: f64 = 1.96;

/// Plots of the moments.
pub fn figures(report: &ReportData, tables: &ColumnValues) -> Vec<Figure> {
    // The mean of a finite unit nearly determines its deviation. Columns in different units are compared by correlations.
    let finite = report.rbm.visible().layout().is_finite();
    let columns = if tables.names.len() <= MAX_NAMES && report.image().is_none() {
        tables.dot_plots()
    } else {
        vec![
            tables.scatter_columns("means", "Means", |(mean, _)| mean),
            tables.scatter_columns("deviations", "Standard deviations", |(_, deviation)| deviation).filter(|_| !finite),
        ]
    };
    columns.into_iter().chain([tables.pairs(finite)]).flatten().collect()
}

impl ColumnValues {
    /// Columns of two values, and columns of numbers, in plots of their own: each has an axis that fits.
    fn dot_plots(&self) -> Vec<Option<Figure>> {
        let (two, numbers): (Vec<usize>, Vec<usize>) =
            (0..self.names.len()).partition(|c| self.two_values[*c].is_some());
        let second = if two.is_empty() { "columns" } else { "columns-of-numbers" };
        vec![self.proportions(&two), self.means(second, &numbers)]
    }

    /// A dot and a bar for each of some columns of two values: probabilities with their errors.
    fn proportions(&self, columns: &[usize]) -> Option<Figure> {
        let alone = columns.iter().all(|c| self.sites.iter().filter(|site| **site == self.sites[*c]).count() == 1);
        let of = if alone { "P(1)" } else { "probability of the state" };
        let caption = self.caption(&format!("{} of every column", capital(of)), "Bars: 95 % binomial intervals.");
        let dot = |table: &Array2<f64>, c: usize| {
            let (lo, hi) = self.two_values[c].unwrap_or_default();
            Dot::proportion(fraction(moments(table.column(c)).0, lo, hi), table.nrows() as f64)
        };
        self.dot_plot("columns", columns, |_| Some(Axis::between(0.0, 1.0, of)), dot, caption)
    }

    /// A dot and a bar for each of some columns of numbers: means with standard deviations. If their units are too different for
    /// one axis, both are measured by the mean and standard deviation of the data.
    fn means(&self, name: &str, columns: &[usize]) -> Option<Figure> {
        let deviations = columns.iter().map(|c| moments(self.data.column(*c)).1).filter(|d| *d > 0.0);
        let (least, most) = deviations.fold((f64::INFINITY, 0.0f64), |(a, b), d| (a.min(d), b.max(d)));
        let own_units = most > MOST_APART * least;
        let label = if own_units {
            "standard deviations from the mean of the data"
        } else {
            "mean and standard deviation, in the data's units"
        };
        let dot = |table: &Array2<f64>, c: usize| {
            let (mean, deviation) = moments(table.column(c));
            let (zero, unit) = if own_units { moments(self.data.column(c)) } else { (0.0, 1.0) };
            let at = |x: f64| (x - zero) / if unit > 0.0 { unit } else { 1.0 };
            Dot { at: at(mean), from: at(mean - deviation), to: at(mean + deviation) }
        };
        let caption = self.caption("Mean of every column", "Bars: one standard deviation to each side.");
        let axis = |dots: &[Dot]| Axis::around(dots.iter().flat_map(|d| [d.from, d.to]), label);
        self.dot_plot(name, columns, axis, dot, caption)
    }

    /// Dots and bars of some columns of data and samples.
    fn dot_plot(
        &self,
        name: &str,
        columns: &[usize],
        axis: impl Fn(&[Dot]) -> Option<Axis>,
        dot: impl Fn(&Array2<f64>, usize) -> Dot,
        caption: String,
    ) -> Option<Figure> {
        if columns.is_empty() {
            return None;
        }
        let dots = |table| columns.iter().map(|c| dot(table, *c)).collect::<Vec<Dot>>();
        let both = [("one", -0.17, dots(&self.data)), ("two", 0.17, dots(&self.samples))];
        let x = axis(&both.iter().flat_map(|(.., dots)| dots.clone()).collect::<Vec<_>>())?;
        let y = Axis::names(columns.iter().map(|c| shortened(&self.names[*c], LONGEST_NAME)).collect());
        let mut layout = Layout::new("Columns", "", x, y);
        layout.height = Some(16.0 * columns.len() as f64 + 8.0);
        layout.legend = keys();
        let mut plot = layout.plot();
        for (class, shift, dots) in &both {
            for (i, dot) in dots.iter().enumerate() {
                let y = i as f64 + shift;
                plot.line(&[(dot.from, y), (dot.to, y)], &format!("line {class}"));
                plot.dot((dot.at, y), 2.6, &format!("dot {class}"));
            }
        }
        let caption = caption + " Data and samples should agree.";
        Some(Figure { name: name.into(), caption, svg: plot.finish(), png: None })
    }

    /// A scatter plot of one moment of every column.
    fn scatter_columns(&self, name: &str, title: &str, pick: fn((f64, f64)) -> f64) -> Option<Figure> {
        let every = self.names.len().div_ceil(MAX_COLUMNS);
        let values = |table: &Array2<f64>| -> Vec<f64> {
            table.columns().into_iter().step_by(every).map(|c| pick(moments(c))).collect()
        };
        let points: Vec<(f64, f64)> = values(&self.data).into_iter().zip(values(&self.samples)).collect();
        let which = if every == 1 { "all" } else { "some of the" };
        let what = format!("{title} of {which} {} columns", fixed(self.names.len() as f64, 0));
        scatter(name, title, &points, self.caption(&what, ON_THE_LINE))
    }

    /// A scatter plot of the covariances of pairs of columns, or of their correlations; constant columns have none.
    fn pairs(&self, covariances: bool) -> Option<Figure> {
        let one = |table: &Array2<f64>, (i, j): (usize, usize)| {
            let (a, b) = (table.column(i), table.column(j));
            let (product, norm) = covariance(a, b)?;
            Some(if covariances { (product, norm) } else { (product / norm, 1.0) })
        };
        let both = |pair| Some((one(&self.data, pair)?, one(&self.samples, pair)?));
        let found: Vec<_> = pairs(&self.sites).into_iter().filter_map(both).collect();
        if found.len() < MIN_PAIRS {
            return None;
        }
        let points: Vec<(f64, f64)> = found.iter().map(|(d, s)| (d.0, s.0)).collect();
        let mean_square = |each: &mut dyn Iterator<Item = f64>| each.map(|x| x * x).sum::<f64>() / found.len() as f64;
        let difference = mean_square(&mut points.iter().map(|p| p.0 - p.1)).sqrt();
        let rows = 1.0 / self.data.nrows() as f64 + 1.0 / self.samples.nrows() as f64;
        let (name, title) = if covariances { ("covariances", "Covariances") } else { ("correlations", "Correlations") };
        let which = if all_pairs(self.names.len()) > MAX_PAIRS { "a selection of " } else { "" };
        let caption = self
            .caption(&format!("{title} of {which}{} pairs of columns", fixed(found.len() as f64, 0)), ON_THE_LINE)
            + &format!(
                " Their root mean square difference is {}; {} would be expected from sampling noise alone.",
                short(difference),
                short((mean_square(&mut found.iter().map(|f| f.0.1)) * rows).sqrt())
            );
        scatter(name, title, &points, caption)
    }

    fn caption(&self, what: &str, explanation: &str) -> String {
        let [rows, samples] = [&self.data, &self.samples].map(|table| fixed(table.nrows() as f64, 0));
        format!("{what}, in {rows} rows of data and in {samples} samples. {explanation}")
    }
}

/// What a scatter plot of data against samples should look like.
const ON_THE_LINE: &str = "Points should lie on the dashed line.";

/// A dot with its bar.
#[derive(Clone, Debug, PartialEq)]
struct Dot {
    at: f64,
    from: f64,
    to: f64,
}

impl Dot {
    /// A proportion `p` of `n` rows with its 95 % interval, which stays between 0 and 1 (Wilson 1927).
    fn proportion(p: f64, n: f64) -> Dot {
        let shrink = 1.0 / (1.0 + Z * Z / n);
        let (middle, half) =
            (shrink * (p + 0.5 * Z * Z / n), shrink * Z * (p * (1.0 - p) / n + (0.5 * Z / n).powi(2)).max(0.0).sqrt());
        Dot { at: p, from: (middle - half).max(0.0), to: (middle + half).min(1.0) }
    }
}

fn keys() -> Vec<Key> {
    vec![Key { class: "dot one", label: "data".into() }, Key { class: "dot two", label: "samples".into() }]
}

/// A scatter plot of (data, samples), with the line where both are equal.
fn scatter(name: &str, title: &str, points: &[(f64, f64)], caption: String) -> Option<Figure> {
    let axis = Axis::around(points.iter().flat_map(|p| [p.0, p.1]), "data")?;
    let ends = (axis.lo, axis.hi);
    let mut layout = Layout::new(title, "↑ samples", axis.clone(), axis);
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

/// Covariance, and the product of the standard deviations; `None` if a column is constant.
fn covariance(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Option<(f64, f64)> {
    let ((mean_a, dev_a), (mean_b, dev_b)) = (moments(a), moments(b));
    let product = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>() / a.len() as f64;
    Some((product, dev_a * dev_b)).filter(|c| (c.0 / c.1).is_finite() && changes(a) && changes(b))
}

/// Correlation of the coordinates of points; `None` if one of them is constant.
fn agreement(points: &[(f64, f64)]) -> Option<f64> {
    let (a, b): (Vec<f64>, Vec<f64>) = points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).unzip();
    let (product, norm) = covariance(ArrayView1::from(&a), ArrayView1::from(&b))?;
    (a.len() >= MIN_PAIRS).then_some(product / norm)
}

/// Whether a column is not constant: by its range, because rounding gives equal numbers a tiny deviation.
fn changes(column: ArrayView1<f64>) -> bool {
    range(column.iter().copied()).is_some_and(|(lo, hi)| hi > lo)
}

/// Number of pairs of columns.
fn all_pairs(columns: usize) -> usize {
    columns * columns.saturating_sub(1) / 2
}

/// Pairs of columns of different sites: all, or evenly spread ones if there are many.
fn pairs(sites: &[usize]) -> Vec<(usize, usize)> {
    let columns = sites.len();
    let apart = |&(i, j): &(usize, usize)| i < j && sites[i] != sites[j];
    if all_pairs(columns) <= MAX_PAIRS {
        return (0..columns).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(apart).collect();
    }
    // Steps of the plastic number fill the square evenly (Roberts 2018), so that no column is preferred.
    let at = |k: usize, step: f64| ((k as f64 * step).fract() * columns as f64) as usize;
    let pair = |k| (at(k, 0.754_877_666_246_693), at(k, 0.569_840_290_998_053));
    let ordered = |(i, j): (usize, usize)| (i.min(j), i.max(j));
    let mut pairs: Vec<(usize, usize)> = (1..=MAX_PAIRS).map(pair).map(ordered).filter(apart).collect();
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

    /// For 0 of n rows the upper end is z²/(n + z²); the interval of 3 of 10 is that of the tables.
    #[test]
    fn the_interval_of_a_proportion_stays_between_0_and_1() {
        let none = Dot::proportion(0.0, 10.0);
        assert!(none.from == 0.0 && (none.to - Z * Z / (10.0 + Z * Z)).abs() < 1e-12, "{none:?}");
        let all = Dot::proportion(1.0, 10.0);
        assert!(all.to == 1.0 && (all.from + none.to - 1.0).abs() < 1e-12, "{all:?}");
        let some = Dot::proportion(0.3, 10.0);
        assert!((some.from - 0.1078).abs() < 1e-4 && (some.to - 0.6032).abs() < 1e-4, "{some:?}");
    }

    #[test]
    fn pairs_are_of_different_sites_and_not_too_many() {
        assert_eq!(pairs(&[0, 0, 1, 1]), [(0, 2), (0, 3), (1, 2), (1, 3)]);
        let many = pairs(&(0..5000).map(|c| c / 5).collect::<Vec<_>>());
        assert!(many.len() > 1900 && many.len() <= MAX_PAIRS);
        assert!(many.iter().all(|(i, j)| i / 5 < j / 5 && *j < 5000));
        assert_eq!(pairs(&[0]), []);
    }
}
