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

use crate::error::{Error, Result, shown};
use crate::real::Real;
use crate::units::{Field, Kind, Options, Origin, Unit};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, s};
use std::fmt;
use std::ops::Range;

/// Units of a layer at most; the limit on hidden units is the same.
pub(crate) const MOST_SITES: usize = 1 << 24;

/// Units of one kind that stand next to each other in a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    kind: Kind,
    sites: Range<usize>,
    columns: Range<usize>,
}

impl Block {
    /// The kind of the units.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The mathematics of the units.
    pub fn unit<T: Real>(&self) -> &dyn Unit<T> {
        self.kind.unit::<T>()
    }

    /// Their places among the units of the layer.
    pub fn sites(&self) -> Range<usize> {
        self.sites.clone()
    }

    /// Their places among the columns of the layer.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Columns of a unit.
    pub fn width(&self) -> usize {
        self.columns.len() / self.sites.len().max(1)
    }

    /// The columns of a unit, by its place in the layer.
    fn columns_of(&self, site: usize) -> Range<usize> {
        let first = self.columns.start + (site - self.sites.start) * self.width();
        first..first + self.width()
    }

    /// The natural parameters of the block among those of the layer.
    fn stats_of<'a, T: Real>(&self, all: &'a ArrayView2<T>) -> ArrayView2<'a, T> {
        all.slice(s![..self.unit::<T>().n_stats(), self.columns()])
    }

    /// The same, to be written.
    fn stats_mut<'a, T: Real>(&self, all: &'a mut ArrayViewMut2<T>) -> ArrayViewMut2<'a, T> {
        all.slice_mut(s![..self.unit::<T>().n_stats(), self.columns()])
    }

    /// The parameters of the block among those of the layer.
    fn fields_of<'a, T: Real>(&self, all: &'a ArrayView2<T>) -> ArrayView2<'a, T> {
        all.slice(s![..self.unit::<T>().fields().len(), self.columns()])
    }

    /// The same, to be written.
    fn fields_mut<'a, T: Real>(&self, all: &'a mut ArrayViewMut2<T>) -> ArrayViewMut2<'a, T> {
        all.slice_mut(s![..self.unit::<T>().fields().len(), self.columns()])
    }

    /// The part of a row of columns.
    fn part<'a, T: Real>(&self, row: &ArrayView1<'a, T>) -> ArrayView1<'a, T> {
        row.clone().slice_move(s![self.columns()])
    }
}

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

    /// Refuses the first value outside the units' domain. `first` is the number of the first row, counted from 1.
    pub fn check<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<()> {
        self.check_columns(rows)?;
        for block in &self.blocks {
            let (unit, mut site) = (block.unit::<T>(), vec![T::zero(); block.width()]);
            for (r, row) in rows.slice(s![.., block.sites()]).rows().into_iter().enumerate() {
                if let Some(c) = row.iter().position(|x| !unit.encode(*x, &mut site)) {
                    return Err(block.refused(row, c, first + r as u64));
                }
            }
        }
        Ok(())
    }

    /// Rows of values as rows of columns; refuses what [`check`](Layout::check) refuses.
    pub fn encode<T: Real>(&self, rows: ArrayView2<T>, first: u64) -> Result<Array2<T>> {
        self.check_columns(rows)?;
        let mut columns = Array2::zeros((rows.nrows(), self.columns()));
        for block in &self.blocks {
            let unit = block.unit::<T>();
            // Rows of a new array are slices.
            let outputs = columns.rows_mut().into_iter().filter_map(|out| out.into_slice());
            for (r, (row, out)) in rows.slice(s![.., block.sites()]).rows().into_iter().zip(outputs).enumerate() {
                let out = &mut out[block.columns()];
                let refused = match row.as_slice() {
                    Some(values) => unit.encode_row(values, out),
                    None => unit.encode_row(&row.to_vec(), out),
                };
                if let Some(c) = refused {
                    return Err(block.refused(row, c, first + r as u64));
                }
            }
        }
        Ok(columns)
    }

    fn check_columns<T: Real>(&self, rows: ArrayView2<T>) -> Result<()> {
        if rows.ncols() == self.sites() {
            return Ok(());
        }
        Err(Error::Columns { expected: self.sites(), found: rows.ncols() })
    }

    /// Rows of columns as rows of values.
    pub fn decode<T: Real>(&self, columns: ArrayView2<T>) -> Array2<T> {
        let mut values = Array2::zeros((columns.nrows(), self.sites()));
        for block in &self.blocks {
            let (unit, width) = (block.unit::<T>(), block.width());
            let from = columns.slice(s![.., block.columns()]);
            let mut out = values.slice_mut(s![.., block.sites()]);
            if width == 1 {
                out.zip_mut_with(&from, |out, x| *out = unit.decode(&[*x]));
                continue;
            }
            for (mut out, row) in out.rows_mut().into_iter().zip(from.rows()) {
                let row = row.to_vec();
                out.iter_mut().zip(row.chunks_exact(width)).for_each(|(out, x)| *out = unit.decode(x));
            }
        }
        values
    }
}

