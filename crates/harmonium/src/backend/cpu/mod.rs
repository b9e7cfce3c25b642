//! The processor: states stay bits, and a product of bits with numbers needs fewer operations than one of numbers.
//!
//! | file | idea |
//! |---|---|
//! | `simd` | which instructions there are, and code compiled for each |
//! | `panels`, `turn` | matrices in panels of 32 columns; transposes of small blocks |
//! | `planes` | bits in planes of 32 columns |
//! | `russians`, `lists`, `dense` | bits, sparse bits, numbers times a panel |
//! | `rounded` | weights of 16 bits, for what may be rounded |
//! | `few` | a few rows of bits, or their transpose, times all panels |
//! | `epilogue`, `normals` | σ, draw, bit, sums, right after the product; a draw of Gaussian units |
//! | `rows` | the states of a layer |
//! | `factor` | rows as a factor, and which product takes them |
//! | `lowered` | a model as the kernels want it |
//! | `cross` | the largest of the statistics, Σ w v ⟨h\|v⟩ᵀ |
//! | `sweep`, `statistics`, `marginal` | half-steps of chains; sums of statistics; log p*(v) at any temperature |
//!
//! A task is one panel of the result, and each number of the result is summed in an order of its own: which thread takes
//! which panel changes nothing.

#![allow(unsafe_code)]

mod cross;
mod dense;
mod epilogue;
mod factor;
mod few;
mod lists;
mod marginal;
mod normals;
mod packed;
mod panels;
mod planes;
#[doc(hidden)]
pub mod probe;
mod rounded;
mod rows;
mod russians;
pub mod simd;
mod statistics;
mod sweep;
mod turn;
#[cfg(test)]
mod twins;

pub use simd::Level;

use super::{Backend, Slot, Sweeps};
use crate::error::Result;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::states::{Bits, States};
use crate::stats::{Stats, Take};
use factor::Operand;
use few::Few;
use ndarray::{Array1, Array2};
use packed::PackedModel;
use panels::{Panels, Strip};
use rows::{Kept, Rows};
use std::ops::Range;

/// Rows that are worked on at once: enough that tables pay, few enough that a panel's results stay in the second-level
/// cache.
const CHUNK: usize = 1024;
/// Multiplications a dense product would need, beyond which threads are asked to help: some 50 µs of work, where waking
/// one takes 5 to 10.
const WORTH_THREADS: usize = 5_000_000;

/// Rows that one task takes where units need whole rows.
const ROWS: usize = 32;

/// The processor.
pub struct Cpu<T> {
    level: Level,
    lowered: LoweredModel<T>,
    packed: PackedModel<T>,
    /// The same with rounded weights, if that is worth it, or the other way round while these are in use; made when first
    /// asked for.
    other: Option<Option<PackedModel<T>>>,
    is_rounded: bool,
    slots: Vec<Chains<T>>,
    scratch: Scratch<T>,
    /// The slot whose hidden layer's inputs `scratch.inputs` still has: a sweep begins with them. Whatever moves the chains, the
    /// model or the buffer forgets it.
    ready: Option<Slot>,
}

/// One set of chains.
#[derive(Clone, Debug, Default)]
struct Chains<T> {
    visible: Rows<T>,
    hidden: Rows<T>,
    /// Whether the hidden rows wait for the next sweep.
    waiting: bool,
    /// Visible cells that no sweep draws.
    kept: Option<Kept<T>>,
}

/// Buffers that outlive a call, so that a step allocates none of them.
#[derive(Default)]
struct Scratch<T> {
    forward: Operand<T>,
    across: Operand<T>,
    few: Few<T>,
    inputs: Vec<Strip<T>>,
    cross: Vec<Strip<T>>,
    sums: Vec<Strip<T>>,
    layers: statistics::Layers<T>,
    parts: Vec<f64>,
}

impl<T: Real> Scratch<T> {
    /// Takes a chunk of rows, whose sites have `width` columns, to be multiplied by panels, and makes room for the products. All
    /// panels at once are for rows that are few, for one thread, and for a chunk that is all.
    fn load(
        &mut self,
        level: Level,
        much: bool,
        rows: &Rows<T>,
        range: &Range<usize>,
        width: usize,
        panels: &Panels<T>,
    ) {
        self.inputs.resize(range.len() * panels.len(), Strip::zero());
        match few(much, rows).filter(|_| range.len() == rows.len()) {
            Some(bits) => {
                few::products(level, bits, panels, &mut self.inputs);
                self.forward.set_done();
            }
            None => self.forward.load(level, much, rows, range, width),
        }
    }
}

impl<T: Real> Cpu<T> {
    /// A backend with a model, on the fastest instructions or those the environment names.
    pub fn new(lowered: LoweredModel<T>) -> Result<Cpu<T>> {
        Ok(Cpu::with_level(lowered, Level::choose()?))
    }

