//! Which columns of a text table are data: the chosen ones, in the chosen order, without the label.

use super::super::{MOST_COLUMNS, ReadOptions, shown};
use std::ops::RangeInclusive;

/// One item of a list of columns such as `1-4,7,height`.
enum Item<'a> {
    /// Columns by number, counted from 1.
    Numbers(RangeInclusive<usize>),
    /// A column by its name in the header.
    Name(&'a str),
}

/// Anything that is not a number or a range is a name.
fn parse(text: &str) -> Item<'_> {
    let text = text.trim();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) => Item::Numbers(first..=last),
        _ => Item::Name(text),
    }
}

fn items(options: &ReadOptions) -> impl Iterator<Item = Item<'_>> {
    options.columns.iter().flat_map(|c| c.split(',')).map(parse)
}

fn label(options: &ReadOptions) -> Option<Item<'_>> {
    options.label_column.as_deref().map(|text| match text {
        "first" => Item::Numbers(1..=1),
        // Replaced by the number of columns once that is known.
        "last" => Item::Numbers(usize::MAX..=usize::MAX),
        _ => parse(text),
    })
}

/// The column names in the options.
pub(super) fn names(options: &ReadOptions) -> impl Iterator<Item = &str> {
    items(options).chain(label(options)).filter_map(|item| match item {
        Item::Name(name) => Some(name),
        Item::Numbers(_) => None,
    })
}

/// The largest chosen column number, up to the limit of columns.
pub(in super::super) fn largest(options: &ReadOptions) -> usize {
    let ends = items(options).filter_map(|item| match item {
        Item::Numbers(range) => Some((*range.end()).min(MOST_COLUMNS)),
        Item::Name(_) => None,
    });
    ends.max().unwrap_or(0)
}

/// For every column of the file its column in a row of data, if it has one; none if all columns stay where they are.
pub(in super::super) fn places<'a>(
    options: &ReadOptions,
    columns: usize,
    header: Option<impl Iterator<Item = &'a [u8]> + Clone>,
) -> Result<Option<Vec<Option<u32>>>, String> {
    if options.columns.is_none() && options.label_column.is_none() {
        return Ok(None);
    }
    let find = |item| numbers(item, columns, header.clone());
    let label = match label(options) {
        Some(Item::Numbers(range)) if *range.end() == usize::MAX => Some(columns),
        Some(item) => Some(find(item)?).filter(|r| r.start() == r.end()).map(|r| *r.start()),
        None => None,
    };
    if label.is_none() && options.label_column.is_some() {
        return Err("the label column is a range, but must be one column".into());
    }
    let chosen = if options.columns.is_some() {
        items(options).map(find).collect::<Result<Vec<_>, _>>()?
    } else {
        vec![1..=columns]
    };
    let (mut places, mut taken) = (vec![None; columns], 0);
    for column in chosen.into_iter().flatten().filter(|c| Some(*c) != label) {
        if places[column - 1].replace(taken).is_some() {
            return Err(format!("column {column} is chosen twice"));
        }
        taken += 1;
    }
    if taken == 0 { Err("no column is left to read".into()) } else { Ok(Some(places)) }
}

/// The columns, counted from 0, of a list such as `1-4,7` in a table of `columns` columns.
pub fn column_list(list: &str, columns: usize) -> Result<Vec<usize>, String> {
    let no_header: Option<std::iter::Empty<&[u8]>> = None;
    let mut all = Vec::new();
    for item in list.split(',').map(parse) {
        all.extend(numbers(item, columns, no_header.clone())?.map(|column| column - 1));
    }
    Ok(all)
}

/// The elements of `all`, one per column of the file, arranged as [`places`] found.
pub(in super::super) fn arranged<T: Clone>(all: Vec<T>, places: Option<&[Option<u32>]>) -> Vec<T> {
    let Some(places) = places else { return all };
    let mut chosen: Vec<(u32, T)> = places.iter().zip(all).filter_map(|(p, x)| Some(((*p)?, x))).collect();
    chosen.sort_by_key(|c| c.0);
    chosen.into_iter().map(|c| c.1).collect()
}

/// The column numbers of an item.
fn numbers<'a>(
    item: Item,
    columns: usize,
    header: Option<impl Iterator<Item = &'a [u8]> + Clone>,
) -> Result<RangeInclusive<usize>, String> {
    let name = match item {
        Item::Numbers(range) if range.is_empty() => {
            return Err(format!("the range of columns {}-{} runs backwards", range.start(), range.end()));
        }
        Item::Numbers(range) => {
            let beyond = [*range.start(), *range.end()].into_iter().find(|c| !(1..=columns).contains(c));
            return beyond.map_or(Ok(range), |c| Err(format!("column {c} is not among the columns 1 to {columns}")));
        }
        Item::Name(name) => name,
    };
    let header = header.ok_or_else(|| {
        format!("the table has no header, so there is no column '{}': choose columns by number", shown(name))
    })?;
    let cells = header.clone().count();
    if cells != columns {
        return Err(format!("the header has {cells} cells but the rows have {columns}: choose columns by number"));
    }
    let mut found = header.enumerate().filter(|(_, cell)| *cell == name.as_bytes()).map(|(c, _)| c + 1);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column..=column),
        (None, _) => Err(format!("the header has no column '{}'", shown(name))),
        (Some(one), Some(other)) => Err(format!("the columns {one} and {other} are both named '{}'", shown(name))),
    }
}
