//! Data: tables of numbers, one row per example, read in blocks so that a file may be larger than memory.

mod prepare;

pub use prepare::{Binarize, Preprocess};
