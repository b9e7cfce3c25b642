//! Writing .npy: an array of any number of dimensions, f64, in C order, atomically. Tables that are written block by block use
//! [`write_table`](super::super::write_table).

use super::header;
use crate::atomic;
use crate::error::Result;
use ndarray::{ArrayView, Dimension};
use std::path::Path;

/// Writes an array of any number of dimensions.
pub fn write<D: Dimension>(path: &Path, array: ArrayView<f64, D>) -> Result<()> {
    let shape: Vec<u64> = array.shape().iter().map(|n| *n as u64).collect();
    atomic::write(path, |out| {
        out.write_all(&header::to_bytes(&shape))?;
        array.iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
    })
}
