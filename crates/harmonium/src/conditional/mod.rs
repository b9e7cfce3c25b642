//! p(v_A | v_B): the distribution of the unknown visible cells of a row, given the known ones.
//!
//! With v_B clamped, a model becomes a model of the other cells: `LoweredModel::clamped`. So whatever is exact for models is
//! exact here. Where enumeration would take too long, chains run with v_B clamped.
//!
//! | file | idea |
//! |---|---|
//! | `exact` | the model of the other cells, solved |
//! | `chains` | chains with clamped cells |
//! | `cheaper` | which of the two fills a row |
//! | `complete` | independent draws of the unknown cells, for multiple imputation |
//! | `known` | log Σ exp(−E) over the unknown cells of a row, by annealing |
//! | `hidden` | ⟨h given v_B⟩ |
//! | `leave_out` | Σ_{i ∈ B} log p(v_i given the rest of v_B) |
//! | `score` | log Σ_{v_A} p*(v_A, v_B) |
//! | `summary` | means, spreads and intervals of cells, from either of them |

mod chains;
mod cheaper;
mod complete;
mod exact;
mod hidden;
mod known;
mod leave_out;
mod score;
mod summary;

pub use chains::filled;
pub use complete::check_size;
pub(crate) use exact::Row;
pub use leave_out::pseudo_log_likelihoods;
pub use score::{Score, Scores};
pub use summary::{Fill, Filled, restore};

use crate::backend::{Backend, DeviceRef, cpu};
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::exact::Exact;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::memory;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::Key;
use crate::stats::Stats;
use crate::threads;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// How conditional distributions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Cells are filled by the cheaper of both, see [`Conditional::fill`]; sums and draws are exact where that is cheap, and otherwise
    /// by chains.
    Auto,
    /// Exactly, however long that takes.
    Exact,
    /// By chains.
    Chains,
}

impl Method {
    /// Every method and its name.
    pub const LIST: [(&'static str, Method); 3] =
        [("auto", Method::Auto), ("exact", Method::Exact), ("chains", Method::Chains)];

    /// The method called `name`.
    pub fn parse(name: &str) -> Result<Method> {
        named("method", name, &Method::LIST)
    }
}

/// The entry called `name` of a list.
fn named<T: Copy>(key: &'static str, name: &str, list: &[(&'static str, T)]) -> Result<T> {
    let known = || list.iter().map(|l| l.0).collect::<Vec<_>>().join(", ");
    let found = list.iter().find(|l| l.0 == name).map(|l| l.1);
    found.ok_or_else(|| Error::Config { key, problem: format!("'{name}' is not one of {}", known()) })
}

/// Options for conditional distributions.
#[derive(Clone, Copy, Debug)]
pub struct ConditionalOptions {
    /// The method.
    pub method: Method,
    /// Chains per row.
    pub chains: usize,
    /// Burn-in sweeps; in the first half of them the temperature falls to that of the model.
    pub burn_in: u64,
    /// Sweeps that count.
    pub steps: u64,
    /// The probability within an interval, if spreads and intervals are wanted.
    pub interval: Option<f64>,
    /// Seed of all randomness.
    pub seed: u64,
    /// What computes.
    pub device: DeviceRef,
}

impl Default for ConditionalOptions {
    fn default() -> ConditionalOptions {
        ConditionalOptions {
            method: Method::Auto,
            chains: 20,
            burn_in: 100,
            steps: 200,
            interval: None,
            seed: 0,
            device: cpu(),
        }
    }
}

/// Most sweeps of a chain: hours for the smallest model.
const MOST_SWEEPS: u64 = 1 << 32;

impl ConditionalOptions {
    /// Draws of a chain that are kept.
    fn draws(&self) -> f64 {
        if self.interval.is_some() { (self.steps as f64 / chains::EVERY as f64).ceil() } else { 1.0 }
    }

    /// Refuses more chains for one row than fit in memory: their states, sums and draws.
    fn check_size(&self, columns: usize) -> Result<()> {
        let bytes = 8.0 * columns as f64 * (4.0 + 2.0 * self.draws());
        memory::check("chains", self.chains, self.chains as f64 * bytes)
    }

    fn check(&self) -> Result<()> {
        let fail = |key, problem: String| Err(Error::Config { key, problem });
        if self.chains < 2 {
            return fail("chains", format!("is {}, but must be at least 2, for an error bar", self.chains));
        }
        if self.steps.max(self.burn_in) > MOST_SWEEPS {
            let (key, n) = if self.steps > MOST_SWEEPS { ("steps", self.steps) } else { ("burn-in", self.burn_in) };
            return fail(key, format!("is {n}, but must be at most {MOST_SWEEPS}"));
        }
        if self.steps == 0 {
            return fail("steps", "is 0, but must be at least 1".into());
        }
        match self.interval {
            Some(p) if !(p > 0.0 && p < 1.0) => fail("interval", format!("is {p}, but must be between 0 and 1")),
            _ => Ok(()),
        }
    }
}

