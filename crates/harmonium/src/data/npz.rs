//! NumPy's .npz: a zip archive of .npy arrays, stored or deflated. One array is read as a stream.
//!
//! `file.npz:NAME` chooses the array; without a name it is the only one with two or more dimensions.

use super::bytes::{Bytes, Plain, Unpacked, regular};
use super::members::{only, unknown};
use super::{ReadOptions, Source, npy, shown};
use crate::error::{Error, Result};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// Whether a file with these first bytes is a zip archive.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
}

/// Opens the only table of an archive.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    options.refuse_for(path, "NumPy arrays")?;
    let members = members(path)?;
    let mut tables = Vec::new();
    for member in &members {
        if let Some(shape) = npy::shape(&mut member.open(path)?).filter(|shape| shape.len() > 1) {
            tables.push((member, member.name.clone(), super::flat::tuple(&shape)));
        }
    }
    // A single array that is not a table reports the reason itself.
    if let ([], [only]) = (tables.as_slice(), members.as_slice()) {
        return npy::from_bytes(only.open(path)?);
    }
    npy::from_bytes(only(path, "arrays", &tables)?.open(path)?)
}

/// Opens the array `name` of an archive.
pub fn open_member(path: &Path, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
    options.refuse_for(path, "NumPy arrays")?;
    let members = members(path)?;
    match members.iter().find(|m| m.name == name.strip_suffix(".npy").unwrap_or(name)) {
        Some(member) => npy::from_bytes(member.open(path)?),
        None => Err(unknown(path, "array", name, members.iter().map(|m| m.name.as_str()))),
    }
}

/// What the archive states about one array.
struct Member {
    /// Without the .npy.
    name: String,
    method: CompressionMethod,
    start: u64,
    packed: u64,
    size: u64,
    crc: u32,
}

/// The list at the end of the archive.
fn members(path: &Path) -> Result<Vec<Member>> {
    let refuse = |e: zip::result::ZipError| Error::Data {
        path: path.into(),
        problem: format!("not readable as a zip archive of arrays ({})", shown(&e.to_string())),
    };
    let mut archive = ZipArchive::new(BufReader::new(regular(path)?.0)).map_err(refuse)?;
    let mut members = Vec::new();
    for i in 0..archive.len() {
        let file = archive.by_index_raw(i).map_err(refuse)?;
        let Some(name) = file.name().map_err(refuse)?.strip_suffix(".npy").map(String::from) else { continue };
        let (method, packed, size, crc) = (file.compression(), file.compressed_size(), file.size(), file.crc32());
        if file.encrypted() || !matches!(method, CompressionMethod::Stored | CompressionMethod::DEFLATE) {
            let problem = format!("the array '{}' is neither stored nor deflated", shown(&name));
            return Err(Error::Data { path: path.into(), problem });
        }
        if let Some(start) = file.data_start() {
            members.push(Member { name, method, start, packed, size, crc });
        }
    }
    if members.is_empty() {
        Err(Error::Data { path: path.into(), problem: "the zip archive holds no .npy arrays".into() })
    } else {
        Ok(members)
    }
}

impl Member {
    /// The bytes of the array, with a file handle of their own, because a source outlives the archive.
    fn open(&self, path: &Path) -> Result<Bytes> {
        let failed = |source| Error::Io { path: path.into(), action: "read", source };
        let (mut file, length) = regular(path)?;
        if self.start.checked_add(self.packed).is_none_or(|end| end > length) {
            let problem = format!("the array '{}' extends beyond the end of the file", shown(&self.name));
            return Err(Error::Data { path: path.into(), problem });
        }
        let plain = file.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(self.start)).map_err(failed)?;
        let part = BufReader::with_capacity(1 << 16, file).take(self.packed);
        let check = |reader| BufReader::new(Checked { reader, left: self.size, crc: Crc::new(), expected: self.crc });
        let path = path.to_path_buf();
        if self.method == CompressionMethod::Stored {
            let plain = Plain { file: plain, start: self.start, length: self.packed };
            return Ok(Bytes { path, reader: Box::new(check(Box::new(part))), plain: Some(plain) });
        }
        let unpacked = Unpacked::new(DeflateDecoder::new(part), "zip", self.packed);
        Ok(Bytes { path, reader: Box::new(check(Box::new(unpacked))), plain: None })
    }
}

/// A reader that checks size and checksum when it reaches the end.
struct Checked {
    reader: Box<dyn Read + Send>,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(bytes)?;
        self.crc.update(&bytes[..n]);
        let size = || io::Error::other("the zip data does not have the size it claims");
        self.left = self.left.checked_sub(n as u64).ok_or_else(size)?;
        if n == 0 && !bytes.is_empty() {
            if self.left > 0 {
                return Err(size());
            }
            if self.crc.sum() != self.expected {
                return Err(io::Error::other("the zip data does not have the checksum it claims"));
            }
        }
        Ok(n)
    }
}
