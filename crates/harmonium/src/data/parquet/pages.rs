//! Pages whose claims are compared with the file before the parquet crate allocates what they claim.
//!
//! A page header begins with the type and the two sizes of its page, in Thrift's compact notation: 0x15 and a number, three times.
//! The crate reserves the unpacked size before it unpacks, and the claimed number of entries of a dictionary before it reads them.

use super::thrift::{FOOTER, PAGE, walk};
use crate::data::bytes::most_held;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as Outcome};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The type of a dictionary page.
const DICTIONARY: i64 = 2;
/// A header up to its unpacked size: two marks and two numbers of at most five bytes.
const HEAD: u64 = 12;
/// A field of type i32 that follows the one before.
const NUMBER: u8 = 0x15;

/// The length of the footer and `MAGIC`, at the end of a file.
const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";
/// Bytes in which a header of a page is expected to end, one after the other. Most have 20 to 100, the longest hold whole texts.
const PREFIXES: [u64; 3] = [1 << 8, 1 << 16, 1 << 24];

/// A file of known length.
pub(super) struct Bounded {
    pub file: File,
    pub length: u64,
}

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Bounded {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Outcome<BufReader<File>> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Outcome<bytes::Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(bad("a part of the table extends beyond the end of the file"));
        }
        self.file.get_bytes(start, length)
    }
}

impl Bounded {
    /// The footer, which can be parsed in time and memory that suit its length.
    pub fn footer(&self) -> Outcome<bytes::Bytes> {
        let end = self.length.checked_sub(TAIL).ok_or_else(|| bad("it is too short"))?;
        let tail = self.get_bytes(end, TAIL as usize)?;
        let (Some((length, MAGIC)), true) = (tail.split_first_chunk(), tail.len() == TAIL as usize) else {
            return Err(bad("it does not end with PAR1"));
        };
        let length = u32::from_le_bytes(*length);
        let start = end.checked_sub(u64::from(length)).ok_or_else(|| bad("its footer is longer than the file"))?;
        let footer = self.get_bytes(start, length as usize)?;
        walk(&footer, FOOTER).map_err(|problem| bad(&format!("its footer: {problem}")))?;
        Ok(footer)
    }

    /// Refuses the header of a page that would take long to parse.
    fn check_head(&self, start: u64) -> Outcome<()> {
        let mut walked = Err("it is too long");
        for most in PREFIXES {
            let mut head = Vec::new();
            self.file.get_read(start)?.take(most).read_to_end(&mut head)?;
            walked = walk(&head, PAGE);
            if walked.is_ok() || (head.len() as u64) < most {
                break;
            }
        }
        walked.map_err(|problem| bad(&format!("the header of a page: {problem}")))
    }
}

fn bad(problem: &str) -> ParquetError {
    ParquetError::General(problem.into())
}

/// The bytes of one column in a group of rows.
struct Chunk {
    file: Arc<Bounded>,
    /// Unpacked bytes that the columns of the group hold together.
    held: Arc<AtomicU64>,
    /// Unpacked bytes of the last page of this column.
    page: AtomicU64,
    /// Whether the header of the next page has been read already.
    peeked: AtomicBool,
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.file.length
    }
}

impl ChunkReader for Chunk {
    type T = BufReader<File>;

