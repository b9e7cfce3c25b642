//! What the first line of a text table is: the names of its columns, a description of the file, or a row of data.
//!
//! | first line | it is |
//! |---|---|
//! | has no text | data |
//! | has text above a number, and no number itself | names |
//! | has text and numbers, above a line of other cells | a description, which is left out, and a note says so |
//! | has only words, above words | names, unless one of them occurs again in its column; a note says which |
//!
//! [`Header`] decides otherwise.

use super::super::{Header, ReadOptions, shown};
use super::cells::{Cell, Separator, number};
use super::{Ahead, columns};
use crate::error::Result;

/// Lines that are compared with the first one, and bytes of them, if all are words.
const MOST_LINES: usize = 1000;
const MOST_BYTES: usize = 1 << 20;

/// What the first line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum First {
    /// Names of the columns.
    Names,
    /// The first row.
    Data,
    /// Neither.
    Description,
}

/// What the first line is, and what a user should know about how that was decided.
pub(super) fn decide(
    separator: Separator,
    ahead: &mut Ahead,
    options: &ReadOptions,
) -> Result<(First, Option<String>)> {
    let asked = match options.header {
        Header::Names => First::Names,
        Header::None => First::Data,
        Header::Skip => First::Description,
        Header::Auto => return guess(separator, ahead, options),
    };
    Ok((asked, None))
}

fn guess(separator: Separator, ahead: &mut Ahead, options: &ReadOptions) -> Result<(First, Option<String>)> {
    let Some(first) = ahead.line(0)?.map(<[u8]>::to_vec) else { return Ok((First::Data, None)) };
    let cells = || separator.cells(&first).map(|cell| (number(cell), cell));
    if !cells().any(|c| is_text(&c.0)) {
        return Ok((First::Data, None));
    }
    let is_asked_for = |cell: &[u8]| columns::names(options).any(|name| name.as_bytes() == cell);
    if cells().any(|(found, cell)| is_text(&found) && is_asked_for(cell)) {
        return Ok((First::Names, None));
    }
    let has_number = cells().any(|c| matches!(c.0, Cell::Number(_)));
    let Some(second) = ahead.line(1)? else {
        return Ok((if has_number { First::Data } else { First::Names }, None));
    };
    let (wide, below) = (cells().count(), separator.cells(second).count());
    let is_above = is_above_number(separator, &first, second);
    if wide != below && !(lacks_one(wide, below) && !has_number) {
        let why = format!("it has {wide} cells, the next line {below}");
        return Ok((First::Description, Some(left_out(&first, &why))));
    }
    if has_number && is_above {
        let why = "it has numbers, so it does not name columns, and text above a number, so it is not a row";
        return Ok((First::Description, Some(left_out(&first, why))));
    }
    if has_number || is_above {
        return Ok((if has_number { First::Data } else { First::Names }, None));
    }
    words(separator, ahead, &first)
}

/// Whether a header of `wide` cells above rows of `below` lacks the name of the first column, as R writes it.
pub(super) fn lacks_one(wide: usize, below: usize) -> bool {
    wide >= 2 && wide + 1 == below
}

/// Decides about a line of words above a line of words: names do not occur again in their columns.
fn words(separator: Separator, ahead: &mut Ahead, first: &[u8]) -> Result<(First, Option<String>)> {
    let (mut again, mut bytes) = (None, 0);
    for k in 1..=MOST_LINES {
        let Some(line) = ahead.line(k)?.filter(|line| bytes + line.len() <= MOST_BYTES) else { break };
        bytes += line.len();
        if is_above_number(separator, first, line) {
            return Ok((First::Names, None));
        }
        let pairs = separator.cells(first).zip(separator.cells(line));
        again = again.or_else(|| pairs.filter(|(a, _)| is_text(&number(a))).find(|(a, b)| a == b).map(|p| name(p.0)));
    }
    Ok(match again {
        Some(word) => {
            let why = format!("is read as data: '{}' occurs again in its column", shown(&word));
            (First::Data, Some(format!("the first line, '{}', {why}", quoted(first))))
        }
        None => {
            let why = "is read as names of columns: none of its words occurs again in its column";
            (First::Names, Some(format!("the first line, '{}', {why}", quoted(first))))
        }
    })
}

fn left_out(line: &[u8], why: &str) -> String {
    format!("the first line, '{}', is left out as a description of the file: {why}", quoted(line))
}

/// A line for a message.
pub(super) fn quoted(line: &[u8]) -> String {
    shown(&String::from_utf8_lossy(&line[..line.len().min(256)]))
}

fn is_text(cell: &Cell) -> bool {
    matches!(cell, Cell::Text)
}

/// Whether a cell of text stands above a number. A header that lacks its first name stands one cell to the left.
fn is_above_number(separator: Separator, first: &[u8], below: &[u8]) -> bool {
    let shift = usize::from(lacks_one(separator.cells(first).count(), separator.cells(below).count()));
    let mut pairs = separator.cells(first).zip(separator.cells(below).skip(shift));
    pairs.any(|(a, b)| matches!((number(a), number(b)), (Cell::Text, Cell::Number(_))))
}

/// A cell as text; a doubled quote is one quote.
pub(super) fn name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).replace("\"\"", "\"")
}
