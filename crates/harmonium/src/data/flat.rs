//! Arrays in C order: rows × columns of one number type, row after row.

use super::bytes::Bytes;
use super::npy::Dtype;
use super::{MOST_COLUMNS, Source};
use crate::error::Result;
use ndarray::Array2;
use std::io::Read;

/// Bytes that are allocated at first; more follow as the file turns out to have them.
const RESERVE: u64 = 1 << 24;

/// Rows, columns and bytes of an array whose shape is that of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub rows: u64,
    pub columns: usize,
    pub bytes: u64,
}

impl Extent {
    /// The first dimension counts the rows, the others are flattened. Nothing is allocated for shapes that are refused.
    pub fn new(shape: &[u64], dtype: Dtype) -> std::result::Result<Extent, String> {
        let (rows, rest) = match shape {
            [] => return Err("the array is a single number, expected rows and columns".into()),
            [n] => {
                return Err(format!(
                    "the array has one dimension: reshape it to ({n}, 1) for {n} rows, or to (1, {n}) for one row"
                ));
            }
            [rows, rest @ ..] => (*rows, rest),
        };
        if shape.contains(&0) {
            return Err(format!("the array of shape {} is empty", tuple(shape)));
        }
        let product = |numbers: &[u64]| numbers.iter().try_fold(1u64, |p, n| p.checked_mul(*n));
        let bytes = product(shape).and_then(|n| n.checked_mul(dtype.size() as u64));
        let bytes = bytes.ok_or_else(|| {
            format!("the header claims the shape {}, which is more than any file can hold", tuple(shape))
        })?;
        match product(rest).map(usize::try_from) {
            Some(Ok(columns)) if columns <= MOST_COLUMNS => Ok(Extent { rows, columns, bytes }),
            _ => Err(format!("shape {} has rows of more than {MOST_COLUMNS} numbers", tuple(shape))),
        }
    }

    /// Refuses a file with the wrong number of bytes after its header; compressed data is checked at its end.
    pub fn check_length(&self, shape: &[u64], start: u64, bytes: &Bytes) -> Result<()> {
        let Some(plain) = &bytes.plain else { return Ok(()) };
        let found = plain.length.saturating_sub(start);
        if found == self.bytes {
            return Ok(());
        }
        let (shape, expected) = (tuple(shape), self.bytes);
        let claim =
            format!("the header claims the shape {shape}, which is {expected} bytes of data, but {found} bytes follow");
        Err(bytes.refuse(claim))
    }
}

/// A shape in the notation of Python.
pub(super) fn tuple(shape: &[u64]) -> String {
    format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

/// Height × width of an array of images (n, h, w).
pub(super) fn image(shape: &[u64]) -> Option<(usize, usize)> {
    match shape {
        [_, h, w] => Some((usize::try_from(*h).ok()?, usize::try_from(*w).ok()?)),
        _ => None,
    }
}

/// A source of numbers in C order.
pub(super) struct Flat {
    /// Positioned after the header.
    pub bytes: Bytes,
    pub dtype: Dtype,
    pub extent: Extent,
    /// The number that all are divided by.
    pub unit: f64,
    pub image: Option<(usize, usize)>,
    pub done: u64,
}

impl Flat {
    /// The next `count` bytes.
    fn take(&mut self, count: u64) -> Result<Vec<u8>> {
        let mut raw = Vec::with_capacity(count.min(RESERVE) as usize);
        let mut part = self.bytes.reader.by_ref().take(count);
        part.read_to_end(&mut raw).map_err(|e| self.bytes.failed(e))?;
        Ok(raw)
    }

    /// Checks that no bytes follow the last row; this also compares the checksum of compressed data.
    fn finish(&mut self) -> Result<()> {
        let Extent { rows, columns, .. } = self.extent;
        if self.take(1)?.is_empty() {
            Ok(())
        } else {
            Err(self.bytes.refuse(format!("more data follows the {rows} rows of {columns} numbers in the header")))
        }
    }
}

impl Source for Flat {
    fn columns(&self) -> usize {
        self.extent.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.extent.rows)
    }

    fn image(&self) -> Option<(usize, usize)> {
        self.image
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let Extent { rows, columns, .. } = self.extent;
        let n = (rows - self.done).min(n.max(1) as u64);
        if n == 0 {
            return Ok(None);
        }
        // No product overflows: the number of bytes of all rows fits.
        let row = columns as u64 * self.dtype.size() as u64;
        let raw = self.take(n * row)?;
        if (raw.len() as u64) < n * row {
            let row = self.done + raw.len() as u64 / row + 1;
            return Err(self
                .bytes
                .refuse(format!("the header claims {rows} rows, but the data ends within row {row}")));
        }
        self.done += n;
        if self.done == rows {
            self.finish()?;
        }
        let mut numbers = self.dtype.decode(&raw);
        if self.unit != 1.0 {
            numbers.iter_mut().for_each(|x| *x /= self.unit);
        }
        Array2::from_shape_vec((n as usize, columns), numbers).map(Some).map_err(|e| self.bytes.refuse(e.to_string()))
    }
}
