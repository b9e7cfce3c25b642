//! Bits times numbers by lookup tables: five bits choose one of 32 sums that are made once for all rows (the method of four
//! Russians).
//!
//! A product of a bit matrix with a panel adds, for every row, the panel's strips where the row has a bit. Taking five
//! columns at a time, the 32 possible sums are tabulated (31 additions of a half strip), and a row then costs one
//! addition per five columns instead of one multiplication and addition per column. Eight groups of 32 sums of 16
//! numbers are 16 kB: they fit in the first-level cache.

use super::bit_planes::BitPlanes;
use super::panels::{Strip, WIDTH};
use super::rounded::RUN;
use crate::real::Real;
use crate::simd::dispatch;
use std::ops::{AddAssign, Range};

/// Bits that are looked up together.
const GROUP: usize = 5;
/// Sums of a group.
const SUMS: usize = 1 << GROUP;
/// Groups whose tables exist at the same time; their bits are one code word.
const GROUPS: usize = 8;
/// Columns of a code word.
const BLOCK: usize = GROUP * GROUPS;
/// Columns of the panel that are tabulated at the same time, if they are numbers.
const HALF: usize = WIDTH / 2;
// A run of integers is some code words.
const _: () = assert!(RUN.is_multiple_of(BLOCK));

/// Rows of bits as code words of 40 bits: word r of block b has columns 40b … 40b+39 of row r.
#[derive(Clone, Debug, Default)]
pub struct CodeWords {
    rows: usize,
    words: Vec<u64>,
}

impl CodeWords {
    /// Takes the bits of some rows.
    pub fn load(&mut self, bits: &BitPlanes, rows: &Range<usize>) {
        self.rows = rows.len();
        self.words.clear();
        for block in 0..bits.columns().div_ceil(BLOCK) {
            // 40b mod 32 is at most 24, so two planes hold a block.
            let (p, shift) = (block * BLOCK / WIDTH, block * BLOCK % WIDTH);
            let low = bits.plane(p, rows);
            if (p + 1) * WIDTH < bits.columns() {
                let word = |(a, b): (&u32, &u32)| (u64::from(*a) | u64::from(*b) << 32) >> shift;
                self.words.extend(low.iter().zip(bits.plane(p + 1, rows)).map(word));
            } else {
                self.words.extend(low.iter().map(|a| u64::from(*a) >> shift));
            }
        }
    }
}

/// out[r] = Σ_k bit(r, k) · panel[k], or += if it is to be added.
pub fn product<T: Real>(level: super::Level, add: bool, codes: &CodeWords, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    run(level, add, &codes.words, codes.rows, panel, out);
}

/// out[r] = `step` · Σ_k bit(r, k) · panel[k] of integers, any [`RUN`] of which have a sum of 16 bits.
pub fn short_product<T: Real>(
    level: super::Level,
    codes: &CodeWords,
    (panel, step): (&[Strip<i16>], T),
    out: &mut [Strip<T>],
) {
    run_short(level, &codes.words, codes.rows, panel, step, out);
}

dispatch! {
    pub(super) fn run<T>(level, add: bool, codes: &[u64], rows: usize, panel: &[Strip<T>], out: &mut [Strip<T>]) => body;
}

dispatch! {
    pub(super) fn run_short<T>(level, codes: &[u64], rows: usize, panel: &[Strip<i16>], step: T, out: &mut [Strip<T>]) => short_body;
}

/// The sums of one group for N columns, 64 bytes of numbers or of integers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Table<E, const N: usize>([[E; N]; SUMS]);

/// What a table has sums of.
trait Element: Copy + Default + AddAssign {}
impl<E: Copy + Default + AddAssign> Element for E {}

#[inline(always)]
fn body<T: Real>(add: bool, codes: &[u64], rows: usize, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    let mut tables = [Table([[T::zero(); HALF]; SUMS]); GROUPS];
    for half in [0, HALF] {
        sums(add, &mut tables, codes, rows, panel, half, out);
    }
}

