//! Samples of a model, and diagnostics of the chains they come from. **To add a sampler: write its file, add its line to
//! [`SAMPLERS`].**
//!
//! | file | idea |
//! |---|---|
//! | `gibbs`, `tempering`, `exact` | the samplers |
//! | `start` | where chains start |
//! | `clamped` | the model of some cells of a row, given the others |
//! | `ladder`, `path` | parallel tempering, and the path from independent units to the model |
//! | `resampling` | chains chosen in proportion to their weights |
//! | `watch` | the quantities that are traced along the chains |
//! | `columns` | R̂ of every visible column |
//! | `diagnose` | R̂ and effective sample sizes |
//! | `verdict` | warnings that follow from them |

mod clamped;
mod columns;
pub mod diagnose;
mod exact;
mod gibbs;
// For `examples/annealing_speed.rs`, which times them alone.
#[doc(hidden)]
pub mod ladder;
#[doc(hidden)]
pub mod path;
pub(crate) mod resampling;
mod start;
mod tempering;
mod verdict;
mod watch;

pub use clamped::Clamped;
pub use columns::WorstSite;
pub use start::Start;
pub use tempering::Tempered;
pub use watch::TracedQuantity;

use crate::advice::Warning;
use crate::backend::{DeviceRef, cpu};
use crate::error::{Error, Result};
use crate::exact::{Exact, Progress, budget, normalisable};
use crate::lowered::LoweredModel;
use crate::memory;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use columns::ColumnTraces;
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use watch::Watch;

/// Most chains.
const MOST_CHAINS: usize = 1 << 20;
/// Bytes per column of a chain, with the copies that are made of its states; and per recorded state, with its
/// diagnostics.
const PER_STATE: f64 = 32.0;
const PER_TRACE: f64 = 100.0;
/// Recorded states per chain at most.
const MOST_TRACED: f64 = 2048.0;
/// Numbers of a table of samples at most: 8.8 TB.
const MOST_NUMBERS: f64 = (1u64 << 40) as f64;
/// Weights that chains may visit: years on two cores.
const MOST_WORK: f64 = 1e18;
/// Rows per block, about.
const BLOCK: usize = 4096;
/// Weights from which on chains of finite units run in f32: their energies are sums of many terms.
const LARGE: usize = 4096;
/// Sweeps between two progress reports at most.
const REPORT_EVERY: u64 = 50;
/// How often a sampler is tuned during the first half of the burn-in.
const TUNINGS: u64 = 4;

/// How to sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions<'a> {
    /// Name of the sampler, or `auto`.
    pub sampler: &'a str,
    /// Number of rows.
    pub n: u64,
    /// Number of chains; none for a number that suits n.
    pub chains: Option<usize>,
    /// Temperatures of every ladder for parallel tempering; none for as many as swaps need.
    pub temperatures: Option<usize>,
    /// Sweeps of every chain before its first row.
    pub burn_in: u64,
    /// Sweeps between two rows of a chain.
    pub thin: u64,
    /// Sweeps of every chain if each gives a single row, see [`with_steps`](SampleOptions::with_steps).
    pub steps: Option<u64>,
    /// Where chains start.
    pub start: Start<'a>,
    /// Whether to return means ⟨v | h⟩, with h drawn given a sample, instead of the sample.
    pub means: bool,
    /// Temperature T of the distribution that is drawn from, p(v, h)^(1/T).
    pub temperature: f64,
    /// Seed of all randomness.
    pub seed: u64,
    /// What computes.
    pub device: DeviceRef,
}

impl Default for SampleOptions<'_> {
    fn default() -> Self {
        SampleOptions {
            sampler: "auto",
            n: 1000,
            chains: None,
            temperatures: None,
            burn_in: 1000,
            thin: 10,
            steps: None,
            start: Start::Random,
            means: false,
            temperature: 1.0,
            seed: 0,
            device: cpu(),
        }
    }
}

/// Chains that suffice to compare them with each other.
const COMPARABLE: u64 = 20;

