//! Σ w T(v), Σ w ⟨T(h)|v⟩ and Σ w v ⟨h|v⟩ᵀ, panel by panel of the hidden layer: inputs, means and their product with the
//! rows are computed one after another while a panel is in the cache.

use super::cross::{CrossProduct, Finish};
use super::epilogue::{self, Draw};
use super::factor::Operand;
use super::layer_states::{Form, LayerStates};
use super::panels::{Panels, Strip, WIDTH, panels_of, strips_of};
use super::sweep::inputs;
use super::{Cpu, ROWS, Scratch, gather, row_chunks, small_batch, worth_threads};
use crate::backend::Slot;
use crate::layout::{Block, two_values};
use crate::lowered::LoweredLayer;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::simd::Level;
use crate::stats::Stats;
use crate::threads;
use ndarray::{Array2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// Rows of a slot, and what becomes of their sums.
pub struct Rows<'a, T> {
    pub slot: Slot,
    pub range: Range<usize>,
    /// Weights of all rows of the slot, if not 1.
    pub weights: Option<&'a [T]>,
    /// Hidden rows of two-valued units are drawn from the same product for the sweep with this number.
    pub draw: Option<(Key, u64)>,
    /// How often the sums count, or with `mean` how often the averages do.
    pub times: f64,
    pub mean: bool,
    /// Whether they are added to what is there.
    pub add: bool,
    /// Whether Σvhᵀ may be computed with the next rows, which will be added; until then it is unspecified.
    pub may_defer: bool,
    /// Where the result is measured from, see [`Stats::measure_from`].
    pub origins: Option<&'a [Vec<T>; 2]>,
}

impl<T: Real> Rows<'_, T> {
    /// Σ w.
    pub fn weight(&self) -> f64 {
        self.weights.map_or(self.range.len() as f64, |w| w[self.range.clone()].iter().map(|w| w.f64()).sum())
    }
}

/// Writes the statistics of some rows to `out`, or adds them.
pub fn stats<T: Real>(cpu: &mut Cpu<T>, rows: &Rows<T>, out: &mut Stats<T>) {
    let (m, slot, add) = (cpu.lowered.hidden().columns(), rows.slot, rows.add);
    let (len, all) = (rows.range.len(), cpu.slots[slot].visible.len());
    let weight = rows.weight();
    let factor = if rows.mean { rows.times / weight } else { rows.times };
    let key = rows.draw.map(|(key, step)| key.of(Purpose::Hidden).step(step));
    let bits = cpu.lowered.hidden().two_values().is_some();
    let mut sums = std::mem::take(&mut cpu.scratch.layers);
    sums.clear(&out.visible, &out.hidden);
    cpu.scratch.sums.clear();
    cpu.scratch.sums.resize(panels_of(m), Strip::zero());
    if key.is_some() && bits {
        cpu.slots[slot].hidden.bits_mut(all, m);
    }
    visible_sums(cpu, rows, &mut sums.visible);
    let mut finish = Finish::new(cpu, T::of(factor), add, T::of(weight), &sums.visible);
    into_values(cpu.lowered.visible(), T::of(weight), &mut sums.visible);
    put_sums(T::of(factor), add, &sums.visible, &mut out.visible);
    let parallel = worth_threads(len, cpu.lowered.visible().columns(), m);
    let next = small_batch(parallel, &cpu.slots[slot].visible).map_or(0, |_| len);
    cpu.scratch.flush(cpu.level, add.then_some(next), &mut out.cross);
    // Small batches, and no rows, are measured from the origins at the end; all others panel by panel.
    let late = rows.origins.filter(|_| next == len);
    if let Some(origins) = rows.origins.filter(|_| next < len) {
        let by = (T::of(factor), T::of(weight));
        finish.measure_from(cpu, origins, by, (&out.visible, &out.hidden));
    }
    for range in row_chunks(&rows.range) {
        let weights = rows.weights.map(|w| &w[range.clone()]);
        let (is_first, is_last) = (range.start == rows.range.start, range.end == rows.range.end);
        let chunk = Chunk { slot, is_first, is_last, range, weights, finish: &finish, may_defer: rows.may_defer };
        if bits {
            chunk_of_bits(cpu, &chunk, key, &mut out.cross);
        } else {
            chunk_of_rows(cpu, &chunk, &mut sums.hidden, &mut out.cross);
        }
    }
    if len == 0 && !add {
        out.cross.fill(T::zero());
    }
    if bits {
        if let Some(sums) = sums.hidden.row_mut(0).as_slice_mut() {
            gather(&cpu.scratch.sums, 1, 0, sums);
        }
        cpu.slots[slot].hidden_drawn = key.is_some();
        if key.is_some() {
            cpu.slots[slot].hidden.bits_mut(all, m).trim();
        }
    }
    into_values(cpu.lowered.hidden(), T::of(weight), &mut sums.hidden);
    put_sums(T::of(factor), add, &sums.hidden, &mut out.hidden);
    if let Some(origins) = late {
        out.measure_from(origins);
    }
    out.weight = factor * weight + if add { out.weight } else { 0.0 };
    cpu.scratch.layers = sums;
}

