//! Two continuous columns: the density p(v) over the plane, with data and samples, and the mean of each hidden unit.

use crate::ReportData;
use crate::axis::{Axis, range};
use crate::colour::{magma, viridis};
use crate::figure::{ColourBar, Figure, Section, image};
use crate::plot::Layout;
use crate::raster::{Raster, Tiles};
use crate::text::{count, number, short};
use crate::values::{column_range, fraction, rows_between};
use crate::weights::{shown_of, strongest};
use harmonium::exact::budget;
use harmonium::{Exact, LoweredModel};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis as Dimension};

/// Grid points per axis, of the density and of the picture of a hidden unit.
const FINE: usize = 180;
const COARSE: usize = 80;
/// Hidden units shown at most.
const MAX_UNITS: usize = 16;
/// Rows drawn at most, of data and of samples.
const MAX_POINTS: usize = 500;
/// Decades of the logarithmic density; everything below is black.
const DECADES: f64 = 6.0;

/// The part of the plane that is shown: the range of the data with a margin.
struct Plane<'a, 'b> {
    report: &'a ReportData<'b>,
    lowered: LoweredModel<f64>,
    lo: [f64; 2],
    hi: [f64; 2],
}

/// Density and hidden means, if there are two continuous columns.
pub fn section(report: &ReportData) -> Option<Section> {
    if report.rbm.visible().layout().has_finite() || report.rbm.visible().sites() != 2 || report.image().is_some() {
        return None;
    }
    let plane = Plane::new(report)?;
    let mut figures = plane.densities()?;
    figures.extend(plane.hidden_means());
    Some(Section { heading: "Density", folded: false, notes: Vec::new(), figures })
}

impl<'a, 'b> Plane<'a, 'b> {
    fn new(report: &'a ReportData<'b>) -> Option<Plane<'a, 'b>> {
        let rows = [report.data, report.samples].into_iter().find(|rows| report.fits(*rows))?;
        let ranges = [0, 1].map(|i| Axis::around(rows.column(i).iter().map(|x| f64::from(*x)), ""));
        let [Some(x), Some(y)] = ranges else { return None };
        // A margin of 12 %, because a bad fit shows in the tails.
        let margin = |a: &Axis| 0.12 * (a.hi - a.lo);
        let (lo, hi) = ([x.lo - margin(&x), y.lo - margin(&y)], [x.hi + margin(&x), y.hi + margin(&y)]);
        Some(Plane { report, lowered: report.rbm.lower().widen(), lo, hi })
    }

    /// The centres of n × n cells as rows of the visible layer, from the top left.
    fn grid(&self, n: usize) -> Array2<f64> {
        let at = |axis: usize, k: usize| self.lo[axis] + (self.hi[axis] - self.lo[axis]) * (k as f64 + 0.5) / n as f64;
        Array2::from_shape_fn((n * n, 2), |(r, axis)| if axis == 0 { at(0, r % n) } else { at(1, n - 1 - r / n) })
    }

    /// log p(v) in the units of the data at every grid point, in nats, and whether it is normalised.
    fn log_density(&self, n: usize) -> (Array1<f64>, bool) {
        let cheap = budget::REPORT_DENSITY.allows(Exact::cost(&self.lowered));
        let log_z = cheap.then(|| Exact::new(self.report.rbm).ok()).flatten().map(|e| e.log_z());
        let grid = self.grid(n);
        // One line of points at a time: all points times many hidden units would not fit into memory.
        let mut free = Vec::with_capacity(n * n);
        for first in (0..n * n).step_by(n) {
            free.extend(self.lowered.up().free_energy(rows_between(grid.view(), first, first + n)));
        }
        let jacobian: f64 = (0..2).map(|i| -self.report.shift_and_scale(i).1.ln()).sum();
        (free.into_iter().map(|f| jacobian - f - log_z.unwrap_or(0.0)).collect(), log_z.is_some())
    }

