//! How a run is going: every measure of the list on samples of the rows and of the chains, exact likelihood where it is cheap.
//!
//! Nothing here changes the model or its chains: sweeps are made on a copy, with random numbers of their own.

use super::init::independent_log_likelihood;
use super::{TrainConfig, shuffled};
use crate::backend::{Backend, Slot};
use crate::conditional::{Row, cost, filled};
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::events::{Measures, Progress};
use crate::exact::{Exact, budget};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::measure::{Chains, Context, MeasuredRows, Needs, Value, measure};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::threads;

/// Rows at most, of each kind, whose free energies are taken.
const ROWS: usize = 1000;
/// Rows that are looked at in full: two hundred products with the weights cost as much as one or two updates.
const FULL: usize = 200;
/// Exponentials that one measure may take, for each weight and at least: beside 200 updates of 100 rows about 1 %. Four times
/// as many where early stopping depends on them.
const TERMS_PER_WEIGHT: f64 = 1.5;
const TERMS: f64 = 1e5;
/// The part of the work of the updates that enumeration may add, and where early stopping depends on it.
const EXACT_PART: f64 = 0.1;
const EXACT_PART_STOPPING: f64 = 0.5;
/// Cost of a term of an enumeration, in weights visited by an update.
const WEIGHTS_PER_TERM: f64 = 4.0;
/// Exact likelihoods of a run at least; otherwise it is estimated more often.
const FEWEST_EXACT: f64 = 15.0;
/// Chains that are watched for their autocorrelation, and sweeps that they are watched for.
const WATCHED: usize = 32;
const SWEEPS: u64 = 64;
/// Updates at least between two watches, with 100 rows and 100 chains: those are 300,000 products of a row with the weights,
/// and the 32·64 watched sweeps with their free energies 6,000.
const WATCH_EVERY: u64 = 600;
/// The slot of the watched copies, beyond those of any estimator.
const COPIES: Slot = 7;
/// Sweeps that fill unknown cells of rows that are measured; in the first half of them the chains cool down.
const FILL: u64 = 10;

/// Samples of the rows, and what is known of them before learning.
pub(super) struct Monitor<T> {
    train: Dataset<T>,
    valid: Option<Dataset<T>>,
    valid_rows: usize,
    baseline: f64,
    /// Added to every log density of training rows and held-out rows: what the data's own units make of it.
    log_jacobian: [f64; 2],
    /// Updates between two exact likelihoods, if enumeration is cheap beside them.
    exact_every: Option<u64>,
    /// Whether the likelihood can be reported: of rows with missing cells only where these can be summed over.
    reported: bool,
    terms: f64,
    watch_every: u64,
    last: u64,
    key: Key,
}

impl<T: Real> Monitor<T> {
    pub fn new(
        config: &TrainConfig,
        lowered: &LoweredModel<T>,
        data: &Dataset<T>,
        valid: Option<Dataset<T>>,
        key: Key,
    ) -> Monitor<T> {
        let sample = |data: &Dataset<T>| {
            let mut rows = shuffled(data.len(), key.of(Purpose::Monitor));
            rows.truncate(ROWS);
            data.select(&rows)
        };
        let train = sample(data);
        let mut monitor = Monitor {
            baseline: independent_log_likelihood(lowered.visible(), data),
            log_jacobian: [0.0; 2],
            reported: true,
            valid_rows: valid.as_ref().map_or(0, Dataset::len),
            valid: valid.filter(|v| !v.is_empty()).as_ref().map(sample),
            exact_every: exact_every(config, lowered).filter(|_| config.measures_likelihood()),
            terms: (TERMS_PER_WEIGHT * lowered.weights().len() as f64).max(TERMS)
                * if config.early_stop.is_some() { 4.0 } else { 1.0 },
            watch_every: watch_every(config),
            last: config.updates,
            key: key.of(Purpose::Monitor),
            train,
        };
        monitor.reported =
            std::iter::once(&monitor.train).chain(&monitor.valid).all(|data| can_be_summed(lowered, data));
        monitor
    }

    /// Reports log likelihoods in the units that the rows had before `preprocess`.
    pub fn report_in_units_of(&mut self, preprocess: &Preprocess, side: &LoweredLayer<T>) {
        let one = |data: &Dataset<T>| preprocess.mean_log_jacobian(side, &data.moments(side).known);
        let train = one(&self.train);
        self.log_jacobian = [train, self.valid.as_ref().map_or(train, one)];
    }

