//! Several runs on one page: a table, their learning curves on common axes, their pictures side by side.

use crate::curves::overlaid;
use crate::figure::{Figure, Section};
use crate::page::{document, paragraphs, section};
use crate::text::escape;
use crate::{Picture, Rendered};
use harmonium::events::Event;

/// Runs to be compared.
pub struct Comparison<'a> {
    /// Heading of the page.
    pub title: String,
    /// Sentences under it.
    pub notes: Vec<String>,
    /// What the columns of the table are.
    pub header: &'a [&'a str],
    /// The table, one row for every run.
    pub table: &'a [Vec<String>],
    /// The runs.
    pub runs: Vec<Compared<'a>>,
}

/// One of them.
pub struct Compared<'a> {
    /// What it is called.
    pub name: String,
    /// What happened.
    pub events: &'a [Event],
    /// Pictures of pixels: what each shows, and its PNG bytes.
    pub pictures: Vec<(String, Vec<u8>)>,
}

/// The page and its drawings.
pub fn compare(comparison: &Comparison) -> Rendered {
    let runs: Vec<(&str, &[Event])> = comparison.runs.iter().map(|r| (r.name.as_str(), r.events)).collect();
    let mut sections = vec![("Learning", overlaid(&runs))];
    sections.push(("Pictures", pictures(&comparison.runs)));
    let sections: Vec<Section> = sections
        .into_iter()
        .filter(|(_, figures)| !figures.is_empty())
        .map(|(heading, figures)| Section { heading, folded: false, notes: Vec::new(), figures })
        .collect();
    let drawn: String = sections.iter().map(section).collect();
    let body = format!("{}{}{drawn}", paragraphs("note", &comparison.notes), table(comparison));
    let pictures: Vec<Picture> = sections.iter().flat_map(|s| &s.figures).flat_map(Figure::pictures).collect();
    Rendered { html: document(&comparison.title, &body), pictures }
}

fn table(comparison: &Comparison) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect()
    };
    let head = cells("th", &mut comparison.header.iter().copied());
    let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", cells("td", &mut row.iter().map(String::as_str)));
    let rows: String = comparison.table.iter().map(row).collect();
    format!("<div class=\"table\"><table>\n<tr>{head}</tr>\n{rows}</table></div>\n")
}

/// Pictures of all runs that show the same stand together.
fn pictures(runs: &[Compared]) -> Vec<Figure> {
    let mut shown: Vec<&str> = Vec::new();
    for (what, _) in runs.iter().flat_map(|r| &r.pictures) {
        if !shown.contains(&what.as_str()) {
            shown.push(what);
        }
    }
    let of = |what: &str| {
        let each = runs.iter().enumerate().filter_map(move |(k, run)| {
            let png = &run.pictures.iter().find(|p| p.0 == what)?.1;
            let name = format!("{}-{}", what.replace(' ', "-"), k + 1);
            Figure::of_png(&name, &format!("{}: {what}", run.name), png, format!("{what} of {}.", run.name))
        });
        each.collect::<Vec<_>>()
    };
    shown.into_iter().flat_map(of).collect()
}
