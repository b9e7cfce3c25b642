//! The states of one layer as the kernels hold them: bits in planes, codes, or numbers.

use super::lists::Lists;
use super::panels::{Panel, Strip, WIDTH};
use super::planes::Planes;
use super::simd::{Level, dispatch};
use super::two_valued;
use super::{ROWS, amx, dense, lists, russians};
use crate::natural::Side;
use crate::real::Real;
use crate::states::{Bits, States};
use crate::threads;
use ndarray::{Array2, ArrayViewMut2, Axis};
use std::ops::Range;

/// How the rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Units with two values.
    #[default]
    Bits,
    /// Other finite units.
    Codes,
    /// Everything else, and grey values of two-valued units as parts of the way from the low to the high value.
    Numbers,
}

/// Rows of states. The buffers of the forms not in use are kept for later.
#[derive(Clone, Debug, Default)]
pub struct Rows<T> {
    form: Form,
    len: usize,
    planes: Planes,
    codes: Vec<u16>,
    numbers: Vec<T>,
}

/// Cells that stay as they are: which, one bit per site, and the rows they stand in.
#[derive(Clone, Debug, Default)]
pub struct Kept<T> {
    known: Planes,
    rows: Rows<T>,
}

impl<T: Real> Kept<T> {
    /// The cells of these rows whose bits are set.
    pub fn new(known: &Bits, rows: &Rows<T>) -> Kept<T> {
        let mut planes = Planes::default();
        planes.load(known.sites(), (0..known.rows()).map(|r| known.row(r)));
        Kept { known: planes, rows: rows.clone() }
    }
}

