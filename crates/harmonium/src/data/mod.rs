//! Data: tables of numbers, one row per example, read in blocks so that a file may be larger than memory.
//!
//! **To add a format: write its file, add its line to [`FORMATS`].** A [`Source`] gives numbers as they stand in the
//! file; [`Rows`] prepares them (shift, scale, binarise) and encodes them for the units of a layer.

mod binarize;
mod builtin;
mod csv;
mod entropy;
mod memory;
pub mod npy;
mod options;
mod prepare;
mod rows;

pub use binarize::{Binarize, Binarizer, takes_probabilities};
pub use builtin::{BUILTINS, Builtin, find as find_builtin};
pub use entropy::RowCounts;
pub use memory::Memory;
pub use options::ReadOptions;
pub use prepare::Preprocess;
pub use rows::{Block, Rows};

use crate::error::{Error, Result, shown};
use ndarray::Array2;
use std::path::Path;

/// Most columns a table can have: one row of them is 128 MiB, and a file that claims more is taken for damaged.
pub const MOST_COLUMNS: usize = 1 << 24;

/// A table that is read from its first row to its last, never the whole at once.
pub trait Source: Send {
    /// Numbers per row.
    fn columns(&self) -> usize;

    /// Number of rows, if it is known before reading.
    fn rows(&self) -> Option<u64>;

    /// Height × width, if the rows are images.
    fn image(&self) -> Option<(usize, usize)> {
        None
    }

    /// The next rows, at most `n` (and at least one); `None` at the end.
    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>>;
}

/// A file format.
pub struct Format {
    /// Name for messages and documentation.
    pub name: &'static str,
    /// Endings of its files, in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// Opens a file and reads as far as is needed to know its columns.
    pub open: fn(&Path) -> Result<Box<dyn Source>>,
}

/// The list.
pub const FORMATS: &[Format] = &[
    Format {
        name: "NumPy",
        extensions: &["npy"],
        about: "an array of numbers; (n, h, w) and more dimensions are n flattened rows",
        open: npy::open,
    },
    Format {
        name: "CSV",
        extensions: &["csv"],
        about: "numbers separated by commas; a header is found by itself",
        open: csv::open,
    },
];

/// Opens a data file in the format its extension tells.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    open_path(path, &ReadOptions::default())
}

/// Opens DATA: a path, `file.npz:NAME` for one array of several, or `builtin:NAME`.
pub fn open_with(spec: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    open_path(Path::new(spec), options)
}

fn open_path(path: &Path, _options: &ReadOptions) -> Result<Box<dyn Source>> {
    if let Some((spec, found)) = path.to_str().and_then(|spec| Some((spec, builtin::find(spec)?))) {
        let (builtin, argument) = found?;
        return builtin::open(spec, builtin, argument);
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    match FORMATS.iter().find(|f| f.extensions.contains(&extension.as_str())) {
        Some(format) => (format.open)(path),
        None => {
            let known: Vec<String> = FORMATS.iter().flat_map(|f| f.extensions).map(|e| format!(".{e}")).collect();
            let problem =
                format!("no data format has the extension '.{extension}'; known extensions are {}", known.join(", "));
            Err(Error::Data { path: path.into(), problem })
        }
    }
}
