//! NumPy's .npy: a header with type, order and shape, then the numbers; read in blocks, never memory-mapped.
//!
//! An array of shape (n, c) is n rows of c numbers; (n, h, w) and more dimensions are n rows, each flattened in C order,
//! whatever the order in the file. The shape is compared with the length of the file before anything is allocated.

mod dtype;
pub(super) mod header;
mod write;

pub(super) use dtype::Dtype;
pub use write::write;

use super::bytes::Bytes;
use super::flat::{self, Extent, Flat};
use super::{ReadOptions, Source, fortran};
use crate::error::Result;
use header::Header;
use std::path::Path;

/// Whether a file with these first bytes is .npy.
pub(super) fn begins(head: &[u8]) -> bool {
    head.starts_with(header::MAGIC)
}

/// Opens a .npy file.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    options.refuse_for(path, "NumPy arrays")?;
    from_bytes(Bytes::open(path)?)
}

/// Opens an array in a file or an archive.
pub(super) fn from_bytes(mut bytes: Bytes) -> Result<Box<dyn Source>> {
    let header = Header::read(&mut bytes.reader).map_err(|e| e.of(&bytes.path))?;
    let (dtype, shape) = (header.dtype, &header.shape);
    let extent = Extent::new(shape, dtype).map_err(|problem| bytes.refuse(problem))?;
    extent.check_length(shape, header.start, &bytes)?;
    if header.fortran {
        let Header { dtype, shape, start, .. } = header;
        let array = fortran::Array { dtype, shape, extent, start, smaller: "save it in C order", note: None };
        return fortran::open(bytes, array);
    }
    Ok(Box::new(Flat { bytes, dtype, extent, unit: 1.0, image: flat::image(shape), done: 0 }))
}

/// The shape of an array of numbers; none if this is not one.
pub(super) fn shape(bytes: &mut Bytes) -> Option<Vec<u64>> {
    Header::read(&mut bytes.reader).ok().map(|header| header.shape)
}
