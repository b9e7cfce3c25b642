//! Sequence logos for Potts units: the height of a letter shows how informative it is.
//!
//! The stack of a site is log₂q − H bits high, and each letter takes its frequency as a share (Schneider and Stephens,
//! *Sequence logos: a new way to display consensus sequences*, 1990). In the logo of a hidden unit the heights are its weights,
//! minus their mean over the states of the site: letters above the line activate the unit, letters below inhibit it (Tubiana,
//! Cocco and Monasson, *Learning protein constitutive motifs from sequence data*, 2019).

use crate::ReportData;
use crate::columns::ColumnValues;
use crate::figure::{Figure, Section, Svg};
use crate::text::{count, escape, number};
use crate::weights::{shown_of, strongest};
use ndarray::{Array2, Axis};
use std::fmt::Write as _;

/// Width of a logo: a full row of the page.
const WIDE: f64 = 760.0;
/// Sites per line, and lines at most.
const ACROSS: usize = 40;
const MAX_LINES: usize = 5;
/// Hidden units shown at most, and lines of each.
const MAX_UNITS: usize = 6;
const UNIT_LINES: usize = 2;
/// Left margin, for the scale.
const LEFT: f64 = 66.0;
/// Height of a line of letters, and of the site numbers below it.
const HEIGHT: f64 = 72.0;
const BELOW: f64 = 22.0;
/// Height of a capital letter as a fraction of the font size; most sans-serif fonts have 0.70 to 0.73.
const CAPITAL: f64 = 0.72;
/// Lower letters are not drawn.
const MIN_HEIGHT: f64 = 0.8;
/// States at most; with more, letters cannot be distinguished.
pub const MAX_STATES: usize = 36;

/// Logos of data, samples and hidden units, if visible units are Potts units.
pub fn section(report: &ReportData) -> Option<Section> {
    let q = report.rbm.visible().kind().map_or(0, |kind| kind.unit::<f32>().width());
    if !(2..=MAX_STATES).contains(&q) {
        return None;
    }
    let mut figures = Vec::new();
    if let Some(tables) = ColumnValues::new(report) {
        let data = format!(
            "{} of the data. The height of a stack is the information at its site in bits, and each letter takes its \
             frequency as a share.",
            count(tables.data.nrows(), "row")
        );
        let samples = format!(
            "{} of the model. The logo should look like that of the data.",
            count(tables.samples.nrows(), "sample")
        );
        figures.push(of_rows(report, "logo-data", "Data", &information(&tables.data, q), &data));
        figures.push(of_rows(report, "logo-samples", "Samples", &information(&tables.samples, q), &samples));
    }
    figures.push(of_units(report, q)?);
    Some(Section { heading: "Sequence logos", folded: false, notes: Vec::new(), figures })
}

/// Heights in bits, sites × states: f·(log₂q − H) for a state of frequency f.
fn information(table: &Array2<f64>, q: usize) -> Array2<f64> {
    let parts = table.mean_axis(Axis(0)).unwrap_or_default();
    let site = |i: usize| {
        let entropy: f64 = (0..q).map(|k| parts[i * q + k]).filter(|f| *f > 0.0).map(|f| -f * f.log2()).sum();
        ((q as f64).log2() - entropy).max(0.0)
    };
    let bits: Vec<f64> = (0..parts.len() / q).map(site).collect();
    Array2::from_shape_fn((parts.len() / q, q), |(i, k)| bits[i] * parts[i * q + k])
}

fn of_rows(report: &ReportData, name: &str, title: &str, bits: &Array2<f64>, about: &str) -> Figure {
    let max = (bits.ncols() as f64).log2();
    let mut logo = Logo::new(report, title);
    logo.lines(bits, (0.0, max), MAX_LINES, "bits");
    logo.figure(name, format!("{about}{}", truncation(bits.nrows(), MAX_LINES)))
}

/// Logos of the strongest hidden units, each on its own scale.
fn of_units(report: &ReportData, q: usize) -> Option<Figure> {
    let order = strongest(report.rbm);
    let shown = &order[..order.len().min(MAX_UNITS)];
    let motifs: Vec<Array2<f64>> = shown.iter().map(|j| motif(report, *j, q)).collect();
    let end = |m: &Array2<f64>, sign: f64| {
        m.rows().into_iter().map(|r| r.iter().map(|w| (sign * w).max(0.0)).sum::<f64>()).fold(0.0, f64::max)
    };
    let ends: Vec<(f64, f64)> = motifs.iter().map(|m| (-end(m, -1.0), end(m, 1.0))).collect();
    if !ends.iter().all(|(lo, hi)| (hi - lo).is_normal()) {
        return None;
    }
    let mut logo = Logo::new(report, "Hidden units");
    motifs.iter().zip(&ends).for_each(|(m, ends)| logo.lines(m, *ends, UNIT_LINES, "weight"));
    let sites = report.rbm.visible().sites();
    let caption = format!(
        "Weights of {}, strongest first, each on its own scale. Letters above the line activate the unit, letters below \
         inhibit it.{}",
        shown_of(shown.len(), order.len()),
        truncation(sites, UNIT_LINES)
    );
    Some(logo.figure("logo-units", caption))
}

/// Weights of a hidden column, sites × states, with mean 0 at every site: a constant added to all states of a site only
/// changes the unit's bias.
fn motif(report: &ReportData, hidden: usize, q: usize) -> Array2<f64> {
    let column = report.rbm.weights();
    let w = |i: usize, k: usize| f64::from(column[[i * q + k, hidden]]);
    let mean = |i: usize| (0..q).map(|k| w(i, k)).sum::<f64>() / q as f64;
    Array2::from_shape_fn((report.rbm.visible().sites(), q), |(i, k)| w(i, k) - mean(i))
}

