//! The shifter ensemble: N bits, the same bits shifted cyclically by −1, 0 or +1, and three bits of which one is on.
//!
//! Hinton and Sejnowski, *Learning and relearning in Boltzmann machines*, 1986. A row is x₁…x_N, y₁…y_N, l₁l₂l₃ with
//! y = x shifted left (yᵢ = xᵢ₊₁, l₁ on), not shifted (l₂ on), or shifted right (yᵢ = xᵢ₋₁, l₃ on).

use super::Memory;
use ndarray::Array2;

/// Largest N: 12,288 rows of 27 bits.
const MOST: usize = 12;

/// Every row once, so that the entropy is log(3·2ᴺ): all x in the order of their binary numbers, three shifts each.
pub fn make(argument: Option<&str>) -> Result<Memory, String> {
    let n = super::size(argument, 8, 2..=MOST)?;
    let table = Array2::from_shape_fn((3 << n, 2 * n + 3), |(row, column)| {
        let (x, shift) = (row / 3, row % 3);
        let bit = |i: usize| x >> (n - 1 - i) & 1 == 1;
        let lit = match column {
            c if c < n => bit(c),
            c if c < 2 * n => bit((c - n + n + 1 - shift) % n),
            c => c - 2 * n == shift,
        };
        f64::from(u8::from(lit))
    });
    Ok(Memory::new(table, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_vector_is_there_with_each_of_its_three_shifts() {
        for n in [2, 3, 8] {
            let table = make(Some(&n.to_string())).unwrap().into_table();
            assert_eq!(table.dim(), (3 << n, 2 * n + 3));
            let mut seen = HashSet::new();
            for row in table.rows() {
                let bits: Vec<u8> = row.iter().map(|x| *x as u8).collect();
                let (x, y, label) = (&bits[..n], &bits[n..2 * n], &bits[2 * n..]);
                let mut shifted = x.to_vec();
                match label {
                    [1, 0, 0] => shifted.rotate_left(1),
                    [0, 1, 0] => {}
                    [0, 0, 1] => shifted.rotate_right(1),
                    _ => panic!("{label:?}"),
                }
                assert_eq!(shifted, y);
                seen.insert(bits);
            }
            assert_eq!(seen.len(), 3 << n);
        }
        assert_eq!(make(None).unwrap().into_table().dim(), (768, 19));
    }
}
