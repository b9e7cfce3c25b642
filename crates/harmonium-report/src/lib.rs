//! The report of a training run: one self-contained HTML page with curves, weights, densities, and samples beside data.
//!
//! The crate turns plain data into text and bytes. It does not train, read or write files, and the same input gives the
//! same bytes. **To add a figure: write a function `fn(&ReportData) -> Option<Section>` and add it to `SECTIONS`.**

#![forbid(unsafe_code)]

mod activity;
mod axis;
mod colour;
mod columns;
mod compare;
mod curve_list;
mod curves;
mod energies;
mod facts;
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
mod sentences;
mod text;
mod values;
mod weights;
mod words;

pub use compare::{Compared, Comparison, compare};
pub use facts::{UNKNOWN, explanation, facts, likelihood_in_words};
pub use mixing::ChainTraces;
pub use page::PLUS_MINUS_MEANS;
pub use run::render_run;
pub use text::with_error;
pub use words::{AdviceWords, Words, headline};

use figure::{Figure, Section};
use harmonium::Rbm;
use harmonium::data::{self, Preprocess};
use harmonium::events::Event;
use harmonium::measure::Idle;
use ndarray::ArrayView2;

/// The content of a report.
pub struct ReportData<'a> {
    /// Heading of the page.
    pub title: String,
    /// The verdict on the run, shown at the top.
    pub verdict: Option<&'a Words>,
    /// What could not be shown and why, shown below the verdict.
    pub notes: &'a [String],
    /// The table at the top: names, and values with their units.
    pub facts: Vec<(String, String)>,
    /// The events of the run, in order.
    pub events: &'a [Event],
    /// The complete configuration.
    pub config_toml: &'a str,
    /// The trained model.
    pub rbm: &'a Rbm<f32>,
    /// Some rows of the training data, preprocessed.
    pub data: ArrayView2<'a, f32>,
    /// Some held-out rows, preprocessed.
    pub held_out: ArrayView2<'a, f32>,
    /// Rows sampled from the model.
    pub samples: ArrayView2<'a, f32>,
    /// Reconstructions of the first rows of `data`, in the same order.
    pub reconstructions: ArrayView2<'a, f32>,
    /// Height and width, when rows are images.
    pub image: Option<(usize, usize)>,
    /// Names of the columns; columns without a name are numbered.
    pub columns: &'a [String],
    /// The words for the values of each column, if it has any.
    pub words: &'a [data::Words],
    /// One letter for every state of a site; states without a letter are numbered.
    pub alphabet: &'a str,
    /// Idle hidden units, if they were counted.
    pub idle: Option<Idle>,
    /// Free energies of chains that were recorded.
    pub mixing: Option<ChainTraces<'a>>,
    /// The preprocessing of the data; axes show the numbers before it.
    pub preprocess: &'a Preprocess,
}

/// An image file written beside the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Name of the file, such as `filters.png`.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// A report and its pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The page; styles and images are inside it, and it runs no script.
    pub html: String,
    /// The images of the page as separate files, SVG and PNG.
    pub pictures: Vec<Picture>,
}

/// The sections of the page, in order; a section with nothing to show is left out.
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

/// Free energies of rows and samples, and traces of chains.
fn free_energies(report: &ReportData) -> Option<Section> {
    section_of("Free energy and mixing", vec![energies::figure(report), mixing::figure(report)])
}

/// Comparison of samples with the data: principal components and moments.
fn statistics(report: &ReportData) -> Option<Section> {
    let tables = columns::ColumnValues::new(report)?;
    let figures = principal::figures(report, &tables).into_iter().chain(moments::figures(report, &tables));
    section_of("Data and samples compared", figures.map(Some).collect())
}

/// Weights, their singular values, and how often hidden units are on.
fn hidden_units(report: &ReportData) -> Option<Section> {
    section_of(
        "Weights and hidden units",
        vec![weights::figure(report), curves::spectrum(report), activity::figure(report)],
    )
}

/// A section with the figures that exist; `None` if there are none.
fn section_of(heading: &'static str, figures: Vec<Option<Figure>>) -> Option<Section> {
    let figures: Vec<Figure> = figures.into_iter().flatten().collect();
    (!figures.is_empty()).then(|| Section { heading, folded: false, notes: Vec::new(), figures })
}

/// Renders the page and its pictures.
pub fn render(report: &ReportData) -> Rendered {
    let sections: Vec<Section> = SECTIONS.iter().filter_map(|section| section(report)).collect();
    let pictures = sections.iter().flat_map(|s| &s.figures).flat_map(figure::Figure::pictures).collect();
    Rendered { html: page::html(report, &sections), pictures }
}

/// Renders only the page.
pub fn html(report: &ReportData) -> String {
    render(report).html
}

/// Renders only the pictures.
pub fn pictures(report: &ReportData) -> Vec<Picture> {
    render(report).pictures
}

impl ReportData<'_> {
    /// Height and width, if rows have that many columns.
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

    /// The words for the states of a site, if it has any.
    fn words(&self, site: usize) -> &[String] {
        self.words.get(site).map_or(&[], |words| &words.words)
    }

    /// Letter of a state; without an alphabet 0 to 9, then A to Z, then numbers.
    fn state(&self, state: usize) -> String {
        let printable = |c: &char| c.is_ascii_graphic() || c.is_alphanumeric();
        match self.alphabet.chars().nth(state).filter(printable) {
            Some(letter) => letter.into(),
            None if state < 10 => state.to_string(),
            None if state < 36 => char::from(b'A' + (state - 10) as u8).into(),
            None => state.to_string(),
        }
    }

    /// (shift, scale) of a site: a preprocessed value x is x·scale + shift in the units of the data.
    fn shift_and_scale(&self, site: usize) -> (f64, f64) {
        let get =
            |a: &Option<ndarray::Array1<f64>>, none| a.as_ref().and_then(|a| a.get(site).copied()).unwrap_or(none);
        (get(&self.preprocess.shift, 0.0), get(&self.preprocess.scale, 1.0))
    }

    /// Whether there are rows, and they have one column per visible site.
    fn fits(&self, rows: ArrayView2<f32>) -> bool {
        rows.nrows() > 0 && rows.ncols() == self.rbm.visible().sites()
    }
}