/// A sentence for the caption if not all sites are shown.
fn truncation(sites: usize, lines: usize) -> String {
    let shown = lines * ACROSS;
    if sites > shown { format!(" Only the first {shown} of {sites} sites are shown.") } else { String::new() }
}

/// A logo that is being drawn.
struct Logo<'a, 'b> {
    report: &'a ReportData<'b>,
    body: String,
    height: f64,
}

impl<'a, 'b> Logo<'a, 'b> {
    fn new(report: &'a ReportData<'b>, title: &str) -> Logo<'a, 'b> {
        let body = format!("<text x=\"0\" y=\"14\" class=\"title\">{}</text>\n", escape(title));
        Logo { report, body, height: 30.0 }
    }

    fn figure(self, name: &str, caption: String) -> Figure {
        let svg = Svg { width: WIDE, height: self.height, body: self.body };
        Figure { name: name.into(), caption, svg, png: None }
    }

    /// Draws the sites in at most `max` lines; heights of letters are sites × states, between `ends`.
    fn lines(&mut self, heights: &Array2<f64>, ends: (f64, f64), max: usize, unit: &str) {
        let sites = heights.nrows().min(max * ACROSS);
        let across = sites.clamp(1, ACROSS);
        // A limit, so that a few sites do not become very wide.
        let cell = ((WIDE - LEFT) / across as f64).min(26.0);
        for first in (0..sites).step_by(ACROSS) {
            self.scale(ends, unit, cell * across as f64);
            for site in first..sites.min(first + ACROSS) {
                let x = LEFT + (site - first) as f64 * cell;
                self.stack(&heights.row(site).to_vec(), ends, x, cell);
                self.position(site, x + 0.5 * cell);
            }
            self.height += HEIGHT + BELOW;
        }
    }

    /// The y coordinate of a height in the current line.
    fn y(&self, height: f64, (lo, hi): (f64, f64)) -> f64 {
        self.height + HEIGHT * (hi - height) / (hi - lo)
    }

    fn scale(&mut self, ends: (f64, f64), unit: &str, width: f64) {
        let mut text = |value: f64, label: &str, y: f64| {
            let x = LEFT - 5.0;
            let _ = writeln!(
                self.body,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" class=\"soft\">{label}</text>"
            );
            value
        };
        let (top, bottom) = (self.height, self.height + HEIGHT);
        text(ends.1, &number((100.0 * ends.1).round() / 100.0), top + 8.0);
        text(0.5, unit, 0.5 * (top + bottom) + 4.0);
        text(ends.0, &number((100.0 * ends.0).round() / 100.0), bottom);
        let zero = self.y(0.0, ends);
        let _ = writeln!(self.body, "<path d=\"M{LEFT:.1} {zero:.1}h{width:.1}\" class=\"frame\"/>");
    }

    /// Writes the number below every fifth site.
    fn position(&mut self, site: usize, x: f64) {
        if (site + 1).is_multiple_of(5) || site == 0 {
            let y = self.height + HEIGHT + 14.0;
            let _ = writeln!(
                self.body,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" class=\"soft\">{}</text>",
                site + 1
            );
        }
    }

    /// Draws the letters of a site: the largest positive one at the top, the largest negative one at the bottom.
    fn stack(&mut self, heights: &[f64], ends: (f64, f64), x: f64, cell: f64) {
        let mut order: Vec<usize> = (0..heights.len()).filter(|k| heights[*k].is_finite()).collect();
        order.sort_by(|a, b| heights[*a].abs().total_cmp(&heights[*b].abs()).then(b.cmp(a)));
        let (mut up, mut down) = (0.0, 0.0);
        for state in order {
            let height = heights[state];
            let base = if height > 0.0 { up } else { down + height };
            let (y, tall) = (self.y(base, ends), HEIGHT * height.abs() / (ends.1 - ends.0));
            if height > 0.0 {
                up += height
            } else {
                down += height
            }
            if tall >= MIN_HEIGHT {
                self.letter(state, [x, y, cell, tall]);
            }
        }
    }

    /// Draws a letter that fills [left, bottom, width, height].
    fn letter(&mut self, state: usize, [x, y, w, h]: [f64; 4]) {
        let letter = self.report.state(state);
        let (size, wide) = (20.0, w - 0.6);
        let _ = writeln!(
            self.body,
            "<text transform=\"translate({:.1} {y:.1}) scale(1 {:.3})\" font-size=\"{size}\" textLength=\"{wide:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\" class=\"letter {}\">{}</text>",
            x + 0.3,
            h / (CAPITAL * size),
            class(&letter, state),
            escape(&letter)
        );
    }
}

/// The colour of a letter: by the chemistry of amino acids, or by the number of the state.
fn class(letter: &str, state: usize) -> &'static str {
    const NUMBERED: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    match letter {
        "D" | "E" => "two",
        "K" | "R" | "H" => "one",
        "S" | "T" | "N" | "Q" | "U" => "three",
        "A" | "V" | "L" | "I" | "M" | "F" | "W" => "six",
        "G" | "P" | "C" | "Y" => "four",
        "-" | "." | "X" => "five",
        _ => NUMBERED[state % NUMBERED.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_stack_is_as_high_as_its_information() {
        // Site 1 always has state 0: log₂2 = 1 bit. Site 2 has both equally often: 0 bits.
        let bits = information(&array![[1., 0., 1., 0.], [1., 0., 0., 1.]], 2);
        assert_eq!(bits, array![[1., 0.], [0., 0.]]);
        // ¾ and ¼: 1 − H = 0.18872 bits.
        let table = array![[1., 0.], [1., 0.], [1., 0.], [0., 1.]];
        assert!((information(&table, 2).sum() - 0.188_721_875_540_867).abs() < 1e-12);
    }
}
