//! The processor: states stay bits, and a product of bits with numbers needs fewer operations than one of numbers.
//!
//! | file | idea |
//! |---|---|
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
//! | `learner` | weights that learn, the difference of the phases, the moments of the optimiser |
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
mod clamped;
mod cross;
mod dense;
mod epilogue;
mod factor;
mod index_lists;
mod layer_states;
mod learner;
mod lookup_tables;
mod marginal;
mod normals;
mod packed;
mod panels;
#[cfg(test)]
mod reference;
mod rounded;
mod small_batch;
mod statistics;
mod sweep;
mod transpose;

pub use crate::simd::Level;
pub(crate) use learner::CpuLearner;

use super::{Backend, Chains, Device, Learner, Makes, Slot, Start, Sweeps};
use crate::bits::Bits;
use crate::error::Result;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::real::Real;
use crate::rng::Key;
use crate::states::States;
use crate::stats::{LayerMeans, Stats};
use clamped::Clamped;
use factor::Operand;
use layer_states::LayerStates;
use ndarray::{Array1, Array2};
use packed::PackedModel;
use panels::{Panels, Strip};
use small_batch::SmallBatch;
use statistics::Rows;
use std::ops::Range;

/// Rows of one chunk of work: enough to make lookup tables worthwhile, few enough that a panel's results stay in the
/// second-level cache.
const CHUNK: usize = 1024;
/// Multiplications of a dense product from which on threads share the work: some 50 µs, where waking a thread takes 5 to 10.
const WORTH_THREADS: usize = 5_000_000;

/// Rows of one task where units need whole rows.
const ROWS: usize = 32;

/// The processor.
pub(crate) struct Cpu<T> {
    level: Level,
    lowered: LoweredModel<T>,
    packed: PackedModel<T>,
    /// The same with rounded weights, if that is worthwhile; while those are in use, the one with exact weights. Made when first
    /// needed.
    other: Option<Option<PackedModel<T>>>,
    is_rounded: bool,
    slots: Vec<ChainRows<T>>,
    scratch: Scratch<T>,
    /// The slot whose hidden layer's inputs are still in `scratch.inputs`: its next sweep starts from them. Cleared by whatever
    /// changes the chains, the model or the buffer.
    ready: Option<Slot>,
}

/// One set of chains.
#[derive(Clone, Debug, Default)]
struct ChainRows<T> {
    visible: LayerStates<T>,
    hidden: LayerStates<T>,
    /// Number of the first chain.
    first: u64,
    /// Whether the hidden rows for the next sweep are already drawn.
    hidden_drawn: bool,
    /// Visible cells that no sweep draws.
    clamped: Option<Clamped<T>>,
}

impl<T> ChainRows<T> {
    /// The first chain has this number; small batches have number 0.
    fn number(&mut self, first: u64) {
        self.first = first;
        (self.visible.is_part, self.hidden.is_part) = (first > 0, first > 0);
    }
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
    /// Takes a chunk of rows to be multiplied by panels, and makes room for the products. A small batch is multiplied by all
    /// panels at once.
    fn load(&mut self, level: Level, parallel: bool, rows: &LayerStates<T>, range: &Range<usize>, panels: &Panels<T>) {
        self.inputs.resize(range.len() * panels.len(), Strip::zero());
        match small_batch(parallel, rows).filter(|_| range.len() == rows.len()) {
            Some(bits) => {
                small_batch::products(level, bits, panels, &mut self.inputs);
                self.forward.set_done();
            }
            None => self.forward.load(level, parallel, rows, range),
        }
    }
}

/// The processor as a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuDevice {
    /// Which instructions the kernels use; if none are given, the fastest ones or those the environment names. Mathematics and random
    /// numbers follow the process.
    pub level: Option<Level>,
}

impl CpuDevice {
    fn level(&self) -> Result<Level> {
        self.level.map_or_else(Level::choose, Ok)
    }
}

impl<T: Real> Makes<T> for CpuDevice {
    fn make_backend(&self, model: LoweredModel<T>) -> Result<Box<dyn Backend<T>>> {
        Ok(Box::new(Cpu::with_level(model, self.level()?)))
    }

    fn make_learner(&self, start: Start<T>) -> Result<Box<dyn Learner<T>>> {
        Ok(Box::new(CpuLearner::new(start, self.level()?)?))
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &'static str {
        "cpu"
    }
}

impl<T: Real> Cpu<T> {
    /// A backend with a model, on given instructions.
    pub(crate) fn with_level(lowered: LoweredModel<T>, level: Level) -> Cpu<T> {
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

    /// Uses rounded weights from now on, if that is faster, or exact ones again.
    fn round(&mut self, on: bool) {
        if on && self.other.is_none() {
            self.other = Some(PackedModel::rounded(self.level, &self.lowered, self.packed.base()));
        }
        if let Some(other) = self.other.as_mut().and_then(Option::as_mut).filter(|_| on != self.is_rounded) {
            std::mem::swap(&mut self.packed, other);
            (self.is_rounded, self.scratch.forward.short, self.ready) = (on, on, None);
        }
    }

    /// Makes a slot where there was none.
    fn make(&mut self, slot: Slot) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, ChainRows::default);
        }
    }

    /// Number of rows of a slot.
    fn rows(&self, slot: Slot) -> usize {
        self.slots.get(slot).map_or(0, |chains| chains.visible.len())
    }

    /// Sums are those of exact weights, and overwrite the inputs.
    fn prepare_for_sums(&mut self, slot: Slot) {
        self.round(false);
        self.ready = None;
        self.make(slot);
    }

    /// Log marginals with the weights in use.
    fn marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64> {
        let mut chains = std::mem::take(&mut self.slots[slot]);
        let result = marginal::log_marginals(self, &mut chains, betas, draw);
        // The inputs of a longer slot do not fit in the buffer.
        self.ready = (chains.visible.len() <= CHUNK).then_some(slot);
        self.slots[slot] = chains;
        result
    }
}

