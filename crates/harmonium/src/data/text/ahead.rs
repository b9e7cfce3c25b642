//! Lines of a text table with some read ahead, so that the first can be judged by those that follow.

use super::Lines;
use crate::error::Result;
use std::collections::VecDeque;

/// Lines being read.
pub(super) struct Ahead {
    pub lines: Lines,
    /// Lines that were read and not returned yet, with their numbers.
    pending: VecDeque<(u64, Vec<u8>)>,
}

impl Ahead {
    pub fn new(lines: Lines) -> Ahead {
        Ahead { lines, pending: VecDeque::new() }
    }

    /// The text of the line that comes after `k` others, which stays where it is.
    pub fn line(&mut self, k: usize) -> Result<Option<&[u8]>> {
        while self.pending.len() <= k {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            self.pending.push_back(line);
        }
        Ok(self.pending.get(k).map(|line| line.1.as_slice()))
    }

    /// The next line and its number.
    pub fn next(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        match self.pending.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next(),
        }
    }

    /// The number of the next line; none after the last.
    pub fn number(&mut self) -> Result<Option<u64>> {
        self.line(0)?;
        Ok(self.pending.front().map(|line| line.0))
    }
}
