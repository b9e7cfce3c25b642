//! How well a model fits: mean log likelihood and pseudo-likelihood of all rows, beside a baseline of independent columns.

use super::front::{Front, Stage};
use super::spec::Spec;
use crate::backend::DeviceRef;
use crate::bits::Bits;
use crate::conditional::{self, Conditional, Score};
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::exact::budget;
use crate::logz::{self, LogZ};
use crate::lowered::LoweredModel;
use crate::measure::{Value, sampled_pseudo_log_likelihood};
use crate::model::Rbm;
use crate::rng::Key;
use ndarray::Array2;
use rayon::prelude::*;

/// Rows that help an estimate of log Z or show which hidden units are idle, and the work it may take after a run, per second that it may take on two cores.
pub(super) const ROWS: usize = 1000;
const DEEPEST: usize = 256;
const WORK_PER_SECOND: f64 = 1e11;
/// Seconds at least that the estimate after a run may take.
const SECONDS: f64 = 10.0;
/// Rows whose pseudo-likelihood is measured at most: its standard error is then a few percent of the rows' spread.
const PSEUDO_ROWS: usize = 1000;
/// Exponentials that the pseudo-likelihood may take, about half a second; of large models some columns of every row must do.
const PSEUDO_TERMS: f64 = 2e8;
/// Rows that one thread takes at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;
/// Rows whose missing cells are summed over at a time.
const PIECE: usize = 100;

/// How well a model fits some rows, in nats per row, in the units of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsFit {
    /// Number of rows.
    pub rows: usize,
    /// Sum of the weights of the rows.
    pub(crate) weight: f64,
    /// Mean log likelihood of the known cells, if log Z was computed and the rows do not refute it.
    pub log_likelihood: Option<f64>,
    /// Whether the rows refute log Z: their mean probability would be larger than 1.
    pub refuted: bool,
    /// Standard error from summing over missing cells, without that of log Z; 0 if there are none or the sums are exact.
    pub(crate) std_err: f64,
    /// How missing cells were summed over, if there are any.
    pub missing: Option<Summed>,
    /// Standard error of that mean over the rows; log Z has its own.
    pub(crate) rows_std_err: f64,
    /// Mean log pseudo-likelihood, if no cell is missing.
    pub pseudo_log_likelihood: Option<f64>,
    /// Its standard error.
    pub pseudo_std_err: f64,
    /// Mean log likelihood under independent columns fitted to the training rows.
    pub baseline: f64,
}

/// The standard error of a mean log likelihood, and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// From log Z; 0 if it is exact.
    pub log_z: f64,
    /// From summing over missing cells.
    pub missing: f64,
    /// From the rows, as a sample of what they were drawn from.
    pub rows: f64,
}

impl Errors {
    /// All of them together.
    pub fn total(&self) -> f64 {
        self.log_z.hypot(self.missing).hypot(self.rows)
    }
}

impl RowsFit {
    /// The errors of its mean log likelihood.
    pub fn errors(&self, log_z: &LogZ) -> Errors {
        Errors { log_z: log_z.std_err, missing: self.std_err, rows: self.rows_std_err }
    }
}

/// A mean log likelihood, if it is possible: probabilities are at most 1, so that only densities have positive logarithms.
/// What rounding adds to 0 is taken off.
pub fn possible(log_likelihood: f64, visible_is_finite: bool) -> Option<f64> {
    const ROUNDING: f64 = 1e-6;
    match visible_is_finite {
        true if log_likelihood > ROUNDING => None,
        true => Some(log_likelihood.min(0.0)),
        false => Some(log_likelihood),
    }
}

/// How missing cells were summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summed {
    /// Rows summed over exactly; the others were annealed.
    pub exact: usize,
    /// Rows looked at.
    pub of: usize,
    /// Rows in all.
    pub rows: usize,
}

/// Measures how well a model fits rows.
pub struct Fitness<'a> {
    device: DeviceRef,
    wide: LoweredModel<f64>,
    /// The same in the number type of packed rows.
    narrow: LoweredModel<f32>,
    /// Natural parameters of independent units fitted to the training rows.
    independent: Array2<f64>,
    preprocess: &'a Preprocess,
    rbm: &'a Rbm<f32>,
    log_z: Option<&'a LogZ>,
    front: &'a dyn Front,
}

/// How long log Z may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// This many seconds, as it was asked for.
    Asked(f64),
    /// As long as training took, if that is known, and ten seconds at least.
    AsTraining(Option<f64>),
}

impl Time {
    fn seconds(self) -> f64 {
        match self {
            Time::Asked(seconds) => seconds,
            Time::AsTraining(seconds) => seconds.unwrap_or(0.0).max(SECONDS),
        }
    }

    /// The counted work after which no further round starts: it depends on the clock only if longer was asked for.
    fn work(self) -> f64 {
        match self {
            Time::Asked(seconds) => WORK_PER_SECOND * seconds.max(SECONDS),
            Time::AsTraining(_) => WORK_PER_SECOND * SECONDS,
        }
    }
}

/// log Z of a model, exact where that is affordable.
pub fn log_z(spec: &Spec, rbm: &Rbm<f32>, train: &Dataset<f32>, time: Time, front: &dyn Front) -> Result<LogZ> {
    let (seed, device) = (spec.train.seed, spec.device);
    let some_rows = train.select(&deepest_and_others(device, rbm, train)?);
    let rows = some_rows.states().columns(rbm.lower().visible(), 0, some_rows.len()).mapv(f64::from);
    let (budget, time) = (time.work(), Some(time.seconds()));
    let settings = logz::LogZOptions { seed, device, data: Some(&rows), budget, time, ..Default::default() };
    logz::log_z(&rbm.cast::<f64>(), "auto", settings, &|done, all| front.progress(Stage::LogZ, done, Some(all)))
}

