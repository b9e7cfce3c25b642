//! The elements of a .mat file: a tag with type and size, the data, and bytes that fill up to a multiple of eight.
//!
//! Up to four bytes of data may stand in the tag itself; then its first number is size·2¹⁶ + type. An array is an element of
//! elements, or zlib data of one.

use super::super::bytes::{Bytes, Plain, Refusal, Unpacked};
use super::super::npy::Dtype;
use super::header::Order;
use flate2::read::ZlibDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The type of an array, and of zlib data of an array.
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// Types of numbers, and their names in NumPy.
const NUMBERS: [(u32, &str); 10] =
    [(1, "i1"), (2, "u1"), (3, "i2"), (4, "u2"), (5, "i4"), (6, "u4"), (7, "f4"), (9, "f8"), (12, "i8"), (13, "u8")];
/// More bytes than an array can have, before its own tag has been read.
const MOST_UNPACKED: u64 = 1 << 33;
/// Numbers that are decoded at a time.
const PIECE: u64 = 1 << 12;

/// Where an array is in a file.
pub(super) struct Place {
    start: u64,
    size: u64,
    packed: bool,
    order: Order,
    /// Bytes of the file.
    pub length: u64,
}

impl Place {
    /// The array whose tag begins at byte `at` of a file of `length` bytes.
    pub fn at(file: &mut File, at: u64, length: u64, order: Order) -> Result<Place, Refusal> {
        let mut tag = [[0; 4]; 2];
        file.seek(SeekFrom::Start(at))?;
        tag.iter_mut().try_for_each(|word| file.read_exact(word)).map_err(|e| ended(e, "between two arrays"))?;
        let [kind, size] = tag.map(|word| order.number(word));
        if kind != MATRIX && kind != COMPRESSED {
            return Err(format!("at byte {at} is an element of type {kind}, expected an array (type 14 or 15)").into());
        }
        let place = Place { start: at + 8, size: u64::from(size), packed: kind == COMPRESSED, order, length };
        if place.end() > length {
            let problem =
                format!("the array at byte {at} claims {size} bytes, but only {} follow", length - place.start);
            return Err(problem.into());
        }
        Ok(place)
    }

    /// The first byte of its elements.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The first byte after the array.
    pub fn end(&self) -> u64 {
        self.start + self.size
    }

    /// The elements of the array. The place in the file is shared with `file`: read only one of them at a time.
    pub fn open(&self, path: &Path, file: &File) -> Result<Elements, Refusal> {
        let (mut file, path) = (file.try_clone()?, path.to_path_buf());
        file.seek(SeekFrom::Start(self.start))?;
        let plain = Plain { file: file.try_clone()?, start: self.start, length: self.size };
        let part = file.take(self.size);
        if !self.packed {
            let bytes = Bytes { path, reader: Box::new(BufReader::new(part)), plain: Some(plain) };
            return Ok(Elements { bytes, order: self.order, left: self.size, done: 0 });
        }
        let unpacked = Unpacked::new(ZlibDecoder::new(part), "zlib", self.size);
        let bytes = Bytes { path, reader: Box::new(BufReader::new(unpacked)), plain: None };
        let mut elements = Elements { bytes, order: self.order, left: MOST_UNPACKED, done: 0 };
        let tag = elements.tag()?;
        if tag.kind != MATRIX {
            return Err(format!("its zlib data has the type {}, expected {MATRIX}", tag.kind).into());
        }
        elements.left = tag.size;
        Ok(elements)
    }
}

/// The type and size of an element.
pub(super) struct Tag {
    pub kind: u32,
    pub size: u64,
    padding: u64,
}

/// The elements of an array, read from first to last.
pub(super) struct Elements {
    bytes: Bytes,
    order: Order,
    /// Bytes of the array that are still to come, by its size.
    left: u64,
    /// Bytes that were read.
    done: u64,
}

impl Elements {
    /// The number of bytes that were read.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The next tag; the data, which is not longer than the rest of the array, follows.
    pub fn tag(&mut self) -> Result<Tag, Refusal> {
        let first = self.word()?;
        let tag = match (first >> 16, first & 0xffff) {
            (0, kind) => {
                let size = u64::from(self.word()?);
                Tag { kind, size, padding: size.next_multiple_of(8) - size }
            }
            (size @ 1..=4, kind) => Tag { kind, size: u64::from(size), padding: u64::from(4 - size) },
            (size, _) => return Err(format!("a tag claims {size} bytes within itself, the limit is 4").into()),
        };
        if tag.size > self.left {
            let problem = format!("an element claims {} bytes, but only {} follow", tag.size, self.left);
            return Err(problem.into());
        }
        Ok(tag)
    }

