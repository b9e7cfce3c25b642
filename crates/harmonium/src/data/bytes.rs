//! A data file as a stream of bytes, decompressed if its first bytes are those of gzip, whatever its name.

use crate::error::{Error, Result};
pub(super) use crate::open::regular;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Compressed data may expand to this many bytes at any ratio…
const ALWAYS_ALLOWED: u64 = 1 << 30;
/// …and to this many times its own size. Deflate cannot exceed 1032, and only bombs and constant tables come close.
const MOST_RATIO: u64 = 1000;
/// What a file unpacks at once, such as a page, may have this many bytes at any ratio: pages are usually 1 MiB.
const ALWAYS_HELD: u64 = 1 << 26;

/// The bytes of a file, read from first to last.
pub(super) struct Bytes {
    /// The file, for messages.
    pub path: PathBuf,
    /// The reader of the bytes.
    pub reader: Box<dyn BufRead + Send>,
    /// Where the bytes are in the file, unless they are compressed.
    pub plain: Option<Plain>,
}

/// A part of a file that can be read at any position.
pub(super) struct Plain {
    pub file: File,
    pub start: u64,
    pub length: u64,
}

impl Bytes {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Bytes> {
        let failed = |source| Error::Io { path: path.into(), action: "read", source };
        let (file, length) = regular(path)?;
        let plain = Plain { file: file.try_clone().map_err(failed)?, start: 0, length };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        if !reader.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            return Ok(Bytes { path: path.into(), reader: Box::new(reader), plain: Some(plain) });
        }
        Ok(Bytes { path: path.into(), reader: gunzip(reader, length), plain: None })
    }

    /// An error of reading this file.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), action: "read", source }
    }

    /// An error about the content of this file.
    pub fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::Data { path: self.path.clone(), problem: problem.into() }
    }
}

/// Why a part of a file is refused: it could not be read, or its content is wrong.
#[derive(Debug)]
pub(super) enum Refusal {
    Io(io::Error),
    Problem(String),
}

impl From<String> for Refusal {
    fn from(problem: String) -> Self {
        Refusal::Problem(problem)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Io(error)
    }
}

impl Refusal {
    /// The same with the part of the file in front.
    pub fn within(self, part: &str) -> Refusal {
        match self {
            Refusal::Problem(problem) => Refusal::Problem(format!("{part}: {problem}")),
            failed => failed,
        }
    }

    /// The error of reading the file `path`.
    pub fn of(self, path: &Path) -> Error {
        match self {
            Refusal::Io(source) => Error::Io { path: path.into(), action: "read", source },
            Refusal::Problem(problem) => Error::Data { path: path.into(), problem },
        }
    }
}

/// Opens a file that is read at many positions, and so cannot be compressed.
pub(super) fn seekable(path: &Path) -> Result<(File, u64)> {
    let failed = |source| Error::Io { path: path.into(), action: "read", source };
    let (mut file, length) = regular(path)?;
    let mut head = Vec::new();
    file.by_ref().take(2).read_to_end(&mut head).map_err(failed)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        Err(Error::Data { path: path.into(), problem: "the file is compressed with gzip; decompress it first".into() })
    } else {
        Ok((file, length))
    }
}

/// The decompressed bytes of gzip data of `packed` bytes.
pub(super) fn gunzip(reader: impl BufRead + Send + 'static, packed: u64) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(1 << 16, Unpacked::new(MultiGzDecoder::new(reader), "gzip", packed)))
}

/// The number of bytes that `packed` bytes may expand to.
pub(super) fn most_unpacked(packed: u64) -> u64 {
    ALWAYS_ALLOWED.max(packed.saturating_mul(MOST_RATIO))
}

/// The number of bytes in memory at once that pages or chunks of a file of `packed` bytes may be unpacked to.
pub(super) fn most_held(packed: u64) -> u64 {
    ALWAYS_HELD.max(packed.saturating_mul(MOST_RATIO))
}

/// A decoder that reports what is wrong with its data and stops at the limit.
pub(super) struct Unpacked<R> {
    decoder: R,
    what: &'static str,
    /// Bytes it may still return.
    left: u64,
}

impl<R> Unpacked<R> {
    /// For `what` data of `packed` bytes.
    pub fn new(decoder: R, what: &'static str, packed: u64) -> Unpacked<R> {
        Unpacked { decoder, what, left: most_unpacked(packed) }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let what = self.what;
        let n = self.decoder.read(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(format!("the {what} data ends too early")),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other(format!("the {what} data is damaged ({e})"))
            }
            _ => e,
        })?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            io::Error::other(format!("the {what} data expands to more than 1 GiB and {MOST_RATIO} times its size"))
        })?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_stopped_and_large_honest_files_are_not() {
        let unpacked = |packed| Unpacked::new(io::repeat(0), "gzip", packed);
        assert_eq!(unpacked(10).left, 1 << 30);
        assert_eq!(unpacked(10 << 30).left, 10_000 << 30);
        let mut bomb = Unpacked { left: 1000, ..unpacked(1) };
        assert_eq!(bomb.read(&mut [0; 1000]).unwrap(), 1000);
        assert!(bomb.read(&mut [0]).unwrap_err().to_string().contains("1 GiB and 1000 times"));
    }
}