/// out = factor·sums, or += if they are to be added.
fn put_sums<T: Real>(factor: T, add: bool, sums: &Array2<T>, out: &mut Array2<T>) {
    let step = |out: &mut T, sum: &T| *out = if add { *out + factor * *sum } else { factor * *sum };
    match (sums.as_slice(), out.as_slice_mut()) {
        // Much faster for a few numbers.
        (Some(sums), Some(out)) => out.iter_mut().zip(sums).for_each(|(out, sum)| step(out, sum)),
        _ => out.zip_mut_with(sums, step),
    }
}

/// Σ w T of both layers.
#[derive(Default)]
pub struct Layers<T> {
    visible: Array2<T>,
    hidden: Array2<T>,
}

impl<T: Real> Layers<T> {
    /// Zeros in these shapes.
    fn clear(&mut self, visible: &Array2<T>, hidden: &Array2<T>) {
        for (sums, like) in [(&mut self.visible, visible), (&mut self.hidden, hidden)] {
            if sums.dim() == like.dim() {
                sums.fill(T::zero());
            } else {
                *sums = Array2::zeros(like.dim());
            }
        }
    }
}

/// Some rows of a slot, their weights, and how their sums end up in the result.
struct Chunk<'a, T> {
    slot: Slot,
    range: Range<usize>,
    weights: Option<&'a [T]>,
    finish: &'a Finish<'a, T>,
    is_first: bool,
    is_last: bool,
    may_defer: bool,
}

impl<T: Real> Chunk<'_, T> {
    fn cross_product<'a>(&'a self, level: Level, rows: &'a Operand<T>) -> CrossProduct<'a, T> {
        CrossProduct { level, rows, finish: self.finish, more: !self.is_first, is_last: self.is_last }
    }
}