    /// The density with the data, on a linear scale, and with samples, on a logarithmic scale.
    fn densities(&self) -> Option<Vec<Figure>> {
        let n = if self.lowered.hidden().columns() > 2000 { FINE / 3 } else { FINE };
        let (log_p, exact) = self.log_density(n);
        let (_, max) = range(log_p.iter().copied())?;
        let linear = Raster::new(n, n, |y, x| magma((log_p[y * n + x] - max).exp()));
        let decades = |log_p: f64| 1.0 + (log_p - max) / (DECADES * std::f64::consts::LN_10);
        let log = Raster::new(n, n, |y, x| magma(decades(log_p[y * n + x])));
        let what = if exact { "p(v), normalised exactly," } else { "exp(−F(v)), not normalised," };
        let top = |factor: f64| if exact { short(max.exp() * factor) } else { short(factor) };
        let unit = if exact { "probability per unit of area" } else { "relative to the maximum" };
        let bar = |lo: String| ColourBar { map: magma, lo, hi: top(1.0), label: unit.into() };
        let data = format!(
            "The model's density {what} on a linear scale, with {} of the data. Bright regions should contain the data.",
            self.points(self.report.data, "row").1
        );
        let samples = format!(
            "The same density on a logarithmic scale of {DECADES} decades, with {} of the model.",
            self.points(self.report.samples, "sample").1
        );
        Some(vec![
            self.over("density", "Density and data", &linear, &bar("0".into()), self.report.data, data),
            self.over(
                "log-density",
                "Density (log scale) and samples",
                &log,
                &bar(top(10f64.powf(-DECADES))),
                self.report.samples,
                samples,
            ),
        ])
    }

    /// The rows that are drawn, in the units of the data, and their number in words.
    fn points(&self, rows: ArrayView2<f32>, what: &str) -> (Vec<(f64, f64)>, String) {
        if !self.report.fits(rows) {
            return (Vec::new(), format!("no {what}s"));
        }
        let scaled = |row: ArrayView1<f32>| (self.original(0, row[0].into()), self.original(1, row[1].into()));
        let points: Vec<_> = rows.rows().into_iter().take(MAX_POINTS).map(scaled).collect();
        let text = count(points.len(), what);
        (points, text)
    }

    /// A value of the visible layer in the units of the data.
    fn original(&self, axis: usize, value: f64) -> f64 {
        let (shift, scale) = self.report.shift_and_scale(axis);
        value * scale + shift
    }

    fn axis(&self, axis: usize) -> Axis {
        let ends = [self.lo, self.hi].map(|end| self.original(axis, end[axis]));
        Axis::between(ends[0], ends[1], &self.report.column(axis))
    }

    /// A figure of rows drawn over a raster.
    fn over(
        &self,
        name: &str,
        title: &str,
        raster: &Raster,
        bar: &ColourBar,
        rows: ArrayView2<f32>,
        caption: String,
    ) -> Figure {
        let y = self.axis(1);
        let mut layout = Layout::new(title, &format!("↑ {}", y.label), self.axis(0), y);
        (layout.height, layout.right) = (None, 78.0);
        let png = raster.png(&caption);
        let mut plot = layout.plot();
        plot.fill(|place| image(&png, place));
        self.points(rows, "").0.into_iter().for_each(|p| plot.dot(p, 1.4, "dot over"));
        plot.fill(|[x, y, w, h]| bar.vertical([x + w + 8.0, y, 10.0, h]));
        Figure { name: name.into(), caption, svg: plot.finish(), png: Some(png) }
    }

    /// ⟨h_j | v⟩ over the plane, one picture per hidden unit.
    fn hidden_means(&self) -> Option<Figure> {
        let order = strongest(self.report.rbm);
        let tiles = Tiles::new(order.len().min(MAX_UNITS), (COARSE, COARSE), None)?;
        let means = self.means_of(&order[..tiles.count()]);
        let (lo, hi) = column_range(self.lowered.hidden()).or_else(|| range(means.iter().copied()))?;
        let raster = tiles.draw(|j, y, x| viridis(fraction(means[[y * COARSE + x, j]], lo, hi)));
        let caption = format!(
            "Mean activation of {} given v, over the same part of the plane. One panel per hidden unit, those with the strongest \
             weights first.",
            shown_of(tiles.count(), order.len())
        );
        let bar = ColourBar { map: viridis, lo: number(lo), hi: number(hi), label: "mean of h given v".into() };
        Some(Figure::from_raster("hidden-means", "Hidden units over the plane", &raster, Some(&bar), false, caption))
    }

    /// Means of these hidden columns at every point of the coarse grid, one line of points at a time.
    fn means_of(&self, order: &[usize]) -> Array2<f64> {
        let grid = self.grid(COARSE);
        let mut means = Array2::zeros((grid.nrows(), order.len()));
        for (line, mut out) in means.axis_chunks_iter_mut(Dimension(0), COARSE).enumerate() {
            let points = rows_between(grid.view(), line * COARSE, (line + 1) * COARSE);
            out.assign(&self.lowered.up().means(points).select(Dimension(1), order));
        }
        means
    }
}
