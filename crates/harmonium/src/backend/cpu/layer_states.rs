//! The states of one layer as the kernels hold them: bits in planes, codes of one-hot units, or numbers.

use super::ROWS;
use super::bit_planes::BitPlanes;
use super::panels::{Strip, WIDTH};
use crate::bits::Bits;
use crate::layout::{Block, Layout, two_values};
use crate::real::Real;
use crate::simd::{Level, dispatch};
use crate::states::States;
use crate::threads;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// How the rows are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Units with two values.
    #[default]
    Bits,
    /// One-hot units: the number of the column with the 1.
    Codes,
    /// Other finite units: the columns of their states, as numbers.
    Values,
    /// Everything else, and data between the states of a finite unit. For two-valued units 0 is the low and 1 the high value.
    Numbers,
    /// Units of several kinds: every block by itself.
    Blocks,
}

impl Form {
    /// The form of a layer's states.
    pub fn of(layout: &Layout) -> Form {
        layout.single().map_or(Form::Blocks, |block| Form::of_block::<f64>(block, false))
    }

    /// The form of a block's states. Beside others only bits of 0 and 1 are bits: sums over all blocks have no room for another
    /// value of a bit that is not set.
    fn of_block<T: Real>(block: &Block, beside: bool) -> Form {
        let unit = block.unit::<T>();
        match unit.n_states() {
            _ if bit_values_of::<T>(block, beside).is_some() => Form::Bits,
            Some(states) if states == unit.width() => Form::Codes,
            Some(_) => Form::Values,
            None => Form::Numbers,
        }
    }
}

/// The two values that bits of a block stand for, if its states are bits.
fn bit_values_of<T: Real>(block: &Block, beside: bool) -> Option<[T; 2]> {
    two_values(block.unit()).filter(|values| !beside || *values == [T::zero(), T::one()])
}

/// Rows of states of one layer. Buffers of the forms not in use are kept for later.
#[derive(Clone, Debug, Default)]
pub struct LayerStates<T> {
    pub(super) form: Form,
    pub(super) len: usize,
    pub(super) bit_planes: BitPlanes,
    pub(super) codes: Vec<u16>,
    pub(super) numbers: Vec<T>,
    /// Of every block by itself, if they are of several kinds.
    pub(super) parts: Vec<LayerStates<T>>,
    /// Columns of a site.
    pub(super) width: usize,
    /// Whether there are more rows elsewhere, so that products are those of many.
    pub(super) is_part: bool,
}

impl<T: Real> LayerStates<T> {
    /// The states of every block.
    pub fn parts(&self) -> &[LayerStates<T>] {
        if self.form == Form::Blocks { &self.parts } else { std::slice::from_ref(self) }
    }