/// Numbers of the deepest rows, and of others spread over the data. A model that has memorised rows has most of its mass there.
fn deepest_and_others(device: DeviceRef, rbm: &Rbm<f32>, train: &Dataset<f32>) -> Result<Vec<usize>> {
    let energies = device.backend(rbm.lower())?.free_energy(train.states());
    let mut order: Vec<usize> = (0..train.len()).collect();
    order.sort_by(|a, b| energies[*a].total_cmp(&energies[*b]));
    order.truncate(DEEPEST);
    order.extend(evenly(train.len(), ROWS));
    Ok(order)
}

/// Numbers of at most `most` rows, spread evenly over the data: the first ones of a sorted file are all alike.
pub(super) fn evenly(rows: usize, most: usize) -> Vec<usize> {
    let n = rows.min(most);
    (0..n).map(|k| k * rows / n.max(1)).collect()
}

impl<'a> Fitness<'a> {
    /// Of a model with its log Z, if that was computed; `train` fits the baseline.
    pub fn new(
        device: DeviceRef,
        rbm: &'a Rbm<f32>,
        preprocess: &'a Preprocess,
        train: &Dataset<f32>,
        log_z: Option<&'a LogZ>,
        front: &'a dyn Front,
    ) -> Fitness<'a> {
        let narrow = rbm.lower();
        let independent = train.moments(narrow.visible()).fitted(rbm.visible().layout());
        Fitness { device, wide: rbm.cast::<f64>().lower(), narrow, independent, preprocess, rbm, log_z, front }
    }

    /// How well it fits some rows.
    pub fn fit(&self, rows: &Dataset<f32>) -> Result<RowsFit> {
        let moments = rows.moments(self.narrow.visible());
        let layer = self.rbm.visible().layout();
        let jacobian = self.preprocess.mean_log_jacobian(layer, &moments.known);
        let (energy, std_err, missing) = match (self.log_z, rows.known()) {
            (Some(_), Some(known)) => self.energy_of_known(rows, known)?,
            _ => (self.free_energy(rows), 0.0, None),
        };
        let pseudo = rows.known().is_none().then(|| self.pseudo(rows, jacobian)).flatten();
        let log_likelihood = self.log_z.map(|z| jacobian - z.value - energy.value);
        let finite = self.narrow.visible().is_finite();
        let known = log_likelihood.and_then(|l| possible(l, finite));
        Ok(RowsFit {
            rows: rows.len(),
            weight: weights(rows).iter().sum(),
            log_likelihood: known,
            refuted: known.is_none() && log_likelihood.is_some(),
            rows_std_err: energy.std_err.unwrap_or(0.0),
            std_err,
            missing,
            pseudo_log_likelihood: pseudo.map(|p| p.value),
            pseudo_std_err: pseudo.and_then(|p| p.std_err).unwrap_or(0.0),
            baseline: moments.log_likelihood(layer, &self.independent) + jacobian,
        })
    }

    /// −⟨log p*(v_B)⟩ of some rows, the error from summing over missing cells, and how that was done.
    fn energy_of_known(&self, rows: &Dataset<f32>, known: &Bits) -> Result<(Value, f64, Option<Summed>)> {
        let mut ask = Conditional::new(
            &self.rbm.cast::<f64>(),
            conditional::ConditionalOptions { device: self.device, ..Default::default() },
        )?;
        let all_rows = budget::ALL_ROWS.allows(ask.cost(known));
        let which = evenly(rows.len(), if all_rows { rows.len() } else { ROWS });
        let (mut all, mut exact) = (Vec::new(), 0);
        for some in which.chunks(PIECE) {
            let some_rows = rows.select(some);
            let x = some_rows.states().columns(self.narrow.visible(), 0, some_rows.len()).mapv(f64::from);
            let scores = ask.scores(x.view(), &known.select(some), some[0] as u64)?;
            exact += scores.exact;
            all.extend(scores.rows);
            self.front.progress(Stage::MissingCells, all.len() as u64, Some(which.len() as u64));
        }
        let how = Summed { exact, of: which.len(), rows: rows.len() };
        let weights = weights(&rows.select(&which));
        let energy = Value::mean("free_energy", all.iter().map(|s| -s.value), &weights);
        Ok((energy, Score::error_of_mean(&all, &weights), Some(how)))
    }

    /// ⟨F⟩ and its standard error over the rows.
    fn free_energy(&self, rows: &Dataset<f32>) -> Value {
        let (up, layer) = (self.wide.up(), self.narrow.visible());
        let starts: Vec<usize> = (0..rows.len()).step_by(CHUNK).collect();
        let chunk = |&a: &usize| {
            let x = rows.states().columns(layer, a, (a + CHUNK).min(rows.len())).mapv(f64::from);
            up.free_energy(x.view()).to_vec()
        };
        let each: Vec<Vec<f64>> = starts.par_iter().map(chunk).collect();
        Value::mean("free_energy", each.iter().flatten().copied(), &weights(rows))
    }

    fn pseudo(&self, rows: &Dataset<f32>, jacobian: f64) -> Option<Value> {
        let some_rows = rows.select(&evenly(rows.len(), PSEUDO_ROWS));
        let x = some_rows.states().columns(self.narrow.visible(), 0, some_rows.len()).mapv(f64::from);
        let each = sampled_pseudo_log_likelihood(&self.wide, x.view(), PSEUDO_TERMS, Key::root(0))? + jacobian;
        Some(Value::mean("pseudo_log_likelihood", each.iter().copied(), &weights(&some_rows)))
            .filter(|p| p.value.is_finite())
    }
}

fn weights(rows: &Dataset<f32>) -> Vec<f64> {
    rows.weights().iter().map(|w| f64::from(*w)).collect()
}
