//! HDF5: data sets of numbers in groups, contiguous or in compressed chunks, as written by h5py, pandas and MATLAB.
//!
//! `FILE.h5:GROUP/NAME` chooses the data set; without a name it is the only one of numbers with two or more dimensions, of which
//! the first counts the rows. Numbers are read unchanged, as from .npy.

mod metered;

use super::bytes::{most_held, most_unpacked, seekable};
use super::flat::{self, Extent};
use super::guard::guarded;
use super::members::{only, unknown};
use super::npy::Dtype;
use super::rows::BLOCK_CELLS;
use super::{ReadOptions, Source, shown};
use crate::error::{Error, Result};
use hdf5_pure::{Dataset, Datatype, DatatypeByteOrder, File, FixedPointLayout, FloatingPointLayout, Group};
use metered::{Meter, Metered};
use ndarray::Array2;
use std::path::{Path, PathBuf};

/// Depth of nested groups that are searched.
const DEEPEST: usize = 16;
/// Data sets and groups that are searched at most.
const MOST_SETS: usize = 10_000;
/// What the library keeps for every chunk, in bytes: its place, its size and its coordinates.
const CHUNK_ENTRY: u64 = 64;
/// What is said to be at fault if the library panics.
const NAME: &str = "HDF5";

/// Whether a file with these first bytes is HDF5.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"\x89HDF\r\n\x1a\n")
}

/// Opens the only table of a file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    guarded(path, NAME, || only_table(path, options))
}

fn only_table(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let sets = data_sets(path, options)?;
    let tables: Vec<_> = sets.into_iter().filter(|s| s.shape.len() > 1).collect();
    let listed: Vec<_> = tables.iter().map(|s| (s, s.name.clone(), flat::tuple(&s.shape))).collect();
    only(path, "data sets", &listed)?.source(path)
}

/// Opens the data set `name` of a file.
pub fn open_member(path: &Path, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    guarded(path, NAME, || named_table(path, name, options))
}

fn named_table(path: &Path, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let sets = data_sets(path, options)?;
    match sets.iter().find(|s| s.name == name.trim_matches('/')) {
        Some(set) => set.source(path),
        None => Err(unknown(path, "data set", name, sets.iter().map(|s| s.name.as_str()))),
    }
}

/// A data set of numbers.
struct Set {
    name: String,
    shape: Vec<u64>,
    dtype: Dtype,
    set: Dataset,
    meter: Meter,
}

/// All data sets of numbers in a file.
fn data_sets(path: &Path, options: &ReadOptions) -> Result<Vec<Set>> {
    options.refuse_for(path, "HDF5 files")?;
    let (file, length) = seekable(path)?;
    let mut search = Search { meter: Meter::new(length), visited: 0, sets: Vec::new() };
    search.file(file).map_err(|e| refusal(path, &e))?;
    search.sets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(search.sets)
}

/// The data sets of numbers found so far.
struct Search {
    meter: Meter,
    visited: usize,
    sets: Vec<Set>,
}

impl Search {
    fn file(&mut self, file: std::fs::File) -> Outcome<()> {
        let source = Metered::new(file, self.meter.clone()).map_err(hdf5_pure::Error::Format)?;
        self.group(&File::from_source(source)?.root(), "", 0)
    }

    /// Collects the data sets of a group and of the groups in it.
    fn group(&mut self, group: &Group, prefix: &str, depth: usize) -> Outcome<()> {
        for name in group.datasets()? {
            self.visited += 1;
            if self.visited > MOST_SETS {
                return Ok(());
            }
            let set = group.dataset(&name)?;
            // A data set that cannot be read is not one of the tables.
            let (Ok(shape), Some(dtype)) = (set.shape(), set.datatype().ok().as_ref().and_then(numbers)) else {
                continue;
            };
            let (name, meter) = (format!("{prefix}{name}"), self.meter.clone());
            self.sets.push(Set { name, shape, dtype, set, meter });
        }
        for name in group.groups()? {
            self.visited += 1;
            if depth < DEEPEST && self.visited <= MOST_SETS {
                self.group(&group.group(&name)?, &format!("{prefix}{name}/"), depth + 1)?;
            }
        }
        Ok(())
    }
}

type Outcome<T> = std::result::Result<T, hdf5_pure::Error>;

fn refusal(path: &Path, error: &hdf5_pure::Error) -> Error {
    let text = error.to_string();
    let text = text.trim_start_matches("HDF5 format error: ").trim_start_matches("byte source error: ");
    Error::Data { path: path.into(), problem: format!("not readable as HDF5 ({})", shown(text)) }
}

