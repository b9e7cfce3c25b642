//! A plot: two axes, with title and legend above the plot area so that they never cover the data.

use crate::axis::{Axis, Tick};
use crate::figure::{Svg, WIDTH};
use crate::text::escape;
use std::fmt::Write as _;

/// Approximate width of a character of a tick label.
const CHARACTER: f64 = 6.7;
/// Width of a character in wide fonts, so that texts neither overlap nor leave the drawing.
const WIDEST: f64 = 7.3;
/// Height of a line of text.
const LINE: f64 = 16.0;
/// Points of a line at most; longer lines are thinned to their extremes.
const MAX_POINTS: usize = 1200;

/// The layout of a plot, before anything is drawn into it.
pub struct Layout {
    /// Title of the plot.
    pub title: String,
    /// Unit of the vertical axis, after the title.
    pub unit: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Second horizontal axis, at the top.
    pub above: Option<Axis>,
    /// The legend.
    pub legend: Vec<Key>,
    /// Height of the plot area; `None` makes it square.
    pub height: Option<f64>,
    /// Right margin.
    pub right: f64,
}

/// An entry of a legend.
pub struct Key {
    /// Class of the line or dot that it explains: `line …` or `dot …`.
    pub class: &'static str,
    /// What it is.
    pub label: String,
}

/// A plot that is being drawn.
pub struct Plot {
    x: Axis,
    y: Axis,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    below: f64,
    body: String,
}

impl Layout {
    /// A plot with usual sizes.
    pub fn new(title: &str, unit: &str, x: Axis, y: Axis) -> Layout {
        let (title, unit) = (title.into(), unit.into());
        Layout { title, unit, x, y, above: None, legend: Vec::new(), height: Some(150.0), right: 22.0 }
    }

    /// Draws the frame.
    pub fn plot(self) -> Plot {
        let labels = self.y.ticks(5).into_iter().map(|t| t.label.chars().count()).max().unwrap_or(0);
        // The left margin also holds the labels "updates" and "epochs".
        let left = (CHARACTER * labels as f64 + 10.0).max(66.0);
        let width = WIDTH - left - self.right;
        let height = self.height.unwrap_or(width);
        let mut body = format!("<text x=\"0\" y=\"13\" class=\"title\">{}", escape(&self.title));
        if !self.unit.is_empty() {
            let _ = write!(body, "<tspan class=\"soft\" dx=\"6\">{}</tspan>", escape(&self.unit));
        }
        body += "</text>\n";
        let mut top = LINE + 4.0;
        top += legend(&self.legend, top, &mut body);
        top += if self.above.is_some() { LINE + 3.0 } else { 4.0 };
        let mut plot = Plot { x: self.x, y: self.y, left, top, width, height, below: 0.0, body };
        plot.frame(self.above.as_ref());
        plot
    }
}

/// Writes a legend whose first line is at `top`; returns its height.
fn legend(keys: &[Key], top: f64, body: &mut String) -> f64 {
    let (mut x, mut y) = (0.0, top);
    for key in keys {
        let width = 22.0 + WIDEST * key.label.chars().count() as f64 + 12.0;
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + LINE);
        }
        let middle = y + 5.0;
        let _ = if key.class.starts_with("dot") {
            write!(body, "<circle cx=\"{}\" cy=\"{middle}\" r=\"3\" class=\"{}\"/>", x + 8.0, key.class)
        } else {
            write!(body, "<path d=\"M{x} {middle}h16\" class=\"{}\"/>", key.class)
        };
        let _ = writeln!(body, "<text x=\"{}\" y=\"{}\">{}</text>", x + 21.0, y + 9.0, escape(&key.label));
        x += width;
    }
    if keys.is_empty() { 0.0 } else { y - top + LINE }
}

impl Plot {
    fn frame(&mut self, above: Option<&Axis>) {
        let (left, right, top, bottom) = (self.left, self.left + self.width, self.top, self.top + self.height);
        self.vertical_ticks();
        let _ = writeln!(self.body, "<path d=\"M{left:.1} {bottom:.1}H{right:.1}\" class=\"frame\"/>");
        self.horizontal_ticks(&self.x.clone(), bottom, 4.0, bottom + LINE);
        self.below = bottom + LINE + 4.0;
        let label = self.x.label.clone();
        if let Some(above) = above {
            self.horizontal_ticks(above, top, -3.0, top - 8.0);
            self.soft_text(left - 15.0, top - 8.0, "end", &above.label);
            self.soft_text(left - 15.0, bottom + LINE, "end", &label);
        } else if !label.is_empty() {
            self.soft_text(0.5 * (left + right), bottom + 2.0 * LINE, "middle", &label);
            self.below += LINE;
        }
    }