impl SampleOptions<'_> {
    /// One row per chain, `steps` sweeps after its start; replaces burn-in, thinning and chains.
    pub fn with_steps(self, steps: u64) -> Self {
        // One row per chain needs no thinning; this is how often the chains are recorded.
        let thin = (steps / 20).clamp(1, self.thin.max(1));
        let chains = Some(usize::try_from(self.n.max(COMPARABLE)).unwrap_or(usize::MAX));
        SampleOptions { chains, burn_in: steps.saturating_sub(thin), thin, steps: Some(steps), ..self }
    }

    /// The number of chains: as set, or one per fifty rows within limits. Some tens are enough to compare them, each costs its
    /// burn-in, and fewer chains are longer.
    pub fn n_chains(&self) -> usize {
        self.chains.unwrap_or((self.n / 50).clamp(20, 100) as usize)
    }

    /// Refuses more chains than fit in memory, and more work than anyone waits for.
    fn check_size(&self, lowered: &LoweredModel<f64>) -> Result<()> {
        let (chains, sites) = (self.n_chains() as f64, lowered.visible().sites() as f64);
        let columns = (lowered.visible().columns() + lowered.hidden().columns()) as f64;
        let bytes = PER_STATE * columns + PER_TRACE * (self.n as f64 / chains).min(MOST_TRACED);
        memory::check("chains", self.n_chains(), chains * bytes)?;
        let table = self.n as f64 * sites;
        if table > MOST_NUMBERS {
            let size = memory::size(8.0 * table);
            let problem = format!("is {}, which makes a table of {size}; draw fewer rows at a time", self.n);
            return Err(Error::Config { key: "n", problem });
        }
        let sweeps = self.burn_in as f64 + (self.n as f64 / chains).ceil() * self.thin as f64;
        let work = sweeps * chains * lowered.weights().len() as f64;
        if work <= MOST_WORK {
            return Ok(());
        }
        let late = self.burn_in as f64 <= 0.5 * sweeps;
        let (key, value) = if late { ("thin", self.thin) } else { ("burn-in", self.burn_in) };
        let problem = format!("is {value}, which makes {sweeps:.1e} sweeps of every chain; they would take years");
        Err(Error::Config { key, problem })
    }

    fn check(&self) -> Result<()> {
        let fail = |key, problem: String| Err(Error::Config { key, problem });
        if self.n == 0 {
            return fail("n", "is 0, but must be at least 1".into());
        }
        if self.thin == 0 {
            return fail("thin", "is 0, but must be at least 1".into());
        }
        if let Some(n) = self.chains.filter(|n| !(1..=MOST_CHAINS).contains(n)) {
            return fail("chains", format!("is {n}, but must be 1 to {MOST_CHAINS}"));
        }
        if let Some(n) = self.temperatures.filter(|n| !(2..=tempering::MOST_RUNGS).contains(n)) {
            return fail("temperatures", format!("is {n}, but must be 2 to {}", tempering::MOST_RUNGS));
        }
        let draws = self.n.div_ceil(self.n_chains() as u64);
        if draws.checked_mul(self.thin).and_then(|d| d.checked_add(self.burn_in)).is_some_and(|s| s < 1 << 62) {
            Ok(())
        } else {
            fail("thin", "n, thin and burn-in together ask for more sweeps than can be counted".into())
        }
    }
}

/// Chains of a model, in a precision of their own.
pub(crate) trait Sampler: Send {
    /// Runs some sweeps of every chain.
    fn advance(&mut self, sweeps: u64);

    /// The visible states of all chains as rows of columns, and their free energies.
    fn states(&mut self) -> Result<(Array2<f64>, Array1<f64>)>;

    /// Adapts the sampler to what it has done so far, before any row is returned.
    fn tune(&mut self) {}

    /// Statistics of the tempering, if there is any.
    fn tempered(&self) -> Option<Tempered> {
        None
    }
}

/// A sampler in the list.
pub struct Entry {
    /// Name on the command line and in Python.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Whether its rows are independent samples of the model.
    independent: bool,
    make: fn(&Problem) -> Result<Box<dyn Sampler>>,
}

/// The list.
pub const SAMPLERS: &[Entry] = &[
    Entry {
        name: "gibbs",
        about: "Gibbs sampling: chains of block sweeps, visible to hidden to visible",
        independent: false,
        make: gibbs::make,
    },
    Entry {
        name: "tempering",
        about: "parallel tempering: chains at several temperatures that exchange their states",
        independent: false,
        make: tempering::make,
    },
    Entry {
        name: "exact",
        about: "independent samples by enumeration, for small models",
        independent: true,
        make: exact::make,
    },
];

