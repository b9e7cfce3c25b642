//! Rows of states of a layer in the smallest storage that the unit allows: a bit, a code, or a number per site.
//!
//! Data stay packed from the reader to the chains; a few rows at a time are unpacked to columns for a product.

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::layout::{Block, Layout, two_values};
use crate::real::Real;
use crate::units::Unit;
use ndarray::{Array2, ArrayView2, Axis, s};

/// Packed rows of states of one layer.
#[derive(Clone, Debug, PartialEq)]
pub enum States<T> {
    /// Units with two states and one column: 1 is the second state.
    Bits(Bits),
    /// Other finite units: the index of the state.
    Codes(Array2<u16>),
    /// Everything else: the data value.
    Real(Array2<T>),
    /// Units of several kinds: the rows of every block in its own storage.
    Blocks(Vec<States<T>>),
}

impl<T: Real> States<T> {
    /// No rows yet, in the smallest storage for the states of a layer.
    pub fn new(layer: &Layout) -> States<T> {
        match layer.single() {
            Some(block) => States::of_block(block),
            None => States::Blocks(layer.blocks().iter().map(States::of_block).collect()),
        }
    }

    fn of_block(block: &Block) -> States<T> {
        let (unit, sites) = (block.unit::<T>(), block.sites().len());
        match unit.n_states() {
            Some(2) if unit.width() == 1 => States::Bits(Bits::new(sites)),
            Some(_) => States::Codes(Array2::zeros((0, sites))),
            None => States::Real(Array2::zeros((0, sites))),
        }
    }

    /// Rows of columns, packed.
    pub fn of(layer: &Layout, columns: ArrayView2<T>) -> States<T> {
        let mut states = States::new(layer);
        states.push(layer, columns);
        states
    }

