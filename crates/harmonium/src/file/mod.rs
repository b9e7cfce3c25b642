//! Files: the model file, its limits, and the atomic writer.

mod blocks;
pub(crate) mod digest;
mod model;
mod notes;
pub(crate) mod tensors;

/// The atomic writer of files.
pub mod atomic {
    pub use crate::atomic::write;
}

pub use model::{ModelFile, Precision};
pub use notes::ColumnNotes;
pub(crate) use notes::image_size;
pub use tensors::{MOST_BYTES, MOST_HEADER};