/// Adds a chunk of rows for two-valued hidden units: one task per panel does everything.
fn chunk_of_bits<T: Real>(cpu: &mut Cpu<T>, chunk: &Chunk<T>, key: Option<Key>, out: &mut Array2<T>) {
    let (level, up, scratch) = (cpu.level, &cpu.packed.up, &mut cpu.scratch);
    let (n, m) = (cpu.lowered.visible().columns(), cpu.lowered.hidden().columns());
    let (range, chains) = (&chunk.range, &mut cpu.slots[chunk.slot]);
    let parallel = worth_threads(range.len(), n, m);
    scratch.load_both(level, parallel, &chains.visible, range, &up.panels);
    let (forward, cross) = (&scratch.forward, chunk.cross_product(level, &scratch.transposed));
    let means = |panel: usize, x: &mut [Strip<T>], sums: &mut Strip<T>, words: Option<&mut [u32]>| {
        let (field, width) = (&up.field[panel], m - panel * WIDTH);
        let draw = key.zip(words).map(|(key, words)| {
            let draw = Draw { key, panel, first: chains.first + range.start as u64 };
            (draw, &mut words[range.clone()])
        });
        epilogue::means(level, x, width, field, chunk.weights, sums, draw);
    };
    let len = chains.hidden.len().max(1);
    let words: &mut [u32] = if key.is_some() { chains.hidden.bits_mut(len, m).words_mut() } else { &mut [] };
    let words = words.chunks_mut(len).map(Some).chain(std::iter::repeat_with(|| None));
    if forward.is_done() {
        let panels = scratch.inputs.chunks_mut(range.len()).zip(&mut scratch.sums).zip(words);
        panels.enumerate().for_each(|(panel, ((x, sums), words))| means(panel, x, sums, words));
        return scratch.cross_small_batch(level, chunk.finish, chunk.may_defer, out);
    }
    let pieces = pieces(&mut scratch.inputs, range.len(), &mut scratch.cross, out);
    let pieces = pieces.zip(&mut scratch.sums).zip(words).enumerate();
    threads::each(parallel, pieces, |(panel, ((piece, sums), words))| {
        forward.product(level, false, up.panels.panel(panel), piece.x);
        means(panel, piece.x, sums, words);
        cross.run(panel, piece.x, piece.cross, sums, piece.out);
    });
}

/// One panel of the hidden layer: its inputs, later means; its products with the rows; their place in the result.
struct Piece<'a, T> {
    x: &'a mut [Strip<T>],
    cross: &'a mut [Strip<T>],
    out: ArrayViewMut2<'a, T>,
}

/// The panels of a chunk of `rows` rows.
fn pieces<'a, T: Real>(
    x: &'a mut [Strip<T>],
    rows: usize,
    cross: &'a mut [Strip<T>],
    out: &'a mut Array2<T>,
) -> impl Iterator<Item = Piece<'a, T>> {
    let n = out.nrows();
    let both = x.chunks_mut(rows).zip(cross.chunks_mut(n)).zip(out.axis_chunks_iter_mut(Axis(1), WIDTH));
    both.map(|((x, cross), out)| Piece { x, cross, out })
}

/// Adds a chunk of rows for any hidden units: inputs, then means row by row, then their product with the rows.
fn chunk_of_rows<T: Real>(cpu: &mut Cpu<T>, chunk: &Chunk<T>, total: &mut Array2<T>, out: &mut Array2<T>) {
    let (visible, hidden) = (cpu.lowered.visible(), cpu.lowered.hidden());
    let (n, m, rows) = (visible.columns(), hidden.columns(), chunk.range.len());
    let (level, up, scratch) = (cpu.level, &cpu.packed.up, &mut cpu.scratch);
    let parallel = worth_threads(rows, n, m);
    let from = &cpu.slots[chunk.slot].visible;
    scratch.load_both(level, parallel, from, &chunk.range, &up.panels);
    inputs(level, parallel, |p| up.panels.panel(p), rows, scratch);
    let x = &scratch.inputs;
    let block = |first: usize| {
        let (mut input, mut t) = (vec![T::zero(); m], Array2::zeros(hidden.eta().dim()));
        let (mut sums, mut means) = (t.clone(), Vec::with_capacity(ROWS * m));
        for r in first..(first + ROWS).min(rows) {
            gather(x, rows, r, &mut input);
            hidden.mean_stats(up.eta.view(), &input, t.view_mut());
            let w = chunk.weights.map_or(T::one(), |w| w[r]);
            sums.scaled_add(w, &t);
            means.extend(t.row(0).iter().map(|x| *x * w));
        }
        (sums, means)
    };
    let firsts = (0..rows).step_by(ROWS);
    for (first, (sums, means)) in firsts.clone().zip(threads::map(parallel, firsts, block)) {
        *total += &sums;
        for (r, row) in means.chunks_exact(m).enumerate() {
            for (p, numbers) in row.chunks(WIDTH).enumerate() {
                scratch.inputs[p * rows + first + r].0[..numbers.len()].copy_from_slice(numbers);
            }
        }
    }
    strips_of(total.row(0).iter().copied(), &mut scratch.sums);
    let product = chunk.cross_product(level, &scratch.transposed);
    let pieces = pieces(&mut scratch.inputs, rows, &mut scratch.cross, out);
    let pieces = pieces.zip(&scratch.sums).enumerate();
    threads::each(parallel, pieces, |(p, (Piece { x, cross, out }, sums))| product.run(p, x, cross, sums, out));
    scratch.cross_small_batch(level, chunk.finish, chunk.may_defer, out);
}

