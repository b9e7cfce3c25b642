//! Bits as bytes in tiles: 16 rows by 64 columns each, the blocks of 64 columns of 16 rows side by side.

use super::super::panels::{WIDTH, panels_of};
use super::super::planes::Planes;
use super::DEPTH;
use super::tiles::{SIDE, Tile};
use crate::threads;
use std::ops::Range;

/// Rows of bits as the left factor of tile products. Rows are filled up to a multiple of 32 by zeros, columns to one of 64.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    blocks: usize,
    tiles: Vec<Tile>,
}

impl Bytes {
    /// Takes the bits of some rows.
    pub fn load(&mut self, much: bool, bits: &Planes, rows: &Range<usize>) {
        self.blocks = bits.columns().div_ceil(DEPTH);
        self.tiles.resize(2 * rows.len().div_ceil(2 * SIDE) * self.blocks, Tile::ZERO);
        threads::each(much, self.tiles.chunks_mut(self.blocks).enumerate(), |(b, tiles)| {
            let first = (rows.start + b * SIDE).min(rows.end);
            spread(bits, first..(first + SIDE).min(rows.end), tiles);
        });
    }

    /// The tiles of rows 32·pair to 32·pair + 15, then of the 16 rows after them.
    pub fn pair(&self, pair: usize) -> &[Tile] {
        &self.tiles[2 * pair * self.blocks..2 * (pair + 1) * self.blocks]
    }
}

/// Up to 16 rows of bits as tiles: a plane's word is half a row of a tile.
fn spread(bits: &Planes, rows: Range<usize>, tiles: &mut [Tile]) {
    const HALF: usize = SIDE / 2;
    tiles.fill(Tile::ZERO);
    for p in 0..panels_of(bits.columns()) {
        let (tile, half) = (&mut tiles[p * WIDTH / DEPTH], p % 2 * HALF);
        for (row, word) in tile.0.iter_mut().zip(bits.plane(p, &rows)) {
            for (two, byte) in row[half..half + HALF].chunks_exact_mut(2).zip(word.to_le_bytes()) {
                two.copy_from_slice(&SPREAD[usize::from(byte)]);
            }
        }
    }
}

/// Eight bits as eight bytes.
static SPREAD: [[u32; 2]; 256] = {
    let mut all = [[0; 2]; 256];
    let mut bits = 0;
    while bits < 256 {
        all[bits] = [four_bytes(bits as u32 & 15), four_bytes(bits as u32 >> 4)];
        bits += 1;
    }
    all
};

/// Four bits as four bytes: copies of them 7 places apart have bit j where byte j begins, and never overlap.
const fn four_bytes(bits: u32) -> u32 {
    (bits * 0x0020_4081) & 0x0101_0101
}
