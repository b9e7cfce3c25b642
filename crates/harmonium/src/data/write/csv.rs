//! Text: cells separated by commas, numbers as short as possible without loss; a header if the columns have names.

use super::{How, Outcome, TableHead, Writer};
use ndarray::ArrayView2;
use std::io::Write;

pub(super) const WRITER: Writer = Writer {
    name: "text",
    extensions: &["csv"],
    about: "numbers and words separated by commas, with a header if the columns have names",
    counts_rows: false,
    check: |_| Ok(()),
    how: How::Plain { head, rows },
};

fn head(table: &TableHead, _: u64, out: &mut Vec<u8>) -> Outcome {
    let Some(names) = table.names.filter(|names| names.len() == table.columns) else { return Ok(()) };
    let cells: Vec<String> = names.iter().map(|name| cell(name)).collect();
    out.extend(cells.join(",").bytes().chain([b'\n']));
    Ok(())
}

/// A name or a word as a cell, in quotes if it contains a separator or would be a comment.
fn cell(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r', ';', '\t', ' ']) || name.starts_with('#') {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into()
    }
}

fn rows(table: &TableHead, block: ArrayView2<f64>, _: u64, out: &mut Vec<u8>) -> Outcome {
    for row in block.rows() {
        for (c, x) in row.iter().enumerate() {
            let comma = if c > 0 { "," } else { "" };
            // Writing to memory does not fail.
            let _ = match table.has_words(c) {
                true if x.is_nan() => write!(out, "{comma}NA"),
                true => write!(out, "{comma}{}", cell(table.word(c, *x).unwrap_or_default())),
                false => write!(out, "{comma}{x}"),
            };
        }
        out.push(b'\n');
    }
    Ok(())
}
