//! IDX, the format of MNIST: two zero bytes, a type, the number of dimensions, their sizes, then the numbers.
//!
//! Everything is big-endian. Bytes are grey values and are read as value/255; other types are read unchanged.
//! See LeCun, Cortes and Burges, *The MNIST database of handwritten digits*, 1998.

use super::bytes::Bytes;
use super::flat::{self, Extent, Flat};
use super::npy::Dtype;
use super::{ReadOptions, Source};
use crate::error::Result;
use std::io::{self, Read};
use std::path::Path;

/// Type codes, and the names of these types in NumPy.
const TYPES: [(u8, &str); 6] = [(0x08, "u1"), (0x09, "i1"), (0x0b, ">i2"), (0x0c, ">i4"), (0x0d, ">f4"), (0x0e, ">f8")];

/// Whether a file with these first bytes is IDX.
pub fn begins(head: &[u8]) -> bool {
    matches!(head, [0, 0, code, 1..=8, ..] if TYPES.iter().any(|t| t.0 == *code))
}

/// Opens an IDX file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    options.refuse_for(path, "IDX files")?;
    let mut bytes = Bytes::open(path)?;
    let (code, shape) = header(&mut bytes.reader).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => bytes.refuse("the file ends within its IDX header"),
        io::ErrorKind::InvalidData => bytes.refuse("not an IDX file: it does not begin with two zero bytes"),
        _ => bytes.failed(e),
    })?;
    let (dtype, extent) = check(code, &shape).map_err(|problem| bytes.refuse(problem))?;
    extent.check_length(&shape, 4 + 4 * shape.len() as u64, &bytes)?;
    let unit = if code[2] == 0x08 { 255.0 } else { 1.0 };
    Ok(Box::new(Flat { bytes, dtype, extent, unit, image: flat::image(&shape), done: 0 }))
}

/// The first four bytes and the sizes that follow, at most 255.
fn header(file: &mut impl Read) -> io::Result<([u8; 4], Vec<u64>)> {
    let mut code = [0; 4];
    file.read_exact(&mut code)?;
    if code[..2] != [0, 0] {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut extents = vec![0; 4 * usize::from(code[3])];
    file.read_exact(&mut extents)?;
    let (extents, _) = extents.as_chunks::<4>();
    Ok((code, extents.iter().map(|b| u64::from(u32::from_be_bytes(*b))).collect()))
}

fn check(code: [u8; 4], shape: &[u64]) -> std::result::Result<(Dtype, Extent), String> {
    let (_, name) = TYPES.iter().find(|t| t.0 == code[2]).ok_or_else(|| {
        format!("the IDX type 0x{:02x} is unknown; known are 0x08, 0x09, 0x0b, 0x0c, 0x0d and 0x0e", code[2])
    })?;
    if let [n] = shape {
        return Err(format!("the file holds {n} single numbers, such as labels; expected images or rows"));
    }
    let dtype = Dtype::parse(name)?;
    Ok((dtype, Extent::new(shape, dtype)?))
}
