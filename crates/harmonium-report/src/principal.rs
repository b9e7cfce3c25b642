//! Principal directions: rows of data and samples in the plane where the data vary most.

use crate::ReportData;
use crate::axis::Axis;
use crate::columns::Tables;
use crate::figure::Figure;
use crate::plot::Layout;
use crate::text::count;
use ndarray::{Array1, Array2, Axis as Dimension};

/// Fewer columns than this have no plane of their own: two are drawn as they are.
const FEWEST: usize = 3;
/// Rounds of orthogonal iteration; directions that are not told apart by then vary equally, and either will do.
const ROUNDS: usize = 60;
/// Numbers in the table of data at most: some tenths of a second.
const MOST_NUMBERS: usize = 4_000_000;

/// The plane, twice on the same axes: with data, with samples.
pub fn figures(report: &ReportData, tables: &Tables) -> Vec<Figure> {
    // Columns in different units count alike if the data are continuous.
    let continuous = report.rbm.visible().kind().unit::<f32>().n_states().is_none();
    let Some(plane) = Plane::new(tables, continuous) else { return Vec::new() };
    let standard = if continuous { " of standardised columns" } else { "" };
    let (rows, samples) = (count(plane.data.len(), "row"), count(plane.samples.len(), "sample"));
    let data = format!("{rows} along the first two principal directions{standard}.");
    let samples =
        format!("{samples} of the model along the same directions: clouds that the data have should be here too.");
    let figures = [
        plane.draw("principal-data", "Data", "dot many", &plane.data, data),
        plane.draw("principal-samples", "Samples", "dot other", &plane.samples, samples),
    ];
    figures.into_iter().flatten().collect()
}

/// Places along the two directions, and the part of the data's variance that each has.
struct Plane {
    data: Vec<(f64, f64)>,
    samples: Vec<(f64, f64)>,
    parts: [f64; 2],
}

impl Plane {
    fn new(tables: &Tables, standardise: bool) -> Option<Plane> {
        if tables.names.len() < FEWEST || tables.data.len() > MOST_NUMBERS {
            return None;
        }
        let mean = tables.data.mean_axis(Dimension(0))?;
        let scale = if standardise { deviations(&tables.data, &mean) } else { Array1::ones(mean.len()) };
        let centred = (&tables.data - &mean) / &scale;
        let [first, second] = directions(&centred)?;
        let places = |table: &Array2<f64>| -> Vec<(f64, f64)> {
            let table = (table - &mean) / &scale;
            table.dot(&first).into_iter().zip(table.dot(&second)).collect()
        };
        let (data, samples) = (places(&tables.data), places(&tables.samples));
        let all: f64 = centred.iter().map(|x| x * x).sum();
        let part = |along: fn(&(f64, f64)) -> f64| data.iter().map(|p| along(p).powi(2)).sum::<f64>() / all;
        let parts = [part(|p| p.0), part(|p| p.1)];
        Some(Plane { data, samples, parts })
    }

    fn draw(&self, name: &str, title: &str, class: &str, points: &[(f64, f64)], caption: String) -> Option<Figure> {
        let [first, second] = self.parts.map(|part| 100.0 * part);
        let both = || self.data.iter().chain(&self.samples);
        let x = Axis::around(both().map(|p| p.0), &format!("1st direction, {first:.0} % of the data's variance"))?;
        let y = Axis::around(both().map(|p| p.1), "")?;
        let mut layout = Layout::new(title, &format!("2nd direction, {second:.0} % ↑"), x, y);
        layout.height = Some(220.0);
        let mut plot = layout.plot();
        points.iter().for_each(|p| plot.dot(*p, 2.0, class));
        Some(Figure { name: name.into(), caption, svg: plot.finish(), png: None })
    }
}

/// Standard deviation of every column, 1 for those that never change.
fn deviations(table: &Array2<f64>, mean: &Array1<f64>) -> Array1<f64> {
    let square = (table - mean).mapv(|x| x * x).sum_axis(Dimension(0)) / table.nrows() as f64;
    square.into_iter().zip(mean).map(|(s, m)| if s.sqrt() > 1e-9 * m.abs() { s.sqrt() } else { 1.0 }).collect()
}

/// The two directions along which centred rows vary most, by orthogonal iteration of XᵀX; `None` if nothing varies.
fn directions(x: &Array2<f64>) -> Option<[Array1<f64>; 2]> {
    let n = x.ncols();
    // Any start will do that is not orthogonal to the directions.
    let start = |k: usize| Array1::from_shape_fn(n, |i| ((i + 1) as f64 * (k as f64 + 0.618)).sin());
    let (mut first, mut second) = (start(1), start(2));
    for _ in 0..ROUNDS {
        let (one, two) = (x.t().dot(&x.dot(&first)), x.t().dot(&x.dot(&second)));
        let most = one.dot(&one).sqrt();
        first = unit(one, 0.0)?;
        let along = first.dot(&two);
        // What is left over by rounding is no direction.
        second = unit(two - &(&first * along), 1e-10 * most)?;
    }
    // The larger half of the entries' sizes decides the sign, so that a picture does not turn over by rounding.
    let upright = |d: Array1<f64>| if d.iter().map(|x| x.powi(3)).sum::<f64>() < 0.0 { -d } else { d };
    Some([upright(first), upright(second)])
}

/// A vector of length 1, if it is longer than `least`.
fn unit(x: Array1<f64>, least: f64) -> Option<Array1<f64>> {
    let length = x.dot(&x).sqrt();
    (length.is_normal() && length > least).then(|| x / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_directions_are_the_eigenvectors() {
        // XᵀX = diag(2·9, 2·1, 2·4).
        let x = array![[3., 0., 0.], [-3., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 2.], [0., 0., -2.]];
        let [first, second] = directions(&x).unwrap();
        assert!((first - array![1., 0., 0.]).iter().all(|d| d.abs() < 1e-9));
        assert!((second - array![0., 0., 1.]).iter().all(|d| d.abs() < 1e-9));
        assert!(directions(&Array2::zeros((4, 3))).is_none());
        // One direction only: there is no plane.
        assert!(directions(&array![[1., 1., 1.], [-1., -1., -1.]]).is_none());
    }
}