impl<T: Real> Rows<T> {
    /// Takes back the cells that stay as they are.
    pub fn keep(&mut self, kept: &Kept<T>) {
        let Kept { known, rows } = kept;
        if (self.form, rows.form) == (Form::Bits, Form::Numbers) {
            // Grey values stay grey, and the draws are the ends of the scale.
            let columns = self.planes.columns();
            let bit = |k: usize| if self.planes.get(k / columns, k % columns) { T::one() } else { T::zero() };
            self.numbers = (0..self.len * columns).map(bit).collect();
            self.form = Form::Numbers;
        }
        match self.form {
            Form::Bits => self.planes.merge(&rows.planes, known),
            Form::Codes => take(known, &rows.codes, &mut self.codes),
            Form::Numbers => take(known, &rows.numbers, &mut self.numbers),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The rows as bits, if that is what they are.
    pub fn bits(&self) -> Option<&Planes> {
        (self.form == Form::Bits).then_some(&self.planes)
    }

    /// Takes packed states: the rows with the numbers `which`, or all.
    pub fn load(&mut self, side: &Side<T>, states: &States<T>, which: Option<&[usize]>) {
        let pick = |i: usize| which.map_or(i, |w| w[i]);
        self.len = which.map_or(states.rows(), <[usize]>::len);
        match states {
            States::Bits(bits) => {
                self.form = Form::Bits;
                self.planes.load(side.sites(), (0..self.len).map(|i| bits.row(pick(i))));
            }
            States::Codes(codes) => {
                self.form = Form::Codes;
                self.codes.clear();
                (0..self.len).for_each(|i| self.codes.extend(codes.row(pick(i))));
            }
            States::Real(values) => {
                self.form = Form::Numbers;
                self.numbers.clear();
                for i in 0..self.len {
                    // Rows of packed states are in standard layout.
                    self.numbers.extend_from_slice(values.row(pick(i)).as_slice().unwrap_or(&[]));
                }
                if let Some([low, high]) = two_valued(side) {
                    self.numbers.iter_mut().for_each(|x| *x = (*x - low) / (high - low));
                }
            }
        }
    }

    /// The rows as packed states.
    pub fn states(&self, side: &Side<T>) -> States<T> {
        let shape = (self.len, side.sites());
        // The buffers have the shape by construction.
        match self.form {
            Form::Bits => States::Bits(self.planes.bits()),
            Form::Codes => States::Codes(Array2::from_shape_vec(shape, self.codes.clone()).unwrap_or_default()),
            Form::Numbers => {
                let mut values = Array2::from_shape_vec(shape, self.numbers.clone()).unwrap_or_default();
                if let Some([low, high]) = two_valued(side) {
                    values.mapv_inplace(|x| low + x * (high - low));
                }
                States::Real(values)
            }
        }
    }

    /// Makes room for `len` rows of bits, to be drawn word by word.
    pub fn bits_mut(&mut self, len: usize, columns: usize) -> &mut Planes {
        (self.form, self.len) = (Form::Bits, len);
        self.planes.resize(len, columns);
        &mut self.planes
    }

    /// Makes room for `len` rows of codes.
    pub fn codes_mut(&mut self, len: usize, sites: usize) -> &mut [u16] {
        (self.form, self.len) = (Form::Codes, len);
        self.codes.resize(len * sites, 0);
        &mut self.codes
    }

    /// Makes room for `len` rows of numbers.
    pub fn numbers_mut(&mut self, len: usize, columns: usize) -> &mut [T] {
        (self.form, self.len) = (Form::Numbers, len);
        self.numbers.resize(len * columns, T::zero());
        &mut self.numbers
    }

    /// Row `r` as columns of the layer.
    pub fn columns(&self, side: &Side<T>, r: usize, out: &mut [T]) {
        let unit = side.unit();
        match self.form {
            Form::Bits => {
                for (c, x) in out.iter_mut().enumerate() {
                    unit.state(
                        (self.planes.plane(c / WIDTH, &(r..r + 1))[0] >> (c % WIDTH) & 1) as usize,
                        std::slice::from_mut(x),
                    );
                }
            }
            Form::Codes => {
                let sites = side.sites();
                let codes = &self.codes[r * sites..(r + 1) * sites];
                for (site, code) in out.chunks_exact_mut(unit.width()).zip(codes) {
                    unit.state(usize::from(*code), site);
                }
            }
            Form::Numbers => {
                out.copy_from_slice(&self.numbers[r * out.len()..(r + 1) * out.len()]);
                if let Some([low, high]) = two_valued(side) {
                    out.iter_mut().for_each(|x| *x = low + *x * (high - low));
                }
            }
        }
    }

    /// sums[0][c] = Σ_r w_r · x(r, c) of rows of bits or of numbers, and if there is a second row the same of their squares.
    pub fn sums(&self, level: Level, much: bool, weights: Option<&[T]>, mut sums: ArrayViewMut2<T>) {
        let columns = sums.ncols();
        let width = if self.form == Form::Numbers { LONG } else { WIDTH };
        threads::each(much, sums.axis_chunks_iter_mut(Axis(1), width).enumerate(), |(p, mut sums)| {
            let mut found = [[T::zero(); LONG]; 2];
            if self.form == Form::Numbers {
                moments(level, &self.numbers, columns, p * LONG, weights, &mut found);
            } else {
                let mut strip = Strip::zero();
                count(level, self.planes.plane(p, &(0..self.len)), weights, &mut strip);
                found[0][..WIDTH].copy_from_slice(&strip.0);
            }
            for (mut sums, found) in sums.rows_mut().into_iter().zip(&found) {
                sums.iter_mut().zip(found).for_each(|(sum, x)| *sum = *x);
            }
        });
    }
}

/// Copies the cells that are known, row after row of one cell per site.
fn take<A: Copy>(known: &Planes, from: &[A], to: &mut [A]) {
    let sites = known.columns().max(1);
    for (k, (from, to)) in from.iter().zip(to).enumerate() {
        if known.get(k / sites, k % sites) {
            *to = *from;
        }
    }
}

dispatch! {
    fn count<T>(words: &[u32], weights: Option<&[T]>, sums: &mut Strip<T>) => count_body;
}

#[inline(always)]
fn count_body<T: Real>(words: &[u32], weights: Option<&[T]>, sums: &mut Strip<T>) {
    for (r, word) in words.iter().enumerate() {
        let w = weights.map_or(T::one(), |w| w[r]);
        for c in 0..WIDTH {
            sums.0[c] += if word >> c & 1 == 1 { w } else { T::zero() };
        }
    }
}

/// Numbers of a row that are summed by one task: enough that memory is read in long pieces.
const LONG: usize = 256;

dispatch! {
    /// Σ_r w_r · x and Σ_r w_r · x² of the columns from `first` on of rows of `columns` numbers; 32 rows at a time, so that
    /// large sums take few small numbers.
    fn moments<T>(
        x: &[T], columns: usize, first: usize, weights: Option<&[T]>, sums: &mut [[T; LONG]; 2],
    ) => moments_body;
}

#[inline(always)]
fn moments_body<T: Real>(x: &[T], columns: usize, first: usize, weights: Option<&[T]>, sums: &mut [[T; LONG]; 2]) {
    let last = columns.min(first + LONG);
    for (block, rows) in x.chunks(ROWS * columns).enumerate() {
        let (mut plain, mut squares) = ([T::zero(); LONG], [T::zero(); LONG]);
        for (r, row) in rows.chunks_exact(columns).enumerate() {
            let w = weights.map_or(T::one(), |w| w[block * ROWS + r]);
            for ((x, plain), square) in row[first..last].iter().zip(&mut plain).zip(&mut squares) {
                *plain += w * *x;
                *square += w * (*x * *x);
            }
        }
        for c in 0..LONG {
            sums[0][c] += plain[c];
            sums[1][c] += squares[c];
        }
    }
}

/// Rows as the left factor of a product: code words, lists, bytes or numbers. Buffers not in use are kept for later.
#[derive(Clone, Debug, Default)]
pub struct Operand<T> {
    kind: Kind,
    /// Whether the panels it will meet have integers.
    pub short: bool,
    planes: Planes,
    codes: russians::Codes,
    lists: Lists,
    bytes: amx::Bytes,
    /// Which rows of numbers, or these rows transposed.
    range: Range<usize>,
    turned: Vec<T>,
}

/// A factor and the numbers of the rows it was made of, which it does not copy.
#[derive(Clone, Copy)]
pub struct Factor<'a, T> {
    of: &'a Operand<T>,
    numbers: dense::Dense<'a, T>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Codes,
    Lists,
    Bytes,
    Dense,
    /// Numbers, transposed.
    Turned,
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
            Form::Numbers => {
                self.kind = Kind::Dense;
                self.range = range.clone();
            }
        }
    }

    fn load_bits(&mut self, level: Level, much: bool, bits: &Planes, range: &Range<usize>) {
        self.kind = cheaper(level.tiles_for::<T>(), self.short, bits, range);
        match self.kind {
            Kind::Lists => self.lists.load(much, bits, range),
            Kind::Bytes => self.bytes.load(much, bits, range),
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
            (self.kind, self.range) = (Kind::Turned, range.clone());
            of.with(rows).numbers.transpose(much, &mut self.turned);
        } else {
            of.lists.transpose(much, &mut self.lists);
        }
    }

    /// The factor, with the rows that it was made of.
    pub fn with<'a>(&'a self, rows: &'a Rows<T>) -> Factor<'a, T> {
        let columns = rows.numbers.len() / rows.len.max(1);
        let numbers = match self.kind {
            Kind::Turned => dense::Dense { columns: self.range.len(), values: &self.turned },
            Kind::Dense => {
                dense::Dense { columns, values: &rows.numbers[self.range.start * columns..self.range.end * columns] }
            }
            _ => dense::Dense { columns: 0, values: &[] },
        };
        Factor { of: self, numbers }
    }
}