/// The result for the cells of one row.
struct Answer {
    /// ⟨x⟩ of every column; known cells unchanged.
    means: Array1<f64>,
    /// Its Monte Carlo standard error; 0 if exact.
    std_err: Array1<f64>,
    /// Root mean square of the error of unknown cells in units of their standard deviations; 0 if exact.
    off: f64,
    /// Rows of data values drawn from the conditional, if intervals are wanted.
    draws: Option<Array2<f64>>,
}

/// Computes conditional distributions of a model.
pub struct Conditional {
    lowered: LoweredModel<f64>,
    backend: Box<dyn Backend<f32>>,
    narrow: LoweredModel<f32>,
    settings: ConditionalOptions,
    key: Key,
}

impl Conditional {
    /// For a model; refuses invalid options.
    pub fn new(rbm: &Rbm<f64>, settings: ConditionalOptions) -> Result<Conditional> {
        settings.check()?;
        settings.check_size(rbm.visible().columns() + rbm.hidden().columns())?;
        let narrow = rbm.cast::<f32>().lower();
        let backend = settings.device.backend(narrow.clone())?;
        Ok(Conditional { lowered: rbm.lower(), backend, narrow, settings, key: Key::root(settings.seed) })
    }

    /// Rows to process at once: as many as fit with their chains and draws into a few hundred megabytes.
    pub fn rows_at_once(&self) -> usize {
        let cells =
            self.settings.chains as f64 * self.lowered.visible().columns() as f64 * (1.0 + self.settings.draws());
        ((f64::from(1 << 24) / cells) as usize).clamp(1, 1024)
    }

    /// Fills the cells of rows of columns that are not `known`. The random numbers depend on `first`, the number of the first row.
    ///
    /// `Method::Auto` solves a row exactly where that costs no more than chains, or where chains turn out not to be precise enough and
    /// the sum is affordable.
    pub fn fill(&mut self, x: ArrayView2<f64>, known: &Bits, first: u64) -> Result<Filled> {
        let mut answers: Vec<Option<Answer>> = (0..x.nrows()).map(|_| None).collect();
        let key = self.key.step(first);
        let (mut some, rest) = self.parted(known, |cost| cost.is_some_and(|cost| cost <= self.cost_of_chains()));
        if !rest.is_empty() {
            let found = chains::answers(self, x.select(Axis(0), &rest).view(), &known.select(&rest), key);
            for (r, answer) in rest.into_iter().zip(found) {
                if self.is_precise(&answer) || !self.is_affordable(known, r) {
                    answers[r] = Some(answer);
                } else {
                    some.push(r);
                }
            }
        }
        let (lowered, want_draws) = (&self.lowered, self.settings.interval.is_some());
        let solved = threads::map(some.len() > 1, some.iter(), |&r| {
            let row = exact::Row { lowered, x: x.row(r).to_vec(), known, number: r };
            row.answer(want_draws.then(|| key.step(r as u64)))
        });
        for (r, answer) in some.iter().zip(solved) {
            answers[*r] = Some(answer?);
        }
        let answers: Vec<Answer> = answers.into_iter().flatten().collect();
        Ok(summary::of(self.lowered.visible(), &answers, known, self.settings.interval, some.len()))
    }

    /// The cost of summing over the unknown cells of all rows, in terms (see [`budget`]); none if that is not possible.
    pub(crate) fn cost(&self, known: &Bits) -> Option<f64> {
        (0..known.rows()).map(|r| cost(self.lowered.layers(), known, r)).sum()
    }

    /// Rows that are solved exactly, and the others; `auto` decides by the cost of a row.
    fn parted(&self, known: &Bits, auto: impl Fn(Option<f64>) -> bool) -> (Vec<usize>, Vec<usize>) {
        (0..known.rows()).partition(|&r| {
            known.ones(r) == known.sites()
                || self.settings.method == Method::Exact
                || (self.settings.method == Method::Auto && auto(cost(self.lowered.layers(), known, r)))
        })
    }
}

/// The cost of summing over the unknown cells of a row, in terms (see [`budget`]); none if that is not possible.
pub(crate) fn cost<T: Real>(layers: [&LoweredLayer<T>; 2], known: &Bits, row: usize) -> Option<f64> {
    let free: Vec<usize> = (0..known.sites()).filter(|i| !known.get(row, *i)).collect();
    match free.len() {
        0 => Some(layers[1].columns() as f64),
        _ => Exact::cost_of([&layers[0].select(&free), layers[1]]),
    }
}

/// Statistics of rows of columns, each counted `weights[r]` times, with the hidden layer and the cells that are not `known`
/// averaged out exactly, for the gradient of the likelihood of the known cells.
pub fn stats(lowered: &LoweredModel<f64>, x: ArrayView2<f64>, known: &Bits, weights: &[f64]) -> Result<Stats<f64>> {
    let parts = threads::map(true, 0..x.nrows(), |r| Row { lowered, x: x.row(r).to_vec(), known, number: r }.stats());
    let mut sum = Stats::zeros(lowered);
    for (part, w) in parts.into_iter().zip(weights) {
        sum.add_scaled(*w, &part?);
    }
    Ok(sum)
}
