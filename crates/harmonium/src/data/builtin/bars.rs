//! Bars and stripes: whole rows or whole columns of K × K pixels are on; 2·2ᴷ − 2 distinct patterns (MacKay 2003, ch. 43).

use super::Memory;
use ndarray::Array2;

/// Largest K: 8,190 patterns of 144 pixels.
const MOST: usize = 12;

/// Every pattern once, so that the entropy is log(2·2ᴷ − 2).
///
/// First the patterns of rows in the order of their binary numbers, then those of columns, without the two patterns that are
/// both: all off and all on.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;
    use std::collections::HashSet;

    fn same(line: ndarray::ArrayView1<f64>) -> bool {
        line.iter().all(|x| *x == line[0])
    }

    #[test]
    fn every_pattern_of_whole_rows_or_columns_is_there_once() {
        for k in 1..=6 {
            let memory = make(Some(&k.to_string())).unwrap();
            assert_eq!(memory.image(), Some((k, k)));
            let table = memory.into_table();
            let patterns: HashSet<Vec<u64>> =
                table.rows().into_iter().map(|r| r.iter().map(|x| x.to_bits()).collect()).collect();
            assert_eq!((table.nrows(), patterns.len()), (2 * (1 << k) - 2, 2 * (1 << k) - 2));
            for row in table.rows() {
                let image = row.to_shape((k, k)).unwrap();
                assert!(image.rows().into_iter().all(same) || image.columns().into_iter().all(same), "{image}");
            }
        }
        assert_eq!(make(None).unwrap().into_table().dim(), (14, 9));
    }
}