/// Whether rows at these inverse temperatures may have rounded weights: annealing passes through them, all rows together. At 0
/// it makes no difference.
fn may_be_rounded<T: Real>(beta: Option<&[T]>) -> bool {
    let one = |beta: &[T]| beta.first().is_some_and(|b| *b < T::one() && beta.iter().all(|other| other == b));
    beta.is_some_and(|beta| one(beta) && beta.len() > 1)
}

impl<T: Real> Chains<T> for Cpu<T> {
    fn layers(&self) -> [&LoweredLayer<T>; 2] {
        [self.lowered.visible(), self.lowered.hidden()]
    }

    fn model(&self) -> LoweredModel<T> {
        self.lowered.clone()
    }

    fn set_base(&mut self, base: [Array2<T>; 2]) {
        if let Some(Some(other)) = &mut self.other {
            other.set_base(&self.lowered, base.clone());
        }
        self.packed.set_base(&self.lowered, base);
    }

    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>) {
        self.ready = None;
        self.make(slot);
        let chains = &mut self.slots[slot];
        chains.visible.load(self.lowered.visible(), rows, which);
        (chains.hidden_drawn, chains.clamped) = (false, None);
        chains.number(0);
    }

    fn get(&self, slot: Slot) -> States<T> {
        self.slots[slot].visible.states(self.lowered.visible())
    }

    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>) {
        self.round(may_be_rounded(sweeps.beta));
        sweep::run(self, slot, sweeps);
    }

    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64> {
        self.make(slot);
        let rounded: Vec<bool> = betas.iter().map(|beta| may_be_rounded(*beta)).collect();
        // Both ends of a step of annealing come from one product, but for the last step.
        match rounded.iter().position(|r| *r != rounded[0]) {
            None => {
                self.round(rounded.first() == Some(&true));
                self.marginals(slot, betas, draw)
            }
            Some(k) => {
                let parts = [self.log_marginals(slot, &betas[..k], None), self.log_marginals(slot, &betas[k..], draw)];
                ndarray::concatenate![ndarray::Axis(1), parts[0], parts[1]]
            }
        }
    }

    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64> {
        self.round(false);
        self.ready = None;
        let mut chains = ChainRows::default();
        chains.visible.load(self.lowered.visible(), rows, None);
        -marginal::log_marginals(self, &mut chains, &[None], None).remove_axis(ndarray::Axis(1))
    }

    fn layer_means(&mut self, slot: Slot, weights: Option<&[T]>) -> LayerMeans<T> {
        self.prepare_for_sums(slot);
        let mut stats = Stats::zeros(&self.lowered);
        let range = 0..self.rows(slot);
        let rows = Rows {
            slot,
            range,
            weights,
            draw: None,
            times: 1.0,
            mean: true,
            add: false,
            may_defer: false,
            origins: None,
        };
        let weight = rows.weight();
        // A learner's batch may be deferred there.
        let deferred = std::mem::take(&mut self.scratch.small_batch);
        statistics::stats(self, &rows, &mut stats);
        self.scratch.small_batch = deferred;
        LayerMeans { visible: stats.visible, hidden: stats.hidden, weight }
    }
}

impl<T: Real> Backend<T> for Cpu<T> {
    fn load(&mut self, model: &LoweredModel<T>) {
        self.drop_derived();
        self.lowered.clone_from(model);
        self.packed.set(self.level, &self.lowered);
    }

    fn number(&mut self, slot: Slot, first: u64) {
        self.make(slot);
        self.slots[slot].number(first);
    }

    fn clamp(&mut self, slot: Slot, known: Option<&Bits>) {
        self.make(slot);
        let chains = &mut self.slots[slot];
        chains.clamped = known.map(|known| Clamped::new(self.lowered.visible(), known, &chains.visible));
    }

    fn put_hidden(&mut self, slot: Slot, rows: &States<T>) {
        self.make(slot);
        self.slots[slot].hidden.load(self.lowered.hidden(), rows, None);
        self.slots[slot].hidden_drawn = true;
    }

    fn hidden(&self, slot: Slot) -> Option<States<T>> {
        let chains = &self.slots[slot];
        chains.hidden_drawn.then(|| chains.hidden.states(self.lowered.hidden()))
    }
}

/// The values of a layer's bits; numbers are their own bits.
fn bit_values<T: Real>(side: &LoweredLayer<T>) -> [T; 2] {
    side.two_values().unwrap_or([T::zero(), T::one()])
}

/// The rows as bits, if they are a small batch for one thread.
fn small_batch<T: Real>(parallel: bool, rows: &LayerStates<T>) -> Option<&bit_planes::BitPlanes> {
    rows.bits().filter(|_| !parallel && !rows.is_part && rows.len() <= small_batch::MOST_ROWS)
}

/// Whether a product of this size is worth sharing among threads.
fn worth_threads(rows: usize, from: usize, to: usize) -> bool {
    rows * from * to >= WORTH_THREADS
}

/// Some rows as ranges of at most [`CHUNK`].
fn row_chunks(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = rows.end;
    rows.clone().step_by(CHUNK).map(move |a| a..(a + CHUNK).min(end))
}

/// Row r of a matrix in panels of `rows` strips.
fn gather<T: Real>(strips: &[Strip<T>], rows: usize, r: usize, out: &mut [T]) {
    for (p, out) in out.chunks_mut(panels::WIDTH).enumerate() {
        out.copy_from_slice(&strips[p * rows + r].0[..out.len()]);
    }
}
