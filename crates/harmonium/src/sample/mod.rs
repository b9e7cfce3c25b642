//! Rows drawn from a model, and how far they can be trusted. **To add a sampler: write its file, add its line to
//! [`SAMPLERS`].**
//!
//! | file | idea |
//! |---|---|
//! | `gibbs`, `tempering`, `exact` | the samplers |
//! | `start` | where chains begin |
//! | `given` | a model of some cells of a row |
//! | `ladder`, `path` | parallel tempering, and the way from independent units to the model |
//! | `watch` | what is followed along the chains |
//! | `diagnose` | R̂ and effective sample sizes |
//! | `verdict` | what to make of them, in words |

mod clamped;
pub mod diagnose;
mod exact;
mod gibbs;
// For `examples/annealing_speed.rs`, which times them alone.
#[doc(hidden)]
pub mod ladder;
#[doc(hidden)]
pub mod path;
mod start;
mod tempering;
mod verdict;
mod watch;

pub use clamped::Clamped;
pub use start::Start;
pub use tempering::Tempered;
pub use watch::TracedQuantity;

use crate::advice::Warning;
use crate::error::{Error, Result};
use crate::exact::{Exact, Progress, Solved, budget};
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use watch::Watch;

/// Most chains that can be asked for.
pub const MOST_CHAINS: usize = 1 << 20;
/// Rows that are given at once, about.
const BLOCK: usize = 4096;
/// Weights from which on chains are run in f32: finite units whose energies are sums of many terms.
const LARGE: usize = 4096;
/// Sweeps after which progress is told at the latest.
const TOLD: u64 = 50;
/// Times that a sampler is tuned during the first half of the burn-in.
const TUNINGS: u64 = 4;

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions<'a> {
    /// Name of the sampler, or `auto`.
    pub sampler: &'a str,
    /// Number of rows.
    pub n: u64,
    /// Chains they come from; none for a number that suits n.
    pub chains: Option<usize>,
    /// Temperatures of every ladder, if they are tempered; none for as many as swaps need.
    pub temperatures: Option<usize>,
    /// Sweeps of every chain before the first row is taken.
    pub burn_in: u64,
    /// Sweeps between two rows of a chain.
    pub thin: u64,
    /// Where chains begin.
    pub start: Start<'a>,
    /// Whether rows are means ⟨v | h⟩ with h drawn given a sample, in place of the sample.
    pub means: bool,
    /// Seed of all randomness.
    pub seed: u64,
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
            start: Start::Random,
            means: false,
            seed: 0,
        }
    }
}

/// Chains that can be compared with each other.
const COMPARABLE: u64 = 20;

impl SampleOptions<'_> {
    /// Every row from a chain of its own, so many sweeps after its start; in place of burn-in, thinning and chains.
    pub fn with_steps(self, steps: u64) -> Self {
        // A row of its own for every chain needs no thinning; this is how often they are looked at.
        let thin = (steps / 20).clamp(1, self.thin.max(1));
        let chains = Some(usize::try_from(self.n.max(COMPARABLE)).unwrap_or(usize::MAX));
        SampleOptions { chains, burn_in: steps.saturating_sub(thin), thin, ..self }
    }

    /// Chains: as asked, or one for fifty rows within limits. Some tens can be compared with each other, each costs its burn-in,
    /// and fewer are longer.
    fn chains(&self) -> usize {
        self.chains.unwrap_or((self.n / 50).clamp(20, 100) as usize)
    }

    fn check(&self) -> Result<()> {
        let fail = |key, problem: String| Err(Error::Config { key, problem });
        if self.n == 0 {
            return fail("n", "is 0, but at least one row must be drawn".into());
        }
        if self.thin == 0 {
            return fail("thin", "is 0, but must be at least 1 sweep".into());
        }
        if let Some(n) = self.chains.filter(|n| !(1..=MOST_CHAINS).contains(n)) {
            return fail("chains", format!("is {n}, but must be 1 to {MOST_CHAINS}"));
        }
        if let Some(n) = self.temperatures.filter(|n| !(2..=tempering::MOST_RUNGS).contains(n)) {
            return fail("temperatures", format!("is {n}, but must be 2 to {}", tempering::MOST_RUNGS));
        }
        let draws = self.n.div_ceil(self.chains() as u64);
        if draws.checked_mul(self.thin).and_then(|d| d.checked_add(self.burn_in)).is_some_and(|s| s < 1 << 62) {
            Ok(())
        } else {
            fail("thin", "n, thin and burn-in make more sweeps than can be counted".into())
        }
    }
}

/// Chains of a model, in a precision of their own.
pub(crate) trait Sampler: Send {
    /// Runs every chain some sweeps on.
    fn advance(&mut self, sweeps: u64);

    /// The visible states of all chains as rows of columns, and their free energies.
    fn states(&mut self) -> Result<(Array2<f64>, Array1<f64>)>;

    /// Learns from what has happened so far, before anything counts.
    fn tune(&mut self) {}

    /// How tempering went, if there was any.
    fn tempered(&self) -> Option<Tempered> {
        None
    }
}

/// A way to draw rows.
pub struct Entry {
    /// Name on the command line and in Python.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Whether its rows are independent samples of the model itself.
    independent: bool,
    make: fn(&Problem) -> Result<Box<dyn Sampler>>,
}

/// The list.
pub const SAMPLERS: &[Entry] = &[
    Entry {
        name: "gibbs",
        about: "chains of block Gibbs sweeps, visible to hidden to visible",
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

/// What a sampler is made for.
pub(crate) struct Problem<'a> {
    lowered: &'a LoweredModel<f64>,
    settings: SampleOptions<'a>,
    chains: usize,
    key: Key,
    progress: Progress<'a>,
}

impl Problem<'_> {
    /// Whether the chains are run in f32.
    fn single(&self) -> bool {
        suits_f32(self.lowered)
    }
}

