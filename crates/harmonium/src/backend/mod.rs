//! Where the arithmetic happens: chains of a model, and the weights while they learn.
//!
//! | trait | what it is |
//! |---|---|
//! | [`Chains`] | rows that move by Gibbs sweeps, and log p* at any temperature: all that annealing and tempering need |
//! | [`Backend`] | chains with everything else that sampling and measuring need |
//! | [`Learner`] | a backend whose weights learn: they, their gradient and its moments stay there |
//! | [`Device`] | makes backends and learners |
//!
//! A run gets a device and knows nothing else of the hardware. Per update only vectors with one number for each unit cross these
//! traits, and a few scalars (but for tiny models whose gradient is exact); the weights come back for snapshots, measures and files. To add hardware, implement the four traits in
//! a crate of its own.

mod comm;
pub mod cpu;
pub mod fixed;
mod reference;

pub use comm::{Comm, Solo};
pub use cpu::CpuDevice;
pub use reference::Reference;

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::model::Rbm;
use crate::optimize::OptimizerConfig;
use crate::real::Real;
use crate::rng::Key;
pub use crate::scaled_weights::{Chart, Products};
use crate::states::States;
use crate::stats::{LayerMeans, Stats};
use ndarray::{Array1, Array2, ArrayView2};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

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
    /// Inverse temperature of every chain, if not 1: see [`Chains::set_base`].
    pub beta: Option<&'a [T]>,
}

/// Chains of a model. Every result is the same on any number of threads.
///
/// At one temperature strictly between 0 and 1, the same for all rows, sweeps and log marginals may be those of a model whose
/// weights are rounded, as long as both are those of the same one.
pub trait Chains<T: Real>: Send + Sync {
    /// Both layers in natural parameters, visible and hidden.
    fn layers(&self) -> [&LoweredLayer<T>; 2];

    /// The model. Where the weights are on other hardware they are copied.
    fn model(&self) -> LoweredModel<T>;

    /// Sets what the model is at inverse temperature 0: independent units with these natural parameters, visible and
    /// hidden. At β the natural parameters are (1 − β) times these plus β times the model's, and the coupling is β W̃. If
    /// none were set, fields are 0 there and quadratic terms are the model's own.
    fn set_base(&mut self, base: [Array2<T>; 2]);

    /// Puts visible rows into a slot: those with the numbers `which`, or all. Drops hidden rows already drawn.
    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>);

    /// The visible rows of a slot.
    fn get(&self, slot: Slot) -> States<T>;

    /// Runs the chains of a slot.
    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>);

    /// log Σ_h exp(−E_β(v, h)) of every row of a slot, one column for each entry of `betas`: inverse temperatures of the
    /// rows, or none for 1. With `draw`, hidden rows at the last of them may be drawn from the same product for the sweep with that
    /// number.
    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], draw: Option<(Key, u64)>) -> Array2<f64>;

    /// F(v) of every row.
    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64>;

    /// Means of the statistics of both layers over the rows of a slot, row r counted `weights[r]` times, the hidden layer averaged
    /// out.
    fn layer_means(&mut self, slot: Slot, weights: Option<&[T]>) -> LayerMeans<T>;
}

/// Chains with everything else that sampling and measuring need.
pub trait Backend<T: Real>: Chains<T> {
    /// Takes another model with the same layers.
    fn load(&mut self, model: &LoweredModel<T>);

    /// Sets the number of the first row of a slot, which `put` sets to 0: row r draws the random numbers of row `first` + r.
    fn number(&mut self, slot: Slot, first: u64);

    /// Clamps visible cells of a slot, one bit per site and row: sweeps draw the others. None clamps no cell, as `put` does.
    fn clamp(&mut self, slot: Slot, known: Option<&Bits>);

    /// Puts hidden rows into a slot, from which the next sweep starts.
    fn put_hidden(&mut self, slot: Slot, rows: &States<T>);

    /// The hidden rows of a slot, if they are already drawn for the next sweep.
    fn hidden(&self, slot: Slot) -> Option<States<T>>;
}

