//! Σ w T(v), Σ w ⟨T(h)|v⟩ and Σ w v ⟨h|v⟩ᵀ, panel by panel of the hidden layer: inputs, means and their product with the
//! rows follow each other while a panel is in the cache.

use super::epilogue::{self, Draw};
use super::panels::{Strip, WIDTH, panels_of};
use super::sweep::inputs;
use super::{Cpu, ROWS, gather, row_chunks, two_valued, worth_threads};
use crate::backend::Slot;
use crate::natural::Side;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::stats::Stats;
use crate::threads::{self, MANY};
use ndarray::{Array1, Array2, ArrayViewMut2};
use std::ops::Range;

/// See [`crate::backend::Backend::stats`].
pub fn stats<T: Real>(
    cpu: &mut Cpu<T>,
    slot: Slot,
    weights: Option<&[T]>,
    draw: Option<(Key, u64)>,
    out: &mut Stats<T>,
) {
    cpu.make(slot);
    let (n, m) = (cpu.machine.visible().columns(), cpu.machine.hidden().columns());
    let len = cpu.slots[slot].visible.len();
    out.weight = weights.map_or(len as f64, |w| w.iter().map(|w| w.f64()).sum());
    cpu.scratch.cross.resize(n * panels_of(m), Strip::zero());
    cpu.scratch.sums.clear();
    cpu.scratch.sums.resize(panels_of(m), Strip::zero());
    out.hidden.fill(T::zero());
    let key = draw.map(|(key, step)| key.of(Purpose::Hidden).step(step));
    let bits = two_valued(cpu.machine.hidden()).is_some();
    if key.is_some() && bits {
        cpu.slots[slot].hidden.bits_mut(len, m);
    }
    for range in row_chunks(len) {
        let weights = weights.map(|w| &w[range.clone()]);
        match bits {
            true => chunk_of_bits(cpu, slot, &range, weights, key),
            false => chunk_of_rows(cpu, slot, &range, weights, out),
        }
    }
    if bits {
        for (j, sum) in out.hidden.row_mut(0).iter_mut().enumerate() {
            *sum = cpu.scratch.sums[j / WIDTH].0[j % WIDTH];
        }
        cpu.slots[slot].waiting = key.is_some();
        if key.is_some() {
            cpu.slots[slot].hidden.bits_mut(len, m).trim();
        }
    }
    let much = n * m >= MANY;
    let strips = &cpu.scratch.cross;
    if let Some(cross) = out.cross.as_slice_mut() {
        threads::each(much, cross.chunks_mut(WIDTH * m).enumerate(), |(block, rows)| {
            for (i, row) in rows.chunks_mut(m).enumerate() {
                gather(strips, n, block * WIDTH + i, row);
            }
        });
    }
    visible_sums(cpu, slot, weights, &mut out.visible);
    into_values(cpu, out);
}

/// Adds a chunk of rows for two-valued hidden units: one task per panel does everything.
fn chunk_of_bits<T: Real>(cpu: &mut Cpu<T>, slot: Slot, range: &Range<usize>, weights: Option<&[T]>, key: Option<Key>) {
    let (level, up, scratch) = (cpu.level, &cpu.lowered.up, &mut cpu.scratch);
    let (n, m) = (cpu.machine.visible().columns(), cpu.machine.hidden().columns());
    let chains = &mut cpu.slots[slot];
    let much = worth_threads(range.len(), n, m);
    scratch.forward.load(much, &chains.visible, range, cpu.machine.visible().unit().width());
    scratch.across.load_transposed(much, &scratch.forward, &chains.visible, range);
    scratch.inputs.resize(range.len() * panels_of(m), Strip::zero());
    let (forward, across) = (&scratch.forward, &scratch.across);
    let task =
        |panel: usize, x: &mut [Strip<T>], cross: &mut [Strip<T>], sums: &mut Strip<T>, words: Option<&mut [u32]>| {
            forward.product(level, false, up.panels.panel(panel), x);
            let field = &up.field[panel];
            match (key, words) {
                (Some(key), Some(words)) => {
                    let draw = Draw { key, panel, first: range.start };
                    epilogue::means_and_draw(level, x, field, weights, sums, draw, &mut words[range.clone()]);
                }
                _ => epilogue::means(level, x, field, weights, sums),
            }
            across.product(level, range.start > 0, x, cross);
        };
    let len = chains.hidden.len().max(1);
    let words: &mut [u32] = if key.is_some() { chains.hidden.bits_mut(len, m).words_mut() } else { &mut [] };
    let words = words.chunks_mut(len).map(Some).chain(std::iter::repeat_with(|| None));
    let panels = scratch.inputs.chunks_mut(range.len()).zip(scratch.cross.chunks_mut(n));
    let panels = panels.zip(&mut scratch.sums).zip(words).enumerate();
    threads::each(much, panels, |(p, (((x, c), s), w))| task(p, x, c, s, w));
}