impl Block {
    fn refused<T: Real>(&self, row: ArrayView1<T>, site: usize, number: u64) -> Error {
        let (value, domain) = (row[site].f64(), self.unit::<T>().domain());
        let column = self.sites.start + site + 1;
        Error::Domain { row: number, column, value, domain, kind: self.kind.to_string() }
    }
}

/// The units of a layer as one: the functions of [`Unit`] for rows of all blocks.
impl Layout {
    /// The chart par ↦ (η, s), see [`Unit::natural`].
    pub(crate) fn natural<T: Real>(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        mut eta: ArrayViewMut2<T>,
        scale: &mut [T],
    ) {
        for b in &self.blocks {
            let scale = &mut scale[b.columns()];
            b.unit().natural(b.fields_of(&par), b.part(&offset), b.stats_mut(&mut eta), scale);
        }
    }

    /// Its adjoint, see [`Unit::pullback`].
    pub(crate) fn pullback<T: Real>(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        d_eta: ArrayView2<T>,
        d_ln_s: &[T],
        mut d_par: ArrayViewMut2<T>,
    ) {
        for b in &self.blocks {
            let (par, offset, d_eta) = (b.fields_of(&par), b.part(&offset), b.stats_of(&d_eta));
            b.unit().pullback(par, offset, d_eta, &d_ln_s[b.columns()], b.fields_mut(&mut d_par));
        }
    }

    /// The point x where U(x) = 0.
    pub(crate) fn reference<T: Real>(&self, par: ArrayView2<T>, offset: ArrayView1<T>, x: &mut [T]) {
        for b in &self.blocks {
            b.unit().reference(b.fields_of(&par), b.part(&offset), &mut x[b.columns()]);
        }
    }

    /// Adds `d_field` to the first row of η by changing the parameters.
    pub(crate) fn shift<T: Real>(&self, mut par: ArrayViewMut2<T>, d_field: &[f64]) {
        for b in &self.blocks {
            b.unit::<T>().shift(b.fields_mut(&mut par), &d_field[b.columns()]);
        }
    }

    /// Keeps η fixed while the offset moves by `d_offset`.
    pub(crate) fn recenter<T: Real>(&self, mut par: ArrayViewMut2<T>, d_offset: &[f64]) {
        for b in &self.blocks {
            b.unit::<T>().recenter(b.fields_mut(&mut par), &d_offset[b.columns()]);
        }
    }

    /// Parameters of independent units with these mean statistics, see [`Unit::fit`].
    pub(crate) fn fit<T: Real>(
        &self,
        means: ArrayView2<f64>,
        rows: f64,
        offset: ArrayView1<T>,
        mut par: ArrayViewMut2<T>,
    ) {
        for b in &self.blocks {
            let means = b.stats_of(&means);
            b.unit::<T>().fit(means, rows, b.part(&offset), b.fields_mut(&mut par));
        }
    }

    /// Natural parameters of independent units with these mean statistics over `rows` rows.
    pub(crate) fn fitted(&self, means: ArrayView2<f64>, rows: f64) -> Array2<f64> {
        let (mut par, offset) = (Array2::zeros(self.parameters()), Array1::zeros(self.columns()));
        self.fit(means, rows, offset.view(), par.view_mut());
        let mut eta = Array2::zeros(self.statistics());
        self.natural(par.view(), offset.view(), eta.view_mut(), &mut vec![0.0; self.columns()]);
        eta
    }

    /// T(x) of a row.
    pub fn stats<T: Real>(&self, x: &[T], mut t: ArrayViewMut2<T>) {
        for b in &self.blocks {
            b.unit().stats(&x[b.columns()], b.stats_mut(&mut t));
        }
    }

    /// Σ over units of Γ(η, I).
    pub fn log_norm<T: Real>(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        self.blocks.iter().map(|b| b.unit().log_norm(b.stats_of(&eta), &input[b.columns()])).sum()
    }