/// What a sampler is made from.
pub(crate) struct Problem<'a> {
    lowered: &'a LoweredModel<f64>,
    settings: SampleOptions<'a>,
    chains: usize,
    key: Key,
    progress: Progress<'a>,
}

impl Problem<'_> {
    /// Whether the chains run in f32.
    fn single(&self) -> bool {
        suits_f32(self.lowered)
    }
}

/// Whether chains of a model may run in f32: both layers are finite, and there are many weights.
pub(crate) fn suits_f32<T: Real>(lowered: &LoweredModel<T>) -> bool {
    let finite = [lowered.visible(), lowered.hidden()].iter().all(|s| s.is_finite());
    finite && lowered.weights().len() >= LARGE
}

/// Sampling block by block, so that any number of rows takes little memory.
pub struct Sampling<'a> {
    entry: &'static Entry,
    sampler: Box<dyn Sampler>,
    lowered: LoweredModel<f64>,
    settings: SampleOptions<'a>,
    chains: usize,
    watch: Watch,
    column_traces: ColumnTraces,
    returned: u64,
    sweeps: u64,
    progress: Progress<'a>,
}

/// Diagnostics of the rows that were drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The sampler's name.
    pub sampler: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// Chains they come from.
    pub chains: usize,
    /// Largest R̂ of the traced quantities; none for independent rows and if nothing varies.
    pub r_hat: Option<f64>,
    /// Effective number of rows: the smallest of the traced quantities, by bulk ESS; all rows if they are independent. None if the
    /// chains have certainly not mixed: it would count only what they agree on.
    pub ess: Option<f64>,
    /// The visible site with the largest R̂; none for independent rows and if nothing varies.
    pub worst_site: Option<WorstSite>,
    /// Quantities traced along the chains: the free energy, and the activities of the strongest modes of the weights.
    pub quantities: Vec<TracedQuantity>,
    /// Statistics of the tempering, if there was any.
    pub tempered: Option<Tempered>,
    /// Why the rows may not be samples of the model.
    pub warnings: Vec<Warning>,
}