    /// The crate calls this where a header begins, and again where the page begins if it looked ahead at the header.
    fn get_read(&self, start: u64) -> Outcome<BufReader<File>> {
        if !self.peeked.load(Relaxed) {
            let mut head = Vec::new();
            self.file.get_read(start)?.take(HEAD).read_to_end(&mut head)?;
            self.count(&head)?;
            self.file.check_head(start)?;
        }
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Outcome<bytes::Bytes> {
        self.file.get_bytes(start, length)
    }
}

impl Chunk {
    /// Counts a page before it is unpacked. It replaces the page before it, but a dictionary stays.
    fn count(&self, head: &[u8]) -> Outcome<()> {
        let (kind, unpacked) =
            sizes(head).ok_or_else(|| bad("a page does not begin with its type and a possible size"))?;
        let (gone, page) = if kind == DICTIONARY { (0, 0) } else { (self.page.load(Relaxed), unpacked) };
        self.page.store(page, Relaxed);
        self.held.fetch_sub(gone, Relaxed);
        let held = self.held.fetch_add(unpacked, Relaxed) + unpacked;
        if held > most_held(self.file.length) {
            return Err(bad(&format!("its pages claim {held} bytes, too many for a file of {}", self.file.length)));
        }
        Ok(())
    }
}

/// The type and the unpacked size of the page whose header begins with these bytes.
fn sizes(mut head: &[u8]) -> Option<(i64, u64)> {
    let mut number = || {
        let rest = head.strip_prefix(&[NUMBER])?;
        let end = rest.iter().take(5).position(|b| *b < 0x80)?;
        let bits = rest[..=end].iter().rev().fold(0, |n, b| n << 7 | i64::from(b & 0x7f));
        head = &rest[end + 1..];
        Some((bits >> 1) ^ -(bits & 1))
    };
    Some((number()?, u64::try_from(number()?).ok()?))
}

/// The pages of a column in a group of rows.
pub(super) struct Pages {
    chunk: Arc<Chunk>,
    pages: SerializedPageReader<Chunk>,
    kind: Physical,
    /// Values that the group claims and no page has had yet.
    left: u64,
}

impl Pages {
    /// The pages of column `meta` in a group of `rows` rows; the columns of the group share `held`.
    pub fn new(file: &Arc<Bounded>, meta: &ColumnChunkMetaData, rows: u64, held: &Arc<AtomicU64>) -> Outcome<Pages> {
        let (page, peeked) = (AtomicU64::new(0), AtomicBool::new(false));
        let chunk = Arc::new(Chunk { file: file.clone(), held: held.clone(), page, peeked });
        let pages = SerializedPageReader::new(chunk.clone(), meta, usize::try_from(rows)?, None)?;
        Ok(Pages { chunk, pages, kind: meta.column_type(), left: u64::try_from(meta.num_values())? })
    }

    /// Refuses a page with more entries than it has bytes for, or more values than the group claims.
    fn check(&mut self, page: &Page) -> Outcome<()> {
        let claimed = u64::from(page.num_values());
        if let Page::DictionaryPage { buf, .. } = page {
            let most = 8 * buf.len() as u64 / bits(self.kind);
            return if claimed > most { Err(bad("a dictionary has fewer entries than it claims")) } else { Ok(()) };
        }
        if self.kind == Physical::BYTE_ARRAY && page.encoding() == Encoding::DELTA_BYTE_ARRAY {
            // Words that share their beginnings can be unpacked to thousands of times the bytes of the page.
            return Err(bad("texts are packed as DELTA_BYTE_ARRAY, which is not read: write them with a dictionary"));
        }
        let left = self.left.checked_sub(claimed);
        self.left = left.ok_or_else(|| bad("more values than its group claims"))?;
        Ok(())
    }
}

/// Fewest bits of an entry in a dictionary.
fn bits(kind: Physical) -> u64 {
    match kind {
        Physical::BOOLEAN => 1,
        // A text has at least its length.
        Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 32,
        _ => 64,
    }
}

impl Iterator for Pages {
    type Item = Outcome<Page>;

    fn next(&mut self) -> Option<Outcome<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Outcome<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.chunk.peeked.store(false, Relaxed);
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Outcome<Option<PageMetadata>> {
        let page = self.pages.peek_next_page()?;
        self.chunk.peeked.store(page.is_some(), Relaxed);
        Ok(page)
    }

    fn skip_next_page(&mut self) -> Outcome<()> {
        let skipped = self.pages.skip_next_page();
        self.chunk.peeked.store(false, Relaxed);
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_begin_with_a_type_and_a_size() {
        assert_eq!(sizes(&[0x15, 0x04, 0x15, 0x80, 0x01, 0x15, 0x02]), Some((2, 64)));
        assert_eq!(sizes(&[0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15]), Some((0, i32::MAX as u64)));
        for bad in [&[][..], &[0x15], &[0x15, 0, 0x15, 1], &[0x16, 0, 0x15, 0], &[0x15, 0, 0x15, 0x80, 0x80]] {
            assert_eq!(sizes(bad), None, "{bad:?}");
        }
    }
}
