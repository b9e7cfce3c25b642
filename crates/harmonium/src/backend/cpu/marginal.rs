//! log p*_β(v) = ⟨η_v, T(v)⟩ + Γ_h(η_h, βvᵀW̃) − β·constant of every row, at several inverse temperatures from one product.

use super::epilogue::{self, Draw};
use super::packed::Tail;
use super::panels::{Strip, WIDTH, panels_of};
use super::sweep::inputs;
use super::{ChainRows, Cpu, ROWS, gather, row_chunks, worth_threads};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::threads;
use ndarray::{Array2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// See [`crate::backend::Chains::log_marginals`].
pub fn log_marginals<T: Real>(
    cpu: &mut Cpu<T>,
    chains: &mut ChainRows<T>,
    betas: &[Option<&[T]>],
    draw: Option<(Key, u64)>,
) -> Array2<f64> {
    let len = chains.visible.len();
    let (n, m) = (cpu.lowered.visible().columns(), cpu.lowered.hidden().columns());
    cpu.packed.make_tail(&cpu.lowered);
    let columns = m + if cpu.packed.tail().is_some() { 2 } else { 0 };
    let mut out = Array2::zeros((len, betas.len()));
    let bits = cpu.lowered.hidden().two_values().is_some() && cpu.lowered.hidden().statistics().0 == 1;
    let key = draw.filter(|_| bits).map(|(key, step)| key.of(Purpose::Hidden).step(step));
    if key.is_some() {
        chains.hidden.bits_mut(len, m);
    }
    for range in row_chunks(&(0..len)) {
        let parallel = worth_threads(range.len(), n, m);
        cpu.scratch.forward.load(cpu.level, parallel, &chains.visible, &range);
        cpu.scratch.inputs.resize(range.len() * panels_of(columns), Strip::zero());
        let mut out = out.slice_mut(s![range.clone(), ..]);
        if bits {
            hidden_bits(cpu, chains, &range, betas, key, out.view_mut());
        } else {
            hidden_rows(cpu, &range, betas, out.view_mut());
        }
        visible(cpu, chains, &range, betas, out);
    }
    if key.is_some() {
        chains.hidden.bits_mut(len, m).trim();
        chains.hidden_drawn = true;
    }
    let constant = cpu.lowered.constant();
    for ((r, b), x) in out.indexed_iter_mut() {
        *x -= betas[b].map_or(1.0, |beta| beta[r].f64()) * constant;
    }
    out
}

/// Γ of two-valued units, panel by panel, and draws from the last temperature.
fn hidden_bits<T: Real>(
    cpu: &mut Cpu<T>,
    chains: &mut ChainRows<T>,
    range: &Range<usize>,
    betas: &[Option<&[T]>],
    key: Option<Key>,
    mut out: ArrayViewMut2<f64>,
) {
    let (level, packed, side) = (cpu.level, &cpu.packed, cpu.lowered.hidden());
    let (rows, m, len) = (range.len(), side.columns(), chains.visible.len().max(1));
    let parallel = worth_threads(rows, cpu.lowered.visible().columns(), m);
    let low = side.two_values().map_or(T::zero(), |[low, high]| low / (high - low));
    let scratch = &mut cpu.scratch;
    scratch.parts.clear();
    scratch.parts.resize(scratch.inputs.len() * betas.len(), 0.0);
    let (forward, first) = (&scratch.forward, chains.first + range.start as u64);
    let task = |panel: usize, x: &mut [Strip<T>], parts: &mut [f64], words: Option<&mut [u32]>| {
        forward.product(level, false, packed.up_panel(panel), x);
        let width = m.saturating_sub(panel * WIDTH).min(WIDTH);
        if width == 0 {
            return;
        }
        let mut draw = key.zip(words).map(|(key, words)| {
            let draw = Draw { key, panel, first };
            (draw, &mut words[range.clone()])
        });
        for (b, (beta, part)) in betas.iter().zip(parts.chunks_mut(rows)).enumerate() {
            let draw = if b + 1 == betas.len() { draw.take() } else { None };
            epilogue::log_norms(level, x, packed.up.odds(panel, at(*beta, range)), low, width, part, draw);
        }
    };
    let words: &mut [u32] = if key.is_some() { chains.hidden.bits_mut(len, m).words_mut() } else { &mut [] };
    let words = words.chunks_mut(len).map(Some).chain(std::iter::repeat_with(|| None));
    let panels = scratch.inputs.chunks_mut(rows).zip(scratch.parts.chunks_mut(rows * betas.len())).zip(words);
    threads::each(parallel, panels.enumerate(), |(p, ((x, parts), words))| task(p, x, parts, words));
    for part in scratch.parts.chunks(rows * betas.len()) {
        for ((r, b), out) in out.indexed_iter_mut() {
            *out += part[b * rows + r];
        }
    }
}

/// The inverse temperatures of some rows.
fn at<'a, T>(beta: Option<&'a [T]>, range: &Range<usize>) -> Option<&'a [T]> {
    beta.map(|beta| &beta[range.clone()])
}