    /// The storage of every block.
    pub fn parts(&self) -> &[States<T>] {
        match self {
            States::Blocks(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    fn parts_mut(&mut self) -> &mut [States<T>] {
        match self {
            States::Blocks(parts) => parts,
            one => std::slice::from_mut(one),
        }
    }

    /// The result of a function for every block; of one block it is the result itself.
    fn map(&self, f: impl Fn(&States<T>) -> States<T>) -> States<T> {
        match self {
            States::Blocks(parts) => States::Blocks(parts.iter().map(f).collect()),
            one => f(one),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            States::Bits(b) => b.rows(),
            States::Codes(c) => c.nrows(),
            States::Real(x) => x.nrows(),
            States::Blocks(parts) => parts.first().map_or(0, States::rows),
        }
    }

    /// The index of the state of every site; none if some values are not states of finite units.
    pub fn codes(&self) -> Option<Array2<u16>> {
        match self {
            States::Bits(b) => Some(Array2::from_shape_fn((b.rows(), b.sites()), |(r, i)| u16::from(b.get(r, i)))),
            States::Codes(c) => Some(c.clone()),
            States::Real(_) => None,
            States::Blocks(parts) => {
                let parts: Vec<_> = parts.iter().map(States::codes).collect::<Option<_>>()?;
                let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
                ndarray::concatenate(Axis(1), &views).ok()
            }
        }
    }

    /// Number of sites.
    pub fn sites(&self) -> usize {
        match self {
            States::Bits(b) => b.sites(),
            States::Codes(c) => c.ncols(),
            States::Real(x) => x.ncols(),
            States::Blocks(parts) => parts.iter().map(States::sites).sum(),
        }
    }

    /// Appends rows of columns. If a value is not a state (a grey value), all rows of its block are converted to numbers.
    pub fn push(&mut self, layer: &Layout, columns: ArrayView2<T>) {
        for (part, block) in self.parts_mut().iter_mut().zip(layer.blocks()) {
            part.push_part(block, columns.slice(s![.., block.columns()]));
        }
    }

    fn push_part(&mut self, block: &Block, columns: ArrayView2<T>) {
        let (unit, width) = (block.unit::<T>(), block.width());
        if !matches!(self, States::Real(_)) && !all_states(unit, columns) {
            *self = States::Real(self.part_values(block));
        }
        match self {
            States::Bits(bits) => {
                let high = two_values(unit).map_or(T::one(), |values| values[1]);
                for row in columns.rows() {
                    bits.push(row.iter().map(|x| *x == high));
                }
            }
            States::Codes(codes) => {
                let new = Array2::from_shape_fn((columns.nrows(), columns.ncols() / width), |(r, i)| {
                    unit.state_of(&columns.slice(s![r, i * width..(i + 1) * width]).to_vec()) as u16
                });
                append(codes, new);
            }
            States::Real(all) => append(all, columns.mapv(|x| unit.decode(&[x]))),
            // A block is of one kind.
            States::Blocks(_) => {}
        }
    }

    /// Appends rows of values, which are in the units' domain. If one is not a state (a grey value), all rows of its block become
    /// numbers.
    pub(crate) fn push_values(&mut self, layer: &Layout, values: ArrayView2<T>) {
        for (part, block) in self.parts_mut().iter_mut().zip(layer.blocks()) {
            part.push_part_values(block, values.slice(s![.., block.sites()]));
        }
    }

    fn push_part_values(&mut self, block: &Block, values: ArrayView2<T>) {
        let unit = block.unit::<T>();
        let table = values.as_standard_layout();
        let cells = table.as_slice().unwrap_or(&[]);
        // Values may be written with a few digits only, such as 0.333.
        let codes = || -> Option<Vec<u16>> { cells.iter().map(|x| unit.code(*x).map(|code| code as u16)).collect() };
        let fits = match self {
            States::Bits(bits) => {
                bits.push_cells(cells, [unit.value(0), unit.value(1)])
                    || codes().is_some_and(|codes| bits.push_cells(&codes, [0, 1]))
            }
            States::Codes(all) => {
                let new = codes().and_then(|new| Array2::from_shape_vec(values.raw_dim(), new).ok());
                new.map(|new| append(all, new)).is_some()
            }
            States::Real(all) => {
                append(all, table.to_owned());
                true
            }
            States::Blocks(_) => true,
        };
        if !fits && !cells.is_empty() {
            *self = States::Real(self.part_values(block));
            self.push_part_values(block, values);
        }
    }

    /// Appends rows of bits, of units with two states.
    pub(crate) fn push_bits(&mut self, layer: &Layout, rows: Bits) {
        match self {
            States::Bits(bits) => bits.append(&rows),
            _ => {
                let n = rows.rows();
                self.push(layer, States::Bits(rows).columns(layer, 0, n).view());
            }
        }
    }

    /// The rows with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> States<T> {
        self.map(|part| match part {
            States::Bits(b) => States::Bits(b.select(rows)),
            States::Codes(c) => States::Codes(c.select(Axis(0), rows)),
            States::Real(x) => States::Real(x.select(Axis(0), rows)),
            States::Blocks(_) => part.select(rows),
        })
    }

    /// Replaces the rows with these numbers by `new`, which has the same storage.
    pub(crate) fn replace(&mut self, rows: &[usize], new: &States<T>) {
        match (self, new) {
            (States::Bits(all), States::Bits(new)) => {
                rows.iter().enumerate().for_each(|(k, r)| all.row_mut(*r).copy_from_slice(new.row(k)));
            }
            (States::Codes(all), States::Codes(new)) => {
                rows.iter().zip(new.rows()).for_each(|(r, new)| all.row_mut(*r).assign(&new));
            }
            (States::Real(all), States::Real(new)) => {
                rows.iter().zip(new.rows()).for_each(|(r, new)| all.row_mut(*r).assign(&new));
            }
            (States::Blocks(all), States::Blocks(new)) => {
                all.iter_mut().zip(new).for_each(|(all, new)| all.replace(rows, new));
            }
            // A backend returns rows in the storage it received.
            _ => {}
        }
    }

    /// Rows `from..to` as rows of columns.
    pub fn columns(&self, layer: &Layout, from: usize, to: usize) -> Array2<T> {
        let mut out = Array2::zeros((to - from, layer.columns()));
        for (part, block) in self.parts().iter().zip(layer.blocks()) {
            for (r, mut row) in (from..to).zip(out.rows_mut()) {
                if let Some(row) = row.as_slice_mut() {
                    part.write_row(block, r, &mut row[block.columns()]);
                }
            }
        }
        out
    }

    /// Row `r` of a block as columns.
    fn write_row(&self, block: &Block, r: usize, row: &mut [T]) {
        let (unit, width) = (block.unit::<T>(), block.width());
        match self {
            States::Bits(b) => unpack(b.row(r), two_values(unit).unwrap_or([T::zero(), T::one()]), row),
            States::Codes(c) => {
                for (site, &code) in row.chunks_exact_mut(width).zip(c.row(r)) {
                    unit.state(usize::from(code), site);
                }
            }
            States::Real(x) => {
                for (site, &value) in row.chunks_exact_mut(width).zip(x.row(r)) {
                    unit.encode(value, site);
                }
            }
            States::Blocks(_) => {}
        }
    }

    /// All rows as data values.
    pub fn values(&self, layer: &Layout) -> Array2<T> {
        let parts: Vec<_> = self.parts().iter().zip(layer.blocks()).map(|(p, b)| p.part_values(b)).collect();
        if parts.len() == 1 {
            return parts.into_iter().next().unwrap_or_default();
        }
        let mut all = Array2::zeros((self.rows(), layer.sites()));
        for (part, block) in parts.iter().zip(layer.blocks()) {
            all.slice_mut(s![.., block.sites()]).assign(part);
        }
        all
    }

    /// All rows of a block as data values.
    fn part_values(&self, block: &Block) -> Array2<T> {
        if let States::Real(x) = self {
            return x.clone();
        }
        let layer = Layout::new(block.kind().clone(), block.sites().len());
        layer.decode(self.columns(&layer, 0, self.rows()).view())
    }

    /// Refuses rows that are not states of the layer: a wrong number of sites, or invalid codes.
    pub fn check(&self, layer: &Layout) -> Result<()> {
        let parts = self.parts();
        let fits = parts.len() == layer.blocks().len()
            && parts.iter().zip(layer.blocks()).all(|(part, block)| part.fits(block) && part.rows() == self.rows());
        if fits { Ok(()) } else { Err(Error::Undefined(format!("the rows are not states of {layer} units"))) }
    }

    /// Whether these are states of a block.
    fn fits(&self, block: &Block) -> bool {
        let unit = block.unit::<T>();
        let n = unit.n_states().unwrap_or(usize::MAX);
        let valid = match self {
            States::Bits(_) => n == 2 && unit.width() == 1,
            States::Codes(c) => n < usize::MAX && c.iter().all(|&c| usize::from(c) < n),
            // Sites of several columns are codes, never numbers.
            States::Real(x) => {
                let mut column = [T::zero()];
                let mut is_value = |x: &T| x.is_finite() && unit.encode(*x, &mut column);
                unit.width() == 1 && x.iter().all(&mut is_value)
            }
            States::Blocks(_) => false,
        };
        valid && self.sites() == block.sites().len()
    }
}

/// One value per bit: values[0] for 0, values[1] for 1.
fn unpack<T: Real>(words: &[u64], values: [T; 2], row: &mut [T]) {
    for (word, out) in words.iter().zip(row.chunks_mut(64)) {
        for (i, x) in out.iter_mut().enumerate() {
            *x = values[(word >> i & 1) as usize];
        }
    }
}

/// Whether every site is in one of its states. Sites of several columns come from `encode`, which writes states only.
fn all_states<T: Real>(unit: &dyn Unit<T>, columns: ArrayView2<T>) -> bool {
    match two_values(unit) {
        Some([low, high]) => columns.iter().all(|x| *x == low || *x == high),
        None => {
            let mut state = [T::zero()];
            let mut is_state = |x: &T| {
                unit.state(unit.state_of(&[*x]), &mut state);
                state[0] == *x
            };
            unit.width() > 1 || columns.iter().all(&mut is_state)
        }
    }
}

fn append<A: Clone>(all: &mut Array2<A>, new: Array2<A>) {
    if all.nrows() == 0 {
        *all = new;
    } else {
        // Both have one column per site, so the shapes always fit.
        let _ = all.append(Axis(0), new.view());
    }
}