    /// The same, to be written: first of all of the right number.
    fn parts_mut(&mut self, layout: &Layout) -> (&mut [LayerStates<T>], bool) {
        if layout.single().is_some() {
            return (std::slice::from_mut(self), false);
        }
        self.form = Form::Blocks;
        self.parts.resize_with(layout.blocks().len(), LayerStates::default);
        (&mut self.parts, true)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of columns of a block.
    pub fn columns_len(&self) -> usize {
        match self.form {
            Form::Bits => self.bit_planes.columns(),
            Form::Codes => self.codes.len() / self.len.max(1) * self.width,
            _ => self.numbers.len() / self.len.max(1),
        }
    }

    /// The rows as bits, if that is what they are.
    pub fn bits(&self) -> Option<&BitPlanes> {
        (self.form == Form::Bits).then_some(&self.bit_planes)
    }

    /// Takes packed states: the rows with the numbers `which`, or all.
    pub fn load(&mut self, layout: &Layout, states: &States<T>, which: Option<&[usize]>) {
        let (parts, beside) = self.parts_mut(layout);
        for ((part, block), states) in parts.iter_mut().zip(layout.blocks()).zip(states.parts()) {
            part.load_part(block, beside, states, which);
        }
        self.len = which.map_or(states.rows(), <[usize]>::len);
    }

    fn load_part(&mut self, block: &Block, beside: bool, states: &States<T>, which: Option<&[usize]>) {
        let pick = |i: usize| which.map_or(i, |w| w[i]);
        self.len = which.map_or(states.rows(), <[usize]>::len);
        self.width = block.width();
        let (unit, form) = (block.unit::<T>(), Form::of_block::<T>(block, beside));
        match states {
            States::Bits(bits) if form == Form::Bits => {
                self.form = Form::Bits;
                self.bit_planes.load(block.sites().len(), (0..self.len).map(|i| bits.row(pick(i))));
            }
            States::Codes(codes) if form == Form::Codes => {
                self.form = Form::Codes;
                self.codes.clear();
                (0..self.len).for_each(|i| self.codes.extend(codes.row(pick(i))));
            }
            States::Bits(bits) => {
                let cell = |i: usize, c: usize| usize::from(bits.get(pick(i), c));
                let cells = (0..self.len).flat_map(|i| (0..block.sites().len()).map(move |c| (i, c)));
                self.load_values(block, cells.map(|(i, c)| cell(i, c)));
            }
            States::Codes(codes) => {
                let cells = (0..self.len).flat_map(|i| codes.row(pick(i)));
                self.load_values(block, cells.map(|code| usize::from(*code)));
            }
            States::Real(values) => {
                self.form = Form::Numbers;
                self.numbers.clear();
                for i in 0..self.len {
                    // Rows of packed states are in standard layout.
                    self.numbers.extend_from_slice(values.row(pick(i)).as_slice().unwrap_or(&[]));
                }
                if let Some([low, high]) = bit_values_of::<T>(block, beside) {
                    self.numbers.iter_mut().for_each(|x| *x = (*x - low) / (high - low));
                }
            }
            // A block is of one kind.
            States::Blocks(_) => debug_assert!(false, "a block of {} blocks", unit.width()),
        }
    }

    /// Takes states by their numbers, as numbers.
    fn load_values(&mut self, block: &Block, cells: impl Iterator<Item = usize>) {
        self.form = Form::Values;
        self.numbers.resize(self.len * block.columns().len(), T::zero());
        for (site, code) in self.numbers.chunks_exact_mut(block.width()).zip(cells) {
            block.unit::<T>().state(code, site);
        }
    }

    /// The rows as packed states.
    pub fn states(&self, layout: &Layout) -> States<T> {
        match layout.single() {
            Some(block) => self.states_of(block, false),
            None => {
                let parts = self.parts.iter().zip(layout.blocks());
                States::Blocks(parts.map(|(part, block)| part.states_of(block, true)).collect())
            }
        }
    }

    fn states_of(&self, block: &Block, beside: bool) -> States<T> {
        let (unit, shape) = (block.unit::<T>(), (self.len, block.sites().len()));
        // The buffers have the shape by construction.
        match self.form {
            Form::Bits => States::Bits(self.bit_planes.bits()),
            Form::Codes => States::Codes(Array2::from_shape_vec(shape, self.codes.clone()).unwrap_or_default()),
            Form::Values => {
                let codes = self.numbers.chunks_exact(block.width()).map(|site| unit.state_of(site) as u16).collect();
                let codes = Array2::from_shape_vec(shape, codes).unwrap_or_default();
                if two_values(unit).is_none() {
                    return States::Codes(codes);
                }
                let mut bits = Bits::new(shape.1);
                codes.rows().into_iter().for_each(|row| bits.push(row.iter().map(|code| *code == 1)));
                States::Bits(bits)
            }
            Form::Numbers => {
                let mut values = Array2::from_shape_vec(shape, self.numbers.clone()).unwrap_or_default();
                if let Some([low, high]) = bit_values_of::<T>(block, beside) {
                    values.mapv_inplace(|x| low + x * (high - low));
                }
                States::Real(values)
            }
            Form::Blocks => States::Blocks(Vec::new()),
        }
    }

    /// Makes room for `len` rows of a layer's states.
    pub fn resize(&mut self, layout: &Layout, len: usize) {
        let (parts, beside) = self.parts_mut(layout);
        for (part, block) in parts.iter_mut().zip(layout.blocks()) {
            part.width = block.width();
            match Form::of_block::<T>(block, beside) {
                Form::Bits => drop(part.bits_mut(len, block.columns().len())),
                Form::Codes => drop(part.codes_mut(len, block.sites().len())),
                form => drop(part.numbers_mut(form, len, block.columns().len())),
            }
        }
        self.len = len;
    }

    /// Sets some rows of several blocks from rows of columns.
    pub fn set_rows(&mut self, layout: &Layout, first: usize, rows: ArrayView2<T>) {
        for (part, block) in self.parts.iter_mut().zip(layout.blocks()) {
            part.set_part(block, first, rows.slice(s![.., block.columns()]));
        }
    }

    fn set_part(&mut self, block: &Block, first: usize, rows: ArrayView2<T>) {
        let (columns, sites) = (block.columns().len(), block.sites().len());
        for (r, row) in (first..).zip(rows.rows()) {
            // Parts of rows in standard layout are slices.
            let row = row.to_slice().unwrap_or(&[]);
            match self.form {
                Form::Bits => {
                    let len = self.len;
                    for (p, cells) in row.chunks(WIDTH).enumerate() {
                        let bit = |word: u32, (c, x): (usize, &T)| word | u32::from(*x == T::one()) << c;
                        self.bit_planes.words_mut()[p * len + r] = cells.iter().enumerate().fold(0, bit);
                    }
                }
                Form::Codes => {
                    let cells = row.chunks_exact(block.width());
                    let codes = self.codes[r * sites..(r + 1) * sites].iter_mut();
                    codes.zip(cells).for_each(|(code, x)| *code = block.unit::<T>().state_of(x) as u16);
                }
                _ => self.numbers[r * columns..(r + 1) * columns].copy_from_slice(row),
            }
        }
    }

    /// Makes room for `len` rows of bits.
    pub fn bits_mut(&mut self, len: usize, columns: usize) -> &mut BitPlanes {
        (self.form, self.len) = (Form::Bits, len);
        self.bit_planes.resize(len, columns);
        &mut self.bit_planes
    }

    /// Makes room for `len` rows of codes.
    pub fn codes_mut(&mut self, len: usize, sites: usize) -> &mut [u16] {
        (self.form, self.len) = (Form::Codes, len);
        self.codes.resize(len * sites, 0);
        &mut self.codes
    }

    /// Makes room for `len` rows of numbers: of a finite unit's values, if `form` is that.
    pub fn numbers_mut(&mut self, form: Form, len: usize, columns: usize) -> &mut [T] {
        (self.form, self.len) = (form, len);
        self.numbers.resize(len * columns, T::zero());
        &mut self.numbers
    }

    /// Row `r` as columns of the layer.
    pub fn columns(&self, layout: &Layout, r: usize, out: &mut [T]) {
        let beside = layout.single().is_none();
        for (part, block) in self.parts().iter().zip(layout.blocks()) {
            part.columns_of(block, beside, r, &mut out[block.columns()]);
        }
    }

    /// Row `r` as columns of a block.
    pub fn columns_of(&self, block: &Block, beside: bool, r: usize, out: &mut [T]) {
        let unit = block.unit::<T>();
        match self.form {
            Form::Bits => {
                for (c, x) in out.iter_mut().enumerate() {
                    unit.state(
                        (self.bit_planes.plane(c / WIDTH, &(r..r + 1))[0] >> (c % WIDTH) & 1) as usize,
                        std::slice::from_mut(x),
                    );
                }
            }
            Form::Codes => {
                let sites = block.sites().len();
                let codes = &self.codes[r * sites..(r + 1) * sites];
                for (site, code) in out.chunks_exact_mut(unit.width()).zip(codes) {
                    unit.state(usize::from(*code), site);
                }
            }
            Form::Values | Form::Numbers => {
                out.copy_from_slice(&self.numbers[r * out.len()..(r + 1) * out.len()]);
                // Values are themselves, numbers of two-valued units are between 0 and 1.
                if let Some([low, high]) = bit_values_of::<T>(block, beside) {
                    out.iter_mut().for_each(|x| *x = low + *x * (high - low));
                }
            }
            Form::Blocks => {}
        }
    }

    /// sums[0][c] = Σ_r w_r · x(r, c) over some rows of bits or of numbers, and if there is a second row the same of their squares.
    pub fn sums(
        &self,
        level: Level,
        parallel: bool,
        rows: &Range<usize>,
        weights: Option<&[T]>,
        mut sums: ArrayViewMut2<T>,
    ) {
        let columns = sums.ncols();
        if let (Form::Bits, Some(sums)) = (self.form, sums.row_mut(0).as_slice_mut()) {
            return threads::each(parallel, sums.chunks_mut(WIDTH).enumerate(), |(p, sums)| {
                let mut strip = Strip::zero();
                count(level, self.bit_planes.plane(p, rows), weights, &mut strip);
                sums.copy_from_slice(&strip.0[..sums.len()]);
            });
        }
        let numbers = &self.numbers[rows.start * columns..rows.end * columns];
        threads::each(parallel, sums.axis_chunks_iter_mut(Axis(1), LONG).enumerate(), |(p, mut sums)| {
            let mut found = [[T::zero(); LONG]; 2];
            moments(level, numbers, columns, p * LONG, weights, &mut found);
            for (mut sums, found) in sums.rows_mut().into_iter().zip(&found) {
                sums.iter_mut().zip(found).for_each(|(sum, x)| *sum = *x);
            }
        });
    }
}

dispatch! {
    pub(super) fn count<T>(level, words: &[u32], weights: Option<&[T]>, sums: &mut Strip<T>) => count_body;
}

#[inline(always)]
fn count_body<T: Real>(words: &[u32], weights: Option<&[T]>, sums: &mut Strip<T>) {
    for (r, word) in words.iter().enumerate() {
        let w = weights.map_or(T::one(), |w| w[r]);
        for c in 0..WIDTH {
            // A product: of a choice the compiler would make a branch for some columns.
            sums.0[c] += w * T::of_short((word >> c & 1) as i16);
        }
    }
}

/// Numbers of a row that one task sums: enough to read memory in long pieces.
const LONG: usize = 256;

dispatch! {
    /// Σ_r w_r · x and Σ_r w_r · x² of the columns from `first` on of rows of `columns` numbers; 32 rows are summed by themselves
    /// first, which keeps rounding small.
    pub(super) fn moments<T>(level,
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

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, bit_planes_of};
    use super::*;
    use crate::units::Kind;

    /// Reference: one column at a time, 32 rows summed one after another, then added to the total.
    fn sums_of_numbers_equal_their_reference<T: Real>() {
        let mut r = Numbers(41);
        let kind = Kind::new("gaussian", &Default::default()).unwrap();
        for (rows, columns) in [(1, 1), (31, 255), (33, 256), (70, 257), (100, 600)] {
            let x = Array2::from_shape_fn((rows, columns), |_| T::of(r.uniform() - 0.3));
            let weights: Vec<T> = (0..rows).map(|_| T::of(r.uniform())).collect();
            let layout = Layout::new(kind.clone(), columns);
            let mut loaded = LayerStates::default();
            loaded.load(&layout, &States::Real(x.clone()), None);
            for (weights, level) in
                [None, Some(&weights[..])].into_iter().flat_map(|w| Level::available().into_iter().map(move |l| (w, l)))
            {
                let mut found = Array2::from_elem((2, columns), T::nan());
                loaded.sums(level, true, &(0..rows), weights, found.view_mut());
                for (c, column) in x.columns().into_iter().enumerate() {
                    let mut want = [T::zero(); 2];
                    for first in (0..rows).step_by(ROWS) {
                        let mut part = [T::zero(); 2];
                        for i in first..rows.min(first + ROWS) {
                            let w = weights.map_or(T::one(), |w| w[i]);
                            part = [part[0] + w * column[i], part[1] + w * (column[i] * column[i])];
                        }
                        want = [want[0] + part[0], want[1] + part[1]];
                    }
                    assert!(found.column(c).to_vec() == want, "{c} of {rows} x {columns}, {}", level.name());
                }
            }
        }
    }

    /// Reference: one column at a time, the weights of the rows that have its bit one after another.
    fn sums_of_bits_equal_their_reference<T: Real>() {
        let mut r = Numbers(43);
        for (n, columns) in [(1, 1), (2, 31), (33, 32), (130, 70)] {
            let bits = r.bits(n, columns, 0.4);
            let weights: Vec<T> = (0..n).map(|_| T::of(r.uniform())).collect();
            let mut rows = LayerStates::<T>::default();
            *rows.bits_mut(n, columns) = bit_planes_of(&bits);
            for (weights, level) in
                [None, Some(&weights[..])].into_iter().flat_map(|w| Level::available().into_iter().map(move |l| (w, l)))
            {
                let mut found = Array2::from_elem((1, columns), T::nan());
                rows.sums(level, true, &(0..n), weights, found.view_mut());
                for c in 0..columns {
                    let set = (0..n).filter(|i| bits[*i][c]).map(|i| weights.map_or(T::one(), |w| w[i]));
                    let want = set.fold(T::zero(), |sum, w| sum + w);
                    assert!(found[[0, c]] == want, "{c} of {n} x {columns}, {}", level.name());
                }
            }
        }
    }

    #[test]
    fn sums_of_bits_and_numbers_equal_their_scalar_reference() {
        sums_of_bits_equal_their_reference::<f32>();
        sums_of_bits_equal_their_reference::<f64>();
        sums_of_numbers_equal_their_reference::<f32>();
        sums_of_numbers_equal_their_reference::<f64>();
    }
}
