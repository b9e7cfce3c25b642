//! The two phases of the gradient, ⟨·⟩_data and ⟨·⟩_p. **To add an estimator: write its file, add its line to [`estimators`].**

mod cd;
mod drift;
mod exact;
mod pcd;
mod pt;
mod quick_start;
mod weighted;

use crate::backend::{Backend, Slot, Sweeps};
use crate::error::{Error, Result};
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::states::Bits;
use crate::stats::{Stats, Take};
use ndarray::Array2;
use quick_start::QuickStart;

/// What an estimator works with.
pub(crate) struct Context<'a, T> {
    /// The model in its coordinates.
    pub rbm: &'a Rbm<T>,
    /// The backend, with the same model.
    pub backend: &'a mut dyn Backend<T>,
    /// Weights of the rows of the batch, which are in slot [`BATCH`]; none if all are 1.
    pub weights: Option<&'a [T]>,
    /// Which cells of the batch are known, one bit per site, if some are not; unknown cells are filled with draws.
    pub known: Option<&'a Bits>,
    /// Random numbers of the run.
    pub key: Key,
    /// Number of this update.
    pub update: u64,
}

/// The slot of the rows of this update.
pub(crate) const BATCH: Slot = 0;

/// ⟨·⟩_data − ⟨·⟩_model, and ⟨·⟩_data of the layers.
pub(crate) struct Phases<T> {
    /// The difference, measured from the origins of the model, see [`Stats::measure_from`].
    pub difference: Stats<T>,
    /// ⟨T(v)⟩ and ⟨T(h)⟩ of the batch.
    pub data: [Array2<T>; 2],
}

impl<T: Real> Phases<T> {
    /// Zeros of the shapes of a model.
    pub fn zeros(lowered: &LoweredModel<T>) -> Phases<T> {
        let difference = Stats::zeros(lowered);
        let data = [difference.visible.clone(), difference.hidden.clone()];
        Phases { difference, data }
    }

    /// Copies the positive phase, before anything is subtracted from it.
    fn keep_data(&mut self) {
        self.data[0].assign(&self.difference.visible);
        self.data[1].assign(&self.difference.hidden);
    }
}

impl<T: Real> Context<'_, T> {
    /// The positive phase: averages over the batch. With `draw`, its hidden states are drawn for the sweep with that number.
    fn data(&mut self, draw: Option<(Key, u64)>, take: Take, out: &mut Phases<T>) {
        self.backend.stats(BATCH, self.weights, draw, take, &mut out.difference);
        out.keep_data();
    }

    /// log p*(v) of every row of a slot; the next sweep of these rows starts from the same product.
    fn log_marginals(&mut self, slot: Slot) -> Vec<f64> {
        self.backend.log_marginals(slot, &[None], None).into_iter().collect()
    }

    /// The negative phase: averages over the rows of a slot, subtracted from the positive phase.
    fn model(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, out: &mut Phases<T>) {
        match self.rbm.origins() {
            None => self.backend.stats(slot, weights, draw, Take::LessMeans, &mut out.difference),
            Some(origins) => self.backend.stats_from(slot, weights, draw, &origins, &mut out.difference),
        }
    }
}

impl<'a, T> Context<'a, T> {
    /// The next `steps` sweeps of a run with as many per update.
    fn sweeps(&self, steps: u64) -> Sweeps<'a, T> {
        Sweeps { steps, key: self.key, first: self.update * steps, beta: None }
    }
}

/// An estimator of the model's statistics.
pub(crate) trait Estimator<T: Real>: Send {
    /// Computes both phases into `out`, in one call, because they may share a product.
    fn phases(&mut self, cx: Context<T>, out: &mut Phases<T>) -> Result<()>;

    /// Whether unknown cells are summed over, so that they need not be drawn.
    fn sums_over(&self, _lowered: &LoweredModel<T>, _known: &Bits) -> bool {
        false
    }

    /// The slot of its samples of the model, if they persist between updates.
    fn chains(&self) -> Option<Slot> {
        None
    }

    /// The slot of all rows that the next update continues from; they are part of a checkpoint.
    fn persistent(&self) -> Option<Slot> {
        self.chains()
    }

    /// The next update is this one: after a snapshot was restored.
    fn at(&mut self, _update: u64) {}

    /// Factor of the learning rate, where the estimator limits it.
    fn rate(&self) -> f64 {
        1.0
    }

    /// The number of these rows for a number of chains.
    fn rows(&self, chains: usize) -> usize {
        chains
    }

    /// What the next update depends on besides these rows; also part of a checkpoint.
    fn numbers(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Called after the rows were put into their slot: at the start of a run, or with the numbers of a snapshot.
    fn start(&mut self, _: &mut dyn Backend<T>, _: Option<&[f64]>) -> Result<()> {
        Ok(())
    }
}

/// Options of an estimator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EstimatorOptions {
    /// Gibbs sweeps per update.
    pub gibbs_steps: u64,
    /// Temperatures of every ladder for parallel tempering.
    pub temperatures: usize,
    /// Largest drift of the model per update in nats, see [`drift`].
    pub max_drift: Option<f64>,
    /// Updates of the quick start, see [`quick_start`].
    pub quick_start: u64,
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
pub fn estimators<T: Real>() -> [Entry<T>; 5] {
    [
        Entry {
            name: "pcd",
            about: "persistent contrastive divergence: chains continue from update to update",
            make: pcd::make,
        },
        Entry { name: "cd", about: "contrastive divergence: chains start from the batch", make: cd::make },
        Entry {
            name: "pt",
            about: "parallel tempering: persistent ladders of chains that swap states",
            make: pt::make,
        },
        Entry {
            name: "wpcd",
            about: "pcd with chains that carry importance weights and are resampled",
            make: weighted::make,
        },
        Entry { name: "exact", about: "exact gradient by enumeration, for small models", make: exact::make },
    ]
}

/// The estimator called `name`.
pub(crate) fn new<T: Real>(name: &str, settings: EstimatorOptions) -> Result<Box<dyn Estimator<T>>> {
    let list = estimators::<T>();
    match list.iter().find(|e| e.name == name) {
        Some(entry) => {
            let method = (entry.make)(settings);
            let quick = method.persistent().filter(|_| settings.quick_start > 0);
            Ok(match quick {
                Some(_) => Box::new(QuickStart::new(settings.quick_start, method)),
                None => method,
            })
        }
        None => {
            let known = list.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
            Err(Error::Config { key: "method", problem: format!("'{name}' is not one of {known}") })
        }
    }
}