/// The two phases of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// ⟨·⟩_data, which begins a new difference.
    Data,
    /// ⟨·⟩_model, which is subtracted from it and ends it. Always follows the data.
    Model,
}

/// The rows of one phase.
pub struct Phase<'a, T> {
    /// Which phase it is.
    pub side: Side,
    /// The rows.
    pub slot: Slot,
    /// The weight of every row, if not 1.
    pub weights: Option<&'a [T]>,
    /// How often the mean counts: once, unless sums are to be compared.
    pub times: f64,
    /// Rows of a shard: those of a shard are added as floating-point numbers, shards in fixed point, see [`fixed`]. More than 20 where
    /// there are several processes.
    pub shard: usize,
    /// May draw hidden rows from the same product, for the sweep with this number.
    pub draw: Option<(Key, u64)>,
}

/// Which parts of the slope to compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlopeOptions {
    /// Weight decay, λ₁ Σ|W| + ½λ₂ ΣW².
    pub l1: f64,
    /// See `l1`.
    pub l2: f64,
    /// Whether the virials are needed.
    pub virials: bool,
    /// Whether the coupling energy is needed.
    pub energy: bool,
    /// Whether the norm is needed.
    pub norm: bool,
}

/// What the host needs of a gradient of the weights.
pub struct Slope<T> {
    /// −Σ_j W̃_ij C_ij of every visible column and −Σ_i W̃_ij C_ij of every hidden one; zeros if they were not asked for.
    pub virials: [Vec<T>; 2],
    /// Σ_ij W̃_ij C_ij, if it was asked for.
    pub energy: f64,
    /// Σ_ij of the squares of the gradient, if they were asked for.
    pub square: f64,
}

/// A step of the weights along their gradient.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The learning rate.
    pub rate: f64,
    /// Number of this step, from 1.
    pub count: u64,
    /// Factor of the gradient before the optimiser, if it is clipped.
    pub clip: Option<f64>,
    /// Largest norm of the weights of a hidden unit.
    pub max_norm: Option<f64>,
}

/// A matrix of a learner that is as large as the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// W, in the coordinates of the model.
    Weights,
    /// ⟨vhᵀ⟩_data − ⟨vhᵀ⟩_model, measured from the origins after the second phase.
    Difference,
    /// A running moment of the optimiser.
    Moment(usize),
    /// The average of W.
    Average,
}

/// A backend whose weights learn. They, the difference of the phases, the moments of the optimiser and the average stay here; the
/// layers are the host's, which lowers them and hands them over.
pub trait Learner<T: Real>: Send + Sync {
    /// The chains and the model as it is.
    fn backend(&self) -> &dyn Backend<T>;

    /// The same, to be changed; the model is not to be loaded.
    fn backend_mut(&mut self) -> &mut dyn Backend<T>;

    /// Adds a phase to the difference, and writes the difference of the layers' means so far: after the data's phase the data's
    /// means. After the model's, ⟨vhᵀ⟩ is measured from the origins: it becomes that of v − o_v and h − o_h. Each process has whole
    /// shards of the rows, in the order of their numbers.
    fn accumulate(&mut self, phase: &Phase<T>, means: &mut LayerMeans<T>);

    /// Adds a phase whose means were computed elsewhere, as [`accumulate`](Learner::accumulate) does: for tiny models, whose
    /// expectations are known exactly.
    fn take(&mut self, side: Side, given: &Stats<T>, means: &mut LayerMeans<T>);

    /// Turns the difference C into the gradient C/(s_v s_hᵀ), less the weight decay.
    fn slope(&mut self, options: SlopeOptions) -> Slope<T>;

    /// Takes a step, if there is one, in a chart that then holds, and returns W̃o_h and W̃ᵀo_v if the chart has origins. The layers
    /// follow by [`set_layers`](Learner::set_layers).
    fn step(&mut self, step: Option<Step>, chart: Chart) -> Option<Products>;

    /// Moves the origins of the chart and returns the products with them, as [`step`](Learner::step) does.
    fn set_origins(&mut self, origins: Option<[Array1<f64>; 2]>) -> Option<Products>;

