//! Bars and stripes: on K × K pixels, whole rows or whole columns are lit; 2·2ᴷ − 2 distinct patterns (MacKay 2003, ch. 43).

use super::Memory;
use ndarray::Array2;

/// 8,190 patterns of 144 pixels.
const MOST: usize = 12;

/// Every pattern once: first those of lit rows in the order of their binary numbers, then those of lit columns that are
/// not among them (all but the dark and the bright one).
pub fn make(argument: Option<&str>) -> Result<Memory, String> {
    let k = super::size(argument, 3, 1..=MOST)?;
    let codes = 1usize << k;
    let lit = |code: usize, line: usize| f64::from(u8::from(code >> (k - 1 - line) & 1 == 1));
    let table = Array2::from_shape_fn((2 * codes - 2, k * k), |(row, pixel)| match row.checked_sub(codes) {
        None => lit(row, pixel / k),
        Some(column) => lit(column + 1, pixel % k),
    });
    Ok(Memory::new(table, Some((k, k))))
}
