//! The tile file, and what each instruction does to it.

use super::Fault;
use super::decode::{Address, Instruction};

/// The tiles of a thread: their shapes and 16 rows of 64 bytes each.
pub struct File {
    configured: bool,
    rows: [usize; 8],
    bytes: [usize; 8],
    data: [[[u8; 64]; 16]; 8],
}

impl File {
    /// As after TILERELEASE.
    pub const RELEASED: File = File { configured: false, rows: [0; 8], bytes: [0; 8], data: [[[0; 64]; 16]; 8] };

    /// LDTILECFG.
    fn configure(&mut self, config: &[u8; 64]) -> Result<(), Fault> {
        *self = File::RELEASED;
        match config[0] {
            0 => return Ok(()),
            1 => {}
            palette => return Err(format!("palette {palette} (#GP)")),
        }
        if config[1] != 0 {
            return Err(format!("a start at row {} is not emulated", config[1]));
        }
        let reserved = config[2..16].iter().chain(&config[32..48]).chain(&config[56..]);
        if reserved.copied().any(|b| b != 0) {
            return Err("reserved bytes of the configuration are not zero (#GP)".into());
        }
        for t in 0..8 {
            self.bytes[t] = usize::from(u16::from_le_bytes([config[16 + 2 * t], config[17 + 2 * t]]));
            self.rows[t] = usize::from(config[48 + t]);
            let (rows, bytes) = (self.rows[t], self.bytes[t]);
            if rows > 16 || bytes > 64 || (rows == 0) != (bytes == 0) {
                return Err(format!("tmm{t} of {rows} rows of {bytes} bytes (#GP)"));
            }
        }
        self.configured = true;
        Ok(())
    }

    /// The shape of a tile that an instruction uses.
    fn shape(&self, t: usize) -> Result<(usize, usize), Fault> {
        if !self.configured {
            return Err("tiles are not configured (#UD)".into());
        }
        match (t < 8).then(|| (self.rows[t], self.bytes[t])) {
            Some((rows, bytes)) if rows > 0 => Ok((rows, bytes)),
            _ => Err(format!("tmm{t} is not configured (#UD)")),
        }
    }

    /// TILEZERO.
    fn zero(&mut self, t: usize) -> Result<(), Fault> {
        self.shape(t)?;
        self.data[t] = [[0; 64]; 16];
        Ok(())
    }

    /// TILELOADD: what is beyond the tile's rows and bytes becomes zero.
    ///
    /// # Safety
    /// Memory at every row must be readable.
    unsafe fn load(&mut self, t: usize, begin: usize, distance: usize) -> Result<(), Fault> {
        let (rows, bytes) = self.shape(t)?;
        self.data[t] = [[0; 64]; 16];
        for r in 0..rows {
            let from = begin.wrapping_add(r.wrapping_mul(distance)) as *const u8;
            // SAFETY: as the caller promises; a row has room for 64 bytes.
            unsafe { std::ptr::copy_nonoverlapping(from, self.data[t][r].as_mut_ptr(), bytes) };
        }
        Ok(())
    }

    /// TILESTORED.
    ///
    /// # Safety
    /// Memory at every row must be writable.
    unsafe fn store(&self, t: usize, begin: usize, distance: usize) -> Result<(), Fault> {
        let (rows, bytes) = self.shape(t)?;
        for r in 0..rows {
            let to = begin.wrapping_add(r.wrapping_mul(distance)) as *mut u8;
            // SAFETY: as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(self.data[t][r].as_ptr(), to, bytes) };
        }
        Ok(())
    }

