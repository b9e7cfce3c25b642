//! What sampling methods have in common: the model in the precision and the form that suits it, and the limits of the work.

use super::LogZOptions;
use super::bidirectional::Effort;
use super::collapsed::Collapsed;
use super::result::LogZ;
use crate::backend::Chains;
use crate::error::Result;
use crate::exact::{Progress, normalisable};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::OnSweeps;
use crate::sample::suits_f32;
use crate::states::States;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Fixed cost of a sweep of one chain, counted in weights; it dominates for tiny models.
const PER_SWEEP: usize = 100_000;

/// Cost of one term of the sum over the other layer, counted in weights.
const PER_TERM: usize = 40;

/// Sites of a finite layer up to which the other is summed out.
const FEW_SITES: usize = 40;

/// A layer whose states are sampled while the other is summed out.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    Visible,
    Hidden,
}

/// The finite layer with few sites; the smaller one if both have few.
fn small_layer<T: Real>(lowered: &LoweredModel<T>) -> Option<Kept> {
    let few = |layer: &LoweredLayer<T>| Some(layer.sites()).filter(|n| layer.is_finite() && *n <= FEW_SITES);
    match (few(lowered.visible()), few(lowered.hidden())) {
        (Some(v), Some(h)) if v < h => Some(Kept::Visible),
        (_, Some(_)) => Some(Kept::Hidden),
        (Some(_), None) => Some(Kept::Visible),
        (None, None) => None,
    }
}

/// A model and the options.
pub(super) struct Problem<'a> {
    pub(super) rbm: &'a Rbm<f64>,
    pub(super) settings: LogZOptions<'a>,
    pub(super) progress: Progress<'a>,
    /// A lower bound of log Z from the rows, if the visible units are finite.
    pub(super) bound: Option<f64>,
}

impl Problem<'_> {
    /// Calls `f` with everything that sampling needs, in the precision that suits the model.
    pub(super) fn sample(&self, f: impl Sampler) -> Result<LogZ> {
        let lowered = self.rbm.lower();
        normalisable(&lowered)?;
        if suits_f32(&lowered) {
            self.sample_as::<f32>(self.rbm.cast::<f32>().lower(), f)
        } else {
            self.sample_as::<f64>(lowered, f)
        }
    }

    fn sample_as<T: Real>(&self, lowered: LoweredModel<T>, f: impl Sampler) -> Result<LogZ> {
        let key = Key::root(self.settings.seed);
        let kept = self.settings.collapse.then(|| small_layer(&lowered)).flatten();
        let mut rows = self.settings.data.filter(|rows| rows.nrows() > 0).map(|rows| rows.mapv(T::of));
        let lowered = match kept {
            Some(Kept::Hidden) => {
                rows = rows.map(|v| lowered.up().sample(v.view(), key.of(Purpose::Hidden), 0));
                lowered.swapped()
            }
            _ => lowered,
        };
        let layer = lowered.visible();
        let data = rows.map(|rows| {
            let mut states = States::new(layer);
            states.push(layer, rows.view());
            states
        });
        let layer_columns = lowered.visible().columns() + lowered.hidden().columns();
        let work = PER_SWEEP + lowered.weights().len() * if kept.is_some() { PER_TERM } else { 1 };
        let backend: Box<dyn Chains<T>> = match kept {
            Some(_) => Box::new(Collapsed::new(lowered)),
            None => self.settings.device.backend(lowered)?,
        };
        let layers = if kept.is_some() { 1 } else { 2 };
        self.check_effort(layer_columns, work as f64, if layers == 1 { ONE_LAYER } else { TWO_LAYERS })?;
        let meter = Meter { done: AtomicU64::new(0), all: AtomicU64::new(1), progress: self.progress };
        let on_sweeps = |chains: u64| meter.add(chains);
        let setup = Setup { backend, layers, data, key, on_sweeps: &on_sweeps };
        let LogZOptions { chains, temperatures, tolerance, budget, .. } = self.settings;
        let limits = Limits {
            chains,
            temperatures,
            tolerance,
            sweeps: budget / work as f64,
            least: if layers == 1 { ONE_LAYER } else { TWO_LAYERS },
            meter: &meter,
            bound: self.bound.unwrap_or(f64::NEG_INFINITY),
            started: Instant::now(),
            end: self.settings.time.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.min(MOST_SECONDS))),
            on_round: self.settings.on_round.unwrap_or(&|_, _| ()),
        };
        let found = f.run(setup, limits)?;
        Ok(LogZ { work: found.work.map(|sweeps| sweeps * work as f64), ..found })
    }
}

