//! MATLAB's .mat, level 5, as written by MATLAB (-v6, -v7), Octave and SciPy: named arrays of numbers, full or sparse, each of them
//! compressed or not.
//!
//! `FILE.mat:NAME` chooses the array; without a name it is the only matrix. The first dimension counts the rows, further ones are
//! flattened as in .npy. The format: *MAT-File Format*, The MathWorks.

mod array;
mod elements;
mod header;
mod sparse;

use super::bytes::{Refusal, seekable};
use super::flat::{self, Extent};
use super::members::{listed, only, unknown};
use super::{ReadOptions, Source, fortran, shown};
use crate::error::{Error, Result};
use array::{Class, Head};
use elements::{Elements, Place};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

pub use header::begins;

/// Arrays in a file at most; each of them is looked at when the file is opened.
const MOST_ARRAYS: usize = 1 << 16;
/// What to do with an array that is too large to be decompressed into memory.
const PLAIN: &str = "save it uncompressed, with -v6 in MATLAB or Octave";

/// Opens the only table of a file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let (file, arrays) = arrays(path, options)?;
    // A single array that is not a table reports the reason itself.
    if let [array] = arrays.as_slice() {
        return array.source(path, &file);
    }
    let tables = tables(&arrays);
    if tables.is_empty() && !arrays.is_empty() {
        let list = listed(arrays.iter().map(|a| format!("{} ({})", shown(&a.head.name), a.head.class.what())));
        let problem = format!("none of the arrays in this file is a table of numbers: {list}");
        return Err(Error::Data { path: path.into(), problem });
    }
    only(path, "arrays", &tables)?.source(path, &file)
}

/// Opens the array `name` of a file.
pub fn open_member(path: &Path, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let (file, arrays) = arrays(path, options)?;
    match arrays.iter().find(|a| a.head.name == name) {
        Some(array) => array.source(path, &file),
        None => Err(unknown(path, "array", name, arrays.iter().map(|a| a.head.name.as_str()))),
    }
}

type Outcome<T> = std::result::Result<T, Refusal>;

/// An array in a file.
struct Stored {
    head: Head,
    place: Place,
}

/// All arrays of a file.
fn arrays(path: &Path, options: &ReadOptions) -> Result<(File, Vec<Stored>)> {
    options.refuse_for(path, "MATLAB files")?;
    let (mut file, length) = seekable(path)?;
    let found = stored(path, &mut file, length).map_err(|e| e.of(path))?;
    Ok((file, found))
}

fn stored(path: &Path, file: &mut File, length: u64) -> Outcome<Vec<Stored>> {
    let order = header::read(file)?;
    let (mut at, mut names, mut all) = (header::LENGTH, BTreeSet::new(), Vec::new());
    while at < length {
        let place = Place::at(file, at, length, order)?;
        at = place.end();
        let start = place.start();
        let here = |e: Refusal| e.within(&format!("the array at byte {start}"));
        let head = place.open(path, file).and_then(|mut elements| Head::read(&mut elements)).map_err(here)?;
        if all.len() == MOST_ARRAYS {
            return Err(format!("the file has more than {MOST_ARRAYS} arrays").into());
        }
        // An array without a name is the work space of objects.
        if !head.name.is_empty() {
            if !names.insert(head.name.clone()) {
                return Err(format!("the file has two arrays with the name '{}'", shown(&head.name)).into());
            }
            all.push(Stored { head, place });
        }
    }
    Ok(all)
}

/// The matrices with several rows and columns, or else all arrays of numbers, with names and shapes.
fn tables(arrays: &[Stored]) -> Vec<(&Stored, String, String)> {
    let numbers = |least: usize| {
        let large = move |a: &&Stored| a.head.is_numbers() && a.head.shape.iter().filter(|n| **n > 1).count() >= least;
        let entry = |a| (a, Stored::name(a), flat::tuple(&a.head.shape));
        arrays.iter().filter(large).map(entry).collect::<Vec<_>>()
    };
    let matrices = numbers(2);
    if matrices.is_empty() { numbers(0) } else { matrices }
}

impl Stored {
    fn name(&self) -> String {
        self.head.name.clone()
    }

    /// Checks the claims of the file and opens the rows.
    fn source(&self, path: &Path, file: &File) -> Result<Box<dyn Source>> {
        let mut elements = self.place.open(path, file).map_err(|e| e.of(path))?;
        let named = |e: Refusal| e.within(&format!("array '{}'", shown(&self.head.name)));
        Head::read(&mut elements).map_err(|e| named(e).of(path))?;
        match self.head.class {
            Class::Numbers => {
                let array = self.numbers(&mut elements).map_err(|e| named(e).of(path))?;
                fortran::open(elements.data(array.extent.bytes), array)
            }
            Class::Sparse => sparse::open(elements, &self.head, self.place.length).map_err(|e| named(e).of(path)),
            Class::Other(what) => {
                let problem = format!("it holds {what}, expected a matrix of numbers");
                Err(named(problem.into()).of(path))
            }
        }
    }

    /// What the tag of the numbers claims, compared with the shape.
    fn numbers(&self, elements: &mut Elements) -> Outcome<fortran::Array> {
        let Head { shape, logical, .. } = &self.head;
        let tag = elements.tag()?;
        let dtype = elements.dtype(&tag, *logical)?;
        let extent = Extent::new(shape, dtype)?;
        if extent.bytes != tag.size {
            let (shape, expected) = (flat::tuple(shape), extent.bytes);
            return Err(format!("the shape {shape} is {expected} bytes of data, but its data has {}", tag.size).into());
        }
        let (shape, start) = (shape.clone(), elements.done());
        Ok(fortran::Array { dtype, shape, extent, start, smaller: PLAIN, note: self.note() })
    }

    /// Which numbers of an array form a row, where that may surprise.
    fn note(&self) -> Option<String> {
        let (name, shape) = (shown(&self.head.name), flat::tuple(&self.head.shape));
        match self.head.shape[..] {
            [1, n] if n > 1 => {
                Some(format!("array '{name}' {shape} is read as one row; transpose it to have {n} rows"))
            }
            [_, _] => None,
            _ => Some(format!("the first dimension of array '{name}' {shape} counts the rows")),
        }
    }
}