impl<T: Real> Scratch<T> {
    /// Takes a chunk of visible rows as they are and transposed, and makes room for the products.
    fn load_both(
        &mut self,
        level: Level,
        parallel: bool,
        rows: &LayerStates<T>,
        range: &Range<usize>,
        panels: &Panels<T>,
    ) {
        self.load(level, parallel, rows, range, panels);
        self.cross.resize(panels.strips().len(), Strip::zero());
        match rows.bits().filter(|_| self.forward.is_done()) {
            Some(bits) => {
                self.small_batch.load(bits);
                self.transposed.set_done();
            }
            None => self.transposed.load_transposed(level, parallel, &self.forward, rows, range),
        }
    }
}

/// Σ w T(v), from zero; of two-valued units, how often each is in its high state.
fn visible_sums<T: Real>(cpu: &Cpu<T>, of: &Rows<T>, out: &mut Array2<T>) {
    let (layout, rows) = (cpu.lowered.visible(), &cpu.slots[of.slot].visible);
    let beside = layout.single().is_none();
    for (block, rows) in layout.blocks().iter().zip(rows.parts()) {
        let n = block.unit::<T>().n_stats();
        block_sums(cpu, of, (block, beside), rows, out.slice_mut(s![..n, block.columns()]));
    }
}

/// The same of one block; whether it stands beside others.
fn block_sums<T: Real>(
    cpu: &Cpu<T>,
    of: &Rows<T>,
    (block, beside): (&Block, bool),
    rows: &LayerStates<T>,
    mut out: ArrayViewMut2<T>,
) {
    let (range, weights) = (&of.range, of.weights.map(|w| &w[of.range.clone()]));
    let (unit, columns) = (block.unit::<T>(), block.columns().len());
    let n_sums = if unit.quadratic() { 2 } else { 1 };
    // The first statistic is x, so rows of numbers are their own statistics.
    let is_bits = !beside && two_values(unit).is_some();
    if is_bits || rows.form == Form::Bits || n_sums == 2 || (unit.width() == 1 && unit.n_stats() == 1) {
        let parallel = worth_threads(range.len() / 8, columns, WIDTH);
        return rows.sums(cpu.level, parallel, range, weights, out.slice_mut(s![..n_sums, ..]));
    }
    let mut x = vec![T::zero(); columns];
    let (mut t, mut part) = (Array2::zeros(out.dim()), Array2::zeros(out.dim()));
    for r in 0..range.len() {
        rows.columns_of(block, beside, range.start + r, &mut x);
        unit.stats(&x, t.view_mut());
        part.scaled_add(weights.map_or(T::one(), |w| w[r]), &t);
        if r % ROWS == ROWS - 1 || r + 1 == range.len() {
            out += &part;
            part.fill(T::zero());
        }
    }
}

/// From sums of bits to those of values: Σ w T(x) = T(low) Σ w + (T(high) − T(low)) Σ w b.
fn into_values<T: Real>(side: &LoweredLayer<T>, weight: T, sums: &mut Array2<T>) {
    let Some(values) = side.two_values().filter(|v| *v != [T::zero(), T::one()]) else { return };
    let ones = sums.row(0).to_owned();
    let [low, high] = values.map(|x| {
        let mut t = Array2::zeros(sums.dim());
        side.stats(&vec![x; ones.len()], t.view_mut());
        t
    });
    for ((mut sums, low), high) in sums.rows_mut().into_iter().zip(low.rows()).zip(high.rows()) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = low[i] * weight + (high[i] - low[i]) * ones[i];
        }
    }
}
