//! log Z with an error bar, unless it is exact, and a verdict. **To add a method: write its file, add its line to
//! [`METHODS`].**
//!
//! | file | idea |
//! |---|---|
//! | `exact`, `modes`, `ais`, `reverse`, `bar`, `tempering` | the methods |
//! | `mean_field` | the mode that a state flows to |
//! | `bounds` | what states that were seen say about log Z |
//! | `collapsed` | chains of a small layer, with the other summed out |
//! | `search` | modes that annealing does not reach |
//! | `weights`, `bennett` | estimates from the log weights of one direction, and of both |
//! | `bidirectional` | annealing in both directions with a given effort |
//! | `verdict` | how far an estimate can be trusted |
//! | `needs` | whether the first round fits in memory and is affordable |
//! | `online` | log Z during training |
//!
//! The path from independent units to the model and parallel tempering on it are in [`crate::sample`].

mod ais;
mod bar;
mod bennett;
mod bidirectional;
mod bounds;
mod collapsed;
mod exact;
mod mean_field;
mod modes;
mod needs;
pub(crate) mod online;
mod reverse;
mod search;
mod tempering;
mod verdict;
mod weights;

pub use verdict::{Evidence, Verdict};
pub use weights::Estimate;
pub(crate) use weights::log_mean_exp;

use crate::advice::Advice;
use crate::backend::{Chains, DeviceRef, cpu};
use crate::error::{Error, Result};
use crate::exact::{Exact, Progress, budget, rounding};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::OnSweeps;
use crate::sample::suits_f32;
use crate::states::States;
use bidirectional::Effort;
use collapsed::Collapsed;
use ndarray::Array2;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Default budget of an estimate, in weights visited: one to two minutes on two cores.
pub const BUDGET: f64 = 9e12;

/// An estimate of log Z in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogZ {
    /// log Z.
    pub value: f64,
    /// Its standard error; 0 if exact.
    pub std_err: f64,
    /// Lower end of the interval: two standard errors below the value.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Effective sample size; none if nothing was sampled.
    pub ess: Option<f64>,
    /// From the base to the model, if that was done: its expectation is below log Z.
    pub forward: Option<Estimate>,
    /// From the model to the base, if that was done: its expectation is above log Z for exact samples of the model.
    pub backward: Option<Estimate>,
    /// The method's name.
    pub method: &'static str,
    /// A description of what was done.
    pub how: String,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// Why, in one sentence; empty if there is nothing to add.
    pub reason: String,
    /// What to do about it, the most useful first.
    pub advice: Vec<Advice>,
    /// What was checked.
    pub evidence: Vec<Evidence>,
    /// The parts of a sum over modes, the largest first.
    pub parts: Vec<Part>,
    /// Work done in weights visited, if it was counted: as [`budget`](LogZOptions::budget) it repeats the estimate to the bit.
    pub work: Option<f64>,
}

/// A part of a sum over modes: a set of modes between which chains move, or the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// log of its mass; the sum of all masses is Z.
    pub log_mass: f64,
    /// Its standard error.
    pub std_err: f64,
    /// Its share of Z.
    pub share: f64,
    /// Whether it is what lies outside of all stable modes.
    pub is_rest: bool,
    /// Estimates of it from different bases.
    pub estimates: Vec<Estimate>,
}

impl LogZ {
    /// A value with its error and nothing else; an interval of two standard errors.
    fn plain(method: &'static str, value: f64, std_err: f64) -> LogZ {
        LogZ {
            value,
            std_err,
            lower: value - 2.0 * std_err,
            upper: value + 2.0 * std_err,
            ess: None,
            forward: None,
            backward: None,
            method,
            how: String::new(),
            verdict: Verdict::Imprecise,
            reason: String::new(),
            advice: Vec::new(),
            evidence: Vec::new(),
            parts: Vec::new(),
            work: None,
        }
    }
}

