//! The non-empty lines of a text file with their numbers; a line end inside quotes does not end a line.

use super::super::bytes::Bytes;
use super::cells::Quotes;
use crate::error::{Error, Result};
use std::io::{BufRead, Read};

/// Longest line in bytes: 2²⁴ cells of four bytes. The limit keeps a file without line ends from filling the memory.
const MOST_LINE: usize = 64 << 20;

/// Lines being read.
pub(in super::super) struct Lines {
    bytes: Bytes,
    /// Number of the last line that was read, counted from 1.
    number: u64,
    /// A buffer to reuse.
    spare: Vec<u8>,
}

impl Lines {
    /// The lines of a file.
    pub fn new(bytes: Bytes) -> Lines {
        Lines { bytes, number: 0, spare: Vec::new() }
    }

    /// Skips lines, also empty ones.
    pub fn skip(&mut self, lines: u64) -> Result<()> {
        let mut line = Vec::new();
        for _ in 0..lines {
            line.clear();
            if !self.append(&mut line)? {
                break;
            }
        }
        Ok(())
    }

    /// The next line that is neither empty nor a comment, and its number; none at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        let mut line = std::mem::take(&mut self.spare);
        loop {
            line.clear();
            if !self.append(&mut line)? {
                return Ok(None);
            }
            let number = self.number;
            if matches!(line.trim_ascii_start().first(), None | Some(b'#')) {
                continue;
            }
            // Most tables have no quotes, and this search is fast.
            if line.contains(&b'"') {
                self.close_quotes(&mut line)?;
            }
            // Only line ends: spaces and tabs may be cells.
            while line.pop_if(|b| matches!(*b, b'\n' | b'\r')).is_some() {}
            return Ok(Some((number, line)));
        }
    }

    /// Appends the lines on which a quoted cell continues. Every byte is scanned once, however many lines there are.
    fn close_quotes(&mut self, line: &mut Vec<u8>) -> Result<()> {
        let (number, mut state, mut seen) = (self.number, Quotes::START, 0);
        loop {
            state = state.after(&line[seen..]);
            seen = line.len();
            if state != Quotes::Open {
                return Ok(());
            }
            if !self.append(line)? {
                return Err(self.refuse(format!("a quote opened in line {number} is never closed")));
            }
        }
    }

    /// Takes back the buffer of a line, to reuse it.
    pub fn give_back(&mut self, line: Vec<u8>) {
        self.spare = line;
    }

    /// Appends one line with its line end, also an empty one; false at the end of the file.
    pub fn append(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        let before = line.len();
        let limit = (MOST_LINE - before.min(MOST_LINE)) as u64 + 1;
        let read = self.bytes.reader.by_ref().take(limit).read_until(b'\n', line);
        read.map_err(|e| self.bytes.failed(e))?;
        self.number += 1;
        if line.len() > MOST_LINE {
            return Err(self.refuse(format!("line {} is longer than {} MiB", self.number, MOST_LINE >> 20)));
        }
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
            return Ok(true);
        }
        Ok(line.len() > before)
    }

    /// An error about the content of the file.
    pub fn refuse(&self, problem: String) -> Error {
        self.bytes.refuse(problem)
    }
}
