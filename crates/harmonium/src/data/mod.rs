//! Data: tables of numbers, one row per example, read in blocks so that a file may be larger than memory.
//!
//! **To add a format: write its file, add its line to [`FORMATS`], or to [`WRITERS`] for writing.** A [`Source`] returns the
//! numbers of a file unchanged; [`PreparedRows`] prepares them (shift, scale, binarise) and encodes them for the units of a layer.

mod alphabet;
mod binarize;
mod builtin;
mod bytes;
mod cell;
mod entropy;
mod fasta;
mod flat;
mod fortran;
#[cfg(any(feature = "parquet", feature = "hdf5"))]
mod guard;
#[cfg(feature = "hdf5")]
mod hdf5;
mod idx;
mod libsvm;
mod mat;
mod members;
mod memory;
pub mod npy;
mod npz;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod prepare;
mod rows;
mod similarity;
mod text;
mod write;

pub(crate) use alphabet::Alphabet;
pub use binarize::Binarize;
use binarize::Binarizer;
pub(crate) use binarize::{takes_bits, takes_probabilities};
pub(crate) use builtin::find as find_builtin;
pub use builtin::{BUILTINS, Builtin};
pub use cell::{Cell, SeeCell};
pub use entropy::RowCounts;
pub use memory::Memory;
pub use options::{Header, ReadOptions};
pub use prepare::Preprocess;
pub use rows::{Block, PreparedRows};
pub(crate) use similarity::similarity_weights;
pub use text::{column_list, is_missing_word};
pub use write::{TableHead, WRITERS, Words, Writer, write_table};

use crate::advice::Advice;
use crate::bits::Bits;
use crate::error::{Error, Result, shown};
use ndarray::Array2;
use std::io::Read;
use std::path::Path;

/// Most columns that a table can have: one such row takes 128 MiB, and a file that claims more is considered damaged.
const MOST_COLUMNS: usize = 1 << 24;

/// A table that is read row by row, never all at once.
pub trait Source: Send {
    /// Numbers per row.
    fn columns(&self) -> usize;

    /// Number of rows, if it is known before reading.
    fn rows(&self) -> Option<u64>;

    /// Height × width, if the rows are images.
    fn image(&self) -> Option<(usize, usize)> {
        None
    }

    /// The letters of the codes 0, 1, …, if the rows are sequences.
    fn alphabet(&self) -> Option<&str> {
        None
    }

    /// The names of the columns, if they have names.
    fn names(&self) -> Option<&[String]> {
        None
    }

    /// The number of a column in the file, for messages; both are counted from 1.
    fn file_column(&self, column: usize) -> usize {
        column
    }

    /// What a user should know about how the file was read.
    fn note(&self) -> Option<String> {
        None
    }

    /// The same rows as `read` gives next, as bits, if all of their cells are one of `values` (the second is a set bit) and the
    /// source can read them faster so. `None` reads nothing.
    fn read_bits(&mut self, _n: usize, _values: [f64; 2]) -> Option<Bits> {
        None
    }

    /// Whether it is a table of cells that may be words, which a schema describes column by column.
    fn has_cells(&self) -> bool {
        false
    }

    /// The next rows, at least one and at most `n`; `None` at the end.
    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>>;

    /// Shows the cells of the next rows, at least one and at most `n`, words as words, and returns the number of rows; 0 at the
    /// end. The rows of a column come in their order; columns may come one after the other.
    fn read_cells(&mut self, n: usize, see: SeeCell) -> Result<usize> {
        let Some(block) = self.read(n)? else { return Ok(0) };
        block.indexed_iter().try_for_each(|((r, c), x)| see(r, c, Cell::of(*x)))?;
        Ok(block.nrows())
    }
}

/// Opens a named table in a file.
type OpenMember = fn(&Path, &str, &ReadOptions) -> Result<Box<dyn Source>>;

/// A file format.
pub struct Format {
    /// Name for messages and documentation.
    pub name: &'static str,
    /// Its file extensions, in lower case, without the dot; each may be followed by .gz.
    pub extensions: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// Whether a file that begins with these bytes has this format; used when the extension is unknown.
    begins: fn(&[u8]) -> bool,
    /// Opens a file and reads enough of it to know its columns.
    open: fn(&Path, &ReadOptions) -> Result<Box<dyn Source>>,
    /// Opens one of several tables in a file by its name, if the format has such files.
    open_member: Option<OpenMember>,
}