impl<'a> Sampling<'a> {
    /// Starts the chains; nothing is drawn yet.
    pub fn new(rbm: &Rbm<f64>, settings: SampleOptions<'a>, progress: Progress<'a>) -> Result<Sampling<'a>> {
        Self::of(rbm.lower(), settings, progress)
    }

    /// The same for a lowered model, such as that of the unknown cells of a row.
    pub fn of(lowered: LoweredModel<f64>, settings: SampleOptions<'a>, progress: Progress<'a>) -> Result<Sampling<'a>> {
        settings.check()?;
        let lowered = lowered.at_temperature(settings.temperature)?;
        settings.check_size(&lowered)?;
        let entry = choose(settings.sampler, &lowered)?;
        let settings = SampleOptions { burn_in: if entry.independent { 0 } else { settings.burn_in }, ..settings };
        normalisable(&lowered)?;
        settings.start.check(&lowered)?;
        let (chains, key) = (settings.n_chains(), Key::root(settings.seed).of(Purpose::Sample));
        let problem = Problem { lowered: &lowered, settings, chains, key, progress };
        let sampler = (entry.make)(&problem)?;
        let watch = Watch::new(&lowered, chains, settings.thin);
        let column_traces = ColumnTraces::new(chains, lowered.visible().columns());
        let (returned, sweeps) = (0, 0);
        Ok(Sampling { entry, sampler, lowered, settings, chains, watch, column_traces, returned, sweeps, progress })
    }

    /// Refuses to keep all rows in memory if they do not fit.
    pub fn all_at_once(self) -> Result<Sampling<'a>> {
        let n = self.settings.n;
        // The rows, and the next blocks while they are appended.
        memory::check("n", n, 16.0 * n as f64 * self.columns() as f64).map(|()| self)
    }

    /// Columns of the rows: one per visible site.
    pub fn columns(&self) -> usize {
        self.lowered.visible().sites()
    }

    /// The next rows of data values; none after the last.
    pub fn block(&mut self) -> Result<Option<Array2<f64>>> {
        if self.returned == 0 {
            self.burn_in()?;
        }
        let mut parts: Vec<Array2<f64>> = Vec::new();
        while self.returned < self.settings.n && parts.len() * self.chains < BLOCK {
            let x = self.draw()?;
            let wanted = (self.settings.n - self.returned).min(self.chains as u64) as usize;
            parts.push(self.values(x.slice(s![..wanted, ..])));
            self.returned += wanted as u64;
        }
        let views: Vec<ArrayView2<f64>> = parts.iter().map(|p| p.view()).collect();
        // All parts have one column per site, so they fit.
        Ok(concatenate(Axis(0), &views).ok())
    }

    /// Runs the burn-in; its second half is recorded.
    fn burn_in(&mut self) -> Result<()> {
        let SampleOptions { burn_in, thin, .. } = self.settings;
        let watched = burn_in / 2 / thin;
        let early = burn_in - watched * thin;
        for k in 0..TUNINGS {
            self.advance(early * (k + 1) / TUNINGS - early * k / TUNINGS);
            self.sampler.tune();
        }
        for _ in 0..watched {
            self.draw()?;
        }
        Ok(())
    }

    /// The states of all chains after `thin` more sweeps.
    fn draw(&mut self) -> Result<Array2<f64>> {
        self.advance(self.settings.thin);
        let (x, free_energies) = self.sampler.states()?;
        if !free_energies.iter().all(|f| f.is_finite()) {
            let problem = "a chain diverged: its free energy is not finite, so the parameters may be too large";
            return Err(Error::NotNormalisable(problem.into()));
        }
        self.watch.record(x.view(), &free_energies);
        if !self.entry.independent {
            self.column_traces.record(x.view());
        }
        Ok(x)
    }

    fn advance(&mut self, sweeps: u64) {
        let draws = self.settings.n.div_ceil(self.chains as u64);
        let all = self.settings.burn_in + draws * self.settings.thin;
        for first in (0..sweeps).step_by(REPORT_EVERY as usize) {
            let some = (sweeps - first).min(REPORT_EVERY);
            self.sampler.advance(some);
            self.sweeps += some;
            (self.progress)(self.sweeps, all);
        }
    }

    /// Rows of columns as data values: the states, or means given a hidden sample.
    fn values(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let visible = self.lowered.visible();
        if !self.settings.means {
            return visible.decode(x);
        }
        let key = Key::root(self.settings.seed).of(Purpose::Hidden).step(u64::MAX);
        let hidden = self.lowered.up().sample(x, key, self.returned);
        visible.decode(self.lowered.down().means(hidden.view()).view())
    }

    /// Diagnostics of the rows returned so far.
    pub fn finish(self) -> Drawn {
        let quantities = self.watch.quantities();
        let (tempered, chains) = (self.sampler.tempered(), self.chains);
        let mut drawn = Drawn {
            sampler: self.entry.name,
            rows: self.returned,
            chains,
            r_hat: None,
            ess: Some(self.returned as f64),
            worst_site: self.column_traces.worst(&self.lowered.visible().site_of_columns()),
            quantities,
            tempered,
            warnings: Vec::new(),
        };
        if !self.entry.independent {
            verdict::judge(&mut drawn, &self.settings);
        }
        drawn
    }
}

/// All rows at once, and their diagnostics.
pub fn draw(rbm: &Rbm<f64>, settings: SampleOptions, progress: Progress) -> Result<(Array2<f64>, Drawn)> {
    let mut sampling = Sampling::new(rbm, settings, progress)?.all_at_once()?;
    let mut rows = Array2::zeros((0, sampling.columns()));
    while let Some(block) = sampling.block()? {
        // Both have one column per site, so they fit.
        let _ = rows.append(Axis(0), block.view());
    }
    Ok((rows, sampling.finish()))
}

/// The sampler called `name`; `auto` is exact where that takes seconds, and parallel tempering otherwise.
fn choose(name: &str, lowered: &LoweredModel<f64>) -> Result<&'static Entry> {
    let chosen = match name {
        "auto" if budget::SAMPLE.allows(Exact::cost(lowered)) => "exact",
        "auto" => "tempering",
        other => other,
    };
    SAMPLERS.iter().find(|s| s.name == chosen).ok_or_else(|| {
        let known = SAMPLERS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        Error::Config { key: "sampler", problem: format!("'{name}' is not one of auto, {known}") }
    })
}
