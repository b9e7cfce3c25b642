//! One pass over the cells of a table: for every column what kinds of cells it has, how many, and which values, in bounded memory.

use super::asked::{AskedColumn, unlisted};
use super::moments::Moments;
use super::words::{is_date, looks_like_number, number_name, unusable};
use super::{MOST_CATEGORIES, kinds::Wish};
use crate::data::{Cell, Source};
use crate::error::{Result, shown};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Rows that are read at a time.
const ROWS: usize = 4096;
/// Different words of a column, beyond which it is no category unless that was asked for.
pub(super) const MOST_WORDS: usize = 1000;
/// Different numbers that are kept: more are not few.
pub(super) const FEW_NUMBERS: usize = 20;
/// Bytes of the words of all columns together.
const MOST_BYTES: usize = 64 << 20;

/// What was seen of a table.
pub(super) struct Scan {
    pub rows: u64,
    pub columns: Vec<ColumnScan>,
}

/// What was seen of a column.
#[derive(Clone, Debug)]
pub(super) struct ColumnScan {
    pub missing: u64,
    pub numbers: u64,
    pub words: u64,
    /// Words that are dates or times.
    pub dates: u64,
    /// The first number and the first word, each with its row.
    pub first_number: Option<(u64, f64)>,
    pub first_word: Option<(u64, String)>,
    /// A word that is a number written for people.
    pub number_like: Option<String>,
    /// What it holds besides numbers and words.
    pub other: Option<&'static str>,
    /// The first row whose word cannot be a category, and why.
    pub unusable: Option<(u64, &'static str)>,
    pub moments: Moments,
    pub smallest: f64,
    pub largest: f64,
    /// Whether all numbers are whole.
    pub whole: bool,
    /// Whether the numbers count the rows from 0 or 1.
    pub counts: bool,
    /// The bits of the last number.
    last: Option<u64>,
    /// The different numbers, by their bits; none if there are too many.
    pub distinct: Option<BTreeSet<u64>>,
    pub vocabulary: BTreeSet<String>,
    /// Whether there were too many different words to keep.
    pub overflow: bool,
    /// Most different words and numbers to keep.
    most: (usize, usize),
    /// The categories that were asked for; empty if the table decides.
    listed: BTreeSet<String>,
    /// Whether the column is left out as asked, so that nothing in it matters.
    ignored: bool,
}

impl ColumnScan {
    fn new(asked: Option<&AskedColumn>) -> ColumnScan {
        let wants_all = asked.is_some_and(|a| a.kind != Wish::Ignore);
        ColumnScan {
            missing: 0,
            numbers: 0,
            words: 0,
            dates: 0,
            first_number: None,
            first_word: None,
            number_like: None,
            other: None,
            unusable: None,
            moments: Moments::default(),
            smallest: f64::INFINITY,
            largest: f64::NEG_INFINITY,
            whole: true,
            counts: true,
            last: None,
            distinct: Some(BTreeSet::new()),
            vocabulary: BTreeSet::new(),
            overflow: false,
            most: if wants_all { (MOST_CATEGORIES, MOST_CATEGORIES) } else { (MOST_WORDS, FEW_NUMBERS) },
            listed: asked.map(|a| a.categories.iter().cloned().collect()).unwrap_or_default(),
            ignored: asked.is_some_and(|a| a.kind == Wish::Ignore),
        }
    }

    /// Cells that are known.
    pub fn known(&self) -> u64 {
        self.numbers + self.words
    }

    /// The different numbers in ascending order; none if there are too many.
    pub fn values(&self) -> Option<Vec<f64>> {
        let mut values: Vec<f64> = self.distinct.as_ref()?.iter().map(|bits| f64::from_bits(*bits)).collect();
        values.sort_by(f64::total_cmp);
        Some(values)
    }

    /// All different values as categories, numbers first; none if there are too many.
    pub fn categories(&self) -> Option<Vec<String>> {
        let numbers = self.values()?.into_iter().map(number_name);
        let all: Vec<String> = numbers.chain(self.vocabulary.iter().cloned()).collect();
        Some(all).filter(|all| !self.overflow && all.len() <= MOST_CATEGORIES)
    }

