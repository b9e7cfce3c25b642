//! The page: heading, summary, facts, sections, and the configuration folded at the end.

use crate::ReportData;
use crate::figure::{Figure, STYLE, Section, WIDE, WIDTH};
use crate::text::escape;
use crate::words::Words;

/// Style of the page around the drawings.
const PAGE: &str = include_str!("page.css");

/// The whole page of a run.
pub fn html(report: &ReportData, sections: &[Section]) -> String {
    let summary = report.verdict.map_or(String::new(), summary) + &paragraphs("note", report.notes);
    let sections: String = sections.iter().map(section).collect();
    document(
        &report.title,
        &format!("{summary}{}{sections}{}", facts(&report.facts), configuration(report.config_toml)),
    )
}

/// A page. It is also well-formed XML, which the tests use.
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

/// What became of the run, first in a word.
fn summary(verdict: &Words) -> String {
    format!(
        "<p class=\"summary\"><strong>{}</strong> {}</p>\n",
        escape(&verdict.headline),
        escape(&[&verdict.sentences[..], verdict.advice.as_slice()].concat().join(" "))
    )
}

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

pub fn section(section: &Section) -> String {
    let figures: String = section.figures.iter().map(figure).collect();
    let (heading, notes) = (escape(section.heading), paragraphs("note", &section.notes));
    let figures = format!("{notes}<div class=\"figures\">\n{figures}</div>\n");
    match section.folded {
        true => format!("<details>\n<summary class=\"heading\">{heading}</summary>\n{figures}</details>\n"),
        false => format!("<section>\n<h2>{heading}</h2>\n{figures}</section>\n"),
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
    match toml.trim().is_empty() {
        true => String::new(),
        false => format!("<details>\n<summary>Configuration</summary>\n<pre>{}</pre>\n</details>\n", escape(toml)),
    }
}
