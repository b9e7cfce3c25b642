//! Where the arithmetic happens: one model, some sets of chains, and a few words about them.
//!
//! Training, sampling and estimates of log Z speak only these words, so that a faster home for the numbers (a
//! graphics card) is a new implementation and nothing else.

pub mod cpu;

pub use cpu::Cpu;

use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::states::{Bits, States};
use crate::stats::{Stats, Take};
use ndarray::{Array1, Array2};

/// A place for one set of chains: visible rows, and hidden rows where they have been drawn for the next sweep.
pub type Slot = usize;

/// Gibbs sweeps to be run, and where their random numbers come from: sweep k has those of step `first` + k under `key`.
#[derive(Clone, Copy)]
pub struct Sweeps<'a, T> {
    /// Number of sweeps h → v, each preceded by v → h unless hidden rows are waiting.
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

    /// Changes the model's numbers in place; waiting hidden rows stay.
    fn update(&mut self, change: &mut dyn FnMut(&mut LoweredModel<T>));

    /// Becomes `rbm` lowered, after its weights have taken a step: how much of which change. Both may be one pass over the
    /// weights. Waiting hidden rows stay.
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

    /// Rounds the model's weights for what follows, or no longer, if that makes it faster; says whether they are rounded now.
    /// `lowered` stays as it is. An update ends it.
    fn round(&mut self, _on: bool) -> bool {
        false
    }

    /// Puts visible rows into a slot: those with the numbers `which`, or all. Waiting hidden rows are dropped.
    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>);

    /// Keeps visible cells of a slot, one bit per site and row: sweeps draw the others. `put` lets go of all, as none does.
    fn clamp(&mut self, slot: Slot, known: Option<&Bits>);

    /// Puts hidden rows into a slot, from which the next sweep starts.
    fn put_hidden(&mut self, slot: Slot, rows: &States<T>);

    /// The visible rows of a slot.
    fn get(&self, slot: Slot) -> States<T>;

    /// The hidden rows waiting in a slot.
    fn hidden(&self, slot: Slot) -> Option<States<T>>;

    /// Runs the chains of a slot.
    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>);

    /// Gives `out` the statistics of a slot's rows, as `take` says, with the hidden layer averaged out, row r counted
    /// `weights[r]` times (once if there are none). With `draw` (a key and the number of the next sweep) hidden rows are
    /// drawn from the same product and wait for that sweep.
    fn stats(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, take: Take, out: &mut Stats<T>);

    /// Takes the averages of a slot's rows from `out`, which then is measured from `origins`, see [`Stats::measure_from`]. Both
    /// may be one pass.
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
    /// rows, or none for 1. With `draw`, hidden rows at the last of them are drawn from the same product, if the units
    /// allow, and wait for the sweep with that number.
    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64>;

    /// F(v) of every row.
    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64>;
}
