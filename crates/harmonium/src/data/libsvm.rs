//! libsvm and svmlight: each line is a label and `index:value` pairs with ascending indices; missing indices are 0.
//!
//! The label, `qid:` and comments after `#` are ignored. Indices count from 1, or from 0 if a 0 occurs. The number of columns
//! is the largest index, for which the file is read twice; the option `columns` can name columns beyond it.

use super::bytes::Bytes;
use super::text::{Cell, Lines, largest, number, places};
use super::{MOST_COLUMNS, ReadOptions, Source, shown};
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayViewMut1};
use std::ops::RangeInclusive;
use std::path::Path;

/// Opens a libsvm file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    if options.label_column.as_deref().is_some_and(|l| l != "first") {
        let problem = "the label of a libsvm file is its first column and is always ignored".into();
        return Err(Error::Data { path: path.into(), problem });
    }
    let (rows, indices) = survey(start(path, options)?)?;
    let base = usize::from(*indices.start() > 0);
    let found = indices.end() - base + 1;
    let lines = start(path, options)?;
    let numbers = ReadOptions { label_column: None, ..options.clone() };
    let no_header = None::<std::iter::Empty<&[u8]>>;
    let places = places(&numbers, found.max(largest(options)), no_header).map_err(|e| lines.refuse(e))?;
    let columns = places.as_ref().map_or(found, |p| p.iter().flatten().count());
    Ok(Box::new(Sparse { lines, base, places, columns, rows, done: 0 }))
}

/// The first pass: number of rows, smallest and largest index.
fn survey(mut lines: Lines) -> Result<(u64, RangeInclusive<usize>)> {
    let (mut rows, mut low, mut high) = (0, usize::MAX, 0);
    while let Some((line_number, line)) = lines.next()? {
        rows += 1;
        for pair in Pairs(&line) {
            let index = pair.map_err(|e| lines.refuse(place(rows, line_number, &e)))?.0;
            (low, high) = (low.min(index), high.max(index));
        }
        lines.give_back(line);
    }
    if low > high {
        let problem = if rows == 0 { "the file is empty" } else { "no line has a pair index:value" };
        return Err(lines.refuse(problem.into()));
    }
    Ok((rows, low..=high))
}

fn start(path: &Path, options: &ReadOptions) -> Result<Lines> {
    let mut lines = Lines::new(Bytes::open(path)?);
    lines.skip(options.skip_rows)?;
    Ok(lines)
}

fn place(row: u64, line: u64, problem: &str) -> String {
    format!("data row {row} (line {line}): {problem}")
}

/// The pairs of a line, checked.
struct Pairs<'a>(&'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = std::result::Result<(usize, f64), String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.0.trim_ascii_start();
            let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            let (word, rest) = rest.split_at(end);
            self.0 = rest;
            match word.first() {
                None | Some(b'#') => {
                    self.0 = &[];
                    return None;
                }
                // A label, or labels separated by commas.
                _ if !word.contains(&b':') => continue,
                _ if word.starts_with(b"qid:") => continue,
                _ => return Some(pair(word)),
            }
        }
    }
}

fn pair(word: &[u8]) -> std::result::Result<(usize, f64), String> {
    let text = String::from_utf8_lossy(word);
    let (index, value) = text.split_once(':').unwrap_or((&text, ""));
    let index = index.parse().map_err(|_| format!("'{}' is not index:value", shown(&text)))?;
    if index > MOST_COLUMNS {
        return Err(format!("the index {index} is above the limit of {MOST_COLUMNS} columns"));
    }
    match number(value.as_bytes()) {
        Cell::Number(x) => Ok((index, x)),
        Cell::Missing => Err(format!("the value of index {index} is missing")),
        Cell::Text => Err(format!("the value '{}' of index {index} is not a number", shown(value))),
    }
}

struct Sparse {
    lines: Lines,
    base: usize,
    places: Option<Vec<Option<u32>>>,
    columns: usize,
    rows: u64,
    done: u64,
}

impl Sparse {
    /// Writes the pairs of a line into a row of zeros.
    fn fill(&self, line: &[u8], mut row: ArrayViewMut1<f64>) -> std::result::Result<(), String> {
        let mut last = None;
        for pair in Pairs(line) {
            let (index, x) = pair?;
            if let Some(last) = last.filter(|last| index <= *last) {
                return Err(format!("the index {index} follows {last}, but indices must increase"));
            }
            last = Some(index);
            let column = index.checked_sub(self.base);
            let place = match &self.places {
                None => column,
                Some(places) => column.and_then(|c| places.get(c).copied().flatten()).map(|p| p as usize),
            };
            if let Some(cell) = place.and_then(|p| row.get_mut(p)) {
                *cell = x;
            }
        }
        Ok(())
    }
}

impl Source for Sparse {
    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let n = (self.rows - self.done).min(n.max(1) as u64) as usize;
        if n == 0 {
            return Ok(None);
        }
        let mut block = Array2::zeros((n, self.columns));
        for row in block.rows_mut() {
            let Some((line_number, line)) = self.lines.next()? else {
                return Err(self.lines.refuse("the file became shorter while it was read".into()));
            };
            self.done += 1;
            self.fill(&line, row).map_err(|e| self.lines.refuse(place(self.done, line_number, &e)))?;
            self.lines.give_back(line);
        }
        Ok(Some(block))
    }
}
