//! Where the arithmetic happens: one model, some sets of chains, and a few operations on them.
//!
//! Training, sampling and estimates of log Z use these operations only, so that other hardware (a graphics card) needs a new
//! implementation and nothing else.

pub mod cpu;

pub use cpu::Cpu;

use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::states::{Bits, States};
use crate::stats::{Stats, Take};
use ndarray::{Array1, Array2};

/// The number of a set of chains: visible rows, and hidden rows if they are already drawn for the next sweep.
pub type Slot = usize;

/// Gibbs sweeps to be run, and where their random numbers come from: sweep k has those of step `first` + k under `key`.
#[derive(Clone, Copy)]
pub struct Sweeps<'a, T> {
    /// Number of sweeps h → v, each preceded by v → h unless hidden rows are already drawn.
    pub steps: u64,
    /// Random numbers of the run.
    pub key: Key,
    /// Number of the first sweep.
    pub first: u64,
    /// Inverse temperature of every chain, if not 1: see [`Backend::set_base`].
    pub beta: Option<&'a [T]>,
}

/// What a backend can do. Every result is the same on any number of threads.
pub trait Backend<T: Real>: Send {
    /// Its name, as the configuration records it.
    fn name(&self) -> &'static str;

    /// The model it has.
    fn lowered(&self) -> &LoweredModel<T>;

    /// Changes the model's numbers in place; hidden rows already drawn stay.
    fn update(&mut self, change: &mut dyn FnMut(&mut LoweredModel<T>));

    /// Becomes `rbm` lowered, after a step of its weights: a factor and a change. Both may be one pass over the weights. Hidden
    /// rows already drawn stay.
    fn follow(&mut self, rbm: &mut Rbm<T>, step: Option<(T, &Array2<T>)>) {
        if let Some((scale, step)) = step {
            rbm.step_weights(scale, step);
        }
        self.update(&mut |lowered| rbm.lower_into(lowered));
    }

    /// Sets what the model is at inverse temperature 0: independent units with these natural parameters, visible and
    /// hidden. At β the natural parameters are (1 − β) times these plus β times the model's, and the coupling is β W̃. If
    /// none were set, fields are 0 there and quadratic terms are the model's own.
    fn set_base(&mut self, base: [Array2<T>; 2]);

    /// Uses rounded weights from now on, if that is faster, or exact ones again; returns whether they are rounded now. `lowered`
    /// does not change. An update ends it.
    fn round(&mut self, _on: bool) -> bool {
        false
    }

    /// Puts visible rows into a slot: those with the numbers `which`, or all. Drops hidden rows already drawn.
    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>);

    /// Clamps visible cells of a slot, one bit per site and row: sweeps draw the others. None clamps no cell, as `put` does.
    fn clamp(&mut self, slot: Slot, known: Option<&Bits>);

    /// Puts hidden rows into a slot, from which the next sweep starts.
    fn put_hidden(&mut self, slot: Slot, rows: &States<T>);

    /// The visible rows of a slot.
    fn get(&self, slot: Slot) -> States<T>;

    /// The hidden rows of a slot, if they are already drawn for the next sweep.
    fn hidden(&self, slot: Slot) -> Option<States<T>>;

    /// Runs the chains of a slot.
    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>);

    /// Writes the statistics of a slot's rows to `out` as `take` asks, with the hidden layer averaged out and row r counted
    /// `weights[r]` times (once if there are none). With `draw` (a key and the number of the next sweep) hidden rows for that
    /// sweep are drawn from the same product.
    fn stats(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, take: Take, out: &mut Stats<T>);

    /// Subtracts the averages of a slot's rows from `out`, which then is measured from `origins`, see [`Stats::measure_from`].
    /// Both may be one pass.
    fn stats_from(
        &mut self,
        slot: Slot,
        weights: Option<&[T]>,
        draw: Option<(Key, u64)>,
        origins: &[Vec<T>; 2],
        out: &mut Stats<T>,
    ) {
        self.stats(slot, weights, draw, Take::LessMeans, out);
        out.measure_from(origins);
    }

    /// log Σ_h exp(−E_β(v, h)) of every row of a slot, one column for each entry of `betas`: inverse temperatures of the
    /// rows, or none for 1. With `draw`, hidden rows at the last of them are drawn from the same product for the sweep with that
    /// number, if the units allow.
    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64>;

    /// F(v) of every row.
    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64>;
}