/// The list.
pub const FORMATS: &[Format] = &[
    Format {
        name: "NumPy",
        extensions: &["npy"],
        about: "an array of numbers; (n, h, w) and more dimensions are n flattened rows",
        begins: npy::begins,
        open: npy::open,
        open_member: None,
    },
    Format {
        name: "FASTA",
        extensions: &["fasta", "fa", "faa", "fas", "afa", "a2m", "a3m"],
        about: "aligned sequences, read as codes of an alphabet; lower-case letters of .a2m and .a3m are ignored",
        begins: fasta::begins,
        open: fasta::open,
        open_member: None,
    },
    Format {
        name: "text",
        extensions: &["csv", "tsv", "txt", "dat", "data", "amat"],
        about: "cells separated by commas, tabs, semicolons or spaces, with or without a header",
        begins: is_text,
        open: text::open,
        open_member: None,
    },
    Format {
        name: "NumPy archive",
        extensions: &["npz"],
        about: "one array with rows and columns; FILE.npz:NAME if there are several",
        begins: npz::begins,
        open: npz::open,
        open_member: Some(npz::open_member),
    },
    Format {
        name: "MATLAB",
        extensions: &["mat"],
        about: "one matrix of a file saved with -v6 or -v7, full or sparse; FILE.mat:NAME if there are several",
        begins: mat::begins,
        open: mat::open,
        open_member: Some(mat::open_member),
    },
    Format {
        name: "IDX",
        extensions: &["idx", "ubyte"],
        about: "the format of MNIST; bytes are read as value/255",
        begins: idx::begins,
        open: idx::open,
        open_member: None,
    },
    Format {
        name: "libsvm",
        extensions: &["libsvm", "svm", "svmlight"],
        about: "lines of a label, which is ignored, and index:value pairs",
        begins: |_| false,
        open: libsvm::open,
        open_member: None,
    },
    #[cfg(feature = "parquet")]
    Format {
        name: "Parquet",
        extensions: &["parquet", "pq"],
        about: "columns of numbers, words or lists of one length, as written by pandas and Polars",
        begins: parquet::begins,
        open: parquet::open,
        open_member: None,
    },
    #[cfg(feature = "hdf5")]
    Format {
        name: "HDF5",
        extensions: &["h5", "hdf5", "hdf", "he5"],
        about: "one data set with rows and columns; FILE.h5:GROUP/NAME if there are several",
        begins: hdf5::begins,
        open: hdf5::open,
        open_member: Some(hdf5::open_member),
    },
];

/// Known formats that cannot be read, or only by a build with a feature.
const UNREAD: [(&str, &str, Option<&'static str>); 9] = [
    ("parquet", "Parquet", Some("parquet")),
    ("pq", "Parquet", Some("parquet")),
    ("h5", "HDF5", Some("hdf5")),
    ("hdf5", "HDF5", Some("hdf5")),
    ("hdf", "HDF5", Some("hdf5")),
    ("he5", "HDF5", Some("hdf5")),
    ("xlsx", "Excel", None),
    ("xls", "Excel", None),
    ("arff", "ARFF", None),
];

/// Opens a data file, or `builtin:NAME`. The format follows from the extension, or else from the first bytes.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    open_path(path, &ReadOptions::default())
}

/// Opens a path, `FILE.npz:NAME` or `FILE.h5:NAME` for one table of several, or `builtin:NAME`.
pub fn open_with(spec: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    open_path(Path::new(spec), options)
}

fn open_path(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    if let Some((spec, found)) = path.to_str().and_then(|spec| Some((spec, builtin::find(spec)?))) {
        options.refuse_for(path, "built-in data")?;
        let (builtin, argument) = found?;
        return builtin::open(spec, builtin, argument);
    }
    if let Some((format, file, name)) = members::split(path)
        && let Some(open) = format.open_member
    {
        return open(&file, &name, options);
    }
    let extension = extension(path);
    if let Some(format) = FORMATS.iter().find(|f| f.extensions.contains(&extension.as_str())) {
        return (format.open)(path, options);
    }
    let refuse = |problem: String| {
        let known: Vec<String> = FORMATS.iter().flat_map(|f| f.extensions).map(|e| format!(".{e}")).collect();
        Error::Data { path: path.into(), problem: format!("{problem}; known extensions are {}", known.join(", ")) }
    };
    if let Some((_, name, feature)) = UNREAD.iter().find(|u| u.0 == extension) {
        return Err(match feature {
            None => refuse(format!("{name} files cannot be read")).advise(&[Advice::ConvertFile]),
            Some(feature) => {
                let build = [Advice::BuildWithFeature(feature), Advice::ConvertFile];
                refuse(format!("{name} files cannot be read by this build")).advise(&build)
            }
        });
    }
    let head = head(path).map_err(|error| builtin::hinted(path, error))?;
    match FORMATS.iter().find(|f| (f.begins)(&head)) {
        Some(format) => (format.open)(path, options),
        None => Err(refuse(format!(
            "unknown data format: no format has the extension '.{extension}', and the file is not text"
        ))),
    }
}

/// The last extension in lower case, not counting .gz; `idx` for names such as train-images-idx3-ubyte or x.idx3-ubyte.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.contains("-idx") || name.contains(".idx") {
        return "idx".into();
    }
    Path::new(name).extension().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first bytes of a file, decompressed.
fn head(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = bytes::Bytes::open(path)?;
    let mut head = Vec::new();
    let read = bytes.reader.by_ref().take(512).read_to_end(&mut head);
    read.map(|_| head).map_err(|e| bytes.failed(e))
}

/// Whether the bytes are text: no control characters except white space.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|b| !b.is_ascii_control() || b.is_ascii_whitespace())
}
