//! The HTML page: heading, verdict, facts, sections, and the configuration folded at the end.

use crate::ReportData;
use crate::figure::{Figure, STYLE, Section, WIDE, WIDTH};
use crate::text::escape;
use crate::words::Words;

/// Style sheet of the page; figures have their own.
const PAGE: &str = include_str!("page.css");

/// The page of a run.
pub fn html(report: &ReportData, sections: &[Section]) -> String {
    let summary = report.verdict.map_or(String::new(), summary) + &paragraphs("note", report.notes);
    let sections: String = sections.iter().map(section).collect();
    let body = format!("{summary}{}{sections}", facts(&report.facts));
    document(&report.title, &format!("{body}{}{}", legend(&body), configuration(report.config_toml)))
}

/// What ± means, if it stands in a text.
pub const PLUS_MINUS_MEANS: &str = "one standard error";

/// A line that explains the ± of a page.
fn legend(body: &str) -> String {
    if body.contains('±') { format!("<p class=\"note\">±: {PLUS_MINUS_MEANS}.</p>\n") } else { String::new() }
}

/// An HTML document with this title and body. It is also well-formed XML, so tests can parse it.
pub fn document(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title}</title>\n<style>\n{PAGE}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n",
    )
}

/// The verdict: headline, evidence, advice.
fn summary(verdict: &Words) -> String {
    format!(
        "<p class=\"summary\"><strong>{}</strong> {}</p>\n",
        escape(&verdict.headline),
        escape(&[&verdict.sentences[..], verdict.advice.as_slice()].concat().join(" "))
    )
}

/// One paragraph for each sentence.
pub fn paragraphs(class: &str, sentences: &[String]) -> String {
    sentences.iter().map(|s| format!("<p class=\"{class}\">{}</p>\n", escape(s))).collect()
}

fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let row =
        |(name, value): &(String, String)| format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(row).collect::<String>())
}

/// A section with its heading, notes and figures.
pub fn section(section: &Section) -> String {
    let figures: String = section.figures.iter().map(figure).collect();
    let (heading, notes) = (escape(section.heading), paragraphs("note", &section.notes));
    let figures = format!("{notes}<div class=\"figures\">\n{figures}</div>\n");
    if section.folded {
        format!("<details>\n<summary class=\"heading\">{heading}</summary>\n{figures}</details>\n")
    } else {
        format!("<section>\n<h2>{heading}</h2>\n{figures}</section>\n")
    }
}

fn figure(figure: &Figure) -> String {
    let class = match figure.svg.width {
        w if w > WIDE => " class=\"full\"",
        w if w > WIDTH => " class=\"wide\"",
        _ => "",
    };
    format!(
        "<figure{class}>\n{}\n<figcaption>{}</figcaption>\n</figure>\n",
        figure.svg.inline(&figure.caption),
        escape(&figure.caption)
    )
}

fn configuration(toml: &str) -> String {
    if toml.trim().is_empty() {
        return String::new();
    }
    format!("<details>\n<summary>Configuration</summary>\n<pre>{}</pre>\n</details>\n", escape(toml))
}