    /// ⟨T(x)⟩ of every unit.
    pub fn mean_stats<T: Real>(&self, eta: ArrayView2<T>, input: &[T], mut t: ArrayViewMut2<T>) {
        for b in &self.blocks {
            b.unit().mean_stats(b.stats_of(&eta), &input[b.columns()], b.stats_mut(&mut t));
        }
    }

    /// ⟨x⟩ of every unit.
    pub fn means<T: Real>(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        for b in &self.blocks {
            b.unit().means(b.stats_of(&eta), &input[b.columns()], &mut x[b.columns()]);
        }
    }

    /// Uniforms that a draw of a row takes.
    pub fn n_uniforms(&self) -> usize {
        self.blocks.iter().map(|b| b.sites.len() * b.unit::<f64>().n_uniforms()).sum()
    }

    /// Draws every unit, see [`Unit::sample`]; the uniforms of the blocks follow one another.
    pub fn sample<T: Real>(&self, eta: ArrayView2<T>, input: &[T], mut u: &[T], x: &mut [T]) {
        for b in &self.blocks {
            let (own, rest) = u.split_at(b.sites.len() * b.unit::<T>().n_uniforms());
            b.unit().sample(b.stats_of(&eta), &input[b.columns()], own, &mut x[b.columns()]);
            u = rest;
        }
    }

    /// Columns whose origin is the reference of their own energy.
    pub(crate) fn moving_columns(&self) -> impl Iterator<Item = usize> {
        let moving = |b: &&Block| b.unit::<f64>().origin() == Origin::Reference;
        self.blocks.iter().filter(moving).flat_map(Block::columns)
    }
}

/// Layers as text: `bernoulli*10,potts(states=5)*3,gaussian*4`.
impl Layout {
    /// Whether a text is a list of blocks and not the name of a kind.
    pub fn is_list(text: &str) -> bool {
        text.contains(['*', ',', '('])
    }

    /// The layer that a list of blocks describes.
    pub fn parse(text: &str) -> Result<Layout> {
        let refuse = |problem: &str| Error::Undefined(format!("'{}' {problem}", shown(text)));
        let (mut rest, mut parts) = (text.trim(), Vec::new());
        while !rest.is_empty() {
            let name = &rest[..rest.find(['(', '*', ',']).unwrap_or(rest.len())];
            rest = &rest[name.len()..];
            let mut options = Options::new();
            if let Some(inner) = rest.strip_prefix('(') {
                let end = inner.find(')').ok_or_else(|| refuse("has an opening parenthesis without a closing one"))?;
                for option in inner[..end].split(',').filter(|option| !option.trim().is_empty()) {
                    let (key, value) =
                        option.split_once('=').ok_or_else(|| refuse("has an option that is not KEY=VALUE"))?;
                    options.insert(key.trim().into(), value.trim().into());
                }
                rest = &inner[end + 1..];
            }
            let mut sites = 1;
            if let Some(after) = rest.strip_prefix('*') {
                let digits = &after[..after.find(',').unwrap_or(after.len())];
                let number = digits.trim().parse().ok().filter(|n| (1..=MOST_SITES).contains(n));
                sites = number
                    .ok_or_else(|| refuse(&format!("has a block whose number of units is not 1 to {MOST_SITES}")))?;
                rest = &after[digits.len()..];
            }
            rest = match rest.strip_prefix(',') {
                Some(after) if !after.trim().is_empty() => after,
                None if rest.trim().is_empty() => "",
                _ => return Err(refuse("is not a list of blocks such as bernoulli*10,potts(states=5)*3,gaussian*4")),
            };
            parts.push((Kind::new(name.trim(), &options)?, sites));
        }
        let total: usize = parts.iter().map(|p| p.1).sum();
        if !(1..=MOST_SITES).contains(&total) {
            return Err(refuse(&format!("must have 1 to {MOST_SITES} units")));
        }
        Ok(Layout::of(parts))
    }

    /// Its list of blocks, which [`parse`](Layout::parse) reads.
    pub fn list(&self) -> String {
        let block = |b: &Block| {
            let options: Vec<String> = b.kind.options().iter().map(|(k, v)| format!("{k}={v}")).collect();
            let options = if options.is_empty() { String::new() } else { format!("({})", options.join(",")) };
            format!("{}{options}*{}", b.kind.name(), b.sites.len())
        };
        self.blocks.iter().map(block).collect::<Vec<_>>().join(",")
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

/// The kind of the units, or the number and kind of each block's.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(kind) = self.kind() {
            return write!(f, "{kind}");
        }
        let blocks: Vec<String> = self.blocks.iter().map(|b| format!("{} {}", b.sites.len(), b.kind)).collect();
        f.write_str(&blocks.join(", "))
    }
}
