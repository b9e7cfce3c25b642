//! Python arrays, sparse matrices and data frames as tables that are read block by block, never copied as a whole.

use crate::errors::exception;
use crate::frame::{Frame, FrameSource};
use harmonium::data::{PreparedRows, Source};
use harmonium::file::ModelFile;
use harmonium::schema::Unseen;
use harmonium::{Bits, Error, Layout, Result};
use ndarray::Array2;
use numpy::{PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of rows in messages of the library.
const X: &str = "memory:X";

/// A Python object with `shape` and either `names`, `columns` and `unseen`, which make it a data frame, or `read(first, last)`,
/// which gives rows as an array of f64, and `array`: the rows as they are, if they are contiguous and aligned.
pub struct ArrayTable {
    content: Content,
    rows: usize,
    columns: usize,
    failure: Arc<Mutex<Option<PyErr>>>,
}

enum Content {
    Array { array: Py<PyAny>, read: Py<PyAny> },
    Frame { frame: Arc<Frame>, unseen: Unseen },
}

impl<'a, 'py> FromPyObject<'a, 'py> for ArrayTable {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ArrayTable> {
        let (rows, columns) = object.getattr("shape")?.extract()?;
        let content = if object.hasattr("names")? {
            let name: String = object.getattr("unseen")?.extract()?;
            let unseen = Unseen::LIST.iter().find(|u| u.0 == name).map_or(Unseen::Error, |u| u.1);
            Content::Frame { frame: Frame::extract(object, rows)?.into(), unseen }
        } else {
            Content::Array { array: object.getattr("array")?.unbind(), read: object.getattr("read")?.unbind() }
        };
        Ok(ArrayTable { content, rows, columns, failure: Arc::default() })
    }
}

impl ArrayTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows from the first on.
    pub fn source(&self) -> Box<dyn Source> {
        let (array, read) = match &self.content {
            Content::Array { array, read } => Python::attach(|py| (array.clone_ref(py), read.clone_ref(py))),
            Content::Frame { frame, .. } => {
                return Box::new(FrameSource { frame: frame.clone(), path: X, done: 0 });
            }
        };
        let (rows, columns, failure) = (self.rows, self.columns, self.failure.clone());
        Box::new(Reader { array, read, rows, columns, done: 0, failure })
    }

    /// The rows as numbers for a model: the words of a frame become codes, an array has codes already.
    fn coded(&self, file: &ModelFile) -> Result<Box<dyn Source>> {
        match (&self.content, &file.schema) {
            (Content::Frame { unseen, .. }, Some(schema)) => schema.coded(self.source(), Path::new(X), *unseen),
            _ => Ok(self.source()),
        }
    }

    /// The rows as the visible layer of a model sees them.
    pub fn prepared<'a>(&self, file: &'a ModelFile, side: &'a Layout, seed: u64) -> Result<PreparedRows<'a>> {
        PreparedRows::new(self.coded(file)?, side, &file.preprocess, None, seed)
    }

    /// The exception for an error, or what was raised while reading.
    pub fn exception(&self, error: Error) -> PyErr {
        let raised = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.unwrap_or_else(|| exception(error))
    }
}

struct Reader {
    array: Py<PyAny>,
    read: Py<PyAny>,
    rows: usize,
    columns: usize,
    done: usize,
    failure: Arc<Mutex<Option<PyErr>>>,
}

impl Source for Reader {
    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows as u64)
    }

    fn read_bits(&mut self, n: usize, values: [f64; 2]) -> Option<Bits> {
        let (first, last) = (self.done, (self.done + n).min(self.rows));
        let cells = first * self.columns..last * self.columns;
        if cells.is_empty() {
            return None;
        }
        let bits = Python::attach(|py| two_valued(self.array.bind(py), cells, self.columns, values))?;
        self.done = last;
        Some(bits)
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let (first, last) = (self.done, (self.done + n).min(self.rows));
        if first == last {
            return Ok(None);
        }
        let block = Python::attach(|py| -> PyResult<Array2<f64>> {
            let block = self.read.call1(py, (first, last))?;
            let block: PyReadonlyArray2<f64> = block.extract(py)?;
            Ok(block.as_array().to_owned())
        });
        match block {
            Ok(block) if block.dim() == (last - first, self.columns) => {
                self.done = last;
                Ok(Some(block))
            }
            Ok(block) => Err(Error::Shape {
                what: format!("rows {first} to {last} of X"),
                expected: format!("({}, {})", last - first, self.columns),
                found: format!("{:?}", block.dim()),
            }),
            Err(raised) => {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Err(Error::Undefined("reading rows of X failed".into()))
            }
        }
    }
}

/// Cells of an array of numbers as bits, looked at in place; none if a cell is not one of two values, or the array is of a type
/// that is not listed here.
fn two_valued(array: &Bound<PyAny>, cells: Range<usize>, columns: usize, values: [f64; 2]) -> Option<Bits> {
    let mut bits = Bits::new(columns);
    macro_rules! of_type {
        ($($number:ty),*) => {
            $(if let Ok(array) = array.extract::<PyReadonlyArray2<$number>>() {
                let [low, high] = values.map(|x| x as $number);
                let exact = [low as f64, high as f64] == values;
                let cells = array.as_slice().ok().and_then(|all| all.get(cells)).filter(|_| exact)?;
                return bits.push_cells(cells, [low, high]).then_some(bits);
            })*
        };
    }
    of_type!(u8, f64, f32, i64, i32, i8);
    None
}

/// An owned copy of a vector of Python's, or none.
pub fn vector(array: Option<numpy::PyReadonlyArray1<f64>>) -> Option<ndarray::Array1<f64>> {
    array.map(|a| a.to_owned_array())
}
