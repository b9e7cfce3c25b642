//! Rows as the left factor of a product, and which product takes them.

use super::lists::Lists;
use super::panels::{Panel, Strip};
use super::planes::Planes;
use super::rows::{Form, Rows};
use super::simd::Level;
use super::{dense, lists, russians};
use crate::real::Real;
use std::ops::Range;

/// A factor: code words, lists or numbers. Buffers not in use are kept for later.
#[derive(Clone, Debug, Default)]
pub struct Operand<T> {
    kind: Kind,
    /// Whether the panels it will meet have integers.
    pub short: bool,
    planes: Planes,
    codes: russians::Codes,
    lists: Lists,
    packed: dense::Packed<T>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Codes,
    Lists,
    Dense,
    /// Products have been made already, see [`Operand::set_done`].
    Done,
}

impl<T: Real> Operand<T> {
    /// Takes some rows of a layer whose sites have `width` columns.
    pub fn load(&mut self, level: Level, much: bool, rows: &Rows<T>, range: &Range<usize>, width: usize) {
        match rows.form {
            Form::Bits => self.load_bits(level, much, &rows.planes, range),
            Form::Codes => {
                self.kind = Kind::Lists;
                let sites = rows.codes.len() / rows.len.max(1);
                self.lists.load_codes(much, &rows.codes[range.start * sites..range.end * sites], sites, width);
            }
            Form::Values | Form::Numbers => {
                self.kind = Kind::Dense;
                let (columns, values) = numbers(rows, range);
                self.packed.load(level, much, columns, values);
            }
        }
    }

    fn load_bits(&mut self, level: Level, much: bool, bits: &Planes, range: &Range<usize>) {
        self.kind = cheaper(self.short, bits, range);
        match self.kind {
            Kind::Lists => self.lists.load(level, much, bits, range),
            _ => self.codes.load(bits, range),
        }
    }

    /// Says that products with these rows stand where they will be asked for.
    pub fn set_done(&mut self) {
        self.kind = Kind::Done;
    }

    /// Whether that was said.
    pub fn is_done(&self) -> bool {
        self.kind == Kind::Done
    }

    /// Becomes the transpose of `of`, which was made of these rows.
    pub fn load_transposed(&mut self, level: Level, much: bool, of: &Operand<T>, rows: &Rows<T>, range: &Range<usize>) {
        if rows.form == Form::Bits {
            let mut turned = std::mem::take(&mut self.planes);
            rows.planes.transpose(range, &mut turned);
            self.load_bits(level, much, &turned, &(0..turned.rows()));
            self.planes = turned;
            return;
        }
        self.kind = of.kind;
        if of.kind == Kind::Dense {
            let (columns, values) = numbers(rows, range);
            self.packed.load_turned(level, much, columns, values);
        } else {
            of.lists.transpose(much, &mut self.lists);
        }
    }

    /// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
    pub fn product<'a>(&self, level: Level, add: bool, panel: impl Into<Panel<'a, T>>, out: &mut [Strip<T>]) {
        let panel = panel.into();
        match self.kind {
            Kind::Codes => match panel.shorts.filter(|_| !add) {
                Some(shorts) => russians::short_product(level, &self.codes, shorts, out),
                None => russians::product(level, add, &self.codes, panel.strips, out),
            },
            Kind::Lists => lists::product(level, add, &self.lists, panel.strips, out),
            Kind::Dense => dense::product(level, add, &self.packed, panel.strips, out),
            Kind::Done => {}
        }
    }

    /// The factor as numbers, if it is not of bits or codes.
    pub fn numbers(&self) -> Option<&dense::Packed<T>> {
        (self.kind == Kind::Dense).then_some(&self.packed)
    }
}

/// How many columns rows of numbers have, and those of some rows.
fn numbers<'a, T>(rows: &'a Rows<T>, range: &Range<usize>) -> (usize, &'a [T]) {
    let columns = rows.numbers.len() / rows.len.max(1);
    (columns, &rows.numbers[range.start * columns..range.end * columns])
}

/// Lists or code words, whichever takes less time by what was measured per panel (in 0.1 ns, AVX2): 13 for an entry of a
/// list and 50 for its beginning, 83 for a code word and 4,150 for its tables, or half of that if they are of integers. A
/// function of the bits alone, so that results do not depend on the computer.
fn cheaper(short: bool, bits: &Planes, range: &Range<usize>) -> Kind {
    let (rows, columns) = (range.len(), bits.columns());
    let blocks = columns.div_ceil(40);
    let lists = 13 * bits.ones(range) + 50 * rows * columns.div_ceil(256);
    let tables = blocks * (83 * rows + 4150);
    if lists <= if short { tables / 2 } else { tables } { Kind::Lists } else { Kind::Codes }
}