/// What a sampling method does with a model, in either precision.
pub(super) trait Sampler {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ>;
}

/// A model ready for sampling.
pub(super) struct Setup<'a, T: Real> {
    pub(super) backend: Box<dyn Chains<T>>,
    /// How many layers have states: both, or one with the other summed out.
    pub(super) layers: usize,
    /// Rows of the data, as states of the sampled layer.
    pub(super) data: Option<States<T>>,
    pub(super) key: Key,
    pub(super) on_sweeps: OnSweeps<'a>,
}

/// The limits of a sampling method.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) chains: Option<usize>,
    pub(super) temperatures: Option<usize>,
    pub(super) tolerance: f64,
    /// Sweeps of a chain after which no further round starts.
    pub(super) sweeps: f64,
    /// The effort of the first round.
    pub(super) least: Effort,
    pub(super) meter: &'a Meter<'a>,
    /// A lower bound of log Z that is already known.
    pub(super) bound: f64,
    started: Instant,
    end: Option<Instant>,
    pub(super) on_round: &'a (dyn Fn(f64, f64) + Sync),
}

/// Longest time limit: a year.
const MOST_SECONDS: f64 = 3.2e7;

/// The smallest effort of the first round: enough for an error of 0.1 at a spread of one nat. A single layer mixes within a few
/// sweeps, each of which costs more.
const TWO_LAYERS: Effort = Effort { chains: 128, ladders: 96, temperatures: 200, sweeps: 200 };
const ONE_LAYER: Effort = Effort { chains: 64, ladders: 48, temperatures: 100, sweeps: 50 };
/// Most temperatures of the first round. With path length Λ and K temperatures the variance of the log weights is Λ²/K if chains
/// decorrelate within a sweep.
const MOST_TEMPERATURES: usize = 16_000;

impl Limits<'_> {
    /// Whether no further work may start after so many sweeps.
    pub(super) fn is_over(&self, spent: f64) -> bool {
        spent >= self.sweeps || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Whether the time is over after more work: so many times what was done so far.
    pub(super) fn is_late_after(&self, more: f64) -> bool {
        let passed = self.started.elapsed();
        self.end.is_some_and(|end| self.started + passed + passed.mul_f64(more.clamp(0.0, 1e6)) > end)
    }

    /// The effort of the first round on a path of this length.
    pub(super) fn first_effort(&self, length: f64) -> Effort {
        let least = self.least;
        let own = ((4.0 * length * length) as usize).clamp(least.temperatures, MOST_TEMPERATURES);
        let chains = self.chains.unwrap_or(least.chains);
        let temperatures = self.temperatures.unwrap_or(own);
        let sweeps = least.sweeps.max(temperatures as u64 / 8);
        Effort { chains, ladders: (3 * chains).div_ceil(4), temperatures, sweeps }
    }
}

/// Sweeps done and planned.
pub(super) struct Meter<'a> {
    done: AtomicU64,
    all: AtomicU64,
    progress: Progress<'a>,
}

impl Meter<'_> {
    fn add(&self, chains: u64) {
        let done = self.done.fetch_add(chains, Ordering::Relaxed) + chains;
        (self.progress)(done, self.all.load(Ordering::Relaxed).max(done));
    }

    /// Sets how many more sweeps are planned.
    pub(super) fn plan(&self, sweeps: f64) {
        self.all.store(self.done.load(Ordering::Relaxed) + sweeps as u64, Ordering::Relaxed);
    }
}
