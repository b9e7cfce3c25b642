//! The columns of a table in words: name, kind, values, missing cells, and why.

use super::summary::counted;
use harmonium::error::shown;
use harmonium::schema::{Column, Schema};
use std::path::Path;

/// Columns that are shown in full.
const MOST_SHOWN: usize = 40;
/// Longest name and values that are shown.
const NAME: usize = 24;
const VALUES: usize = 40;

/// A table of the columns of a file, and how to change it.
pub fn in_words(path: &Path, schema: &Schema) -> String {
    let header = ["column", "kind", "values", "missing", "why"].map(String::from);
    let rows: Vec<[String; 5]> = [header].into_iter().chain(schema.columns.iter().take(MOST_SHOWN).map(row)).collect();
    let mut text = format!("columns of {}:", path.display());
    for line in aligned(&rows) {
        text += &format!("\n  {line}");
    }
    if let Some(rest) = schema.columns.get(MOST_SHOWN..).filter(|rest| !rest.is_empty()) {
        text += &format!("\n  … and {}", counted(rest.len() as u64, "more column"));
        let left_out = |c: &&Column| c.kind().is_none();
        for column in rest.iter().filter(left_out) {
            text += &format!("\n  left out: {} ({})", shown(&column.name), column.facts.why);
        }
    }
    if let Some(label) = schema.columns.iter().find(|c| c.facts.may_be_label) {
        let name = shown(&label.name);
        text += &format!("\n'{name}' may be a label; to leave it out, use --label-column last");
    }
    text + "\nto change a kind, use --column NAME=KIND, or --column NAME=ignore to leave the column out"
}

fn row(column: &Column) -> [String; 5] {
    let facts = &column.facts;
    let missing = if facts.missing > 0 { facts.missing.to_string() } else { String::new() };
    let kind = match column.categories.len() {
        n if n > 2 => format!("{} {n}", column.kind_text()),
        _ => column.kind_text(),
    };
    [cut(&column.name, NAME), kind, cut(&facts.values, VALUES), missing, facts.why.clone()]
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn aligned(rows: &[[String; 5]]) -> Vec<String> {
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:w$}")).collect();
        cells.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}