/// Options of an estimate.
#[derive(Clone, Copy)]
pub struct LogZOptions<'a> {
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of chains; none for the choice of the method.
    pub chains: Option<usize>,
    /// Number of inverse temperatures between the base and the model; none for as many as the tolerance needs.
    pub temperatures: Option<usize>,
    /// Target width of the interval, in nats.
    pub tolerance: f64,
    /// Rows of columns (see [`LoweredLayer::encode`](crate::LoweredLayer::encode)) like the training data. Half of the samples
    /// start from them, and must lead to the same number as the others.
    pub data: Option<&'a Array2<f64>>,
    /// Work after which no further round starts, in weights visited.
    pub budget: f64,
    /// Seconds after which no further work starts; none for no limit. Where it ends the work, the result depends on the clock;
    /// [`LogZ::work`] as the budget repeats it.
    pub time: Option<f64>,
    /// Called after every round with the estimate so far and its standard error.
    pub on_round: Option<&'a (dyn Fn(f64, f64) + Sync)>,
    /// Whether to sum out the other layer if one layer has few sites: such models hardly mix otherwise.
    pub collapse: bool,
    /// What computes.
    pub device: DeviceRef,
}

impl Default for LogZOptions<'_> {
    fn default() -> Self {
        LogZOptions {
            seed: 0,
            chains: None,
            temperatures: None,
            tolerance: 0.5,
            data: None,
            budget: BUDGET,
            time: None,
            on_round: None,
            collapse: true,
            device: cpu(),
        }
    }
}

/// Most chains and temperatures: with more, the number of sweeps would not fit.
const MOST: usize = 1 << 24;

impl LogZOptions<'_> {
    fn check(&self) -> Result<()> {
        let fail = |key, problem: String| Err(Error::Config { key, problem });
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return fail("tolerance", format!("is {}, but must be a number of nats above 0", self.tolerance));
        }
        for (key, value) in [("chains", self.chains), ("temperatures", self.temperatures)] {
            if let Some(n) = value.filter(|n| !(4..=MOST).contains(n)) {
                return fail(key, format!("is {n}, but must be 4 to {MOST}"));
            }
        }
        Ok(())
    }
}

/// A log Z method in the list.
pub struct Method {
    /// Name on the command line, in files and in Python.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    run: fn(&Problem) -> Result<LogZ>,
}

/// The list.
pub const METHODS: &[Method] = &[
    Method {
        name: "exact",
        about: "sum over all states of the smaller discrete layer, or a Gaussian integral",
        run: exact::run,
    },
    Method {
        name: "modes",
        about: "search for the modes and add their shares of Z, each estimated by annealing from a simple distribution centred on it; \
                the rest by annealing from a flat distribution",
        run: modes::run,
    },
    Method {
        name: "bar",
        about: "annealing in both directions, combined by Bennett's acceptance ratio, repeated until the interval is narrow",
        run: bar::run,
    },
    Method { name: "ais", about: "annealed importance sampling; on average a lower bound", run: ais::run },
    Method {
        name: "reverse-ais",
        about: "reverse annealed importance sampling, from samples of the model; on average an upper bound",
        run: reverse::run,
    },
    Method {
        name: "tempering",
        about: "thermodynamic integration over the temperatures of parallel tempering; an independent check",
        run: tempering::run,
    },
];

/// A share of the whole in words: never a rounded 0 or 100 for what is neither.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p < 0.1 => "less than 0.1 %".into(),
        p if p > 99.9 => "more than 99.9 %".into(),
        p => format!("{p:.1} %"),
    }
}

/// A model and the options.
pub(crate) struct Problem<'a> {
    rbm: &'a Rbm<f64>,
    settings: LogZOptions<'a>,
    progress: Progress<'a>,
    /// A lower bound of log Z from the rows, if the visible units are finite.
    bound: Option<f64>,
}

