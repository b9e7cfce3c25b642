//! Files: the model file, its limits, and the one atomic writer.

pub mod atomic;
mod digest;
mod model;

pub use model::{ModelFile, Precision};
