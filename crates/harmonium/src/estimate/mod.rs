//! The two phases of the gradient, ⟨·⟩_data and ⟨·⟩_p. **To add an estimator: write its file, add its line to [`estimators`].**

mod cd;
mod drift;
mod exact;
mod pcd;
mod pt;
mod quick_start;
mod weighted;

use crate::backend::{Backend, Learner, Phase, Side, Slot, Sweeps};
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::lowered::LoweredLayer;
use crate::real::Real;
use crate::rng::Key;
use crate::stats::LayerMeans;
use quick_start::QuickStart;

/// What an estimator works with.
pub(crate) struct Context<'a, T> {
    /// The weights that learn, with chains of the model.
    pub learner: &'a mut dyn Learner<T>,
    /// Weights of the rows of the batch, which are in slot [`BATCH`]; none if all are 1.
    pub weights: Option<&'a [T]>,
    /// Which cells of the batch are known, one bit per site, if some are not; unknown cells are filled with draws.
    pub known: Option<&'a Bits>,
    /// Random numbers of the run.
    pub key: Key,
    /// Number of this update.
    pub update: u64,
    /// Rows of a shard, see [`Phase::shard`].
    pub shard: usize,
}

/// The slot of the rows of this update.
pub(crate) const BATCH: Slot = 0;

/// ⟨T(v)⟩ and ⟨T(h)⟩; the learner has those of the weights.
pub(crate) struct Phases<T> {
    /// ⟨·⟩_data − ⟨·⟩_model.
    pub difference: LayerMeans<T>,
    /// ⟨·⟩_data.
    pub data: LayerMeans<T>,
}

impl<T: Real> Phases<T> {
    /// Zeros of the shapes of a model.
    pub fn zeros(layers: [&LoweredLayer<T>; 2]) -> Phases<T> {
        Phases { difference: LayerMeans::zeros(layers), data: LayerMeans::zeros(layers) }
    }
}

impl<T: Real> Context<'_, T> {
    /// The chains.
    fn backend(&mut self) -> &mut dyn Backend<T> {
        self.learner.backend_mut()
    }

    /// The positive phase: averages over the batch. With `draw`, its hidden states are drawn for the sweep with that number.
    fn data(&mut self, draw: Option<(Key, u64)>, out: &mut Phases<T>) {
        let Context { weights, shard, .. } = *self;
        let phase = Phase { side: Side::Data, slot: BATCH, weights, times: 1.0, shard, draw };
        self.learner.accumulate(&phase, &mut out.data);
    }

    /// log p*(v) of every row of a slot; the next sweep of these rows starts from the same product.
    fn log_marginals(&mut self, slot: Slot) -> Vec<f64> {
        self.backend().log_marginals(slot, &[None], None).into_iter().collect()
    }

    /// The negative phase: averages over the rows of a slot, subtracted from the positive phase.
    fn model(&mut self, slot: Slot, weights: Option<&[T]>, draw: Option<(Key, u64)>, out: &mut Phases<T>) {
        let phase = Phase { side: Side::Model, slot, weights, times: 1.0, shard: self.shard, draw };
        self.learner.accumulate(&phase, &mut out.difference);
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
    fn sums_over(&self, _layers: [&LoweredLayer<T>; 2], _known: &Bits) -> bool {
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