    /// Counts a cell; returns what is wrong with it.
    fn see(&mut self, row: u64, cell: Cell, bytes: &mut usize) -> Option<String> {
        match cell {
            Cell::Missing => self.missing += 1,
            Cell::Number(x) if !x.is_finite() => return Some(format!("{x} is not a finite number")),
            Cell::Number(x) if x.abs() > f64::from(f32::MAX) => {
                return Some(format!("{x:e} is too large to compute with: the limit is 3.4e38"));
            }
            Cell::Number(x) => self.number(row, x),
            Cell::Word(word) => self.word(row, word, bytes),
            Cell::Other(what) => self.other = Some(what),
        }
        self.not_listed(cell)
    }

    /// What is wrong with a cell of a column whose categories are listed.
    fn not_listed(&self, cell: Cell) -> Option<String> {
        if self.listed.is_empty() {
            return None;
        }
        let found = match cell {
            Cell::Word(word) => Cow::Borrowed(word),
            Cell::Number(x) => Cow::Owned(number_name(x)),
            _ => return None,
        };
        (!self.listed.contains(&*found)).then(|| unlisted(&found, self.listed.iter()))
    }

    fn number(&mut self, row: u64, x: f64) {
        // −0 and 0 are the same.
        let x = x + 0.0;
        self.counts &= (self.numbers == 0 && (x == 0.0 || x == 1.0))
            || self.first_number.is_some_and(|(first, start)| x == start + (row - first) as f64);
        self.numbers += 1;
        self.first_number.get_or_insert((row, x));
        self.moments.push(x);
        (self.smallest, self.largest) = (self.smallest.min(x), self.largest.max(x));
        self.whole &= x.fract() == 0.0;
        // Tables often repeat a number.
        let is_new = self.last.replace(x.to_bits()) != Some(x.to_bits());
        if let Some(distinct) = self.distinct.as_mut().filter(|_| is_new) {
            distinct.insert(x.to_bits());
            if distinct.len() > self.most.1 {
                self.distinct = None;
            }
        }
    }

    /// Counts a word; `bytes` are left for the words of all columns.
    fn word(&mut self, row: u64, word: &str, bytes: &mut usize) {
        self.words += 1;
        if self.first_word.is_none() {
            self.first_word = Some((row, word.chars().take(MOST_KEPT).collect()));
        }
        self.dates += u64::from(is_date(word));
        if self.number_like.is_none() && looks_like_number(word) {
            self.number_like = Some(shown(word));
        }
        if let Some(why) = unusable(word) {
            self.unusable.get_or_insert((row, why));
        } else if !self.overflow && !self.vocabulary.contains(word) {
            self.keep(word, bytes);
        }
    }

    fn keep(&mut self, word: &str, bytes: &mut usize) {
        let left = bytes.checked_sub(word.len()).filter(|_| self.vocabulary.len() < self.most.0);
        match left {
            Some(left) => {
                *bytes = left;
                self.vocabulary.insert(word.into());
            }
            None => {
                self.overflow = true;
                *bytes += std::mem::take(&mut self.vocabulary).iter().map(String::len).sum::<usize>();
            }
        }
    }
}

/// Characters of the first word that are kept, for messages.
const MOST_KEPT: usize = 256;

/// What is wrong with a cell: its row, its column from 0, and the problem.
pub(super) struct Wrong {
    pub row: u64,
    pub column: usize,
    pub problem: String,
}

/// Reads a table once. The outer error is the table's, the inner one is about a cell.
pub(super) fn scan(
    source: &mut dyn Source,
    asked: &[Option<&AskedColumn>],
) -> Result<std::result::Result<Scan, Wrong>> {
    let columns: Vec<ColumnScan> = asked.iter().map(|a| ColumnScan::new(*a)).collect();
    let (mut scan, mut bytes, mut wrong) = (Scan { rows: 0, columns }, MOST_BYTES, None);
    loop {
        let Scan { rows: done, columns } = &mut scan;
        let read = source.read_cells(ROWS, &mut |r, c, cell| {
            let (row, column) = (*done + r as u64 + 1, &mut columns[c]);
            if !column.ignored
                && let Some(problem) = column.see(row, cell, &mut bytes)
            {
                wrong.get_or_insert(Wrong { row, column: c, problem });
            }
            Ok(())
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        if read == 0 {
            return Ok(Ok(scan));
        }
        scan.rows += read as u64;
    }
}
