//! w = step · (d₀ + 256 d₁ + 65,536 d₂), digits from −128 to 127: numbers in int8 tiles, one power of two per column.
//!
//! The step is the smallest power of two of which 8,355,000 reach the column's largest number, a little less than the
//! largest number of three digits, 127 · (1 + 256 + 65,536) = 8,355,711. Powers of two make everything but one rounding
//! exact: w is wrong by half a step, which is less than 1/8,355,000 of the column's largest. Sums of digits are
//! integers, and a product is their one combination, rounded twice.

use super::super::panels::{Strip, WIDTH};
use super::super::simd::{Level, dispatch};
use super::DEPTH;
use super::tiles::{SIDE, Sums, Tile};
use crate::real::Real;

/// The largest number of steps; the next power of two takes what is above.
const MOST: u32 = 8_355_000;
/// The exponent of a number, and what carries its mantissa over into it if that is above `MOST` / 2²².
const EXPONENT: u32 = 0x7f80_0000;
const CARRY: u32 = (1 << 24) - 1 - 2 * MOST;
/// 2⁻²².
const STEP: f32 = 1.0 / (1 << 22) as f32;
/// 2⁻¹⁰⁰. A column with no number as large counts as zero: a little further down its steps would be denormal, and no sum
/// with anything else would see it.
const NOTHING: f32 = f32::from_bits(27 << 23);

/// The digits of a panel: for either half of its columns and every 64 rows, three tiles.
#[derive(Clone, Debug)]
pub struct Digits {
    tiles: Vec<Tile>,
    steps: [f32; WIDTH],
}

impl Default for Digits {
    fn default() -> Digits {
        Digits::new()
    }
}

impl Digits {
    /// Of no numbers.
    pub const fn new() -> Digits {
        Digits { tiles: Vec::new(), steps: [0.0; WIDTH] }
    }

    /// Takes the numbers of a panel.
    pub fn load<T: Real>(&mut self, level: Level, panel: &[Strip<T>]) {
        self.tiles.resize(2 * 3 * panel.len().div_ceil(DEPTH), Tile::ZERO);
        find_steps(level, panel, &mut self.steps);
        divide(level, panel, &self.steps, &mut self.tiles);
    }

    /// The tiles of columns 16·half to 16·half + 15.
    pub fn half(&self, half: usize) -> &[Tile] {
        let length = self.tiles.len() / 2;
        &self.tiles[half * length..(half + 1) * length]
    }

    /// The numbers that sums of digits stand for, in half of the columns of up to 32 rows.
    pub fn recombine<T: Real>(&self, level: Level, add: bool, half: usize, sums: &Sums, out: &mut [Strip<T>]) {
        combine(level, add, half * SIDE, sums, &self.steps, out);
    }
}

dispatch! {
    /// The step of every column; NaN if it has a number that is not finite.
    fn find_steps<T>(panel: &[Strip<T>], steps: &mut [f32; WIDTH]) => find_steps_body;
}

#[inline(always)]
fn find_steps_body<T: Real>(panel: &[Strip<T>], steps: &mut [f32; WIDTH]) {
    let (mut largest, mut poison) = ([0f32; WIDTH], [0f32; WIDTH]);
    for strip in panel {
        for c in 0..WIDTH {
            let x = single(strip.0[c]).abs();
            largest[c] = if x > largest[c] { x } else { largest[c] };
            poison[c] += x * 0.0;
        }
    }
    for c in 0..WIDTH {
        let step = f32::from_bits((largest[c].to_bits() + CARRY) & EXPONENT) * STEP;
        steps[c] = poison[c] + if largest[c] < NOTHING { 0.0 } else { step };
    }
}

dispatch! {
    /// tiles = panel / steps, in digits.
    fn divide<T>(panel: &[Strip<T>], steps: &[f32; WIDTH], tiles: &mut [Tile]) => divide_body;
}

/// Four numbers of a column are one word in each of three tiles. With 128 added to both lower digits a number's bytes are
/// its digits in order, and 128 is taken from a byte again by its highest bit.
#[inline(always)]
fn divide_body<T: Real>(panel: &[Strip<T>], steps: &[f32; WIDTH], tiles: &mut [Tile]) {
    let mut inverse = [0f32; WIDTH];
    for c in 0..WIDTH {
        inverse[c] = if steps[c] > 0.0 { 1.0 / steps[c] } else { 0.0 };
    }
    let blocks = tiles.len() / 6;
    for quad in 0..blocks * SIDE {
        let mut words = [[0u32; WIDTH]; 3];
        for (j, strip) in panel.iter().skip(4 * quad).take(4).enumerate() {
            for c in 0..WIDTH {
                let bytes = whole(single(strip.0[c]) * inverse[c]).wrapping_add(0x8080) as u32 ^ 0x8080;
                for (d, words) in words.iter_mut().enumerate() {
                    words[c] |= (bytes >> (8 * d) & 255) << (8 * j);
                }
            }
        }
        for (half, d) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            let tile = &mut tiles[3 * (half * blocks + quad / SIDE) + d];
            tile.0[quad % SIDE].copy_from_slice(&words[d][half * SIDE..(half + 1) * SIDE]);
        }
    }
}

/// The nearest integer, or 0 if that is not a number of steps. (A plain conversion has limits and is left scalar.)
#[inline(always)]
fn whole(x: f32) -> i32 {
    let x = x.round_ties_even();
    let x = if x.abs() <= MOST as f32 { x } else { 0.0 };
    // SAFETY: x is a number, and neither side of 8,355,000 is beyond 32 bits.
    unsafe { x.to_int_unchecked() }
}

dispatch! {
    /// 16 columns of out = steps · (s₀ + 256 s₁ + 65,536 s₂), or += if it is to be added.
    fn combine<T>(
        add: bool, first: usize, sums: &Sums, steps: &[f32; WIDTH], out: &mut [Strip<T>],
    ) => combine_body;
}

/// s₀ + 256 s₁ is exact in 32 bits up to `LONGEST` columns.
#[inline(always)]
fn combine_body<T: Real>(add: bool, first: usize, sums: &Sums, steps: &[f32; WIDTH], out: &mut [Strip<T>]) {
    for (r, strip) in out.iter_mut().enumerate() {
        let tiles = &sums.0[r / SIDE * 3..r / SIDE * 3 + 3];
        let (low, middle, high) = (&tiles[0][r % SIDE], &tiles[1][r % SIDE], &tiles[2][r % SIDE]);
        let (out, steps) = (&mut strip.0[first..first + SIDE], &steps[first..first + SIDE]);
        for c in 0..SIDE {
            let lower = low[c].wrapping_add(middle[c] << 8);
            let sum = (high[c] as f32 * 65_536.0 + lower as f32) * steps[c];
            let sum = T::of(f64::from(sum));
            out[c] = if add { out[c] + sum } else { sum };
        }
    }
}

/// An f32 as it is: the detour of generic code over f64 costs nothing.
#[inline(always)]
fn single<T: Real>(x: T) -> f32 {
    x.f64() as f32
}