    /// W̃x and W̃ᵀy.
    fn products(&self, x: &Array1<f64>, y: &Array1<f64>) -> Products;

    /// Sets the natural parameters of both layers and the constant of the energy.
    fn set_layers(&mut self, layers: [ArrayView2<T>; 2], constant: f64);

    /// Whether every weight is finite.
    fn is_finite(&self) -> bool;

    /// Moves the average of the weights towards them by this part.
    fn average(&mut self, rate: f64);

    /// Reads a matrix.
    fn read(&self, part: Part) -> Array2<T>;

    /// Writes a matrix. After the weights a [`step`](Learner::step) without a step follows.
    fn write(&mut self, part: Part, matrix: Array2<T>);
}

/// What a learner starts from.
pub struct Start<T> {
    /// The model lowered.
    pub model: LoweredModel<T>,
    /// W, in the coordinates of the model.
    pub weights: Array2<T>,
    /// Those coordinates.
    pub chart: Chart,
    /// The optimiser of the weights.
    pub optimizer: OptimizerConfig,
    /// Whether the weights are averaged.
    pub average: bool,
    /// The processes of the run, of which each has whole shards of the rows.
    pub comm: Arc<dyn Comm>,
}

impl<T: Real> Start<T> {
    /// From a model, without an average, in a single process.
    pub fn new(rbm: &Rbm<T>, optimizer: OptimizerConfig) -> Start<T> {
        Start {
            model: rbm.lower(),
            weights: rbm.weights().to_owned(),
            chart: rbm.layers().chart(),
            optimizer,
            average: false,
            comm: Arc::new(Solo),
        }
    }
}

/// Makes backends for one number type.
pub trait Makes<T: Real> {
    /// A backend with a model.
    fn make_backend(&self, model: LoweredModel<T>) -> Result<Box<dyn Backend<T>>>;

    /// A learner.
    fn make_learner(&self, start: Start<T>) -> Result<Box<dyn Learner<T>>>;
}

/// Hardware that makes backends. A run gets one and passes it on.
pub trait Device: Makes<f32> + Makes<f64> + Send + Sync {
    /// Its name, as the configuration records it.
    fn name(&self) -> &'static str;
}

/// A device lives as long as the process.
pub type DeviceRef = &'static dyn Device;

impl PartialEq for dyn Device + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Debug for dyn Device + '_ {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl dyn Device + '_ {
    /// A backend with a model.
    pub fn backend<T: Real>(&self, model: LoweredModel<T>) -> Result<Box<dyn Backend<T>>> {
        make(model, |model| Makes::<f32>::make_backend(self, model), |model| Makes::<f64>::make_backend(self, model))
    }

    /// A learner.
    pub fn learner<T: Real>(&self, start: Start<T>) -> Result<Box<dyn Learner<T>>> {
        make(start, |start| Makes::<f32>::make_learner(self, start), |start| Makes::<f64>::make_learner(self, start))
    }
}

/// Calls the maker for the number type of `input`; there are only these two, and the result is of the same type.
fn make<In: Any, Out: Any, In32: Any, Out32: Any, In64: Any, Out64: Any>(
    input: In,
    single: impl FnOnce(In32) -> Result<Out32>,
    double: impl FnOnce(In64) -> Result<Out64>,
) -> Result<Out> {
    let input: Box<dyn Any> = Box::new(input);
    let made: Box<dyn Any> = match input.downcast::<In32>() {
        Ok(input) => Box::new(single(*input)?),
        Err(input) => match input.downcast::<In64>() {
            Ok(input) => Box::new(double(*input)?),
            Err(_) => return Err(unknown()),
        },
    };
    made.downcast::<Out>().map(|made| *made).map_err(|_| unknown())
}

fn unknown() -> Error {
    Error::Undefined("a device makes backends for f32 and f64 only".into())
}

/// The processor, with the fastest instructions it has or those the environment names.
pub fn cpu() -> DeviceRef {
    static CPU: std::sync::LazyLock<CpuDevice> = std::sync::LazyLock::new(CpuDevice::default);
    &*CPU
}
