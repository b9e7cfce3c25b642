//! MATLAB files of level 5, written byte by byte after *MAT-File Format* of The MathWorks.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ndarray::Array2;
use std::io::Write;

/// Classes of arrays and types of elements.
pub const CELL: u32 = 1;
pub const STRUCT: u32 = 2;
pub const CHAR: u32 = 4;
pub const SPARSE: u32 = 5;
pub const DOUBLE: u32 = 6;
pub const UINT8: u32 = 9;
pub const OPAQUE: u32 = 17;
pub const I8: u32 = 1;
pub const U8: u32 = 2;
pub const I32: u32 = 5;
pub const U32: u32 = 6;
pub const F64: u32 = 9;
pub const LOGICAL: u32 = 0x200;
pub const COMPLEX: u32 = 0x800;

/// A writer of one byte order.
#[derive(Clone, Copy)]
pub struct Mat {
    pub big: bool,
}

pub const LITTLE: Mat = Mat { big: false };
pub const BIG: Mat = Mat { big: true };

impl Mat {
    pub fn word(self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub fn words(self, numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|n| self.word(*n)).collect()
    }

    fn doubles(self, numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
        let bytes = |x: f64| if self.big { x.to_be_bytes() } else { x.to_le_bytes() };
        numbers.into_iter().flat_map(bytes).collect()
    }

    /// A tag of eight bytes, the data, and zeros up to a multiple of eight.
    pub fn element(self, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut all = [&self.words(&[kind, data.len() as u32]), data].concat();
        all.resize(all.len().next_multiple_of(8), 0);
        all
    }

    /// Data of up to four bytes within the tag.
    pub fn small(self, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut all = [&self.word((data.len() as u32) << 16 | kind), data].concat();
        all.resize(8, 0);
        all
    }

    pub fn head(self, flags: [u32; 2], shape: &[u32], name: &str) -> Vec<u8> {
        let (flags, shape) = (self.element(U32, &self.words(&flags)), self.element(I32, &self.words(shape)));
        let short = (1..=4).contains(&name.len());
        let name = if short { self.small(I8, name.as_bytes()) } else { self.element(I8, name.as_bytes()) };
        [flags, shape, name].concat()
    }

    /// An array with these elements after its head.
    pub fn array(self, flags: u32, shape: &[u32], name: &str, elements: &[Vec<u8>]) -> Vec<u8> {
        self.element(14, &[self.head([flags, 0], shape, name), elements.concat()].concat())
    }

    /// A full matrix of doubles, column after column.
    pub fn matrix(self, name: &str, table: &Array2<f64>) -> Vec<u8> {
        let data = self.doubles(table.t().iter().copied());
        self.array(DOUBLE, &[table.nrows() as u32, table.ncols() as u32], name, &[self.element(F64, &data)])
    }

    /// The same as a sparse matrix, with room for one more entry, as MATLAB leaves it.
    pub fn sparse(self, name: &str, flags: u32, table: &Array2<f64>) -> Vec<u8> {
        let (mut rows, mut starts, mut values) = (Vec::new(), vec![0], Vec::new());
        for column in table.columns() {
            let full = column.iter().enumerate().filter(|(_, x)| **x != 0.0);
            for (row, x) in full {
                rows.push(row as u32);
                values.push(*x);
            }
            starts.push(rows.len() as u32);
        }
        rows.push(0);
        let shape = [table.nrows() as u32, table.ncols() as u32];
        let values = self.element(F64, &self.doubles(values));
        let elements = [self.element(I32, &self.words(&rows)), self.element(I32, &self.words(&starts)), values];
        self.element(14, &[self.head([SPARSE | flags, rows.len() as u32], &shape, name), elements.concat()].concat())
    }

    /// The same bytes as zlib data, which are not filled up.
    pub fn packed(self, array: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(self.words(&[15, 0]), Compression::default());
        encoder.write_all(array).unwrap();
        let mut all = encoder.finish().unwrap();
        let size = self.word(all.len() as u32 - 8);
        all[4..8].copy_from_slice(&size);
        all
    }

    pub fn file(self, arrays: &[Vec<u8>]) -> Vec<u8> {
        let mut all = b"MATLAB 5.0 MAT-file, Platform: here".to_vec();
        all.resize(124, b' ');
        all.extend(if self.big { *b"\x01\0MI" } else { *b"\0\x01IM" });
        [all, arrays.concat()].concat()
    }
}
