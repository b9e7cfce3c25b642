//! Bits times numbers through int8 tiles (AMX): x·W = Σ_d 256^d · x·D_d, where D₀, D₁, D₂ are the digits of W in base 256.
//!
//! A tile instruction multiplies 16 × 64 by 64 × 16 bytes and adds to 16 × 16 integers. Bits are bytes 0 and 1; a number is
//! three balanced digits, so three such products are exact sums of numbers rounded to 23 bits, 1.2·10⁻⁷ of the largest in
//! their column. Integers have no order of addition: results depend on neither threads nor blocks.
//!
//! | file | idea |
//! |---|---|
//! | `digits` | numbers as digits in tiles, and sums of digits as numbers |
//! | `bytes` | bits as bytes in tiles |
//! | `tiles` | the instructions, and what they compute in plain Rust |
//! | `detect` | whether processor, system and virtual model have them |
//! | `emulator` | for tests on other models: the instructions, carried out when they trap |

mod bytes;
#[cfg(target_arch = "x86_64")]
mod detect;
mod digits;
#[cfg(test)]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod emulator;
#[cfg(test)]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod tests;
mod tiles;

pub use bytes::Bytes;
#[cfg(target_arch = "x86_64")]
pub use detect::available;
pub use digits::Digits;

use super::panels::{Panel, Strip};
use super::simd::Level;
use crate::real::Real;
use std::cell::Cell;
use tiles::{SIDE, Sums, Tiles};

/// Columns of bits up to which sums cannot overflow: with digits from −128 to 127, d₀ + 256 d₁ is at most 32,896 in size,
/// and 65,280 times that is below 2³¹.
pub const LONGEST: usize = 65_280;

/// Columns of bits that one tile holds.
const DEPTH: usize = 4 * SIDE;

/// Whether tiles take less time than lists for bits of which `ones` are set. Per panel and in 0.1 ns, a prototype took 1,500
/// to 2,200 for 32 rows of 64 columns, at least and rounded up, and 7 to 9 for an entry of a list (one Sapphire
/// Rapids core, AVX-512, 784 × 500, batches of 128 and 1,000): they meet at 12 % of set bits.
pub fn worth(rows: usize, columns: usize, ones: usize) -> bool {
    2000 * rows.div_ceil(2 * SIDE) * columns.div_ceil(DEPTH) < 8 * ones
}

thread_local! {
    /// Digits of numbers that are multiplied only once.
    static ONCE: Cell<Digits> = const { Cell::new(Digits::new()) };
}

/// out[r] = Σ_k bit(r, k) · panel[k], or += if it is to be added; panels without digits get them here.
pub fn product<T: Real>(level: Level, add: bool, bits: &Bytes, panel: Panel<T>, out: &mut [Strip<T>]) {
    if let Some(digits) = panel.digits {
        return multiply(level, add, bits, digits, out);
    }
    let mut digits = ONCE.take();
    digits.load(level, panel.strips);
    multiply(level, add, bits, &digits, out);
    ONCE.set(digits);
}

/// Half a panel's digits stay in the first-level cache while all rows pass, 32 at a time. The configuration is loaded and
/// released by every product: between products a thread carries no tiles that the system would have to save.
fn multiply<T: Real>(level: Level, add: bool, bits: &Bytes, digits: &Digits, out: &mut [Strip<T>]) {
    assert!(level.has_tiles(), "tiles are used only where there are tiles");
    // SAFETY: a level with tiles is made only where they were found, permitted and tested (or are emulated).
    let mut tiles = unsafe { Tiles::configure() };
    let mut sums = Sums::default();
    for half in 0..2 {
        for (pair, out) in out.chunks_mut(2 * SIDE).enumerate() {
            tiles.multiply(bits.pair(pair), digits.half(half), &mut sums);
            digits.recombine(level, add, half, &sums, out);
        }
    }
}
