//! Bits of many rows, packed in words.

/// Bits of many rows; each row starts at a new word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    sites: usize,
    words: Vec<u64>,
}

impl Bits {
    fn stride(sites: usize) -> usize {
        sites.div_ceil(64)
    }

    /// No rows yet, of `sites` bits each.
    pub fn new(sites: usize) -> Bits {
        Bits { sites, words: Vec::new() }
    }

    /// Rows from their words; `None` if a row is incomplete, or has bits beyond the last site.
    pub(crate) fn from_words(sites: usize, words: Vec<u64>) -> Option<Bits> {
        let stride = Self::stride(sites);
        let spare = stride * 64 - sites;
        let clean = |row: &[u64]| spare == 0 || row[stride - 1] >> (64 - spare) == 0;
        (stride > 0 && words.len().is_multiple_of(stride) && words.chunks_exact(stride).all(clean))
            .then_some(Bits { sites, words })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.words.len() / Self::stride(self.sites)
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of one row.
    pub(crate) fn row(&self, r: usize) -> &[u64] {
        let stride = Self::stride(self.sites);
        &self.words[r * stride..(r + 1) * stride]
    }

    /// The words of a row, to be written.
    pub(crate) fn row_mut(&mut self, r: usize) -> &mut [u64] {
        let stride = Self::stride(self.sites);
        &mut self.words[r * stride..(r + 1) * stride]
    }

    /// Appends a row.
    pub fn push(&mut self, bits: impl Iterator<Item = bool>) {
        let mut bits = bits.take(self.sites);
        for _ in 0..Self::stride(self.sites) {
            self.words.push(bits.by_ref().take(64).enumerate().fold(0, |word, (i, bit)| word | u64::from(bit) << i));
        }
    }

    /// Appends whole rows of cells that are one of two values, the second as a set bit. If a cell is neither, or a row is
    /// incomplete, returns false and appends nothing.
    pub fn push_cells<V: Copy + PartialEq>(&mut self, cells: &[V], [low, high]: [V; 2]) -> bool {
        let before = self.words.len();
        if self.sites == 0 || !cells.len().is_multiple_of(self.sites) {
            return false;
        }
        self.words.reserve(cells.len() / self.sites * Self::stride(self.sites));
        for row in cells.chunks_exact(self.sites) {
            let mut fits = true;
            // Without branches, because half of them would be mispredicted on random bits.
            for part in row.chunks(64) {
                let mut word = 0;
                for (i, x) in part.iter().enumerate() {
                    word |= u64::from(*x == high) << i;
                    fits &= (*x == low) | (*x == high);
                }
                self.words.push(word);
            }
            if !fits {
                self.words.truncate(before);
                return false;
            }
        }
        true
    }

    /// Appends rows of as many bits.
    pub(crate) fn append(&mut self, rows: &Bits) {
        self.words.extend_from_slice(&rows.words);
    }

    /// Bits per row.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// The rows with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> Bits {
        Bits { sites: self.sites, words: rows.iter().flat_map(|&r| self.row(r)).copied().collect() }
    }

    /// Number of bits that are set in row `r`.
    pub fn ones(&self, r: usize) -> usize {
        self.row(r).iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Bit `i` of row `r`.
    pub fn get(&self, r: usize, i: usize) -> bool {
        self.row(r)[i / 64] >> (i % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_two_values_are_the_bits_of_their_rows() {
        for sites in [1, 63, 64, 65, 130] {
            let cells: Vec<i8> = (0..3 * sites).map(|i| if i * i % 7 < 3 { 1 } else { -1 }).collect();
            let (mut found, mut expected) = (Bits::new(sites), Bits::new(sites));
            cells.chunks(sites).for_each(|row| expected.push(row.iter().map(|x| *x == 1)));
            assert!(found.push_cells(&cells, [-1, 1]));
            assert_eq!(found, expected, "{sites} sites");
        }
    }

    #[test]
    fn a_third_value_or_an_incomplete_row_appends_nothing() {
        let mut bits = Bits::new(2);
        assert!(bits.push_cells(&[0.0, 1.0], [0.0, 1.0]));
        for cells in [&[0.0, 1.0, 1.0, 0.5][..], &[0.0, f64::NAN], &[1.0, 1.0, 1.0]] {
            assert!(!bits.push_cells(cells, [0.0, 1.0]));
        }
        assert_eq!(bits.rows(), 1);
    }
}
