//! Principal components: data and samples in the plane along which the data vary most.

use crate::ReportData;
use crate::axis::Axis;
use crate::columns::ColumnValues;
use crate::figure::Figure;
use crate::plot::Layout;
use crate::text::count;
use ndarray::{Array1, Array2, Axis as Dimension};

/// Columns needed; two columns are drawn directly.
const MIN_COLUMNS: usize = 3;
/// Orthogonal iterations; components that are not separated by then have nearly the same variance, and either will do.
const ITERATIONS: usize = 60;
/// Numbers in the data at most: some tenths of a second.
const MAX_NUMBERS: usize = 4_000_000;

/// Two plots on the same axes: data and samples.
pub fn figures(report: &ReportData, tables: &ColumnValues) -> Vec<Figure> {
    // Continuous columns may have different units, so they are standardised.
    let continuous = !report.rbm.visible().layout().is_finite();
    let Some(plane) = Projection::new(tables, continuous) else { return Vec::new() };
    let standard = if continuous { " of standardised columns" } else { "" };
    let (rows, samples) = (count(plane.data.len(), "row"), count(plane.samples.len(), "sample"));
    let data = format!("{rows} of the data along the first two principal components{standard}.");
    let samples =
        format!("{samples} of the model along the same components. They should show the same clusters as the data.");
    let figures = [
        plane.draw("principal-data", "Data", "dot many", &plane.data, data),
        plane.draw("principal-samples", "Samples", "dot other", &plane.samples, samples),
    ];
    figures.into_iter().flatten().collect()
}

/// Data and samples projected onto two principal components, and the fraction of the data's variance along each.
struct Projection {
    data: Vec<(f64, f64)>,
    samples: Vec<(f64, f64)>,
    fractions: [f64; 2],
}

impl Projection {
    fn new(tables: &ColumnValues, standardise: bool) -> Option<Projection> {
        if tables.names.len() < MIN_COLUMNS || tables.data.len() > MAX_NUMBERS {
            return None;
        }
        let mean = tables.data.mean_axis(Dimension(0))?;
        let scale = if standardise { deviations(&tables.data, &mean) } else { Array1::ones(mean.len()) };
        let centred = (&tables.data - &mean) / &scale;
        let [first, second] = components(&centred)?;
        let projected = |table: &Array2<f64>| -> Vec<(f64, f64)> {
            let table = (table - &mean) / &scale;
            table.dot(&first).into_iter().zip(table.dot(&second)).collect()
        };
        let (data, samples) = (projected(&tables.data), projected(&tables.samples));
        let all: f64 = centred.iter().map(|x| x * x).sum();
        let fraction = |along: fn(&(f64, f64)) -> f64| data.iter().map(|p| along(p).powi(2)).sum::<f64>() / all;
        let fractions = [fraction(|p| p.0), fraction(|p| p.1)];
        Some(Projection { data, samples, fractions })
    }

    fn draw(&self, name: &str, title: &str, class: &str, points: &[(f64, f64)], caption: String) -> Option<Figure> {
        let [first, second] = self.fractions.map(|fraction| 100.0 * fraction);
        let both = || self.data.iter().chain(&self.samples);
        let x = Axis::around(both().map(|p| p.0), &format!("1st component, {first:.0} % of the data's variance"))?;
        let y = Axis::around(both().map(|p| p.1), "")?;
        let mut layout = Layout::new(title, &format!("↑ 2nd component ({second:.0} % of the variance)"), x, y);
        layout.height = Some(220.0);
        let mut plot = layout.plot();
        points.iter().for_each(|p| plot.dot(*p, 2.0, class));
        Some(Figure { name: name.into(), caption, svg: plot.finish(), png: None })
    }
}

/// Standard deviation of every column; 1 for constant columns.
fn deviations(table: &Array2<f64>, mean: &Array1<f64>) -> Array1<f64> {
    let square = (table - mean).mapv(|x| x * x).sum_axis(Dimension(0)) / table.nrows() as f64;
    square.into_iter().zip(mean).map(|(s, m)| if s.sqrt() > 1e-9 * m.abs() { s.sqrt() } else { 1.0 }).collect()
}

/// The first two principal components of centred rows, by orthogonal iteration of XᵀX; `None` if fewer than two vary.
fn components(x: &Array2<f64>) -> Option<[Array1<f64>; 2]> {
    let n = x.ncols();
    // Any start will do that is not orthogonal to the components.
    let start = |k: usize| Array1::from_shape_fn(n, |i| ((i + 1) as f64 * (k as f64 + 0.618)).sin());
    let (mut first, mut second) = (start(1), start(2));
    for _ in 0..ITERATIONS {
        let (one, two) = (x.t().dot(&x.dot(&first)), x.t().dot(&x.dot(&second)));
        let most = one.dot(&one).sqrt();
        first = unit(one, 0.0)?;
        let along = first.dot(&two);
        // A rest as small as rounding errors is not a component.
        second = unit(two - &(&first * along), 1e-10 * most)?;
    }
    // The sign follows the larger entries, so that rounding does not flip the picture.
    let oriented = |d: Array1<f64>| if d.iter().map(|x| x.powi(3)).sum::<f64>() < 0.0 { -d } else { d };
    Some([oriented(first), oriented(second)])
}

/// The vector scaled to length 1; `None` if it is not longer than `min`.
fn unit(x: Array1<f64>, min: f64) -> Option<Array1<f64>> {
    let length = x.dot(&x).sqrt();
    (length.is_normal() && length > min).then(|| x / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_components_are_the_eigenvectors() {
        // XᵀX = diag(2·9, 2·1, 2·4).
        let x = array![[3., 0., 0.], [-3., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 2.], [0., 0., -2.]];
        let [first, second] = components(&x).unwrap();
        assert!((first - array![1., 0., 0.]).iter().all(|d| d.abs() < 1e-9));
        assert!((second - array![0., 0., 1.]).iter().all(|d| d.abs() < 1e-9));
        assert!(components(&Array2::zeros((4, 3))).is_none());
        // Only one component varies.
        assert!(components(&array![[1., 1., 1.], [-1., -1., -1.]]).is_none());
    }
}
