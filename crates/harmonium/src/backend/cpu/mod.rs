//! The processor: states stay bits, and a product of bits with numbers needs fewer operations than one of numbers.
//!
//! | file | idea |
//! |---|---|
//! | `simd` | which instructions there are, and code compiled for each |
//! | `panels`, `transpose` | matrices in panels of 32 columns; transposes of small blocks |
//! | `bit_planes` | bits in planes of 32 columns |
//! | `lookup_tables`, `index_lists`, `dense` | bits, sparse bits, numbers times a panel |
//! | `rounded` | weights of 16 bits, for annealing |
//! | `small_batch` | a few rows of bits, or their transpose, times all panels |
//! | `epilogue`, `normals` | σ, draw, bit, sums, right after the product; a draw of Gaussian units |
//! | `layer_states` | the states of a layer |
//! | `factor` | rows as a factor, and which kernel multiplies them |
//! | `packed` | a model as the kernels read it |
//! | `cross` | the largest of the statistics, Σ w v ⟨h\|v⟩ᵀ |
//! | `sweep`, `statistics`, `marginal` | half-steps of chains; sums of statistics; log p*(v) at any temperature |
//! | `reference` | tests: every kernel against scalar code |
//! | `bench_hooks` | single kernels for the benchmark |
//!
//! A task is one panel of the result, and each number of the result is summed in a fixed order: results do not depend on which
//! thread takes which panel.

#![allow(unsafe_code)]

#[doc(hidden)]
pub mod bench_hooks;
mod bit_planes;
mod cross;
mod dense;
mod epilogue;
mod factor;
mod index_lists;
mod layer_states;
mod lookup_tables;
mod marginal;
mod normals;
mod packed;
mod panels;
#[cfg(test)]
mod reference;
mod rounded;
pub mod simd;
mod small_batch;
mod statistics;
mod sweep;
mod transpose;

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
use layer_states::{Clamped, LayerStates};
use ndarray::{Array1, Array2};
use packed::PackedModel;
use panels::{Panels, Strip};
use small_batch::SmallBatch;
use std::ops::Range;

/// Rows of one chunk of work: enough to make lookup tables worthwhile, few enough that a panel's results stay in the
/// second-level cache.
const CHUNK: usize = 1024;
/// Multiplications of a dense product from which on threads share the work: some 50 µs, where waking a thread takes 5 to 10.
const WORTH_THREADS: usize = 5_000_000;

/// Rows of one task where units need whole rows.
const ROWS: usize = 32;

/// The processor.
pub struct Cpu<T> {
    level: Level,
    lowered: LoweredModel<T>,
    packed: PackedModel<T>,
    /// The same with rounded weights, if that is worthwhile; while those are in use, the one with exact weights. Made when first
    /// needed.
    other: Option<Option<PackedModel<T>>>,
    is_rounded: bool,
    slots: Vec<Chains<T>>,
    scratch: Scratch<T>,
    /// The slot whose hidden layer's inputs are still in `scratch.inputs`: its next sweep starts from them. Cleared by whatever
    /// changes the chains, the model or the buffer.
    ready: Option<Slot>,
}

/// One set of chains.
#[derive(Clone, Debug, Default)]
struct Chains<T> {
    visible: LayerStates<T>,
    hidden: LayerStates<T>,
    /// Whether the hidden rows for the next sweep are already drawn.
    hidden_drawn: bool,
    /// Visible cells that no sweep draws.
    clamped: Option<Clamped<T>>,
}

/// Buffers that outlive a call, so that a step allocates none of them.
#[derive(Default)]
struct Scratch<T> {
    forward: Operand<T>,
    transposed: Operand<T>,
    small_batch: SmallBatch<T>,
    inputs: Vec<Strip<T>>,
    cross: Vec<Strip<T>>,
    sums: Vec<Strip<T>>,
    layers: statistics::Layers<T>,
    parts: Vec<f64>,
}

impl<T: Real> Scratch<T> {
    /// Takes a chunk of rows, whose sites have `width` columns, to be multiplied by panels, and makes room for the products. A
    /// small batch is multiplied by all panels at once.
    fn load(
        &mut self,
        level: Level,
        parallel: bool,
        rows: &LayerStates<T>,
        range: &Range<usize>,
        width: usize,
        panels: &Panels<T>,
    ) {
        self.inputs.resize(range.len() * panels.len(), Strip::zero());
        match small_batch(parallel, rows).filter(|_| range.len() == rows.len()) {
            Some(bits) => {
                small_batch::products(level, bits, panels, &mut self.inputs);
                self.forward.set_done();
            }
            None => self.forward.load(level, parallel, rows, range, width),
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

    /// Drops what was derived from the model, which is about to change.
    fn drop_derived(&mut self) {
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
        self.drop_derived();
        self.packed.follow(self.level, rbm, step, &mut self.lowered);
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut LoweredModel<T>)) {
        self.drop_derived();
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
        self.slots[slot].hidden_drawn = false;
        self.slots[slot].clamped = None;
    }

    fn clamp(&mut self, slot: Slot, known: Option<&Bits>) {
        self.make(slot);
        let chains = &mut self.slots[slot];
        chains.clamped = known.map(|known| Clamped::new(known, &chains.visible));
    }

    fn put_hidden(&mut self, slot: Slot, rows: &States<T>) {
        self.make(slot);
        self.slots[slot].hidden.load(self.lowered.hidden(), rows, None);
        self.slots[slot].hidden_drawn = true;
    }

    fn get(&self, slot: Slot) -> States<T> {
        self.slots[slot].visible.states(self.lowered.visible())
    }

    fn hidden(&self, slot: Slot) -> Option<States<T>> {
        let chains = &self.slots[slot];
        chains.hidden_drawn.then(|| chains.hidden.states(self.lowered.hidden()))
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
        // The inputs of a longer slot do not fit in the buffer.
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

/// The rows as bits, if they are a small batch for one thread.
fn small_batch<T: Real>(parallel: bool, rows: &LayerStates<T>) -> Option<&bit_planes::BitPlanes> {
    rows.bits().filter(|_| !parallel && rows.len() <= small_batch::MOST_ROWS)
}

/// Whether a product of this size is worth sharing among threads.
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