    fn word(&mut self) -> Result<u32, Refusal> {
        let mut word = [0; 4];
        self.fill(&mut word)?;
        Ok(self.order.number(word))
    }

    /// Reads bytes of the array.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Refusal> {
        let count = bytes.len() as u64;
        let short = || Refusal::Problem("it is too short for its elements".into());
        self.left = self.left.checked_sub(count).ok_or_else(short)?;
        self.bytes.reader.read_exact(bytes).map_err(|e| ended(e, "within it"))?;
        self.done += count;
        Ok(())
    }

    /// A whole element of at most `most` bytes, with its type.
    pub fn element(&mut self, what: &str, most: u64) -> Result<(u32, Vec<u8>), Refusal> {
        let tag = self.tag()?;
        if tag.size > most {
            return Err(format!("its {what} claims {} bytes, the limit is {most}", tag.size).into());
        }
        let mut bytes = vec![0; tag.size as usize];
        self.fill(&mut bytes)?;
        self.pad(&tag)?;
        Ok((tag.kind, bytes))
    }

    /// Some numbers of four bytes each.
    pub fn words(&mut self, what: &str, most: u64) -> Result<Vec<u32>, Refusal> {
        let (_, bytes) = self.element(what, 4 * most)?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(format!("its {what} has {} bytes, expected numbers of four bytes", bytes.len()).into());
        }
        Ok(words.iter().map(|word| self.order.number(*word)).collect())
    }

    /// The type of the numbers that follow a tag.
    pub fn dtype(&self, tag: &Tag, logical: bool) -> Result<Dtype, Refusal> {
        let name = NUMBERS.iter().find(|(kind, _)| *kind == tag.kind).map(|(_, name)| *name);
        let name = name.ok_or_else(|| format!("its data has the type {}, which is no type of numbers", tag.kind))?;
        let truth = logical && ["i1", "u1"].contains(&name);
        Ok(self.order.dtype(if truth { "b1" } else { name })?)
    }

    /// Gives the numbers that follow a tag to `take`, one after the other.
    pub fn numbers(
        &mut self,
        tag: &Tag,
        dtype: Dtype,
        mut take: impl FnMut(f64) -> Result<(), String>,
    ) -> Result<(), Refusal> {
        let (size, mut left) = (dtype.size() as u64, tag.size);
        if !left.is_multiple_of(size) {
            return Err(format!("{left} bytes of data are not a whole number of numbers of {size} bytes").into());
        }
        while left > 0 {
            let mut piece = vec![0; left.min(PIECE * size) as usize];
            self.fill(&mut piece)?;
            left -= piece.len() as u64;
            dtype.decode(&piece).into_iter().try_for_each(&mut take)?;
        }
        self.pad(tag)
    }

    /// Skips the bytes after the data of a tag; the last ones of an array may be missing.
    fn pad(&mut self, tag: &Tag) -> Result<(), Refusal> {
        let mut padding = [0; 8];
        let count = tag.padding.min(self.left) as usize;
        self.fill(&mut padding[..count])
    }

    /// Checks that at most the padding follows; this also compares the checksum of zlib data.
    pub fn finish(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.bytes.reader.by_ref().take(8).read_to_end(&mut rest)?;
        if rest.len() < 8 { Ok(()) } else { Err(io::Error::other("more data follows the numbers of the array")) }
    }

    /// The next `left` bytes, which are the data of the array, and at their end `finish`.
    pub fn data(mut self, left: u64) -> Bytes {
        let (path, plain) = (self.bytes.path.clone(), self.bytes.plain.take());
        Bytes { path, reader: Box::new(BufReader::new(Data { elements: self, left })), plain }
    }
}

/// What is wrong with a file that ends `place`.
fn ended(error: io::Error, place: &str) -> Refusal {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Refusal::Problem(format!("the file ends {place}"));
    }
    Refusal::Io(error)
}

/// The numbers of an array.
struct Data {
    elements: Elements,
    left: u64,
}

impl Read for Data {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.elements.bytes.reader.by_ref().take(self.left).read(bytes)?;
        self.left -= n as u64;
        if self.left == 0 && n == 0 {
            self.elements.finish()?;
        }
        Ok(n)
    }
}
