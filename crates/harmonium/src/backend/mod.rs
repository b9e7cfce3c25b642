//! Where the arithmetic happens: one machine, some sets of chains, and a few words about them.
//!
//! Training, sampling and estimates of log Z speak only these words, so that a faster home for the numbers (SIMD, AMX,
//! a graphics card) is a new implementation and nothing else.

mod cpu;

pub use cpu::Cpu;

use crate::natural::Natural;
use crate::real::Real;
use crate::rng::Key;
use crate::states::States;
use crate::stats::Stats;
use ndarray::Array1;

/// A place for one set of chains.
pub type Slot = usize;

/// What a backend can do. Rows are visible states; every result is the same on any number of threads.
pub trait Backend<T: Real>: Send {
    /// Its name, as the configuration records it.
    fn name(&self) -> &'static str;

    /// Takes a machine.
    fn load(&mut self, machine: Natural<T>);

    /// Takes the machine after a step: same layers and sizes, other numbers.
    fn update(&mut self, machine: Natural<T>);

    /// The machine it has.
    fn machine(&self) -> &Natural<T>;

    /// Puts rows into a slot, as the visible states of chains numbered from 0.
    fn put(&mut self, slot: Slot, rows: States<T>);

    /// The visible states of a slot's chains.
    fn get(&self, slot: Slot) -> &States<T>;

    /// Runs the chains of a slot for `steps` sweeps v → h → v; sweep k uses the numbers of step `first + k` under `key`.
    fn gibbs(&mut self, slot: Slot, steps: u64, key: Key, first: u64);

    /// Statistics of rows with the hidden layer averaged out, row r counted `weights[r]` times.
    fn stats(&self, rows: &States<T>, weights: &[T]) -> Stats<T>;

    /// F(v) of every row.
    fn free_energy(&self, rows: &States<T>) -> Array1<f64>;
}