impl<T: Real> Factor<'_, T> {
    /// out[r] = Σ_k x[r, k] · panel[k], or += if it is to be added.
    pub fn product<'a>(&self, level: Level, add: bool, panel: impl Into<Panel<'a, T>>, out: &mut [Strip<T>]) {
        let panel = panel.into();
        match self.of.kind {
            Kind::Codes => match panel.shorts.filter(|_| !add) {
                Some(shorts) => russians::short_product(level, &self.of.codes, shorts, out),
                None => russians::product(level, add, &self.of.codes, panel.strips, out),
            },
            Kind::Lists => lists::product(level, add, &self.of.lists, panel.strips, out),
            Kind::Bytes => amx::product(level, add, &self.of.bytes, panel, out),
            Kind::Dense | Kind::Turned => dense::product(add, self.numbers, panel.strips, out),
            Kind::Done => {}
        }
    }

    /// Whether products have been made already.
    pub fn is_done(&self) -> bool {
        self.of.is_done()
    }

    /// The factor as numbers, if it is not of bits or codes.
    pub fn numbers(&self) -> Option<dense::Dense<'_, T>> {
        matches!(self.of.kind, Kind::Dense | Kind::Turned).then_some(self.numbers)
    }
}

/// Lists or code words, whichever takes less time by what was measured per panel (in 0.1 ns, AVX2): 13 for an entry of a
/// list and 50 for its beginning, 83 for a code word and 4,150 for its tables, or half of that if they are of integers. A
/// function of the bits alone, so that results do not depend on the machine; only tiles have a rule of their own.
fn cheaper(tiles: bool, short: bool, bits: &Planes, range: &Range<usize>) -> Kind {
    let (rows, columns) = (range.len(), bits.columns());
    if tiles && columns <= amx::LONGEST {
        return if amx::worth(rows, columns, bits.ones(range)) { Kind::Bytes } else { Kind::Lists };
    }
    let blocks = columns.div_ceil(40);
    let lists = 13 * bits.ones(range) + 50 * rows * columns.div_ceil(256);
    let tables = blocks * (83 * rows + 4150);
    if lists <= if short { tables / 2 } else { tables } { Kind::Lists } else { Kind::Codes }
}