    /// TDPB**D: word (m, n) of a grows by Σ_k Σ_j byte j of word (m, k) of b times byte j of word (k, n) of c.
    fn dot(&mut self, signed: [bool; 2], [a, b, c]: [usize; 3]) -> Result<(), Fault> {
        let [(m, n), (b_rows, b_bytes), (c_rows, c_bytes)] = [self.shape(a)?, self.shape(b)?, self.shape(c)?];
        if a == b || a == c || b == c {
            return Err(format!("tmm{a}, tmm{b}, tmm{c} are not three tiles (#UD)"));
        }
        if [n, b_bytes, c_bytes].iter().any(|x| x % 4 != 0) || b_rows != m || c_bytes != n || c_rows != b_bytes / 4 {
            return Err(format!("tmm{a}, tmm{b}, tmm{c} do not fit each other (#UD)"));
        }
        let value = |byte: u8, signed: bool| if signed { i32::from(byte as i8) } else { i32::from(byte) };
        let (left, right) = (self.data[b], self.data[c]);
        for (row, left) in self.data[a].iter_mut().zip(&left).take(m) {
            let mut words = [0i32; 16];
            for k in (0..b_bytes).filter(|k| left[*k] != 0) {
                let x = value(left[k], signed[0]);
                for (i, word) in words[..n / 4].iter_mut().enumerate() {
                    *word = word.wrapping_add(x * value(right[k / 4][4 * i + k % 4], signed[1]));
                }
            }
            for (old, word) in row[..n].chunks_exact_mut(4).zip(words) {
                let sum = i32::from_le_bytes([old[0], old[1], old[2], old[3]]).wrapping_add(word);
                old.copy_from_slice(&sum.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Any of them, with the general registers in the order of their numbers.
    ///
    /// # Safety
    /// Memory that the instruction reads or writes must be there.
    pub unsafe fn execute(&mut self, instruction: Instruction, registers: [usize; 16]) -> Result<(), Fault> {
        let begin = |a: Address| registers[a.base].wrapping_add(a.displacement as isize as usize);
        let distance = |a: Address| a.index.map_or(0, |i| registers[i] << a.scale);
        match instruction {
            Instruction::Configure(a) => {
                let from = begin(a).wrapping_add(distance(a)) as *const [u8; 64];
                // SAFETY: as the caller promises.
                self.configure(unsafe { &*from })
            }
            Instruction::Release => {
                *self = File::RELEASED;
                Ok(())
            }
            Instruction::Zero(t) => self.zero(t),
            // SAFETY: as the caller promises.
            Instruction::Load(t, a) => unsafe { self.load(t, begin(a), distance(a)) },
            // SAFETY: as the caller promises.
            Instruction::Store(a, t) => unsafe { self.store(t, begin(a), distance(a)) },
            Instruction::Dot(signed, tiles) => self.dot(signed, tiles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Level;
    use super::*;
    use std::arch::asm;

    /// A configuration of tiles with these rows and bytes.
    fn config(shapes: &[(u8, u8)]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        for (t, (rows, width)) in shapes.iter().enumerate() {
            (bytes[48 + t], bytes[16 + 2 * t]) = (*rows, *width);
        }
        bytes
    }

    /// Two by two words from two rows of eight bytes, computed by hand; with the processor's own tiles if it has them.
    #[test]
    fn products_are_those_computed_by_hand() {
        Level::with_tiles();
        let left: [[u8; 8]; 2] = [[1, 2, 3, 4, 5, 6, 7, 8], [255, 0, 0, 0, 0, 0, 0, 1]];
        // Words (1, 1, 1, 1), (−1, 0, 0, 2); (10, 0, 0, 0), (0, 0, −128, 0).
        let right: [[u8; 8]; 2] = [[1, 1, 1, 1, 255, 0, 0, 2], [10, 0, 0, 0, 0, 0, 128, 0]];
        macro_rules! dot {
            ($instruction:literal) => {{
                let mut out = [[7i32; 3]; 2];
                // SAFETY: tiles are there or emulated; loads and stores are of two rows of eight bytes, within the arrays.
                unsafe {
                    asm!(
                        "ldtilecfg [{config}]",
                        "tilezero tmm0",
                        "tileloadd tmm1, [{left} + {eight}*1]",
                        "tileloadd tmm2, [{right} + {eight}*1]",
                        concat!($instruction, " tmm0, tmm1, tmm2"),
                        concat!($instruction, " tmm0, tmm1, tmm2"),
                        "tilestored [{out} + {six}*2 + 4], tmm0",
                        "tilerelease",
                        config = in(reg) &config(&[(2, 8), (2, 8), (2, 8)]),
                        left = in(reg) &left,
                        right = in(reg) &right,
                        out = in(reg) out.as_mut_ptr(),
                        eight = in(reg) 8usize,
                        six = in(reg) 6usize,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _,
                        options(nostack),
                    );
                }
                assert_eq!([out[0][0], out[1][0]], [7, 7], "before the rows, nothing is written");
                // Added twice.
                [out[0][1] / 2, out[0][2] / 2, out[1][1] / 2, out[1][2] / 2]
            }};
        }
        // 1+2+3+4 + 5·10; −1 + 4·2 − 7·128; 255; −255.
        assert_eq!(dot!("tdpbusd"), [60, -889, 255, -255]);
        assert_eq!(dot!("tdpbssd"), [60, -889, -1, 1]);
        // 255 + 8 + 7·128; 255·255.
        assert_eq!(dot!("tdpbuud"), [60, 1159, 255, 65025]);
        assert_eq!(dot!("tdpbsud"), [60, 1159, -1, -255]);
    }

    #[test]
    fn wrong_configurations_are_refused() {
        let mut tiles = File::RELEASED;
        assert_eq!(tiles.configure(&config(&[(16, 64), (0, 0), (1, 3)])), Ok(()));
        assert_eq!(tiles.zero(0), Ok(()));
        for shapes in [[(17, 64)], [(16, 65)], [(0, 64)], [(16, 0)]] {
            assert!(tiles.configure(&config(&shapes)).is_err(), "{shapes:?}");
        }
        for (place, value) in [(0, 2), (1, 1), (2, 1), (15, 1), (17, 1), (32, 64), (47, 1), (56, 1), (63, 1)] {
            let mut bytes = config(&[(16, 64)]);
            bytes[place] = value;
            assert!(tiles.configure(&bytes).is_err(), "byte {place}");
        }
        // Palette 0 is no configuration.
        assert_eq!(tiles.configure(&[0; 64]), Ok(()));
        assert!(tiles.zero(0).is_err());
    }

    #[test]
    fn tiles_that_are_missing_or_do_not_fit_are_refused() {
        let mut tiles = File::RELEASED;
        assert!(tiles.zero(0).is_err());
        // 3 rows of 5 words = 3 rows of 8 bytes times 2 rows of 5 words.
        let fit = [(3, 20), (3, 8), (2, 20)];
        tiles.configure(&config(&fit)).unwrap();
        assert_eq!(tiles.dot([false, true], [0, 1, 2]), Ok(()));
        for tiles_used in [[0, 1, 3], [0, 1, 1], [0, 0, 2], [2, 1, 2], [0, 2, 1], [0, 1, 9]] {
            assert!(tiles.dot([false, true], tiles_used).is_err(), "{tiles_used:?}");
        }
        for (t, shape) in
            [(0, (2, 20)), (0, (3, 16)), (1, (2, 8)), (1, (3, 12)), (2, (3, 20)), (2, (2, 16)), (1, (3, 9))]
        {
            let mut shapes = fit;
            shapes[t] = shape;
            tiles.configure(&config(&shapes)).unwrap();
            assert!(tiles.dot([false, true], [0, 1, 2]).is_err(), "tmm{t} of {shape:?}");
        }
    }

    /// Loads clear what is beyond the tile; distances between rows may be negative.
    #[test]
    fn loads_and_stores_keep_to_the_shape() {
        let mut tiles = File::RELEASED;
        tiles.configure(&config(&[(2, 3)])).unwrap();
        tiles.data[0] = [[9; 64]; 16];
        let (from, mut to) = ([1u8, 2, 3, 4, 5, 6, 7, 8], [0u8; 12]);
        // SAFETY: rows begin at bytes 4 and 0 of `from`, 1 and 6 of `to`, and have three bytes.
        unsafe {
            tiles.load(0, from[4..].as_ptr() as usize, 4usize.wrapping_neg()).unwrap();
            tiles.store(0, to[1..].as_mut_ptr() as usize, 5).unwrap();
        }
        assert_eq!(to, [0, 5, 6, 7, 0, 0, 1, 2, 3, 0, 0, 0]);
        assert!(tiles.data[0][0][3..].iter().chain(tiles.data[0][2..].iter().flatten()).all(|x| *x == 0));
    }
}