/// The number type of a data set, if it is one of those of .npy files. h5py stores booleans as an enumeration.
fn numbers(datatype: &Datatype) -> Option<Dtype> {
    let (letter, size, order) = match datatype {
        Datatype::Enumeration { base_type, members, .. } => {
            let boolean = members.len() == 2 && members.iter().any(|m| m.name == "TRUE");
            return numbers(base_type).filter(|d| boolean && d.size() == 1);
        }
        Datatype::FixedPoint { size, byte_order, layout } => {
            let FixedPointLayout { signed, bit_offset, bit_precision } = *layout;
            let whole = bit_offset == 0 && u32::from(bit_precision) == 8 * size;
            (if signed { 'i' } else { 'u' }, *size, whole.then_some(*byte_order)?)
        }
        Datatype::FloatingPoint { size, byte_order, layout } => {
            let FloatingPointLayout { exponent_size, mantissa_size, .. } = *layout;
            let usual = matches!((size, exponent_size, mantissa_size), (2, 5, 10) | (4, 8, 23) | (8, 11, 52));
            ('f', *size, usual.then_some(*byte_order)?)
        }
        _ => return None,
    };
    let order = match order {
        DatatypeByteOrder::LittleEndian => '<',
        DatatypeByteOrder::BigEndian => '>',
        DatatypeByteOrder::Vax => return None,
    };
    Dtype::parse(&format!("{order}{letter}{size}")).ok()
}

impl Set {
    /// Checks the claims of the file and opens the rows.
    fn source(&self, path: &Path) -> Result<Box<dyn Source>> {
        let refuse = |problem: String| Error::Data {
            path: path.into(),
            problem: format!("data set '{}': {problem}", shown(&self.name)),
        };
        let extent = Extent::new(&self.shape, self.dtype).map_err(refuse)?;
        let length = seekable(path)?.1;
        if extent.bytes > most_unpacked(length) {
            let claim = flat::tuple(&self.shape);
            return Err(refuse(format!(
                "the shape {claim} is {} bytes, too many for a file of {length}",
                extent.bytes
            )));
        }
        self.check_chunks(path, length, &refuse)?;
        let (set, image) = (self.set.clone(), flat::image(&self.shape));
        let (path, meter) = (path.into(), self.meter.clone());
        Ok(Box::new(Hdf5Table { path, set, meter, dtype: self.dtype, extent, image, done: 0 }))
    }

    /// Refuses chunks that are not in a file of `length` bytes, or take more memory than it may.
    fn check_chunks(&self, path: &Path, length: u64, refuse: &dyn Fn(String) -> Error) -> Result<()> {
        let Some(chunk) = self.set.chunk_shape().map_err(|e| refusal(path, &e))? else { return Ok(()) };
        if !self.holds(&chunk, most_held(length)) {
            let (chunk, shape) = (flat::tuple(&chunk), flat::tuple(&self.shape));
            let problem = format!("chunks of shape {chunk} in a table of shape {shape}");
            return Err(refuse(format!("{problem} are too large or too many for a file of {length} bytes")));
        }
        self.meter.allow_chunks();
        // The library reserves the size of a chunk before it looks for the end of the file.
        let chunks = self.set.chunks().map_err(|e| refusal(path, &e))?;
        match chunks.iter().find(|c| c.address.checked_add(c.storage_size).is_none_or(|end| end > length)) {
            Some(c) => Err(refuse(format!("a chunk of {} bytes is not in a file of {length} bytes", c.storage_size))),
            None => Ok(()),
        }
    }

    /// Whether a chunk, which is decompressed as a whole, and the list of all chunks fit into `most` bytes.
    fn holds(&self, chunk: &[u64], most: u64) -> bool {
        let product = |mut numbers: Box<dyn Iterator<Item = u64> + '_>, first: u64| {
            numbers.try_fold(first, |p, n| p.checked_mul(n)).is_some_and(|bytes| bytes <= most)
        };
        let counts = self.shape.iter().zip(chunk).map(|(n, c)| n.div_ceil((*c).max(1)));
        product(Box::new(chunk.iter().copied()), self.dtype.size() as u64) && product(Box::new(counts), CHUNK_ENTRY)
    }
}

/// A data set being read.
struct Hdf5Table {
    path: PathBuf,
    set: Dataset,
    meter: Meter,
    dtype: Dtype,
    extent: Extent,
    image: Option<(usize, usize)>,
    done: u64,
}

impl Source for Hdf5Table {
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
        let most = n.clamp(1, (BLOCK_CELLS / self.extent.columns).max(1));
        let n = (self.extent.rows - self.done).min(most as u64);
        if n == 0 {
            return Ok(None);
        }
        self.meter.allow_chunks();
        let read = || self.set.read_raw_rows(self.done, n).map_err(|e| refusal(&self.path, &e));
        let raw = guarded(&self.path, NAME, read)?;
        self.done += n;
        let short = || Error::Data { path: self.path.clone(), problem: "the data ends before its last row".into() };
        Array2::from_shape_vec((n as usize, self.extent.columns), self.dtype.decode(&raw))
            .map(Some)
            .map_err(|_| short())
    }
}
