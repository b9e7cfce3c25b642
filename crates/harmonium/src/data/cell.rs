//! A cell of a table as it stands in its file: a number, a word, or nothing.

use crate::error::Result;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing is known.
    Missing,
    /// A number; not NaN.
    Number(f64),
    /// Text that is not a number.
    Word(&'a str),
    /// What no unit can learn, such as `dates or times`.
    Other(&'static str),
}

impl Cell<'_> {
    /// The cell of a table of numbers: NaN is missing.
    pub fn of(x: f64) -> Cell<'static> {
        if x.is_nan() { Cell::Missing } else { Cell::Number(x) }
    }
}

/// Takes the row of a cell in the block that is read, its column, and the cell; both are counted from 0.
pub type SeeCell<'a> = &'a mut dyn FnMut(usize, usize, Cell) -> Result<()>;
