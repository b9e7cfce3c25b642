//! A page that compares runs: a table, learning curves on common axes, pictures side by side.

use crate::curves::overlaid;
use crate::figure::{Figure, Section};
use crate::page::{document, paragraphs, section};
use crate::text::{capital, escape};
use crate::{Picture, Rendered};
use harmonium::events::Event;

/// The content of a comparison.
pub struct Comparison<'a> {
    /// Heading of the page.
    pub title: String,
    /// Sentences under the heading.
    pub notes: Vec<String>,
    /// Column titles of the table.
    pub header: &'a [&'a str],
    /// The table, one row per run.
    pub table: &'a [Vec<String>],
    /// The runs.
    pub runs: Vec<Compared<'a>>,
}

/// One of the runs.
pub struct Compared<'a> {
    /// Name of the run.
    pub name: String,
    /// Events of the run, in order.
    pub events: &'a [Event],
    /// PNG pictures: what each shows, and its bytes.
    pub pictures: Vec<(String, Vec<u8>)>,
}

/// Renders the page and its pictures.
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

/// The pictures of all runs, grouped by what they show.
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
            Figure::from_png(
                &name,
                &format!("{}: {what}", run.name),
                png,
                format!("{} of run {}.", capital(what), run.name),
            )
        });
        each.collect::<Vec<_>>()
    };
    shown.into_iter().flat_map(of).collect()
}
