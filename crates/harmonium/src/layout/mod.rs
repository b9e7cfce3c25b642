//! How rows of a table become states of a layer, and back; and the units of a layer as one: a list of [`Block`]s of like units.
//!
//! | form | what it is |
//! |---|---|
//! | values | one number per unit, as in a table |
//! | columns | what a product takes: one number per unit, or for a Potts unit one per state |
//! | [`States`](crate::States) | rows in the smallest storage: bits, codes or numbers |
//!
//! A function of a whole row of units is the same function of each block, so a layer of one block costs no more than its unit.
//! Parameters and statistics of several blocks share a matrix that has as many rows as the largest of them needs; what a block does not
//! have is 0 there.
//!
//! | file | idea |
//! |---|---|
//! | `block` | units of one kind |
//! | `rows` | values as columns, and back |
//! | `units` | the functions of a unit, for all blocks |
//! | `text` | a layer as a list of blocks |

mod block;
mod rows;
mod text;
mod units;

pub use block::Block;

use crate::real::Real;
use crate::units::{Field, Kind, Unit};
use std::ops::Range;

/// Units of a layer at most; the limit on hidden units is the same.
pub(crate) const MOST_SITES: usize = 1 << 24;

/// The kinds and numbers of the units of a layer: all that it takes to read and write rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    blocks: Vec<Block>,
}

/// One unit of a layer.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// Its place among the units.
    pub index: usize,
    /// Its columns.
    pub columns: Range<usize>,
    /// Its kind.
    pub kind: &'a Kind,
}

impl Site<'_> {
    /// Number of states, if finite.
    pub fn n_states(&self) -> Option<usize> {
        self.kind.unit::<f64>().n_states()
    }

    /// The columns of every state; none if there are infinitely many.
    pub fn states<T: Real>(&self) -> Vec<Vec<T>> {
        let state = |k| {
            let mut x = vec![T::zero(); self.columns.len()];
            self.kind.unit::<T>().state(k, &mut x);
            x
        };
        (0..self.n_states().unwrap_or(0)).map(state).collect()
    }
}

impl Layout {
    /// So many units of a kind.
    pub fn new(kind: Kind, sites: usize) -> Layout {
        Layout::of([(kind, sites)])
    }

    /// Units of several kinds, in this order; neighbours of the same kind become one block.
    pub fn of(parts: impl IntoIterator<Item = (Kind, usize)>) -> Layout {
        let mut blocks: Vec<Block> = Vec::new();
        for (kind, n) in parts {
            let width = kind.unit::<f64>().width();
            let (site, column) = blocks.last().map_or((0, 0), |b| (b.sites.end, b.columns.end));
            match blocks.last_mut().filter(|last| last.kind == kind) {
                Some(last) => (last.sites.end, last.columns.end) = (site + n, column + n * width),
                None => blocks.push(Block { kind, sites: site..site + n, columns: column..column + n * width }),
            }
        }
        // A block without units is none, unless it is all there is.
        if blocks.iter().any(|b| !b.sites.is_empty()) {
            blocks.retain(|b| !b.sites.is_empty());
        } else {
            blocks.truncate(1);
        }
        Layout { blocks }
    }

    /// The units `sites` of this layout, in ascending order.
    pub fn select(&self, sites: &[usize]) -> Layout {
        if let [block] = &self.blocks[..] {
            return Layout::new(block.kind.clone(), sites.len());
        }
        let count = |b: &Block| (b.kind.clone(), sites.iter().filter(|i| b.sites.contains(i)).count());
        Layout::of(self.blocks.iter().map(count))
    }

    /// The same numbers of units of other kinds, one kind for each block.
    pub fn with_kinds(&self, kinds: impl IntoIterator<Item = Kind>) -> Layout {
        Layout::of(kinds.into_iter().zip(self.blocks.iter().map(|b| b.sites.len())))
    }

    /// Its blocks, in the order of their columns.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The only block, if there is one.
    pub fn single(&self) -> Option<&Block> {
        if let [block] = &self.blocks[..] { Some(block) } else { None }
    }

    /// The kind of the units, if all are of one kind.
    pub fn kind(&self) -> Option<&Kind> {
        self.single().map(Block::kind)
    }

