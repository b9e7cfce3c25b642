//! Arrays in Fortran order: columns are contiguous, so a block of rows is read from as many positions as there are columns.

use super::Source;
use super::bytes::Bytes;
use super::flat::{self, Extent};
use super::npy::Dtype;
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView1};
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Compressed data cannot be read at any position, so it is decompressed into memory, up to this many bytes.
const MOST_UNPACKED: u64 = 1 << 30;

trait Places: Read + Seek + Send {}
impl<R: Read + Seek + Send> Places for R {}

/// An array whose header has been read and checked.
pub(super) struct Array {
    pub dtype: Dtype,
    pub shape: Vec<u64>,
    pub extent: Extent,
    /// The position of the first number from the start of the plain bytes.
    pub start: u64,
    /// How to save an array that is too large to be decompressed into memory.
    pub smaller: &'static str,
    /// What a user should know about how it is read.
    pub note: Option<String>,
}

struct Fortran {
    path: PathBuf,
    file: Box<dyn Places>,
    array: Array,
    done: u64,
}

/// Opens an array; the reader of `bytes` is at its first number.
pub(super) fn open(mut bytes: Bytes, mut array: Array) -> Result<Box<dyn Source>> {
    let path = bytes.path.clone();
    let (start, file): (u64, Box<dyn Places>) = match bytes.plain.take() {
        Some(plain) => (plain.start + array.start, Box::new(plain.file)),
        None => (0, Box::new(Cursor::new(unpack(bytes, &array)?))),
    };
    array.start = start;
    Ok(Box::new(Fortran { path, file, array, done: 0 }))
}

fn unpack(mut bytes: Bytes, array: &Array) -> Result<Vec<u8>> {
    let expected = array.extent.bytes;
    if expected > MOST_UNPACKED {
        let problem =
            format!("the compressed array in Fortran order has {expected} bytes, the limit is {MOST_UNPACKED}");
        return Err(bytes.refuse(format!("{problem}: {}", array.smaller)));
    }
    let mut raw = Vec::new();
    let read = bytes.reader.by_ref().take(expected + 1).read_to_end(&mut raw);
    read.map_err(|e| bytes.failed(e))?;
    match (raw.len() as u64).cmp(&expected) {
        std::cmp::Ordering::Equal => Ok(raw),
        std::cmp::Ordering::Less => {
            Err(bytes.refuse(format!("the header claims {expected} bytes of data, but {} bytes follow", raw.len())))
        }
        std::cmp::Ordering::Greater => {
            Err(bytes.refuse(format!("more data follows the {expected} bytes in the header")))
        }
    }
}

impl Source for Fortran {
    fn columns(&self) -> usize {
        self.array.extent.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.array.extent.rows)
    }

    fn image(&self) -> Option<(usize, usize)> {
        flat::image(&self.array.shape)
    }

    fn note(&self) -> Option<String> {
        self.array.note.clone()
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let Extent { rows, columns, .. } = self.array.extent;
        let n = (rows - self.done).min(n.max(1) as u64) as usize;
        if n == 0 {
            return Ok(None);
        }
        let mut block = Array2::zeros((n, columns));
        for c in 0..columns {
            let place = fortran_place(c as u64, &self.array.shape[1..]);
            let numbers = self.numbers(place * rows + self.done, n)?;
            block.column_mut(c).assign(&ArrayView1::from(&numbers));
        }
        self.done += n as u64;
        Ok(Some(block))
    }
}

impl Fortran {
    /// `count` numbers of the data, starting with number `first`.
    fn numbers(&mut self, first: u64, count: usize) -> Result<Vec<f64>> {
        let size = self.array.dtype.size();
        let mut bytes = vec![0; count * size];
        let start = SeekFrom::Start(self.array.start + first * size as u64);
        let read = self.file.seek(start).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|source| Error::Io { path: self.path.clone(), action: "read", source })?;
        Ok(self.array.dtype.decode(&bytes))
    }
}

/// The column of a Fortran array that holds number `c` of a row in C order: the digits of c in the mixed base `extents`, last
/// digit first, become digits of which the first varies fastest.
fn fortran_place(mut c: u64, extents: &[u64]) -> u64 {
    let mut place = 0;
    let mut stride: u64 = extents.iter().product();
    for extent in extents.iter().rev() {
        stride /= extent;
        place += (c % extent) * stride;
        c /= extent;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_places_are_those_of_the_transposed_strides() {
        let (h, w) = (3, 4);
        for (j, k) in (0..h).flat_map(|j| (0..w).map(move |k| (j, k))) {
            assert_eq!(fortran_place(j * w + k, &[h, w]), j + h * k);
        }
        assert_eq!(fortran_place(2, &[5]), 2);
    }
}
