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
//! | `sampling` | what methods that sample have in common, and their limits |
//! | `result`, `verdict` | the estimate; how far an estimate can be trusted |
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
mod result;
mod reverse;
mod sampling;
mod search;
mod tempering;
mod verdict;
mod weights;

pub use result::{LogZ, Part};
pub use verdict::{Evidence, Verdict};
pub use weights::Estimate;
pub(crate) use weights::log_mean_exp;

use crate::backend::{DeviceRef, cpu};
use crate::error::{Error, Result};
use crate::exact::{Exact, Progress, budget, rounding};
use crate::model::Rbm;
use ndarray::Array2;
use result::percent;
use sampling::{Limits, Problem, Sampler, Setup};

/// Default budget of an estimate, in weights visited: one to two minutes on two cores.
pub const BUDGET: f64 = 9e12;

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
    /// Rows of columns (see [`Layout::encode`](crate::Layout::encode)) like the training data. Half of the samples
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