/// Whether chains of a model may be run in f32: both layers finite, and many weights.
pub(crate) fn suits_f32<T: Real>(lowered: &LoweredModel<T>) -> bool {
    let finite = [lowered.visible(), lowered.hidden()].iter().all(|s| s.unit().n_states().is_some());
    finite && lowered.weights().len() >= LARGE
}

/// A drawing of rows, block by block, so that any number of them takes little memory.
pub struct Sampling<'a> {
    entry: &'static Entry,
    sampler: Box<dyn Sampler>,
    lowered: LoweredModel<f64>,
    settings: SampleOptions<'a>,
    chains: usize,
    watch: Watch,
    returned: u64,
    sweeps: u64,
    progress: Progress<'a>,
}

/// What is known about rows that were drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The sampler's name.
    pub sampler: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// Chains they come from.
    pub chains: usize,
    /// Largest R̂ of what was followed; none for independent rows and where nothing moves.
    pub r_hat: Option<f64>,
    /// Effective number of rows: the smallest of what was followed, by its bulk ESS; all of them if they are independent.
    pub ess: Option<f64>,
    /// What was followed along the chains: the free energy, and activities along the strongest modes of the weights.
    pub quantities: Vec<TracedQuantity>,
    /// How tempering went, if there was any.
    pub tempered: Option<Tempered>,
    /// What speaks against the rows.
    pub warnings: Vec<Warning>,
}

impl<'a> Sampling<'a> {
    /// Makes the chains; nothing is drawn yet.
    pub fn new(rbm: &Rbm<f64>, settings: SampleOptions<'a>, progress: Progress<'a>) -> Result<Sampling<'a>> {
        Self::of(rbm.lower(), settings, progress)
    }

    /// The same for a lowered model, such as that of the unknown cells of a row ([`LoweredModel::given`]).
    pub fn of(lowered: LoweredModel<f64>, settings: SampleOptions<'a>, progress: Progress<'a>) -> Result<Sampling<'a>> {
        settings.check()?;
        let entry = choose(settings.sampler, &lowered)?;
        let settings = SampleOptions { burn_in: if entry.independent { 0 } else { settings.burn_in }, ..settings };
        if lowered.visible().unit().quadratic() && lowered.hidden().unit().quadratic() {
            // A Gaussian in both layers may have no distribution; the factorisation tells.
            Solved::new(lowered.clone(), progress)?;
        }
        settings.start.check(&lowered)?;
        let (chains, key) = (settings.chains(), Key::root(settings.seed).of(Purpose::Sample));
        let problem = Problem { lowered: &lowered, settings, chains, key, progress };
        let sampler = (entry.make)(&problem)?;
        let watch = Watch::new(&lowered, chains, settings.thin);
        Ok(Sampling { entry, sampler, lowered, settings, chains, watch, returned: 0, sweeps: 0, progress })
    }

    /// Columns of the rows: one for each visible site.
    pub fn columns(&self) -> usize {
        self.lowered.visible().sites()
    }

    /// The next rows of data values, none after the last.
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

    /// Runs the chains until they should have forgotten where they began; the second half is watched.
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

    /// The states of all chains, `thin` sweeps on.
    fn draw(&mut self) -> Result<Array2<f64>> {
        self.advance(self.settings.thin);
        let (x, free_energies) = self.sampler.states()?;
        if !free_energies.iter().all(|f| f.is_finite()) {
            let problem = "a chain ran away: its free energy is not finite; are the parameters too large?";
            return Err(Error::NotNormalisable(problem.into()));
        }
        self.watch.record(x.view(), &free_energies);
        Ok(x)
    }

    fn advance(&mut self, sweeps: u64) {
        let draws = self.settings.n.div_ceil(self.chains as u64);
        let all = self.settings.burn_in + draws * self.settings.thin;
        for first in (0..sweeps).step_by(TOLD as usize) {
            let some = (sweeps - first).min(TOLD);
            self.sampler.advance(some);
            self.sweeps += some;
            (self.progress)(self.sweeps, all);
        }
    }

    /// Rows of columns as data values: the states, or means one round on.
    fn values(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let visible = self.lowered.visible();
        if !self.settings.means {
            return visible.decode(x);
        }
        let key = Key::root(self.settings.seed).of(Purpose::Hidden).step(u64::MAX);
        let hidden = self.lowered.up().sample(x, key, self.returned);
        visible.decode(self.lowered.down().means(hidden.view()).view())
    }

    /// What is known about the rows given so far.
    pub fn finish(self) -> Drawn {
        let quantities = self.watch.quantities();
        let (tempered, chains) = (self.sampler.tempered(), self.chains);
        let mut drawn = Drawn {
            sampler: self.entry.name,
            rows: self.returned,
            chains,
            r_hat: None,
            ess: Some(self.returned as f64),
            quantities,
            tempered,
            warnings: Vec::new(),
        };
        if !self.entry.independent {
            verdict::judge(&mut drawn, self.settings.thin);
        }
        drawn
    }
}

/// All rows at once, and what is known about them.
pub fn draw(rbm: &Rbm<f64>, settings: SampleOptions, progress: Progress) -> Result<(Array2<f64>, Drawn)> {
    let mut sampling = Sampling::new(rbm, settings, progress)?;
    let mut rows = Array2::zeros((0, sampling.columns()));
    while let Some(block) = sampling.block()? {
        // Both have one column per site, so they fit.
        let _ = rows.append(Axis(0), block.view());
    }
    Ok((rows, sampling.finish()))
}

/// The sampler called `name`; `auto` is exact where that takes seconds, and tempers otherwise.
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