/// Adds a chunk of rows for any hidden units: inputs, then means row by row, then their product with the rows.
fn chunk_of_rows<T: Real>(
    cpu: &mut Cpu<T>,
    slot: Slot,
    range: &Range<usize>,
    weights: Option<&[T]>,
    out: &mut Stats<T>,
) {
    let (visible, hidden) = (cpu.machine.visible(), cpu.machine.hidden());
    let (n, m, rows) = (visible.columns(), hidden.columns(), range.len());
    let (level, up, scratch) = (cpu.level, &cpu.lowered.up, &mut cpu.scratch);
    let much = worth_threads(rows, n, m);
    let given = &cpu.slots[slot].visible;
    scratch.forward.load(much, given, range, visible.unit().width());
    scratch.across.load_transposed(much, &scratch.forward, given, range);
    scratch.inputs.resize(rows * panels_of(m), Strip::zero());
    inputs(level, much, up, rows, scratch);
    let x = &scratch.inputs;
    let block = |first: usize| {
        let (mut input, mut t) = (vec![T::zero(); m], Array2::zeros(hidden.eta().dim()));
        let (mut sums, mut means) = (t.clone(), Vec::with_capacity(ROWS * m));
        for r in first..(first + ROWS).min(rows) {
            gather(x, rows, r, &mut input);
            hidden.unit().mean_stats(up.eta.view(), &input, t.view_mut());
            let w = weights.map_or(T::one(), |w| w[r]);
            sums.scaled_add(w, &t);
            means.extend(t.row(0).iter().map(|x| *x * w));
        }
        (sums, means)
    };
    let firsts = (0..rows).step_by(ROWS);
    for (first, (sums, means)) in firsts.clone().zip(threads::map(much, firsts, block)) {
        out.hidden += &sums;
        for (r, row) in means.chunks_exact(m).enumerate() {
            for (p, numbers) in row.chunks(WIDTH).enumerate() {
                scratch.inputs[p * rows + first + r].0[..numbers.len()].copy_from_slice(numbers);
            }
        }
    }
    let (x, across) = (&scratch.inputs, &scratch.across);
    threads::each(much, scratch.cross.chunks_mut(n).enumerate(), |(p, cross)| {
        across.product(level, range.start > 0, &x[p * rows..(p + 1) * rows], cross);
    });
}

/// Σ w T(v); of two-valued units, how often each is in its high state.
fn visible_sums<T: Real>(cpu: &Cpu<T>, slot: Slot, weights: Option<&[T]>, out: &mut Array2<T>) {
    let (side, rows) = (cpu.machine.visible(), &cpu.slots[slot].visible);
    out.fill(T::zero());
    if two_valued(side).is_some() {
        if let Some(sums) = out.row_mut(0).as_slice_mut() {
            let much = worth_threads(rows.len() / 8, side.columns(), WIDTH);
            rows.count(cpu.level, much, weights, sums);
        }
        return;
    }
    let mut x = vec![T::zero(); side.columns()];
    let (mut t, mut part) = (Array2::zeros(out.dim()), Array2::zeros(out.dim()));
    for r in 0..rows.len() {
        rows.columns(side, r, &mut x);
        side.unit().stats(&x, t.view_mut());
        part.scaled_add(weights.map_or(T::one(), |w| w[r]), &t);
        if r % ROWS == ROWS - 1 || r + 1 == rows.len() {
            *out += &part;
            part.fill(T::zero());
        }
    }
}

/// From statistics of bits to those of values: with x = l + d·b and h = k + e·c,
/// Σ w x hᵀ = d e Σ w b cᵀ + d k Σ w b + l e Σ w cᵀ + l k Σ w.
fn into_values<T: Real>(cpu: &Cpu<T>, out: &mut Stats<T>) {
    let identity = [T::zero(), T::one()];
    let value = |side: &Side<T>| two_valued(side).unwrap_or(identity);
    let (visible, hidden) = (cpu.machine.visible(), cpu.machine.hidden());
    let ([l, top], [k, high]) = (value(visible), value(hidden));
    if [l, top] == identity && [k, high] == identity {
        return;
    }
    let (d, e, w) = (top - l, high - k, T::of(out.weight));
    let (b, c) = (out.visible.row(0).to_owned(), out.hidden.row(0).to_owned());
    for (mut row, b) in out.cross.rows_mut().into_iter().zip(&b) {
        row.zip_mut_with(&c, |x, c| *x = d * e * *x + d * k * *b + l * e * *c + l * k * w);
    }
    for (side, sums, ones) in [(visible, out.visible.view_mut(), b), (hidden, out.hidden.view_mut(), c)] {
        if let Some(values) = two_valued(side) {
            value_sums(side, values, w, &ones, sums);
        }
    }
}

/// Σ w T(x) = T(low) Σ w + (T(high) − T(low)) Σ w b.
fn value_sums<T: Real>(side: &Side<T>, values: [T; 2], weight: T, ones: &Array1<T>, mut out: ArrayViewMut2<T>) {
    let [low, high] = values.map(|x| {
        let mut t = Array2::zeros(out.dim());
        side.unit().stats(&vec![x; ones.len()], t.view_mut());
        t
    });
    for ((mut out, low), high) in out.rows_mut().into_iter().zip(low.rows()).zip(high.rows()) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = low[i] * weight + (high[i] - low[i]) * ones[i];
        }
    }
}