    /// Whether the likelihood is reported at all.
    pub fn reports_likelihood(&self) -> bool {
        self.reported
    }

    /// Whether the likelihood is measured exactly.
    pub fn is_exact(&self) -> bool {
        self.exact_every.is_some()
    }

    /// Whether it is after `update` updates.
    pub fn is_exact_at(&self, update: u64) -> bool {
        self.exact_every.is_some_and(|every| update.is_multiple_of(every) || update == self.last)
    }

    /// Never measures the likelihood exactly.
    pub fn never_exact(&mut self) {
        self.exact_every = None;
    }

    pub fn valid_rows(&self) -> usize {
        self.valid_rows
    }

    /// Mean log likelihood of the training rows under independent units, nats per row.
    pub fn baseline(&self) -> f64 {
        self.baseline + self.log_jacobian[0]
    }

    /// What the model makes of the rows after `update` updates.
    pub fn look(&self, backend: &mut dyn Backend<T>, update: u64) -> Result<LookedAt> {
        let lowered = backend.model().widen();
        let train = self.rows(backend, &lowered, &self.train, update)?;
        let valid = self.valid.as_ref().map(|v| self.rows(backend, &lowered, v, update)).transpose()?;
        Ok(LookedAt { lowered, train, valid })
    }

    /// The measured rows that are complete, with their free energies.
    pub fn complete<'a>(&'a self, looked: &'a LookedAt) -> Vec<(&'a States<T>, &'a [f64])> {
        let pairs = [(Some(&self.train), Some(&looked.train)), (self.valid.as_ref(), looked.valid.as_ref())];
        let complete = pairs.into_iter().filter_map(|(data, rows)| data.zip(rows));
        let complete = complete.filter(|(data, _)| data.known().is_none());
        complete.filter_map(|(data, rows)| Some((data.states(), rows.free_energies.as_slice()?))).collect()
    }

    /// All measures after `update` updates; `chains` are persistent ones, and log Z has a standard error unless it is exact.
    pub fn measure(
        &self,
        looked: &LookedAt,
        backend: &mut dyn Backend<T>,
        update: u64,
        chains: Option<&States<T>>,
        log_z: Option<(f64, Option<f64>)>,
    ) -> Progress {
        let watch = update.is_multiple_of(self.watch_every) || update == self.last;
        let chains = self.chains(backend, update, chains, watch);
        let ([log_jacobian, of_valid], key, terms) = (self.log_jacobian, self.key, self.terms);
        let (rows, held_out, chains) = (Some(&looked.train), looked.valid.as_ref(), chains.as_ref());
        let cx = Context { lowered: &looked.lowered, log_jacobian, rows, held_out, chains, key, terms };
        let log_z = log_z.filter(|_| self.reported);
        let mut progress = Progress { train: measures(&cx, log_z), ..Progress::default() };
        progress.valid = held_out
            .map(|rows| measures(&Context { rows: Some(rows), held_out: None, log_jacobian: of_valid, ..cx }, log_z));
        let once: &[Needs] = match watch {
            true => &[Needs::HeldOut, Needs::Chains, Needs::Trace, Needs::Model],
            false => &[Needs::HeldOut, Needs::Chains],
        };
        tell(&cx, once, &mut |name, value| {
            progress.more.insert(name.into(), value);
        });
        progress
    }

    /// What the model makes of some rows. Unknown cells are filled with draws first, and where they can be summed over the
    /// free energies are −log p*(v_B) of what is known.
    fn rows(
        &self,
        backend: &mut dyn Backend<T>,
        lowered: &LoweredModel<f64>,
        data: &Dataset<T>,
        update: u64,
    ) -> Result<MeasuredRows> {
        let Some(known) = data.known() else { return Ok(MeasuredRows::new(backend, data, FULL)) };
        let key = self.key.of(Purpose::Missing).step(update);
        let filled = filled(backend, COPIES, data, FILL, key);
        let mut rows = MeasuredRows::new(backend, &filled, FULL);
        if self.reported {
            let x = filled.states().columns(backend.layers()[0], 0, filled.len()).mapv(T::f64);
            let found = threads::map(true, 0..filled.len(), |r| {
                Row { lowered, x: x.row(r).to_vec(), known, number: r }.log_p().map(|p| -p)
            });
            rows.free_energies = found.into_iter().collect::<Result<_>>()?;
        }
        Ok(rows)
    }

    /// The persistent chains as they stand; with `watch` some of them have run on. A run without such chains has samples only
    /// then, from chains that begin at rows.
    fn chains(
        &self,
        backend: &mut dyn Backend<T>,
        update: u64,
        now: Option<&States<T>>,
        watch: bool,
    ) -> Option<Chains> {
        let still = now.map(|states| Chains::still(&backend.model(), states));
        if !watch {
            return still;
        }
        let begin = now.unwrap_or(self.train.states());
        let some: Vec<usize> = (0..begin.rows().min(WATCHED)).collect();
        let watched = Chains::watched(backend, COPIES, &begin.select(&some), SWEEPS, self.key.step(update));
        Some(match still {
            Some(still) => Chains { trace: watched.trace, ..still },
            None => watched,
        })
    }
}

