//! Sparse rows times numbers: each row is a list of the columns where it has a 1, and their strips are added.
//!
//! Lists are cut into blocks of 256 columns, so that an entry is a byte and the strips of a block stay in the first-level
//! cache. Four strips are summed before they are added to the total, which shortens the chain of additions that depend on each
//! other.

use super::bit_planes::BitPlanes;
use super::panels::{Strip, WIDTH, panels_of};
use crate::real::Real;
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;
use crate::simd::{Level, dispatch};
use crate::threads::{self, MANY};
use std::ops::Range;

/// Columns of a block.
const BLOCK: usize = 256;
/// Bytes for all entries that a row may have, and for those written beyond them.
const ROOM: usize = BLOCK + 64;
type Room = [u8; ROOM];

/// Rows of lists, in blocks of 256 columns.
#[derive(Clone, Debug, Default)]
pub struct IndexLists {
    rows: usize,
    columns: usize,
    blocks: Vec<Block>,
}

/// The lists of one block: the entries of row r are `items[starts[r] .. starts[r + 1]]`.
#[derive(Clone, Debug, Default)]
struct Block {
    starts: Vec<u32>,
    items: Vec<u8>,
}

impl Block {
    #[inline(always)]
    fn row(&self, r: usize) -> &[u8] {
        &self.items[self.starts[r] as usize..self.starts[r + 1] as usize]
    }

    /// Takes the set bits of rows, of which every plane has a word.
    fn load(&mut self, level: Level, rows: usize, bit_planes: &[&[u32]]) {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = is_x86_feature_detected!("avx512vbmi2") && is_x86_feature_detected!("popcnt");
            if wide && level.isa() == Isa::Avx512 {
                // SAFETY: the processor reports these features, and the level stands for the others.
                return unsafe { self.load_wide(rows, bit_planes) };
            }
        }
        let _ = level;
        self.fill(rows, |r, room| {
            let words = bit_planes.iter().map(|plane| plane[r]).enumerate();
            words.fold(0, |n, (p, word)| write(word, p * WIDTH, n, room))
        });
    }

    /// The same by an instruction that packs the selected ones of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn load_wide(&mut self, rows: usize, bit_planes: &[&[u32]]) {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_storeu_si512};
        self.fill(rows, |r, room| {
            let mut n = 0;
            for (columns, pair) in COLUMNS.iter().zip(bit_planes.chunks(2)) {
                let word = pair.iter().rev().fold(0, |word, plane| word << WIDTH | u64::from(plane[r]));
                // As in `write`.
                let Some(place) = room[n % BLOCK..].first_chunk_mut::<64>() else { return n };
                // SAFETY: both are 64 bytes.
                unsafe {
                    let columns = _mm512_loadu_si512(columns.as_ptr().cast());
                    _mm512_storeu_si512(place.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(word, columns));
                }
                n += word.count_ones() as usize;
            }
            n
        });
    }

    /// Makes the lists of rows: `each` writes a row's entries and returns how many there are.
    #[inline(always)]
    fn fill(&mut self, rows: usize, mut each: impl FnMut(usize, &mut Room) -> usize) {
        self.starts.clear();
        self.starts.push(0);
        let mut n = 0;
        for r in 0..rows {
            if self.items.len() < n + ROOM {
                self.items.resize(2 * n + ROOM, 0);
            }
            let Some(room) = self.items[n..].first_chunk_mut() else { return };
            n += each(r, room);
            self.starts.push(n as u32);
        }
    }
}

/// All columns of a block.
#[cfg(target_arch = "x86_64")]
const COLUMNS: [[u8; 64]; BLOCK / 64] = {
    let mut all = [[0; 64]; BLOCK / 64];
    let mut k = 0;
    while k < BLOCK {
        all[k / 64][k % 64] = k as u8;
        k += 1;
    }
    all
};

/// The numbers of the set bits of every byte, lowest first, in the bytes of a word, and how many there are.
const BYTES: [(u64, usize); 256] = {
    let mut all = [(0, 0); 256];
    let mut k = 0;
    while k < 256 * 8 {
        let (byte, bit) = (k / 8, k % 8);
        if byte >> bit & 1 == 1 {
            all[byte].0 |= (bit as u64) << (8 * all[byte].1);
            all[byte].1 += 1;
        }
        k += 1;
    }
    all
};

/// Writes `first` + k to place `n` and on for every set bit k of a word; returns the place after the last. Each byte writes eight
/// entries, of which those that it has are kept.
#[inline(always)]
fn write(word: u32, first: usize, mut n: usize, room: &mut Room) -> usize {
    for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
        let (bits, count) = BYTES[usize::from(byte)];
        let each = 0x0101_0101_0101_0101 * (first + 8 * k) as u64;
        // Before the last byte of a row there are fewer than 256 entries, so this is n, and the compiler sees that it is in range.
        let place = n % BLOCK;
        room[place..place + 8].copy_from_slice(&(bits + each).to_le_bytes());
        n += count;
    }
    n
}

