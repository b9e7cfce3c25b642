//! Files to try.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use harmonium::data::{self, ReadOptions};
use ndarray::{Array2, Axis};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that the oracle wrote with the libraries users write theirs with.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data").join(name)
}

pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        // A new file each time: some file systems write an emptied one to the disk at once, which takes milliseconds.
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The message with which a file of this content is refused: one line that names the file.
    pub fn refusal(&self, name: &str, bytes: &[u8]) -> String {
        let file = self.file(name, bytes);
        let found = read(&file, 10).unwrap_err().to_string();
        assert!(found.contains(&file.display().to_string()) && found.lines().count() == 1, "{found}");
        found
    }
}

/// Reads a whole table, `block` rows at a time.
pub fn read(path: &Path, block: usize) -> harmonium::Result<Array2<f64>> {
    let mut source = data::open(path)?;
    let mut all = Array2::zeros((0, source.columns()));
    while let Some(rows) = source.read(block)? {
        assert!(rows.nrows() <= block && rows.nrows() > 0);
        all.append(Axis(0), rows.view()).unwrap();
    }
    assert!(source.rows().is_none_or(|n| n == all.nrows() as u64));
    Ok(all)
}

/// Reads a whole table at once.
pub fn read_with(spec: &str, options: &ReadOptions) -> harmonium::Result<Array2<f64>> {
    data::open_with(spec, options)?.read(usize::MAX).map(|rows| rows.unwrap())
}

pub fn npy(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
    let length = dict.len() as u32;
    let length = if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY".as_slice(), &[version, 0], &length, dict.as_bytes(), data].concat()
}

pub fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

/// A table of bytes in either order.
pub fn npy_u8(table: &Array2<f64>, fortran: bool) -> Vec<u8> {
    let view = if fortran { table.t() } else { table.view() };
    let data: Vec<u8> = view.iter().map(|x| *x as u8).collect();
    let order = if fortran { "True" } else { "False" };
    npy(1, &dict("|u1", order, &format!("({}, {})", table.nrows(), table.ncols())), &data)
}

pub fn idx(code: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let extents: Vec<u8> = shape.iter().flat_map(|n| n.to_be_bytes()).collect();
    [[0, 0, code, shape.len() as u8].as_slice(), &extents, data].concat()
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A member of a zip archive, true or not.
pub struct Entry {
    pub name: &'static str,
    pub method: u16,
    pub packed: Vec<u8>,
    pub packed_size: u32,
    pub size: u32,
    pub crc: u32,
}

impl Entry {
    pub fn stored(name: &'static str, bytes: &[u8]) -> Entry {
        let mut crc = Crc::new();
        crc.update(bytes);
        let size = bytes.len() as u32;
        Entry { name, method: 0, packed: bytes.to_vec(), packed_size: size, size, crc: crc.sum() }
    }

    pub fn deflated(name: &'static str, bytes: &[u8]) -> Entry {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        Entry { method: 8, packed_size: packed.len() as u32, packed, ..Entry::stored(name, bytes) }
    }

    /// What the local header and the directory have in common.
    fn common(&self) -> Vec<u8> {
        let name = (self.name.len() as u16).to_le_bytes();
        let numbers = [self.crc, self.packed_size, self.size].map(u32::to_le_bytes).concat();
        [&[20, 0, 0, 0][..], &self.method.to_le_bytes(), &[0, 0, 33, 0], &numbers, &name, &[0, 0]].concat()
    }
}

/// PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16.
pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let start = (file.len() as u32).to_le_bytes();
        file.extend([b"PK\x03\x04".as_slice(), &entry.common(), entry.name.as_bytes(), &entry.packed].concat());
        let rest = [&[0; 10][..], &start, entry.name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00".as_slice(), &entry.common(), &rest].concat());
    }
    let (count, start) = ((entries.len() as u16).to_le_bytes(), (file.len() as u32).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    let end = [b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &start, &[0, 0]].concat();
    [file, directory, end].concat()
}
