//! Files: the model file, its limits, and the atomic writer.

pub(crate) mod digest;
mod model;
pub(crate) mod tensors;

pub use crate::atomic;
pub use model::{ModelFile, Precision, Tensor};
pub use tensors::MOST_BYTES;
