//! A training run as a page: curves, weights, samples beside data, densities, in one file that needs nothing else.
//!
//! Plain data go in, text and bytes come out: nothing is trained, read or written here, and the same input gives the
//! same bytes. **To add a figure: write a function `fn(&Report) -> Option<Section>`, add its line to `SECTIONS`.**

#![forbid(unsafe_code)]

mod activity;
mod axis;
mod colour;
mod columns;
mod compare;
mod curves;
mod energies;
mod figure;
mod images;
mod logo;
mod mixing;
mod moments;
mod page;
mod plane;
mod plot;
mod principal;
mod raster;
mod run;
mod text;
mod values;
mod weights;
mod words;

pub use compare::{Compared, Comparison, compare};
pub use mixing::ChainTraces;
pub use run::render_run;
pub use words::{AdviceWords, Words, facts, headline, with_error};

use figure::{Figure, Section};
use harmonium::Rbm;
use harmonium::data::Preprocess;
use harmonium::events::Event;
use ndarray::ArrayView2;

/// What a report tells about.
pub struct ReportData<'a> {
    /// Heading of the page.
    pub title: String,
    /// What became of the run, in words, at the top.
    pub verdict: Option<&'a Words>,
    /// What could not be shown and why, below it.
    pub notes: &'a [String],
    /// The table at the top: name, value with its unit.
    pub facts: Vec<(String, String)>,
    /// What happened, in order.
    pub events: &'a [Event],
    /// The complete configuration.
    pub config_toml: &'a str,
    /// The trained model.
    pub rbm: &'a Rbm<f32>,
    /// Some rows of data values, as the units get them.
    pub data: ArrayView2<'a, f32>,
    /// Some held-out rows, likewise.
    pub held_out: ArrayView2<'a, f32>,
    /// Rows sampled from the model, likewise.
    pub samples: ArrayView2<'a, f32>,
    /// Reconstructions of the first rows of `data`, in the same order.
    pub reconstructions: ArrayView2<'a, f32>,
    /// Height and width, when rows are images.
    pub image: Option<(usize, usize)>,
    /// Names of the columns; those that are missing are called by their number.
    pub columns: &'a [String],
    /// One letter for every state of a site; states without one are called by their number.
    pub alphabet: &'a str,
    /// Chains that were watched.
    pub mixing: Option<ChainTraces<'a>>,
    /// What happened to the data before they met the units: axes show numbers as they were before.
    pub preprocess: &'a Preprocess,
}

/// A file that stands beside the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Name of the file, such as `filters.png`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A report and its pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The page: styles, drawings and pictures are inside it, and it runs no script.
    pub html: String,
    /// Its drawings (SVG) and pictures (PNG) as files of their own.
    pub pictures: Vec<Picture>,
}

/// The sections of the page, in order; each is left out when there is nothing to show.
const SECTIONS: &[fn(&ReportData) -> Option<Section>] = &[
    curves::section,
    plane::section,
    images::section,
    logo::section,
    free_energies,
    statistics,
    hidden_units,
    curves::measures,
];

/// How likely rows and samples are, and whether chains get to where they are.
fn free_energies(report: &ReportData) -> Option<Section> {
    together("Free energy and mixing", vec![energies::figure(report), mixing::figure(report)])
}

/// Whether samples have the moments of the data, and lie where the data lie.
fn statistics(report: &ReportData) -> Option<Section> {
    let tables = columns::Tables::new(report)?;
    let figures = principal::figures(report, &tables).into_iter().chain(moments::figures(report, &tables));
    together("Data against samples", figures.map(Some).collect())
}

/// What the hidden units look for, how that grew, and how often they find it.
fn hidden_units(report: &ReportData) -> Option<Section> {
    together(
        "Weights and hidden units",
        vec![weights::figure(report), curves::spectrum(report), activity::figure(report)],
    )
}

/// A section of the figures that there are.
fn together(heading: &'static str, figures: Vec<Option<Figure>>) -> Option<Section> {
    let figures: Vec<Figure> = figures.into_iter().flatten().collect();
    (!figures.is_empty()).then(|| Section { heading, folded: false, notes: Vec::new(), figures })
}

/// The page and its pictures.
pub fn render(report: &ReportData) -> Rendered {
    let sections: Vec<Section> = SECTIONS.iter().filter_map(|section| section(report)).collect();
    let pictures = sections.iter().flat_map(|s| &s.figures).flat_map(figure::Figure::pictures).collect();
    Rendered { html: page::html(report, &sections), pictures }
}

/// The page alone.
pub fn html(report: &ReportData) -> String {
    render(report).html
}

/// The pictures alone.
pub fn pictures(report: &ReportData) -> Vec<Picture> {
    render(report).pictures
}

impl ReportData<'_> {
    /// Height and width, if rows really are images of that size.
    fn image(&self) -> Option<(usize, usize)> {
        self.image.filter(|(h, w)| *h > 0 && h.checked_mul(*w) == Some(self.rbm.visible().sites()))
    }

    /// Name of a site.
    fn column(&self, site: usize) -> String {
        match self.columns.get(site) {
            Some(name) if !name.trim().is_empty() => name.trim().into(),
            _ => format!("column {}", site + 1),
        }
    }

    /// Letter of a state; without a letter its number, from 10 on the letters A, B, ….
    fn state(&self, state: usize) -> String {
        let plain = |c: &char| c.is_ascii_graphic() || c.is_alphanumeric();
        match self.alphabet.chars().nth(state).filter(plain) {
            Some(letter) => letter.into(),
            None if state < 10 => state.to_string(),
            None if state < 36 => char::from(b'A' + (state - 10) as u8).into(),
            None => state.to_string(),
        }
    }

    /// (shift, scale) of a site: a unit's value x stood for x·scale + shift in the data.
    fn unprepared(&self, site: usize) -> (f64, f64) {
        let get =
            |a: &Option<ndarray::Array1<f64>>, none| a.as_ref().and_then(|a| a.get(site).copied()).unwrap_or(none);
        (get(&self.preprocess.shift, 0.0), get(&self.preprocess.scale, 1.0))
    }

    /// Whether rows of such a table are rows of the visible layer.
    fn fits(&self, rows: ArrayView2<f32>) -> bool {
        rows.nrows() > 0 && rows.ncols() == self.rbm.visible().sites()
    }
}
