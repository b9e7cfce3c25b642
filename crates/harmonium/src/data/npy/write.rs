//! Writing .npy: f64, C order, header padded so that the data begins at a multiple of 64 bytes; atomically.

use super::header;
use crate::error::{Error, Result};
use crate::file::atomic;
use ndarray::{Array2, ArrayView, Dimension};
use std::io::{self, Write};
use std::path::Path;

/// Writes an array of any number of dimensions.
pub fn write<D: Dimension>(path: &Path, array: ArrayView<f64, D>) -> Result<()> {
    let shape: Vec<u64> = array.shape().iter().map(|n| *n as u64).collect();
    atomic::write(path, |out| {
        out.write_all(&header::to_bytes(&shape))?;
        array.iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
    })
}

/// What gives the blocks of a table one after the other, `None` at the end.
pub type Blocks<'a> = &'a mut dyn FnMut() -> Result<Option<Array2<f64>>>;

/// Writes a table block by block as `next` gives them and returns the number of rows. If `next` fails, nothing is left.
///
/// The header comes first and says how many rows there are. With `rows` known the blocks go straight to the file;
/// without, they are kept in memory until the last.
pub fn write_blocks(path: &Path, columns: usize, rows: Option<u64>, next: Blocks) -> Result<u64> {
    let Some(rows) = rows else {
        let mut blocks = Vec::new();
        while let Some(block) = next()? {
            blocks.push(block);
        }
        let rows = blocks.iter().map(|b| b.nrows() as u64).sum();
        let mut blocks = blocks.into_iter();
        return write_blocks(path, columns, Some(rows), &mut || Ok(blocks.next()));
    };
    // The atomic writer knows only I/O errors: any other waits here while the file is thrown away.
    let mut failure = None;
    let written = atomic::write(path, |out| {
        stream(out, columns, rows, next).map_err(|e| match e {
            Failure::Io(e) => e,
            Failure::Other(e) => {
                failure = Some(e);
                io::Error::other("no rows to write")
            }
        })
    });
    match failure {
        Some(error) => Err(error),
        None => written.map(|()| rows),
    }
}

enum Failure {
    Io(io::Error),
    Other(Error),
}

fn stream(out: &mut dyn Write, columns: usize, rows: u64, next: Blocks) -> std::result::Result<(), Failure> {
    out.write_all(&header::to_bytes(&[rows, columns as u64])).map_err(Failure::Io)?;
    let mut done = 0;
    while let Some(block) = next().map_err(Failure::Other)? {
        if block.ncols() != columns {
            let (expected, found) = (format!("{columns} columns"), format!("{}", block.ncols()));
            return Err(Failure::Other(Error::Shape { what: "a block".into(), expected, found }));
        }
        done += block.nrows() as u64;
        let bytes: Vec<u8> = block.iter().flat_map(|x| x.to_le_bytes()).collect();
        out.write_all(&bytes).map_err(Failure::Io)?;
    }
    if done != rows {
        let (expected, found) = (format!("{rows} rows"), done.to_string());
        return Err(Failure::Other(Error::Shape { what: "the output".into(), expected, found }));
    }
    Ok(())
}
