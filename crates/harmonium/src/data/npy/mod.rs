//! NumPy's .npy: a header that says type, order and shape, then the numbers; read in blocks, never mapped.
//!
//! An array of shape (n, c) is n rows of c numbers; (n, h, w) and more dimensions are n rows, each flattened in C order,
//! whatever the order in the file. The shape is checked against the length of the file before anything is allocated.

mod dtype;
mod header;
mod write;

pub use write::{Blocks, write, write_blocks};

use super::{MOST_COLUMNS, Source};
use crate::error::{Error, Result};
use header::{Header, Refusal};
use ndarray::{Array2, ArrayView1};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Opens a .npy file.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    let failed = |action| move |source| Error::Io { path: path.into(), action, source };
    let file = File::open(path).map_err(failed("opening"))?;
    let meta = file.metadata().map_err(failed("reading"))?;
    let refuse = |problem| Error::Data { path: path.into(), problem };
    if !meta.is_file() {
        return Err(refuse("not a regular file".into()));
    }
    let mut file = BufReader::new(file);
    let header = Header::read(&mut file).map_err(|e| match e {
        Refusal::Io(e) => failed("reading")(e),
        Refusal::Problem(problem) => refuse(problem),
    })?;
    let (rows, columns) = check(&header, meta.len()).map_err(refuse)?;
    Ok(Box::new(Npy { path: path.into(), file: file.into_inner(), header, rows, columns, done: 0 }))
}

/// Rows and columns, if the shape is one of a table and the file holds exactly its numbers.
fn check(header: &Header, file_bytes: u64) -> std::result::Result<(u64, usize), String> {
    let shape = format!("({})", header.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    let (rows, rest) = match header.shape.as_slice() {
        [] => return Err("the array is a single number, expected rows and columns".into()),
        [n] => {
            return Err(format!(
                "the array has one dimension: reshape it to ({n}, 1) for {n} rows, to (1, {n}) for one"
            ));
        }
        [rows, rest @ ..] => (*rows, rest),
    };
    if header.shape.contains(&0) {
        return Err(format!("the array of shape {shape} is empty"));
    }
    let product = |numbers: &[u64]| numbers.iter().try_fold(1u64, |p, n| p.checked_mul(*n));
    let bytes = product(&header.shape).and_then(|n| n.checked_mul(header.dtype.size() as u64));
    let found = file_bytes.saturating_sub(header.start);
    match bytes {
        None => Err(format!("the header claims shape {shape}, more than any file can hold")),
        Some(bytes) if bytes != found => {
            Err(format!("the header claims shape {shape}, that is {bytes} bytes of data, but {found} bytes follow"))
        }
        Some(_) => match product(rest).map(usize::try_from) {
            Some(Ok(columns)) if columns <= MOST_COLUMNS => Ok((rows, columns)),
            _ => Err(format!("shape {shape} has rows of more than {MOST_COLUMNS} numbers")),
        },
    }
}

struct Npy {
    path: PathBuf,
    file: File,
    header: Header,
    rows: u64,
    columns: usize,
    done: u64,
}

impl Source for Npy {
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
        let block = if self.header.fortran { self.fortran(n) } else { self.c(n) };
        self.done += n as u64;
        block.map(Some)
    }
}

impl Npy {
    /// `n` rows in C order stand together.
    fn c(&mut self, n: usize) -> Result<Array2<f64>> {
        let numbers = self.numbers(self.done * self.columns as u64, n * self.columns)?;
        let shape = |e: ndarray::ShapeError| Error::Data { path: self.path.clone(), problem: e.to_string() };
        Array2::from_shape_vec((n, self.columns), numbers).map_err(shape)
    }

    /// In Fortran order every column stands together, and its `n` numbers are fetched from there.
    fn fortran(&mut self, n: usize) -> Result<Array2<f64>> {
        let mut block = Array2::zeros((n, self.columns));
        for c in 0..self.columns {
            let place = fortran_place(c as u64, &self.header.shape[1..]);
            let numbers = self.numbers(place * self.rows + self.done, n)?;
            block.column_mut(c).assign(&ArrayView1::from(&numbers));
        }
        Ok(block)
    }

    /// `count` numbers from number `first` of the data on.
    fn numbers(&mut self, first: u64, count: usize) -> Result<Vec<f64>> {
        let size = self.header.dtype.size();
        let mut bytes = vec![0; count * size];
        let start = SeekFrom::Start(self.header.start + first * size as u64);
        let read = self.file.seek(start).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|source| Error::Io { path: self.path.clone(), action: "reading", source })?;
        Ok(self.header.dtype.decode(&bytes))
    }
}

/// Where number `c` of a row (in C order) stands among the columns of a Fortran array: the digits of c in the mixed base
/// `extents`, last digit first, become digits of which the first varies fastest.
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
