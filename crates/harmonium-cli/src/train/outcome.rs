//! What was learned: ⟨log p⟩ and ⟨log PL⟩ of all rows, beside independent units.

use crate::progress::Meter;
use anyhow::Result;
use harmonium::data::Preprocess;
use harmonium::logz::{self, LogZ};
use harmonium::measure::{Value, sampled_pseudo_log_likelihood};
use harmonium::rng::Key;
use harmonium::{Dataset, Natural, Rbm};
use ndarray::Array2;
use rayon::prelude::*;

/// Rows that help an estimate of log Z, and the work it may be after a run: some ten seconds on two cores.
const ROWS: usize = 1000;
const BUDGET: f64 = 1e12;
/// Rows whose pseudo-likelihood is measured at most: its standard error is then a few percent of the rows' spread.
const PSEUDO_ROWS: usize = 1000;
/// Exponentials that the pseudo-likelihood may take, about half a second; of large machines some columns of every row must do.
const PSEUDO_TERMS: f64 = 2e8;
/// Rows that one thread takes at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// How well a machine fits some rows, nats per row of the data as they were given.
pub struct Fit {
    pub rows: usize,
    /// Sum of the weights of the rows.
    pub weight: f64,
    pub log_likelihood: Option<f64>,
    /// Standard error of that mean over the rows; log Z has its own.
    pub rows_std_err: f64,
    pub pseudo_log_likelihood: Option<f64>,
    /// Its standard error.
    pub pseudo_std_err: f64,
    /// The same of independent units that were fitted to the training rows.
    pub baseline: f64,
}

/// A machine as it stands in its file, and its log Z if it was asked for.
pub struct Judge<'a> {
    machine: Natural<f64>,
    /// The same in the number type of packed rows.
    narrow: Natural<f32>,
    /// Natural parameters of independent units fitted to the training rows.
    independent: Array2<f64>,
    jacobian: f64,
    log_z: Option<&'a LogZ>,
}

/// log Z of a machine, exact where that is affordable.
pub fn solve(rbm: &Rbm<f32>, train: &Dataset<f32>, seed: u64) -> Result<LogZ> {
    let meter = Meter::new("log Z");
    let few = train.select(&evenly(train.len(), ROWS));
    let rows = few.states().columns(rbm.lower().visible().unit(), 0, few.len()).mapv(f64::from);
    let settings = logz::Settings { seed, data: Some(&rows), budget: BUDGET, ..Default::default() };
    Ok(logz::log_z(&rbm.cast::<f64>(), "auto", settings, &|done, all| meter.tell(done, Some(all)))?)
}

/// Numbers of at most `most` rows, spread evenly over the data: the first ones of a sorted file are all alike.
fn evenly(rows: usize, most: usize) -> Vec<usize> {
    let n = rows.min(most);
    (0..n).map(|k| k * rows / n.max(1)).collect()
}

impl<'a> Judge<'a> {
    pub fn new(rbm: &Rbm<f32>, preprocess: &Preprocess, train: &Dataset<f32>, log_z: Option<&'a LogZ>) -> Judge<'a> {
        let jacobian = preprocess.log_jacobian(rbm.visible().kind());
        let (moments, rows) = train.moments(rbm.lower().visible());
        let independent = rbm.visible().kind().fitted(moments.view(), rows);
        Judge { machine: rbm.cast::<f64>().lower(), narrow: rbm.lower(), independent, jacobian, log_z }
    }

    pub fn fit(&self, rows: &Dataset<f32>) -> Fit {
        let free = self.free_energy(rows);
        let pseudo = self.pseudo(rows);
        Fit {
            rows: rows.len(),
            weight: weights(rows).iter().sum(),
            log_likelihood: self.log_z.map(|z| self.jacobian - z.value - free.value),
            rows_std_err: free.std_err.unwrap_or(0.0),
            pseudo_log_likelihood: pseudo.map(|p| p.value),
            pseudo_std_err: pseudo.and_then(|p| p.std_err).unwrap_or(0.0),
            baseline: self.baseline(rows),
        }
    }

    /// ⟨F⟩ and its standard error over the rows.
    fn free_energy(&self, rows: &Dataset<f32>) -> Value {
        let (up, unit) = (self.machine.up(), self.narrow.visible().unit());
        let starts: Vec<usize> = (0..rows.len()).step_by(CHUNK).collect();
        let chunk = |&a: &usize| {
            let x = rows.states().columns(unit, a, (a + CHUNK).min(rows.len())).mapv(f64::from);
            up.free_energy(x.view()).to_vec()
        };
        let each: Vec<Vec<f64>> = starts.par_iter().map(chunk).collect();
        Value::mean("free_energy", each.iter().flatten().copied(), &weights(rows))
    }

    fn pseudo(&self, rows: &Dataset<f32>) -> Option<Value> {
        let few = rows.select(&evenly(rows.len(), PSEUDO_ROWS));
        let x = few.states().columns(self.narrow.visible().unit(), 0, few.len()).mapv(f64::from);
        let each = sampled_pseudo_log_likelihood(&self.machine, x.view(), PSEUDO_TERMS, Key::root(0))? + self.jacobian;
        Some(Value::mean("pseudo_log_likelihood", each.iter().copied(), &weights(&few))).filter(|p| p.value.is_finite())
    }

    /// ⟨η, ⟨T⟩⟩ − Γ(η): the mean log likelihood of an exponential family needs only the mean statistics.
    fn baseline(&self, rows: &Dataset<f32>) -> f64 {
        let (moments, _) = rows.moments(self.narrow.visible());
        let unit = self.machine.visible().unit();
        let norm = unit.log_norm(self.independent.view(), &vec![0.0; moments.ncols()]);
        (&self.independent * &moments).sum() - norm + self.jacobian
    }
}

fn weights(rows: &Dataset<f32>) -> Vec<f64> {
    rows.weights().iter().map(|w| f64::from(*w)).collect()
}
