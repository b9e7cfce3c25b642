//! The tile instructions: 32 rows of bytes times 16 columns of numbers in three digits.
//!
//! Every use is one block of assembly that begins by clearing its sums and ends by storing them, so no tile lives where the
//! compiler could know of it; only the configuration stays between blocks, and [`Tiles`] holds it.

use std::marker::PhantomData;

/// Rows of a tile, and numbers of four bytes in a row.
pub const SIDE: usize = 16;

/// 16 × 64 bytes, four to a word, the first in the lowest bits. Left factors have row r, byte k of the 64; right ones have in
/// byte j of word (k, c) number 4k + j of column c.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Tile(pub [[u32; SIDE]; SIDE]);

impl Tile {
    /// All zero.
    pub const ZERO: Tile = Tile([[0; SIDE]; SIDE]);
}

/// Six tiles of sums: digits 0, 1, 2 of the first 16 rows, then of the second.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct Sums(pub [[[i32; SIDE]; SIDE]; 6]);

/// This thread's tiles, configured. Not to be sent to another thread, which has tiles of its own.
pub struct Tiles(PhantomData<*const ()>);

impl Tiles {
    /// Configures all eight tiles as 16 rows of 64 bytes.
    ///
    /// # Safety
    /// The processor must have tiles of bytes and the system must have permitted them.
    pub unsafe fn configure() -> Tiles {
        // SAFETY: as the caller promises.
        unsafe { instructions::configure() };
        Tiles(PhantomData)
    }

    /// Sums over all blocks of 64 columns: `bits` has a tile of each block for rows 0 to 15, then for rows 16 to 31, `digits`
    /// has three of each block.
    pub fn multiply(&mut self, bits: &[Tile], digits: &[Tile], sums: &mut Sums) {
        let blocks = digits.len() / 3;
        assert!(bits.len() == 2 * blocks && digits.len() == 3 * blocks, "factors of different lengths");
        // SAFETY: the tiles are configured while `self` lives, and the assertion says that every tile read is there.
        unsafe { instructions::multiply(blocks, bits.as_ptr(), digits.as_ptr(), sums) };
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the tiles were configured on this thread.
        unsafe { instructions::release() };
    }
}

/// The same in plain Rust: what the instructions must give.
pub fn plain(bits: &[Tile], digits: &[Tile], sums: &mut Sums) {
    let blocks = digits.len() / 3;
    *sums = Sums::default();
    for (t, sums) in sums.0.iter_mut().enumerate() {
        for block in 0..blocks {
            let (x, d) = (&bits[t / 3 * blocks + block], &digits[3 * block + t % 3]);
            for (r, k, c) in (0..SIDE).flat_map(|r| (0..SIDE * SIDE).map(move |i| (r, i / SIDE, i % SIDE))) {
                let bytes = x.0[r][k].to_le_bytes().into_iter().zip(d.0[k][c].to_le_bytes());
                sums[r][c] += bytes.map(|(x, d)| i32::from(x) * i32::from(d as i8)).sum::<i32>();
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod instructions {
    use super::{SIDE, Sums, Tile};
    use std::arch::asm;

    /// What LDTILECFG reads: palette 1; 64 bytes a row at 16, 18, … 30; 16 rows at 48 … 55.
    #[repr(C, align(64))]
    struct Configuration([u8; 64]);

    static WHOLE: Configuration = {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        let mut tile = 0;
        while tile < 8 {
            bytes[16 + 2 * tile] = 4 * SIDE as u8;
            bytes[48 + tile] = SIDE as u8;
            tile += 1;
        }
        Configuration(bytes)
    };

    pub unsafe fn configure() {
        // SAFETY: reads 64 bytes of a static; the caller promises the instruction.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &WHOLE, options(nostack, preserves_flags, readonly)) };
    }

    pub unsafe fn release() {
        // SAFETY: touches nothing but tiles.
        unsafe { asm!("tilerelease", options(nostack, preserves_flags, nomem)) };
    }

    /// Seven loads for six products: digit 2 stays for the second 16 rows, which take the digits in reverse.
    pub unsafe fn multiply(blocks: usize, bits: *const Tile, digits: *const Tile, sums: &mut Sums) {
        // SAFETY: reads tiles 0 … 2·blocks − 1 of bits and 0 … 3·blocks − 1 of digits, which the caller has, and writes
        // the six tiles of sums; every tile it uses is declared.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "tilezero tmm4",
                "tilezero tmm5",
                "test {blocks}, {blocks}",
                "jz 3f",
                "2:",
                "tileloadd tmm6, [{first} + {row}*1]",
                "tileloadd tmm7, [{digits} + {row}*1]",
                "tdpbusd tmm0, tmm6, tmm7",
                "tileloadd tmm7, [{digits} + {row}*1 + 1024]",
                "tdpbusd tmm1, tmm6, tmm7",
                "tileloadd tmm7, [{digits} + {row}*1 + 2048]",
                "tdpbusd tmm2, tmm6, tmm7",
                "tileloadd tmm6, [{second} + {row}*1]",
                "tdpbusd tmm5, tmm6, tmm7",
                "tileloadd tmm7, [{digits} + {row}*1 + 1024]",
                "tdpbusd tmm4, tmm6, tmm7",
                "tileloadd tmm7, [{digits} + {row}*1]",
                "tdpbusd tmm3, tmm6, tmm7",
                "add {first}, 1024",
                "add {second}, 1024",
                "add {digits}, 3072",
                "dec {blocks}",
                "jnz 2b",
                "3:",
                "tilestored [{sums} + {row}*1], tmm0",
                "tilestored [{sums} + {row}*1 + 1024], tmm1",
                "tilestored [{sums} + {row}*1 + 2048], tmm2",
                "tilestored [{sums} + {row}*1 + 3072], tmm3",
                "tilestored [{sums} + {row}*1 + 4096], tmm4",
                "tilestored [{sums} + {row}*1 + 5120], tmm5",
                first = inout(reg) bits => _,
                second = inout(reg) bits.add(blocks) => _,
                digits = inout(reg) digits => _,
                blocks = inout(reg) blocks => _,
                sums = in(reg) sums,
                row = in(reg) 4 * SIDE,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

/// Other processors compile this and never run it: no level of theirs has tiles.
#[cfg(not(target_arch = "x86_64"))]
mod instructions {
    use super::{Sums, Tile};

    pub unsafe fn configure() {}

    pub unsafe fn release() {}

    pub unsafe fn multiply(blocks: usize, bits: *const Tile, digits: *const Tile, sums: &mut Sums) {
        // SAFETY: the caller has these tiles.
        let (bits, digits) =
            unsafe { (std::slice::from_raw_parts(bits, 2 * blocks), std::slice::from_raw_parts(digits, 3 * blocks)) };
        super::plain(bits, digits, sums);
    }
}