/// Γ of any units, row by row.
fn hidden_rows<T: Real>(cpu: &mut Cpu<T>, range: &Range<usize>, betas: &[Option<&[T]>], mut out: ArrayViewMut2<f64>) {
    let (up, side) = (&cpu.packed.up, cpu.lowered.hidden());
    let parallel = worth_threads(range.len(), cpu.lowered.visible().columns(), side.columns());
    inputs(cpu.level, parallel, |p| cpu.packed.up_panel(p), range.len(), &mut cpu.scratch);
    let x = &cpu.scratch.inputs;
    threads::each(parallel, out.axis_chunks_iter_mut(Axis(0), ROWS).enumerate(), |(block, mut out)| {
        let (mut input, mut eta) = (vec![T::zero(); side.columns()], up.eta.clone());
        for ((i, b), out) in out.indexed_iter_mut() {
            let r = block * ROWS + i;
            gather(x, range.len(), r, &mut input);
            let scale = at(betas[b], range).map_or(T::one(), |beta| beta[r]);
            input.iter_mut().for_each(|x| *x *= scale / up.gain);
            match betas[b] {
                None => eta.assign(&up.eta),
                Some(_) => up.tempered(scale, &mut eta),
            }
            *out += side.log_norm(eta.view(), &input);
        }
    });
}

/// Adds ⟨(1 − β)·base + β·η, T(v)⟩.
fn visible<T: Real>(
    cpu: &Cpu<T>,
    chains: &ChainRows<T>,
    range: &Range<usize>,
    betas: &[Option<&[T]>],
    mut out: ArrayViewMut2<f64>,
) {
    let pairs = match cpu.packed.tail() {
        Some(tail) => beside(tail, &cpu.scratch.inputs, cpu.lowered.hidden().columns(), range.len()),
        None => by_rows(cpu, chains, range),
    };
    for ((r, b), out) in out.indexed_iter_mut() {
        let [own, base] = pairs[r];
        *out += match at(betas[b], range) {
            None => own,
            Some(beta) => base + beta[r].f64() * (own - base),
        };
    }
}

/// ⟨η, v⟩ and ⟨base, v⟩ of the rows, which stand behind the inputs of `m` hidden columns.
fn beside<T: Real>(tail: &Tail<T>, inputs: &[Strip<T>], m: usize, rows: usize) -> Vec<[f64; 2]> {
    let sum = |r: usize, c: usize| inputs[c / WIDTH * rows + r].0[c % WIDTH].f64();
    (0..rows).map(|r| [0, 1].map(|k| tail.at_low[k] + sum(r, m + k))).collect()
}

/// ⟨η, T(v)⟩ and ⟨base, T(v)⟩ of some rows.
fn by_rows<T: Real>(cpu: &Cpu<T>, chains: &ChainRows<T>, range: &Range<usize>) -> Vec<[f64; 2]> {
    let side = cpu.lowered.visible();
    let mut base = Array2::zeros(side.eta().dim());
    match &cpu.packed.down.base {
        Some((eta, _)) => base.assign(eta),
        None => base.slice_mut(s![1.., ..]).assign(&side.eta().slice(s![1.., ..])),
    }
    let (mut x, mut t) = (vec![T::zero(); side.columns()], Array2::zeros(base.dim()));
    let row = |r| {
        chains.visible.columns(side, r, &mut x);
        side.stats(&x, t.view_mut());
        [side.eta(), base.view()].map(|eta| eta.iter().zip(&t).map(|(e, t)| e.f64() * t.f64()).sum())
    };
    range.clone().map(row).collect()
}