/// The model and what it makes of the rows.
pub(super) struct LookedAt {
    lowered: LoweredModel<f64>,
    train: MeasuredRows,
    valid: Option<MeasuredRows>,
}

/// Updates between two exact likelihoods: every measurement where that is cheap anyway, else as many as keep enumeration at a
/// small part of the work of the updates; none if that would be too seldom.
fn exact_every<T: Real>(config: &TrainConfig, lowered: &LoweredModel<T>) -> Option<u64> {
    let cost = Exact::cost(lowered)?;
    if budget::MONITOR.allows(Some(cost)) {
        return Some(config.report_every);
    }
    let part = if config.early_stop.is_some() { EXACT_PART_STOPPING } else { EXACT_PART };
    let work = config.rows_per_update() * lowered.weights().len() as f64;
    let updates = cost * WEIGHTS_PER_TERM / (part * work);
    let every = (updates / config.report_every as f64).ceil() * config.report_every as f64;
    (every * FEWEST_EXACT <= config.updates as f64).then_some(every as u64)
}

/// Whether the unknown cells of rows, if there are any, can be summed over in little time.
fn can_be_summed<T: Real>(lowered: &LoweredModel<T>, data: &Dataset<T>) -> bool {
    let Some(known) = data.known() else { return true };
    let all: Option<f64> = (0..data.len()).map(|r| cost(lowered.layers(), known, r)).sum();
    budget::MONITOR.allows(all)
}

/// Updates between two watches: a multiple of those between measurements, and more of them if batches are small.
fn watch_every(config: &TrainConfig) -> u64 {
    let rows = (config.batch_size + config.chains) as u64;
    let every = WATCH_EVERY.max(WATCH_EVERY * 200 / rows.max(1));
    every.div_ceil(config.report_every).saturating_mul(config.report_every)
}

/// Tells every number, and its standard error where there is one.
fn tell(cx: &Context, needs: &[Needs], set: &mut dyn FnMut(&str, f64)) {
    for Value { name, value, std_err } in measure(cx, needs).into_iter().flat_map(|m| m.1) {
        set(name, value);
        if let Some(error) = std_err {
            set(&format!("{name}_std_err"), error);
        }
    }
}

/// The measures of one set of rows.
fn measures(cx: &Context, log_z: Option<(f64, Option<f64>)>) -> Measures {
    let rows = cx.rows.map_or(0, |r| r.weights.len());
    let mut measures = Measures { rows, reconstruction_error: f64::NAN, free_energy: f64::NAN, ..Measures::default() };
    tell(cx, &[Needs::Rows], &mut |name, value| measures.set(name, value));
    measures.log_likelihood = log_z.map(|z| cx.log_jacobian - measures.free_energy - z.0);
    measures.log_likelihood_std_err = log_z.and_then(|z| z.1);
    measures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rbm;
    use crate::units::Kind;

    /// Beside 200 updates of 100 rows and 100 chains: every measurement up to 2¹⁶ states of 100 columns, then fewer, then none.
    /// Early stopping depends on it and pays more.
    #[test]
    fn exact_likelihoods_are_measured_as_often_as_they_are_cheap() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let every = |hidden: usize, early_stop: Option<u64>| {
            let rbm: Rbm<f32> = Rbm::new(kind.clone(), 100, kind.clone(), hidden).unwrap();
            exact_every(&TrainConfig { early_stop, ..TrainConfig::default() }, &rbm.lower())
        };
        assert_eq!([16, 17, 23].map(|m| every(m, None)), [Some(200), Some(600), None]);
        assert_eq!([16, 18, 23].map(|m| every(m, Some(10))), [Some(200), Some(200), None]);
    }
}