impl IndexLists {
    /// Takes the set bits of some rows.
    pub fn load(&mut self, level: Level, parallel: bool, bits: &BitPlanes, rows: &Range<usize>) {
        const PLANES: usize = BLOCK / WIDTH;
        let len = panels_of(bits.columns());
        self.resize(rows.len(), bits.columns());
        // Loading is quick even where the product is large.
        let parallel = parallel && rows.len() * bits.columns() >= MANY;
        threads::each(parallel, self.blocks.iter_mut().zip((0..len).step_by(PLANES)), |(block, first)| {
            let mut bit_planes = [&[][..]; PLANES];
            let bit_planes = &mut bit_planes[..PLANES.min(len - first)];
            bit_planes.iter_mut().zip(first..).for_each(|(plane, p)| *plane = bits.plane(p, rows));
            block.load(level, rows.len(), bit_planes);
        });
    }

    /// Takes rows of `sites` codes: a 1 in column site·`states` + code of every site.
    pub fn load_codes(&mut self, parallel: bool, codes: &[u16], sites: usize, states: usize) {
        let columns = sites * states;
        self.resize(codes.len() / sites, columns);
        threads::each(parallel, self.blocks.iter_mut().enumerate(), |(b, block)| {
            let first = b * BLOCK;
            // A site's columns may start in the block before.
            let within = first / states..(first + BLOCK).min(columns).div_ceil(states);
            block.fill(codes.len() / sites, |r, room| {
                let mut n = 0;
                for site in within.clone() {
                    let column = site * states + usize::from(codes[r * sites + site]);
                    if (first..first + BLOCK).contains(&column) {
                        room[n] = (column - first) as u8;
                        n += 1;
                    }
                }
                n
            });
        });
    }

    fn resize(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.blocks.resize_with(columns.div_ceil(BLOCK), Block::default);
    }

    /// Makes `out` the transpose: one list of rows for every column.
    pub fn transpose(&self, parallel: bool, out: &mut IndexLists) {
        out.resize(self.columns, self.rows);
        threads::each(parallel, out.blocks.iter_mut().enumerate(), |(b, block)| {
            let rows = b * BLOCK..((b + 1) * BLOCK).min(self.rows);
            // Count, add up, fill. While filling, starts[c] moves from the start of list c to its end, which is the
            // start of list c + 1.
            let starts = &mut block.starts;
            starts.clear();
            starts.resize(self.columns + 1, 0);
            self.each(rows.clone(), |_, column| starts[column + 1] += 1);
            for c in 0..self.columns {
                starts[c + 1] += starts[c];
            }
            block.items.resize(starts[self.columns] as usize, 0);
            self.each(rows.clone(), |r, column| {
                block.items[starts[column] as usize] = (r - rows.start) as u8;
                starts[column] += 1;
            });
            starts.copy_within(..self.columns, 1);
            starts[0] = 0;
        });
    }

    /// Row and column of every entry.
    #[cfg(test)]
    pub fn entries(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        self.each(0..self.rows, |row, column| all.push((row, column)));
        all
    }

    /// Calls `f(row, column)` for every entry of some rows, rows in order within a column.
    fn each(&self, rows: Range<usize>, mut f: impl FnMut(usize, usize)) {
        for (b, block) in self.blocks.iter().enumerate() {
            for r in rows.clone() {
                for item in block.row(r) {
                    f(r, b * BLOCK + usize::from(*item));
                }
            }
        }
    }
}

dispatch! {
    /// out[r] = Σ panel[k] over the list of row r, or += if it is to be added.
    pub(super) fn product<T>(level, add: bool, lists: &IndexLists, panel: &[Strip<T>], out: &mut [Strip<T>]) => body;
}

#[inline(always)]
fn body<T: Real>(add: bool, lists: &IndexLists, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    for (b, (block, strips)) in lists.blocks.iter().zip(panel.chunks(BLOCK)).enumerate() {
        for (r, out) in out.iter_mut().enumerate() {
            let fours = block.row(r).chunks_exact(4);
            let rest = fours.remainder();
            let mut total = if add || b > 0 { *out } else { Strip::zero() };
            for i in fours {
                let [p, q, s, t] = [0, 1, 2, 3].map(|k| &strips[usize::from(i[k])].0);
                for c in 0..WIDTH {
                    total.0[c] += (p[c] + q[c]) + (s[c] + t[c]);
                }
            }
            for i in rest {
                for (total, x) in total.0.iter_mut().zip(&strips[usize::from(*i)].0) {
                    *total += *x;
                }
            }
            *out = total;
        }
    }
}
