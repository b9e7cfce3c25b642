//! Bits of many rows, in planes of 32 columns: word r of plane p has bits 32p … 32p+31 of row r.
//!
//! The task of a panel draws one plane, the transpose of a 32 × 32 block is within one plane, and no two threads write to the
//! same word.

use super::panels::{WIDTH, panels_of};
use crate::bits::Bits;
use std::ops::Range;

/// A matrix of bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitPlanes {
    rows: usize,
    columns: usize,
    words: Vec<u32>,
}

impl BitPlanes {
    /// Changes the shape; the bits are arbitrary.
    pub fn resize(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.words.resize(rows * panels_of(columns), 0);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The words of some rows of plane `p`, one per row.
    pub fn plane(&self, p: usize, rows: &Range<usize>) -> &[u32] {
        &self.words[p * self.rows + rows.start..p * self.rows + rows.end]
    }

    /// The bit in column `c` of row `r`.
    pub fn get(&self, r: usize, c: usize) -> bool {
        self.words[c / WIDTH * self.rows + r] >> (c % WIDTH) & 1 == 1
    }

    /// Takes the bits that are set in `which` from `of`; all have the same shape.
    pub fn merge(&mut self, of: &BitPlanes, which: &BitPlanes) {
        for ((word, of), which) in self.words.iter_mut().zip(&of.words).zip(&which.words) {
            *word = (*word & !which) | (of & which);
        }
    }

    /// All planes, one after another.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The same, to write to.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Number of bits that are set in some rows.
    pub fn ones(&self, rows: &Range<usize>) -> usize {
        let bit_planes = 0..panels_of(self.columns);
        bit_planes.flat_map(|p| self.plane(p, rows)).map(|w| w.count_ones() as usize).sum()
    }

    /// Takes rows of packed bits.
    pub fn load<'a>(&mut self, columns: usize, rows: impl ExactSizeIterator<Item = &'a [u64]>) {
        let n = rows.len();
        self.resize(n, columns);
        for (r, row) in rows.enumerate() {
            for (word, p) in row.iter().zip((0..).step_by(2)) {
                self.words[p * n + r] = *word as u32;
                if (p + 1) * n < self.words.len() {
                    self.words[(p + 1) * n + r] = (*word >> 32) as u32;
                }
            }
        }
    }

    /// The rows as packed bits.
    pub fn bits(&self) -> Bits {
        let bit_planes = panels_of(self.columns);
        let word = |r: usize, p: usize| if p < bit_planes { u64::from(self.words[p * self.rows + r]) } else { 0 };
        let row = |r: usize| (0..bit_planes).step_by(2).map(move |p| word(r, p) | word(r, p + 1) << 32);
        // Words beyond the last column are never set, so this cannot fail.
        Bits::from_words(self.columns, (0..self.rows).flat_map(row).collect())
            .unwrap_or_else(|| Bits::new(self.columns))
    }

    /// Clears the bits beyond the last column, which a draw of whole words may have set.
    pub fn trim(&mut self) {
        let spare = panels_of(self.columns) * WIDTH - self.columns;
        let last = self.words.len() - self.rows;
        if spare > 0 {
            self.words[last..].iter_mut().for_each(|w| *w &= u32::MAX >> spare);
        }
    }

    /// Makes `out` the transpose of some rows.
    pub fn transpose(&self, rows: &Range<usize>, out: &mut BitPlanes) {
        out.resize(self.columns, rows.len());
        let mut block = [0; WIDTH];
        for p in 0..panels_of(self.columns) {
            let width = WIDTH.min(self.columns - p * WIDTH);
            for (q, words) in self.plane(p, rows).chunks(WIDTH).enumerate() {
                block[..words.len()].copy_from_slice(words);
                block[words.len()..].fill(0);
                transpose(&mut block);
                let begin = q * self.columns + p * WIDTH;
                out.words[begin..begin + width].copy_from_slice(&block[..width]);
            }
        }
    }
}

/// Transposes 32 × 32 bits by exchanging ever smaller off-diagonal blocks (Warren, *Hacker's Delight*, 7-3).
fn transpose(a: &mut [u32; WIDTH]) {
    exchange::<16>(a, 0x0000_ffff);
    exchange::<8>(a, 0x00ff_00ff);
    exchange::<4>(a, 0x0f0f_0f0f);
    exchange::<2>(a, 0x3333_3333);
    exchange::<1>(a, 0x5555_5555);
}

/// Exchanges blocks of `J` × `J` bits: `mask` has the low half of every 2`J` columns.
#[inline(always)]
fn exchange<const J: usize>(a: &mut [u32; WIDTH], mask: u32) {
    for rows in a.chunks_exact_mut(2 * J) {
        let (low, high) = rows.split_at_mut(J);
        for (low, high) in low.iter_mut().zip(high) {
            let t = (*low >> J ^ *high) & mask;
            *low ^= t << J;
            *high ^= t;
        }
    }
}
