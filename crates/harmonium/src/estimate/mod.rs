//! The two sides of the gradient, ⟨·⟩_data and ⟨·⟩_p. **To add an estimator: write its file, add its line to [`estimators`].**

mod cd;
mod exact;
mod pcd;
mod pt;

use crate::backend::{Backend, Slot, Sweeps};
use crate::error::{Error, Result};
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::states::Bits;
use crate::stats::{Stats, Take};
use ndarray::Array2;

/// What an estimator may use.
pub struct Context<'a, T> {
    /// The model in its own coordinates.
    pub rbm: &'a Rbm<T>,
    /// The same model, lowered and loaded.
    pub backend: &'a mut dyn Backend<T>,
    /// Weights of the batch's rows, which are in slot [`BATCH`]; none if all count once.
    pub weights: Option<&'a [T]>,
    /// Which cells of the batch are known, one bit per site, if some are not; the others are filled with draws.
    pub known: Option<&'a Bits>,
    /// Random numbers of the run.
    pub key: Key,
    /// Number of this update.
    pub update: u64,
}

/// The slot that has the rows of this update.
pub const BATCH: Slot = 0;

/// ⟨·⟩_data − ⟨·⟩_model, and the first of them alone.
pub struct Phases<T> {
    /// The difference, measured from the model's origins, see [`Stats::measure_from`].
    pub difference: Stats<T>,
    /// ⟨T(v)⟩ and ⟨T(h)⟩ of the batch.
    pub data: [Array2<T>; 2],
}

impl<T: Real> Phases<T> {
    /// For a model of these shapes.
    pub fn zeros(lowered: &LoweredModel<T>) -> Phases<T> {
        let difference = Stats::zeros(lowered);
        let data = [difference.visible.clone(), difference.hidden.clone()];
        Phases { difference, data }
    }

    /// Remembers the data's side, when nothing has been taken from it yet.
    fn keep_data(&mut self) {
        self.data[0].assign(&self.difference.visible);
        self.data[1].assign(&self.difference.hidden);
    }
}

impl<T: Real> Context<'_, T> {
    /// The data's side: averages over the batch. With `draw`, its hidden rows wait for the sweep with that number.
    fn data(&mut self, draw: Option<(Key, u64)>, take: Take, out: &mut Phases<T>) {
        self.backend.stats(BATCH, self.weights, draw, take, &mut out.difference);
        out.keep_data();
    }

    /// The model's side: averages over the rows of a slot, taken from the data's.
    fn model(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, out: &mut Phases<T>) {
        match self.rbm.origins() {
            None => self.backend.stats(slot, weights, draw, Take::LessMeans, &mut out.difference),
            Some(origins) => self.backend.stats_from(slot, weights, draw, &origins, &mut out.difference),
        }
    }
}

impl<'a, T> Context<'a, T> {
    /// The next `steps` sweeps of a run that makes as many every update.
    fn sweeps(&self, steps: u64) -> Sweeps<'a, T> {
        Sweeps { steps, key: self.key, first: self.update * steps, beta: None }
    }
}

/// An estimator of the model's statistics.
pub trait Estimator<T: Real>: Send {
    /// Makes `out` the averages over the batch and what is left when those of the model are taken from them. Both in one
    /// call, because one product may serve both.
    fn phases(&mut self, cx: Context<T>, out: &mut Phases<T>) -> Result<()>;

    /// Whether cells of rows that are not known are summed over, so that they need not be drawn.
    fn sums_over(&self, _lowered: &LoweredModel<T>, _known: &Bits) -> bool {
        false
    }

    /// Where its samples of the model are, if they outlive an update.
    fn chains(&self) -> Option<Slot> {
        None
    }

    /// Where all rows are that the next update goes on from; they are checkpointed.
    fn persistent(&self) -> Option<Slot> {
        self.chains()
    }

    /// How many of these rows make so many chains.
    fn rows(&self, chains: usize) -> usize {
        chains
    }

    /// What the next update depends on besides these rows; checkpointed too.
    fn numbers(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Called when the rows have been put into their slot: at the beginning, or with the numbers of a snapshot.
    fn start(&mut self, _: &mut dyn Backend<T>, _: Option<&[f64]>) -> Result<()> {
        Ok(())
    }
}

/// What an estimator is made with.
#[derive(Clone, Copy, Debug)]
pub struct EstimatorOptions {
    /// Gibbs sweeps per update.
    pub gibbs_steps: u64,
    /// Temperatures of every ladder, if chains are tempered.
    pub temperatures: usize,
}

/// Name, description and maker of an estimator.
pub struct Entry<T> {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    make: fn(EstimatorOptions) -> Box<dyn Estimator<T>>,
}

/// The list.
pub fn estimators<T: Real>() -> [Entry<T>; 4] {
    [
        Entry { name: "pcd", about: "persistent chains that follow the model", make: pcd::make },
        Entry { name: "cd", about: "contrastive divergence: chains start at the batch", make: cd::make },
        Entry {
            name: "pt",
            about: "parallel tempering: persistent ladders of chains that swap states",
            make: pt::make,
        },
        Entry { name: "exact", about: "enumeration, for small models", make: exact::make },
    ]
}

/// The estimator called `name`.
pub fn new<T: Real>(name: &str, settings: EstimatorOptions) -> Result<Box<dyn Estimator<T>>> {
    let list = estimators::<T>();
    match list.iter().find(|e| e.name == name) {
        Some(entry) => Ok((entry.make)(settings)),
        None => {
            let known = list.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
            Err(Error::Config { key: "method", problem: format!("'{name}' is not one of {known}") })
        }
    }
}
