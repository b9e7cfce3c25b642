//! Files: the model file, its limits, and the atomic writer.

pub(crate) mod digest;
mod model;
mod notes;
pub(crate) mod tensors;

pub use crate::atomic;
pub use model::{ModelFile, Precision, Tensor};
pub use notes::{ColumnNotes, image_size};
pub use tensors::MOST_BYTES;
