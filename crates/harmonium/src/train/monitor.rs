//! How a run is going: cheap measures on samples of the training and held-out rows, exact likelihood where it is cheap.

use super::init::independent_log_likelihood;
use super::{TrainConfig, shuffled};
use crate::backend::Backend;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::events::{Measures, Progress};
use crate::exact::Exact;
use crate::measure::pseudo_log_likelihood;
use crate::model::Rbm;
use crate::natural::Natural;
use crate::real::Real;
use crate::rng::{Key, Purpose};

/// Rows measured at most, of each kind.
const ROWS: usize = 1000;
/// Rows whose pseudo-likelihood is measured at most: it costs as much as one free energy per site.
const PSEUDO_ROWS: usize = 100;
/// States times columns up to which the exact likelihood is measured during a run: some hundredths of a second.
const CHEAP: f64 = 1e7;

/// Samples of the rows, and what is known of them before learning.
pub(super) struct Monitor<T> {
    train: Dataset<T>,
    valid: Option<Dataset<T>>,
    valid_rows: usize,
    baseline: f64,
    /// Added to every log density: what the data's own units make of it.
    pub log_jacobian: f64,
    exact: bool,
}

impl<T: Real> Monitor<T> {
    pub fn new(
        config: &TrainConfig,
        machine: &Natural<T>,
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
        Monitor {
            baseline: independent_log_likelihood(machine.visible(), data),
            log_jacobian: 0.0,
            valid_rows: valid.as_ref().map_or(0, Dataset::len),
            valid: valid.filter(|v| !v.is_empty()).as_ref().map(sample),
            exact: config.likelihood && Exact::cost(machine).is_some_and(|cost| cost <= CHEAP),
            train,
        }
    }

    pub fn valid_rows(&self) -> usize {
        self.valid_rows
    }

    /// Mean log likelihood of the training rows under independent units, nats per row.
    pub fn baseline(&self) -> f64 {
        self.baseline + self.log_jacobian
    }

    pub fn measure(&self, rbm: &Rbm<T>, backend: &mut dyn Backend<T>) -> Result<Progress> {
        let log_z = match self.exact.then(|| Exact::new(rbm)) {
            Some(Ok(exact)) => Some(exact.log_z() - self.log_jacobian),
            Some(Err(Error::NotNormalisable(_))) | None => None,
            Some(Err(error)) => return Err(error),
        };
        let mut measures = |rows: &Dataset<T>| measures(backend, rows, log_z);
        Ok(Progress { train: measures(&self.train), valid: self.valid.as_ref().map(measures), ..Progress::default() })
    }
}

fn measures<T: Real>(backend: &mut dyn Backend<T>, rows: &Dataset<T>, log_z: Option<f64>) -> Measures {
    let weights = || rows.weights().iter().map(|w| w.f64());
    let total: f64 = weights().sum();
    let free = backend.free_energy(rows.states());
    let free_energy = free.iter().zip(weights()).map(|(f, w)| f * w).sum::<f64>() / total;
    let machine = backend.machine();
    let x = rows.states().columns(machine.visible().unit(), 0, rows.len());
    let again = machine.down().means(machine.up().means(x.view()).view());
    let error = (&x - &again).mapv(|d| d.f64().powi(2)).mean().unwrap_or(0.0);
    let few = rows.len().min(PSEUDO_ROWS);
    let first = x.slice(ndarray::s![..few, ..]).mapv(T::f64);
    Measures {
        rows: rows.len(),
        reconstruction_error: error,
        free_energy,
        log_likelihood: log_z.map(|z| -free_energy - z),
        pseudo_log_likelihood: pseudo_log_likelihood(&machine.widen(), first.view()).and_then(|p| p.mean()),
    }
}

/// What early stopping maximises: the likelihood if it is known, else the pseudo-likelihood, else −reconstruction error.
pub(super) fn score(valid: &Measures) -> f64 {
    valid.log_likelihood.or(valid.pseudo_log_likelihood).unwrap_or(-valid.reconstruction_error)
}
