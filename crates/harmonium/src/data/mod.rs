//! Data: tables of numbers, one row per example, read in blocks so that a file may be larger than memory.
//!
//! **To add a format: write its file, add its line to [`FORMATS`].** A [`Source`] gives numbers as they stand in the
//! file; [`Rows`] prepares them (shift, scale, binarise) and encodes them for the units of a layer.

mod binarize;
mod builtin;
mod bytes;
mod entropy;
mod flat;
mod idx;
mod libsvm;
mod memory;
pub mod npy;
mod npz;
mod options;
mod prepare;
mod rows;
mod text;

pub use binarize::{Binarize, Binarizer, takes_probabilities};
pub use builtin::{BUILTINS, Builtin, find as find_builtin};
pub use entropy::RowCounts;
pub use memory::Memory;
pub use options::ReadOptions;
pub use prepare::Preprocess;
pub use rows::{Block, Rows};

use crate::error::{Error, Result, shown};
use ndarray::Array2;
use std::io::Read;
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
    /// Endings of its files, in lower case, without the dot; each may be followed by .gz.
    pub extensions: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// Whether a file that begins with these bytes is of this format; asked when the extension tells nothing.
    pub begins: fn(&[u8]) -> bool,
    /// Opens a file and reads as far as is needed to know its columns.
    pub open: fn(&Path, &ReadOptions) -> Result<Box<dyn Source>>,
}

/// The list.
pub const FORMATS: &[Format] = &[
    Format {
        name: "NumPy",
        extensions: &["npy"],
        about: "an array of numbers; (n, h, w) and more dimensions are n flattened rows",
        begins: npy::begins,
        open: npy::open,
    },
    Format {
        name: "text",
        extensions: &["csv", "tsv", "txt", "dat", "data", "amat"],
        about: "numbers between commas, tabs, semicolons or spaces; a header is found by itself",
        begins: is_text,
        open: text::open,
    },
    Format {
        name: "NumPy archive",
        extensions: &["npz"],
        about: "the only array with rows and columns, or FILE.npz:NAME",
        begins: npz::begins,
        open: npz::open,
    },
    Format {
        name: "IDX",
        extensions: &["idx", "ubyte"],
        about: "the format of MNIST; bytes are read as value/255",
        begins: idx::begins,
        open: idx::open,
    },
    Format {
        name: "libsvm",
        extensions: &["libsvm", "svm", "svmlight"],
        about: "a label, which is left out, and index:value pairs",
        begins: |_| false,
        open: libsvm::open,
    },
];

/// Formats known by name only.
const UNREAD: [(&str, &str); 8] = [
    ("parquet", "Parquet"),
    ("h5", "HDF5"),
    ("hdf5", "HDF5"),
    ("mat", "MATLAB"),
    ("xlsx", "Excel"),
    ("xls", "Excel"),
    ("fasta", "FASTA"),
    ("arff", "ARFF"),
];

/// Opens DATA: a file in the format that its extension or else its first bytes tell, or `builtin:NAME`.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    open_path(path, &ReadOptions::default())
}

/// Opens DATA: a path, `FILE.npz:NAME` for one array of several, or `builtin:NAME`.
pub fn open_with(spec: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    open_path(Path::new(spec), options)
}

fn open_path(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    if let Some((spec, found)) = path.to_str().and_then(|spec| Some((spec, builtin::find(spec)?))) {
        options.refuse_for(path, "built-in data")?;
        let (builtin, argument) = found?;
        return builtin::open(spec, builtin, argument);
    }
    if let Some((file, name)) = npz::split(path) {
        return npz::open_member(&file, &name, options);
    }
    let extension = extension(path);
    if let Some(format) = FORMATS.iter().find(|f| f.extensions.contains(&extension.as_str())) {
        return (format.open)(path, options);
    }
    let refuse = |problem: String| {
        let known: Vec<String> = FORMATS.iter().flat_map(|f| f.extensions).map(|e| format!(".{e}")).collect();
        Error::Data { path: path.into(), problem: format!("{problem}; known extensions are {}", known.join(", ")) }
    };
    if let Some((_, name)) = UNREAD.iter().find(|(e, _)| *e == extension) {
        return Err(refuse(format!("{name} files are not read yet: convert it to .npy")));
    }
    let head = head(path)?;
    match FORMATS.iter().find(|f| (f.begins)(&head)) {
        Some(format) => (format.open)(path, options),
        None => Err(refuse(format!("no data format has the extension '.{extension}', and the file is no text"))),
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

/// The first bytes of a file, unpacked.
fn head(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = bytes::Bytes::open(path)?;
    let mut head = Vec::new();
    let read = bytes.reader.by_ref().take(512).read_to_end(&mut head);
    read.map(|_| head).map_err(|e| bytes.failed(e))
}

/// Text has no control characters but white space.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|b| !b.is_ascii_control() || b.is_ascii_whitespace())
}