    /// A backend with a model, on given instructions.
    pub fn with_level(lowered: LoweredModel<T>, level: Level) -> Cpu<T> {
        let mut packed = PackedModel::default();
        packed.set(level, &lowered);
        Cpu {
            level,
            lowered,
            packed,
            other: None,
            is_rounded: false,
            slots: Vec::new(),
            scratch: Scratch::default(),
            ready: None,
        }
    }

    /// Lets go of what was made of the model, which is about to change.
    fn forget(&mut self) {
        self.round(false);
        (self.ready, self.other) = (None, None);
    }

    /// Makes a slot where there was none.
    fn make(&mut self, slot: Slot) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Chains::default);
        }
    }
}

impl<T: Real> Backend<T> for Cpu<T> {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn lowered(&self) -> &LoweredModel<T> {
        &self.lowered
    }

    fn follow(&mut self, rbm: &mut Rbm<T>, step: Option<(T, &Array2<T>)>) {
        self.forget();
        self.packed.follow(self.level, rbm, step, &mut self.lowered);
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut LoweredModel<T>)) {
        self.forget();
        change(&mut self.lowered);
        self.packed.set(self.level, &self.lowered);
    }

    fn set_base(&mut self, base: [Array2<T>; 2]) {
        if let Some(Some(other)) = &mut self.other {
            other.set_base(&self.lowered, base.clone());
        }
        self.packed.set_base(&self.lowered, base);
    }

    fn round(&mut self, on: bool) -> bool {
        if on && self.other.is_none() {
            self.other = Some(PackedModel::rounded(self.level, &self.lowered, self.packed.base()));
        }
        if let Some(other) = self.other.as_mut().and_then(Option::as_mut).filter(|_| on != self.is_rounded) {
            std::mem::swap(&mut self.packed, other);
            (self.is_rounded, self.scratch.forward.short, self.ready) = (on, on, None);
        }
        self.is_rounded
    }

    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>) {
        self.ready = None;
        self.make(slot);
        self.slots[slot].visible.load(self.lowered.visible(), rows, which);
        self.slots[slot].waiting = false;
        self.slots[slot].kept = None;
    }

    fn clamp(&mut self, slot: Slot, known: Option<&Bits>) {
        self.make(slot);
        let chains = &mut self.slots[slot];
        chains.kept = known.map(|known| Kept::new(known, &chains.visible));
    }

    fn put_hidden(&mut self, slot: Slot, rows: &States<T>) {
        self.make(slot);
        self.slots[slot].hidden.load(self.lowered.hidden(), rows, None);
        self.slots[slot].waiting = true;
    }

    fn get(&self, slot: Slot) -> States<T> {
        self.slots[slot].visible.states(self.lowered.visible())
    }

    fn hidden(&self, slot: Slot) -> Option<States<T>> {
        let chains = &self.slots[slot];
        chains.waiting.then(|| chains.hidden.states(self.lowered.hidden()))
    }

    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>) {
        sweep::run(self, slot, sweeps);
    }

    fn stats(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, take: Take, out: &mut Stats<T>) {
        self.ready = None;
        statistics::stats(self, slot, weights, draw, take, None, out);
    }

    fn stats_from(
        &mut self,
        slot: Slot,
        weights: Option<&[T]>,
        draw: Option<(Key, u64)>,
        origins: &[Vec<T>; 2],
        out: &mut Stats<T>,
    ) {
        self.ready = None;
        statistics::stats(self, slot, weights, draw, Take::LessMeans, Some(origins), out);
    }

    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64> {
        self.make(slot);
        let mut chains = std::mem::take(&mut self.slots[slot]);
        let result = marginal::log_marginals(self, &mut chains, betas, draw);
        // Longer slots go through the buffer piece by piece.
        self.ready = (chains.visible.len() <= CHUNK).then_some(slot);
        self.slots[slot] = chains;
        result
    }

    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64> {
        self.ready = None;
        let mut chains = Chains::default();
        chains.visible.load(self.lowered.visible(), rows, None);
        -marginal::log_marginals(self, &mut chains, &[None], None).remove_axis(ndarray::Axis(1))
    }
}

/// The values of a layer's bits; numbers are their own bits.
fn bit_values<T: Real>(side: &LoweredLayer<T>) -> [T; 2] {
    side.two_values().unwrap_or([T::zero(), T::one()])
}

/// The rows as bits, if they are few and for one thread.
fn few<T: Real>(much: bool, rows: &Rows<T>) -> Option<&planes::Planes> {
    rows.bits().filter(|_| !much && rows.len() <= few::MOST)
}

/// Whether a product of this size is worth several threads.
fn worth_threads(rows: usize, from: usize, to: usize) -> bool {
    rows * from * to >= WORTH_THREADS
}

/// Ranges of at most [`CHUNK`] rows.
fn row_chunks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(CHUNK).map(move |a| a..(a + CHUNK).min(rows))
}

/// Row r of a matrix in panels of `rows` strips.
fn gather<T: Real>(strips: &[Strip<T>], rows: usize, r: usize, out: &mut [T]) {
    for (p, out) in out.chunks_mut(panels::WIDTH).enumerate() {
        out.copy_from_slice(&strips[p * rows + r].0[..out.len()]);
    }
}
