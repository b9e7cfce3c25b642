//! A table in memory, as a source.

use super::Source;
use crate::error::Result;
use ndarray::{Array2, s};

/// A table in memory that is read block by block.
pub struct Memory {
    table: Array2<f64>,
    image: Option<(usize, usize)>,
    done: usize,
}

impl Memory {
    /// The rows of `table`; `image` is height × width if they are images.
    pub fn new(table: Array2<f64>, image: Option<(usize, usize)>) -> Memory {
        Memory { table, image, done: 0 }
    }

    /// The whole table.
    #[cfg(test)]
    pub fn into_table(self) -> Array2<f64> {
        self.table
    }
}

impl Source for Memory {
    fn columns(&self) -> usize {
        self.table.ncols()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.table.nrows() as u64)
    }

    fn image(&self) -> Option<(usize, usize)> {
        self.image
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let first = self.done;
        self.done = first.saturating_add(n.max(1)).min(self.table.nrows());
        Ok((self.done > first).then(|| self.table.slice(s![first..self.done, ..]).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn blocks_are_the_rows_in_order() {
        let mut memory = Memory::new(array![[1.0], [2.0], [3.0]], None);
        assert_eq!(memory.read(2).unwrap(), Some(array![[1.0], [2.0]]));
        assert_eq!(memory.read(usize::MAX).unwrap(), Some(array![[3.0]]));
        assert_eq!(memory.read(2).unwrap(), None);
    }
}