/// log Z by the method called `name`; `auto` enumerates where that is affordable and sums over modes otherwise. Whatever the
/// method, parameters so large that rounding would leave no digits are an error.
pub fn log_z<'a>(rbm: &'a Rbm<f64>, name: &str, settings: LogZOptions<'a>, progress: Progress<'a>) -> Result<LogZ> {
    settings.check()?;
    let lowered = rbm.lower();
    rounding::check(&lowered, 0.0)?;
    let bound = settings.data.and_then(|rows| bounds::of_rows(&lowered, rows));
    let problem = Problem { rbm, settings, progress, bound };
    let chosen = match name {
        "auto" if budget::LOG_Z.allows(Exact::cost(&lowered)) => "exact",
        "auto" => "modes",
        other => other,
    };
    match METHODS.iter().find(|m| m.name == chosen) {
        Some(method) => {
            let found = (method.run)(&problem)?;
            rounding::check(&lowered, found.value)?;
            Ok(bounds::respected(found, problem.bound))
        }
        None => {
            let known = METHODS.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
            Err(Error::UnknownMethod { name: name.into(), known: format!("auto, {known}") })
        }
    }
}

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
    let few = |layer: &LoweredLayer<T>| layer.unit().n_states().map(|_| layer.sites()).filter(|n| *n <= FEW_SITES);
    match (few(lowered.visible()), few(lowered.hidden())) {
        (Some(v), Some(h)) if v < h => Some(Kept::Visible),
        (_, Some(_)) => Some(Kept::Hidden),
        (Some(_), None) => Some(Kept::Visible),
        (None, None) => None,
    }
}

impl Problem<'_> {
    /// Calls `f` with everything that sampling needs, in the precision that suits the model.
    fn sample(&self, f: impl Sampler) -> Result<LogZ> {
        let lowered = self.rbm.lower();
        let (v, h) = (lowered.visible().unit(), lowered.hidden().unit());
        if v.quadratic() && h.quadratic() {
            // Two Gaussian layers may not be normalisable; the factorisation fails then.
            Exact::new(self.rbm)?;
        }
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
trait Sampler {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ>;
}

/// A model ready for sampling.
struct Setup<'a, T: Real> {
    backend: Box<dyn Chains<T>>,
    /// How many layers have states: both, or one with the other summed out.
    layers: usize,
    /// Rows of the data, as states of the sampled layer.
    data: Option<States<T>>,
    key: Key,
    on_sweeps: OnSweeps<'a>,
}

/// The limits of a sampling method.
#[derive(Clone, Copy)]
struct Limits<'a> {
    chains: Option<usize>,
    temperatures: Option<usize>,
    tolerance: f64,
    /// Sweeps of a chain after which no further round starts.
    sweeps: f64,
    /// The effort of the first round.
    least: Effort,
    meter: &'a Meter<'a>,
    /// A lower bound of log Z that is already known.
    bound: f64,
    started: Instant,
    end: Option<Instant>,
    on_round: &'a (dyn Fn(f64, f64) + Sync),
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
    fn is_over(&self, spent: f64) -> bool {
        spent >= self.sweeps || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Whether the time is over after more work: so many times what was done so far.
    fn is_late_after(&self, more: f64) -> bool {
        let passed = self.started.elapsed();
        self.end.is_some_and(|end| self.started + passed + passed.mul_f64(more.clamp(0.0, 1e6)) > end)
    }

    /// The effort of the first round on a path of this length.
    fn first_effort(&self, length: f64) -> Effort {
        let least = self.least;
        let own = ((4.0 * length * length) as usize).clamp(least.temperatures, MOST_TEMPERATURES);
        let chains = self.chains.unwrap_or(least.chains);
        let temperatures = self.temperatures.unwrap_or(own);
        let sweeps = least.sweeps.max(temperatures as u64 / 8);
        Effort { chains, ladders: (3 * chains).div_ceil(4), temperatures, sweeps }
    }
}

/// Sweeps done and planned.
struct Meter<'a> {
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
    fn plan(&self, sweeps: f64) {
        self.all.store(self.done.load(Ordering::Relaxed) + sweeps as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_never_rounded_to_nothing_or_all() {
        let words = [-1e-9, 0.0, 0.0004, 0.25, 0.9994, 1.0].map(percent);
        let (little, most) = ("less than 0.1 %", "more than 99.9 %");
        assert_eq!(words, [little, little, little, "25.0 %", most, most]);
    }
}