    fn soft_text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"soft\">{text}</text>"
        );
    }

    fn vertical_ticks(&mut self) {
        for tick in self.y.ticks(if self.height > 200.0 { 7 } else { 5 }) {
            let Some(p) = self.y.position(tick.value) else { continue };
            let y = self.top + (1.0 - p) * self.height;
            let _ = writeln!(self.body, "<path d=\"M{:.1} {y:.1}h{:.1}\" class=\"grid\"/>", self.left, self.width);
            self.soft_text(self.left - 5.0, y + 3.7, "end", &tick.label);
        }
    }

    /// As many ticks, up to about five, as fit side by side.
    fn fitting(&self, axis: &Axis) -> Vec<Tick> {
        let width =
            |ticks: &[Tick]| ticks.iter().map(|t| CHARACTER * (t.label.chars().count() + 1) as f64).sum::<f64>();
        (2..=4).rev().map(|max| axis.ticks(max)).find(|ticks| width(ticks) <= self.width).unwrap_or_default()
    }

    fn horizontal_ticks(&mut self, axis: &Axis, line: f64, length: f64, text: f64) {
        for tick in self.fitting(axis) {
            let Some(p) = axis.position(tick.value) else { continue };
            let x = self.left + p * self.width;
            // The first and the last label must not leave the drawing.
            let half = 0.5 * WIDEST * tick.label.chars().count() as f64;
            let at = x.clamp(half, WIDTH - half);
            let _ = writeln!(self.body, "<path d=\"M{x:.1} {line:.1}v{length}\" class=\"frame\"/>");
            self.soft_text(at, text, "middle", &tick.label);
        }
    }

    /// The coordinates of a point in the drawing; `None` if it is outside the axes.
    fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, y) = (self.x.position(x)?, self.y.position(y)?);
        Some((self.left + x * self.width, self.top + (1.0 - y) * self.height))
    }

    /// Draws a line through points in order. It breaks where a value is missing; an isolated point is drawn as a dot.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let coordinates: Vec<_> = thin(points).into_iter().map(|(x, y)| self.point(x, y)).collect();
        for piece in coordinates.split(Option::is_none) {
            let mut path = String::new();
            for (x, y) in piece.iter().flatten() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
            }
            let _ = match piece {
                [] => Ok(()),
                [Some((x, y))] => {
                    let class = class.replace("line", "dot");
                    writeln!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" class=\"{class}\"/>")
                }
                _ => writeln!(self.body, "<path d=\"{path}\" class=\"{class}\"/>"),
            };
        }
    }

    /// Draws a dot, if it is inside the axes.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, class: &str) {
        if let Some((x, y)) = self.point(x, y) {
            let _ = writeln!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" class=\"{class}\"/>");
        }
    }

    /// Draws a vertical line over the whole height, with a tooltip.
    pub fn vertical(&mut self, x: f64, class: &str, about: &str) {
        let Some(p) = self.x.position(x) else { return };
        let x = self.left + p * self.width;
        let _ = writeln!(
            self.body,
            "<path d=\"M{x:.1} {:.1}v{:.1}\" class=\"{class}\"><title>{}</title></path>",
            self.top,
            self.height,
            escape(about)
        );
    }

    /// Draws a bar from the bottom up to `y`.
    pub fn bar(&mut self, from: f64, to: f64, y: f64) {
        if let (Some((x0, y0)), Some((x1, _))) = (self.point(from, y), self.point(to, y)) {
            let h = self.top + self.height - y0;
            let _ = writeln!(
                self.body,
                "<rect x=\"{:.1}\" y=\"{y0:.1}\" width=\"{:.1}\" height=\"{h:.1}\" class=\"bar\"/>",
                x0 + 0.5,
                (x1 - x0 - 1.0).max(0.5)
            );
        }
    }

    /// Draws something over the plot area, given as [x, y, width, height].
    pub fn fill(&mut self, draw: impl FnOnce([f64; 4]) -> String) {
        self.body += &draw([self.left, self.top, self.width, self.height]);
        self.body.push('\n');
    }

    /// The finished drawing.
    pub fn finish(self) -> Svg {
        Svg { width: WIDTH, height: self.below, body: self.body }
    }
}

/// Thins points to the first, smallest, largest and last of every group, so that no spike is lost.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let mut kept = Vec::new();
    for group in points.chunks(points.len().div_ceil(MAX_POINTS / 4)) {
        let finite = || group.iter().enumerate().filter(|(_, p)| p.1.is_finite());
        let low = finite().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let high = finite().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let mut index: Vec<usize> = [low, high].into_iter().flatten().map(|(i, _)| i).collect();
        index.extend([0, group.len() - 1]);
        index.sort_unstable();
        index.dedup();
        kept.extend(index.into_iter().map(|i| group[i]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_spikes() {
        let mut points: Vec<(f64, f64)> = (0..50_000).map(|i| (f64::from(i), 0.0)).collect();
        points[31_415].1 = 9.0;
        points[27_182].1 = -9.0;
        let kept = thin(&points);
        assert!(kept.len() <= MAX_POINTS && kept.contains(&(31_415.0, 9.0)) && kept.contains(&(27_182.0, -9.0)));
        assert!(kept.windows(2).all(|w| w[0].0 < w[1].0));
    }

    /// The last label, such as 10,000, is centred on a tick at the right end of the axis.
    #[test]
    fn tick_labels_stay_inside_the_drawing() {
        for last in [1.0, 10_000.0, 200_000.0] {
            let plot = Layout::new("", "", Axis::between(0.0, last, ""), Axis::between(0.0, 1.0, "")).plot();
            let svg = format!("<svg>{}</svg>", plot.finish().body);
            let document = roxmltree::Document::parse(&svg).unwrap();
            for text in document.descendants().filter(|n| n.attribute("text-anchor") == Some("middle")) {
                let x: f64 = text.attribute("x").unwrap().parse().unwrap();
                let half = 0.5 * WIDEST * text.text().unwrap().chars().count() as f64;
                assert!(x - half >= -0.1 && x + half <= WIDTH + 0.1, "{last}: {:?}", text.text());
            }
        }
    }

    #[test]
    fn a_line_breaks_where_a_value_is_missing() {
        let axis = || Axis::between(0.0, 4.0, "");
        let mut plot = Layout::new("", "", axis(), axis()).plot();
        plot.body.clear();
        plot.line(&[(0.0, 1.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0)], "line one");
        assert_eq!(plot.body.matches("<path").count(), 1);
        assert_eq!(plot.body.matches("<circle").count(), 1);
    }
}