#[inline(always)]
fn short_body<T: Real>(codes: &[u64], rows: usize, panel: &[Strip<i16>], step: T, out: &mut [Strip<T>]) {
    let mut tables = [Table([[0; WIDTH]; SUMS]); GROUPS];
    let mut short = vec![Strip([0; WIDTH]); rows];
    for (i, run) in panel.chunks(RUN).enumerate() {
        sums(false, &mut tables, &codes[i * RUN / BLOCK * rows..], rows, run, 0, &mut short);
        for (out, short) in out.iter_mut().zip(&short) {
            let mut sum = Strip::zero();
            for c in 0..WIDTH {
                sum.0[c] = step * T::of_short(short.0[c]);
            }
            if i > 0 {
                for c in 0..WIDTH {
                    sum.0[c] += out.0[c];
                }
            }
            *out = sum;
        }
    }
}

/// A product with the N columns of the panel from `first` on.
#[inline(always)]
fn sums<E: Element, const N: usize>(
    add: bool,
    tables: &mut [Table<E, N>; GROUPS],
    codes: &[u64],
    rows: usize,
    panel: &[Strip<E>],
    first: usize,
    out: &mut [Strip<E>],
) {
    for (block, strips) in panel.chunks(BLOCK).enumerate() {
        let codes = &codes[block * rows..(block + 1) * rows];
        for (q, table) in tables.iter_mut().enumerate() {
            tabulate(strips.get(q * GROUP..).unwrap_or(&[]), first, table);
        }
        // A full block has a constant number of groups, which the compiler can unroll.
        match strips.len().div_ceil(GROUP) {
            GROUPS => look_up(add || block > 0, &tables[..GROUPS], codes, first, out),
            groups => look_up(add || block > 0, &tables[..groups], codes, first, out),
        }
    }
}

/// Sum x of the table is that of the strips whose bits x has. Strips beyond the last have no bits in any code.
#[inline(always)]
fn tabulate<E: Element, const N: usize>(strips: &[Strip<E>], first: usize, table: &mut Table<E, N>) {
    for (i, strip) in strips.iter().take(GROUP).enumerate() {
        let mut w = [E::default(); N];
        w.copy_from_slice(&strip.0[first..first + N]);
        for x in 0..1 << i {
            let mut sum = table.0[x];
            for c in 0..N {
                sum[c] += w[c];
            }
            table.0[(1 << i) + x] = sum;
        }
    }
}

/// Two rows at a time: their additions do not depend on each other.
#[inline(always)]
fn look_up<E: Element, const N: usize>(
    add: bool,
    tables: &[Table<E, N>],
    codes: &[u64],
    first: usize,
    out: &mut [Strip<E>],
) {
    let (mut pairs, mut pair_codes) = (out.chunks_exact_mut(2), codes.chunks_exact(2));
    for (pair, x) in (&mut pairs).zip(&mut pair_codes) {
        let (mut a, mut b) = ([E::default(); N], [E::default(); N]);
        if add {
            a.copy_from_slice(&pair[0].0[first..first + N]);
            b.copy_from_slice(&pair[1].0[first..first + N]);
        }
        for (q, table) in tables.iter().enumerate() {
            let s = &table.0[(x[0] >> (GROUP * q)) as usize % SUMS];
            let t = &table.0[(x[1] >> (GROUP * q)) as usize % SUMS];
            for c in 0..N {
                a[c] += s[c];
                b[c] += t[c];
            }
        }
        pair[0].0[first..first + N].copy_from_slice(&a);
        pair[1].0[first..first + N].copy_from_slice(&b);
    }
    for (strip, x) in pairs.into_remainder().iter_mut().zip(pair_codes.remainder()) {
        if !add {
            strip.0[first..first + N].fill(E::default());
        }
        for (q, table) in tables.iter().enumerate() {
            let s = &table.0[(x >> (GROUP * q)) as usize % SUMS];
            for (total, x) in strip.0[first..first + N].iter_mut().zip(s) {
                *total += *x;
            }
        }
    }
}