    /// Number of units.
    pub fn sites(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.sites.end)
    }

    /// Number of columns: of every unit its columns.
    pub fn columns(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.columns.end)
    }

    /// The block of a unit.
    pub fn block_of(&self, site: usize) -> &Block {
        &self.blocks[self.blocks.partition_point(|b| b.sites.end <= site).min(self.blocks.len() - 1)]
    }

    /// The columns of a unit.
    pub fn columns_of(&self, site: usize) -> Range<usize> {
        self.block_of(site).columns_of(site)
    }

    /// One unit.
    pub fn site(&self, index: usize) -> Site<'_> {
        let block = self.block_of(index);
        Site { index, columns: block.columns_of(index), kind: &block.kind }
    }

    /// Every unit.
    pub fn each_site(&self) -> impl Iterator<Item = Site<'_>> {
        self.blocks.iter().flat_map(|block| {
            let site = |index| Site { index, columns: block.columns_of(index), kind: &block.kind };
            block.sites().map(site)
        })
    }

    /// The unit of every column.
    pub fn site_of_columns(&self) -> Vec<usize> {
        self.each_site().flat_map(|site| site.columns.map(move |_| site.index)).collect()
    }

    /// Statistics of the unit that has the most of them, and number of columns.
    pub(crate) fn statistics(&self) -> (usize, usize) {
        (self.most(|block| block.unit::<f64>().n_stats()), self.columns())
    }

    /// Trainable rows of the unit that has the most of them, and number of columns.
    pub(crate) fn parameters(&self) -> (usize, usize) {
        (self.most(|block| block.unit::<f64>().fields().len()), self.columns())
    }

    fn most(&self, of: impl Fn(&Block) -> usize) -> usize {
        self.blocks.iter().map(of).max().unwrap_or(1)
    }

    /// The trainable rows by name, each with its row of the parameters and the columns that have it.
    pub fn fields(&self) -> Vec<(Field, usize, Vec<Range<usize>>)> {
        let mut all: Vec<(Field, usize, Vec<Range<usize>>)> = Vec::new();
        for block in &self.blocks {
            for (row, field) in block.unit::<f64>().fields().iter().enumerate() {
                match all.iter_mut().find(|(known, at, _)| known.name == field.name && *at == row) {
                    Some((.., columns)) => columns.push(block.columns()),
                    None => all.push((*field, row, vec![block.columns()])),
                }
            }
        }
        all
    }

    /// Number of states of all units together, as a logarithm; none if a unit has infinitely many.
    pub fn log_states(&self) -> Option<f64> {
        let of = |b: &Block| Some(b.sites.len() as f64 * (b.unit::<f64>().n_states()? as f64).ln());
        self.blocks.iter().map(of).sum()
    }

    /// Whether every unit has finitely many states.
    pub fn is_finite(&self) -> bool {
        self.blocks.iter().all(|b| b.unit::<f64>().n_states().is_some())
    }

    /// Whether some unit has finitely many states.
    pub fn has_finite(&self) -> bool {
        self.blocks.iter().any(|b| b.unit::<f64>().n_states().is_some())
    }

    /// Whether every unit is a Gaussian.
    pub fn is_quadratic(&self) -> bool {
        self.blocks.iter().all(|b| b.unit::<f64>().quadratic())
    }

    /// Whether some unit is a Gaussian.
    pub fn has_quadratic(&self) -> bool {
        self.blocks.iter().any(|b| b.unit::<f64>().quadratic())
    }

    /// Whether a unit is for visible layers only.
    pub fn visible_only(&self) -> bool {
        self.blocks.iter().any(|b| b.kind.visible_only())
    }

    /// The two values of a unit that has one column and two states, if all units are of that kind.
    pub(crate) fn two_values<T: Real>(&self) -> Option<[T; 2]> {
        two_values(self.single()?.unit())
    }
}

/// The two values of a unit that has one column and two states.
pub(crate) fn two_values<T: Real>(unit: &dyn Unit<T>) -> Option<[T; 2]> {
    let value = |state| {
        let mut x = [T::zero()];
        unit.state(state, &mut x);
        x[0]
    };
    (unit.n_states() == Some(2) && unit.width() == 1).then(|| [0, 1].map(value))
}
