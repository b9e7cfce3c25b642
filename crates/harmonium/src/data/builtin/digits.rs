//! scikit-learn's digits: 1,797 images of 8 × 8 pixels, counts from 0 to 16 divided by 16; see assets/README.md.

use super::super::bytes::{Bytes, gunzip};
use super::super::text::{Lines, TextTable};
use super::super::{ReadOptions, Source};
use super::Memory;

/// The file as scikit-learn has it: 64 counts and the digit per line.
const FILE: &[u8] = include_bytes!("../../../assets/digits.csv.gz");
/// Rows of the file.
const ROWS: usize = 1797;

/// The images without their labels.
pub fn make(argument: Option<&str>) -> Result<Memory, String> {
    super::no_argument(argument)?;
    let reader = gunzip(FILE, FILE.len() as u64);
    let lines = Lines::new(Bytes { path: "builtin:digits".into(), reader, plain: None });
    let options = ReadOptions { label_column: Some("last".into()), ..ReadOptions::default() };
    let table = TextTable::new(lines, &options).and_then(|mut table| table.read(ROWS)).map_err(|e| e.to_string())?;
    let table = table.ok_or("the embedded file is empty")?;
    Ok(Memory::new(table / 16.0, Some((8, 8))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums are those of `sklearn.datasets.load_digits().data`: plain, and with the positions as weights.
    #[test]
    fn the_numbers_are_scikit_learns() {
        let memory = make(None).unwrap();
        assert_eq!(memory.image(), Some((8, 8)));
        let table = memory.into_table() * 16.0;
        assert_eq!(table.dim(), (1797, 64));
        assert_eq!(table.sum(), 561_718.0);
        let weighted: f64 = table.indexed_iter().map(|((r, c), x)| x * (r * 64 + c) as f64).sum();
        assert_eq!(weighted, 32_231_583_661.0);
        assert_eq!(table.row(0).iter().take(8).copied().collect::<Vec<_>>(), [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0]);
        assert!(table.iter().all(|x| x.fract() == 0.0 && (0.0..=16.0).contains(x)));
    }
}
