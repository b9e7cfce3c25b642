//! A sparse array of a .mat file: the rows of all entries column after column, where each column begins, and the entries.
//!
//! Entries are sorted by rows when the file is opened; a block of rows is filled up with zeros when it is read.

use super::super::Source;
use super::super::bytes::{Refusal, most_held, most_unpacked};
use super::super::flat::{self, Extent};
use super::super::npy::Dtype;
use super::super::rows::BLOCK_CELLS;
use super::Outcome;
use super::array::Head;
use super::elements::{Elements, Tag};
use crate::error::Result;
use crate::memory;
use ndarray::Array2;

/// Bytes of memory for one entry: its row as it is read, and row, column and value as they are sorted.
const ENTRY: u64 = 4 + size_of::<Entry>() as u64;

/// Row, column and value.
type Entry = (u32, u32, f64);

/// Reads the entries of an array from a file of `length` bytes.
pub(super) fn open(mut elements: Elements, head: &Head, length: u64) -> Outcome<Box<dyn Source>> {
    let [rows, columns] = head.shape[..] else {
        return Err(
            format!("a sparse array has the shape {}, expected two dimensions", flat::tuple(&head.shape)).into()
        );
    };
    let extent = Extent::new(&[rows, columns], Dtype::parse("f8")?)?;
    let tag = elements.tag()?;
    check_memory(tag.size / 4, length)?;
    let places = integers(&mut elements, &tag, rows - 1, "row")?;
    let tag = elements.tag()?;
    if tag.size != 4 * (columns + 1) {
        let problem =
            format!("{columns} columns have {} bytes of column starts, expected {}", tag.size, 4 * (columns + 1));
        return Err(problem.into());
    }
    let starts = integers(&mut elements, &tag, places.len() as u64, "column start")?;
    let entries = entries(&mut elements, head.logical, &places, &starts)?;
    if extent.bytes > most_unpacked(elements.done()) {
        let (shape, bytes, found) = (flat::tuple(&head.shape), extent.bytes, elements.done());
        let problem =
            format!("the shape {shape} is {bytes} bytes with its zeros, too many for {found} bytes of entries");
        return Err((problem + "; save fewer rows or columns").into());
    }
    elements.finish()?;
    Ok(Box::new(Sparse { entries, extent, next: 0, done: 0 }))
}

/// Refuses entries that do not fit in memory, or are too many for the file.
fn check_memory(count: u64, length: u64) -> std::result::Result<(), String> {
    let bytes = count * ENTRY;
    if bytes > most_held(length) {
        return Err(format!("{count} sparse entries are too many for a file of {length} bytes"));
    }
    if bytes > memory::available() {
        return Err(format!("{count} sparse entries need {} and do not fit in memory", memory::size(bytes as f64)));
    }
    Ok(())
}

/// Integers of four bytes from 0 to `most`.
fn integers(elements: &mut Elements, tag: &Tag, most: u64, what: &str) -> Outcome<Vec<u32>> {
    let dtype = elements.dtype(tag, false)?;
    if dtype.size() != 4 {
        return Err(format!("the {what}s of a sparse array have {} bytes each, expected 4", dtype.size()).into());
    }
    let mut all = Vec::with_capacity((tag.size / 4) as usize);
    elements.numbers(tag, dtype, |x| {
        if !(0.0..=most as f64).contains(&x) {
            return Err(format!("the {what} {x} of a sparse array is not between 0 and {most}"));
        }
        all.push(x as u32);
        Ok(())
    })?;
    Ok(all)
}

/// The entries, sorted by rows.
fn entries(elements: &mut Elements, logical: bool, places: &[u32], starts: &[u32]) -> Outcome<Vec<Entry>> {
    if starts.first() != Some(&0) || !starts.is_sorted() {
        return Err(Refusal::Problem("the column starts of a sparse array do not increase from 0".into()));
    }
    let mut columns = starts.windows(2).enumerate().flat_map(|(c, w)| (w[0]..w[1]).map(move |_| c as u32));
    let tag = elements.tag()?;
    let dtype = elements.dtype(&tag, logical)?;
    let mut entries = Vec::with_capacity(places.len());
    elements.numbers(&tag, dtype, |value| {
        // There may be room for more entries than there are.
        if let (Some(row), Some(column)) = (places.get(entries.len()), columns.next()) {
            entries.push((*row, column, if logical { f64::from(value != 0.0) } else { value }));
        }
        Ok(())
    })?;
    let count = starts.last().map_or(0, |n| *n as usize);
    if entries.len() < count {
        return Err(format!("the sparse array has {} values for {count} entries", entries.len()).into());
    }
    entries.sort_unstable_by_key(|(row, column, _)| (*row, *column));
    match entries.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)) {
        Some(w) => Err(format!("row {}, column {} of the sparse array has two entries", w[0].0 + 1, w[0].1 + 1).into()),
        None => Ok(entries),
    }
}

/// A sparse array being read.
struct Sparse {
    entries: Vec<Entry>,
    extent: Extent,
    /// The first entry that was not read.
    next: usize,
    done: u64,
}

impl Source for Sparse {
    fn columns(&self) -> usize {
        self.extent.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.extent.rows)
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let most = n.clamp(1, (BLOCK_CELLS / self.extent.columns).max(1));
        let n = (self.extent.rows - self.done).min(most as u64);
        if n == 0 {
            return Ok(None);
        }
        let mut block = Array2::zeros((n as usize, self.extent.columns));
        let rest = &self.entries[self.next..];
        let here = rest.iter().take_while(|(row, ..)| u64::from(*row) < self.done + n);
        for (row, column, value) in here {
            block[[(u64::from(*row) - self.done) as usize, *column as usize]] = *value;
            self.next += 1;
        }
        self.done += n;
        Ok(Some(block))
    }
}
