//! What the first line of a text table is: the names of its columns, a description of the file, or a row of data.
//!
//! | first line | it is |
//! |---|---|
//! | has no text | data |
//! | has no number, and text above a number | names |
//! | has text and numbers, above a line of other cells | a description, which is left out, and a note says so |
//! | has only words, above words | names, unless one of them occurs again in its column; a note says which |
//!
//! [`Header`] decides otherwise.

use super::super::{Header, ReadOptions, shown};
use super::cells::{Cell, Separator, number};
use super::{Ahead, columns};
use crate::error::{Result, count};

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
    let lacks_one = !has_number && lacks_first_name(separator, &first, second);
    if wide != below && !lacks_one {
        let why = format!("it has {}, the next line {below}", count(wide as u64, "cell"));
        return Ok((First::Description, Some(left_out(&first, &why))));
    }
    if has_number && is_above_number(separator, &first, second) {
        let why = "it has numbers, so it does not name columns, and text above a number, so it is not a row";
        return Ok((First::Description, Some(left_out(&first, why))));
    }
    if lacks_one {
        let why = "has one name fewer than there are columns: the first column has no name";
        return Ok((First::Names, Some(format!("the first line, '{}', {why}", quoted(&first)))));
    }
    let (again, above) = compare(separator, ahead, &first)?;
    if above && !has_number {
        return Ok((First::Names, None));
    }
    let (is, why) = match again {
        Some(_) if has_number => return Ok((First::Data, None)),
        Some(word) => (First::Data, format!("is read as data: '{}' occurs again in its column", shown(&word))),
        None if has_number => (First::Data, "is read as data: it has numbers".into()),
        None => (First::Names, "is read as names of columns: none of its words occurs again in its column".into()),
    };
    Ok((is, Some(format!("the first line, '{}', {why}", quoted(&first)))))
}

/// Whether a header lacks the name of the first column, as R writes it. Rows that end with a separator have one more cell, too.
pub(super) fn lacks_first_name(separator: Separator, header: &[u8], row: &[u8]) -> bool {
    let (wide, below) = (separator.cells(header).count(), separator.cells(row).count());
    let last = separator.cells(row).last().map(number);
    wide >= 2 && wide + 1 == below && !matches!(last, Some(Cell::Missing))
}

/// Compares the first line with those below: a word of it that occurs again in its column, and whether text is above a number.
fn compare(separator: Separator, ahead: &mut Ahead, first: &[u8]) -> Result<(Option<String>, bool)> {
    let (mut again, mut bytes) = (None, 0);
    for k in 1..=MOST_LINES {
        let Some(line) = ahead.line(k)?.filter(|line| bytes + line.len() <= MOST_BYTES) else { break };
        bytes += line.len();
        if is_above_number(separator, first, line) {
            return Ok((again, true));
        }
        let pairs = separator.cells(first).zip(separator.cells(line));
        let same = |p: &(&[u8], &[u8])| p.0 == p.1 && is_text(&number(p.0));
        again = again.or_else(|| pairs.filter(same).map(|p| name(p.0)).next());
    }
    Ok((again, false))
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

/// Whether a cell of text stands above a number.
fn is_above_number(separator: Separator, first: &[u8], below: &[u8]) -> bool {
    let mut pairs = separator.cells(first).zip(separator.cells(below));
    pairs.any(|(a, b)| matches!((number(a), number(b)), (Cell::Text, Cell::Number(_))))
}

/// A cell as text; a doubled quote is one quote.
pub(super) fn name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).replace("\"\"", "\"")
}
