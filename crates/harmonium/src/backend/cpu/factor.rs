//! Rows as the left factor of a product, and which kernel multiplies them.

use super::bit_planes::BitPlanes;
use super::index_lists::IndexLists;
use super::layer_states::{Form, LayerStates};
use super::lookup_tables::CodeWords;
use super::panels::{Panel, Strip};
use super::{dense, index_lists, lookup_tables};
use crate::real::Real;
use crate::simd::Level;
use std::ops::Range;

/// A factor: code words, index lists or numbers. Buffers not in use are kept for later.
#[derive(Clone, Debug, Default)]
pub struct Operand<T> {
    kernel: Kernel,
    /// Whether the panels to multiply by have integers.
    pub short: bool,
    bit_planes: BitPlanes,
    code_words: CodeWords,
    index_lists: IndexLists,
    packed: dense::Packed<T>,
    /// The blocks of a layer of several kinds, each with its columns.
    parts: Vec<(Range<usize>, Operand<T>)>,
}

/// The kernel that multiplies a factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kernel {
    #[default]
    LookupTables,
    IndexLists,
    Dense,
    /// None: the products are made already, see [`Operand::set_done`].
    Done,
    /// Each part has its own, and columns beside those of the others: their products are added.
    Beside,
    /// The transpose of that: each part has its own rows of the product.
    Below,
}

impl<T: Real> Operand<T> {
    /// Takes some rows of a layer.
    pub fn load(&mut self, level: Level, parallel: bool, rows: &LayerStates<T>, range: &Range<usize>) {
        match rows.form {
            Form::Bits => self.load_bits(level, parallel, &rows.bit_planes, range),
            Form::Codes => {
                self.kernel = Kernel::IndexLists;
                let sites = rows.codes.len() / rows.len.max(1);
                let codes = &rows.codes[range.start * sites..range.end * sites];
                self.index_lists.load_codes(parallel, codes, sites, rows.width);
            }
            Form::Values | Form::Numbers => {
                self.kernel = Kernel::Dense;
                let (columns, values) = numbers(rows, range);
                self.packed.load(level, parallel, columns, values);
            }
            Form::Blocks => {
                self.kernel = Kernel::Beside;
                self.resize_parts(rows);
                for ((_, part), rows) in self.parts.iter_mut().zip(&rows.parts) {
                    part.load(level, parallel, rows, range);
                }
            }
        }
    }

    fn resize_parts(&mut self, rows: &LayerStates<T>) {
        self.parts.resize_with(rows.parts.len(), Default::default);
        let mut first = 0;
        for ((columns, _), part) in self.parts.iter_mut().zip(&rows.parts) {
            *columns = first..first + part.columns_len();
            first = columns.end;
        }
    }

    fn load_bits(&mut self, level: Level, parallel: bool, bits: &BitPlanes, range: &Range<usize>) {
        self.kernel = cheaper(self.short, bits, range);
        if self.kernel == Kernel::IndexLists {
            self.index_lists.load(level, parallel, bits, range);
        } else {
            self.code_words.load(bits, range);
        }
    }

    /// Marks the products with these rows as made: they stand where they will be read.
    pub fn set_done(&mut self) {
        self.kernel = Kernel::Done;
    }

    /// Whether the products are marked as made.
    pub fn is_done(&self) -> bool {
        self.kernel == Kernel::Done
    }

    /// Becomes the transpose of `of`, which was made of these rows.
    pub fn load_transposed(
        &mut self,
        level: Level,
        parallel: bool,
        of: &Operand<T>,
        rows: &LayerStates<T>,
        range: &Range<usize>,
    ) {
        if rows.form == Form::Bits {
            let mut transposed = std::mem::take(&mut self.bit_planes);
            rows.bit_planes.transpose(range, &mut transposed);
            self.load_bits(level, parallel, &transposed, &(0..transposed.rows()));
            self.bit_planes = transposed;
            return;
        }
        if rows.form == Form::Blocks {
            self.kernel = Kernel::Below;
            self.resize_parts(rows);
            for (((_, part), (_, of)), rows) in self.parts.iter_mut().zip(&of.parts).zip(&rows.parts) {
                part.load_transposed(level, parallel, of, rows, range);
            }
            return;
        }
        self.kernel = of.kernel;
        if of.kernel == Kernel::Dense {
            let (columns, values) = numbers(rows, range);
            self.packed.load_transposed(level, parallel, columns, values);
        } else {
            of.index_lists.transpose(parallel, &mut self.index_lists);
        }
    }

    /// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
    pub fn product<'a>(&self, level: Level, add: bool, panel: impl Into<Panel<'a, T>>, out: &mut [Strip<T>]) {
        let panel = panel.into();
        match self.kernel {
            Kernel::LookupTables => match panel.shorts.filter(|_| !add) {
                Some(shorts) => lookup_tables::short_product(level, &self.code_words, shorts, out),
                None => lookup_tables::product(level, add, &self.code_words, panel.strips, out),
            },
            Kernel::IndexLists => index_lists::product(level, add, &self.index_lists, panel.strips, out),
            Kernel::Dense => dense::product(level, add, &self.packed, panel.strips, out),
            Kernel::Done => {}
            Kernel::Beside => {
                for (k, (columns, part)) in self.parts.iter().enumerate() {
                    part.product(level, add || k > 0, &panel.strips[columns.clone()], out);
                }
            }
            Kernel::Below => {
                for (columns, part) in &self.parts {
                    part.product(level, add, panel, &mut out[columns.clone()]);
                }
            }
        }
    }

    /// The factor as numbers, if it is not of bits or codes.
    pub fn numbers(&self) -> Option<&dense::Packed<T>> {
        (self.kernel == Kernel::Dense).then_some(&self.packed)
    }
}

/// How many columns rows of numbers have, and the numbers of some rows.
fn numbers<'a, T>(rows: &'a LayerStates<T>, range: &Range<usize>) -> (usize, &'a [T]) {
    let columns = rows.numbers.len() / rows.len.max(1);
    (columns, &rows.numbers[range.start * columns..range.end * columns])
}

/// Index lists or lookup tables, whichever takes less time by measurement, per panel and in 0.1 ns with AVX2: 13 for an entry of
/// a list and 50 for its start, 83 for a code word and 4,150 for its tables, or half of that for tables of integers. The
/// rule looks at the bits alone, so that results do not depend on the computer.
fn cheaper(short: bool, bits: &BitPlanes, range: &Range<usize>) -> Kernel {
    let (rows, columns) = (range.len(), bits.columns());
    let blocks = columns.div_ceil(40);
    let lists = 13 * bits.ones(range) + 50 * rows * columns.div_ceil(256);
    let tables = blocks * (83 * rows + 4150);
    if lists <= if short { tables / 2 } else { tables } { Kernel::IndexLists } else { Kernel::LookupTables }
}
