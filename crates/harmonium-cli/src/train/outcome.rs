//! What was learned: ⟨log p⟩ and ⟨log PL⟩ of all rows, beside independent units.

use crate::progress::Meter;
use anyhow::Result;
use harmonium::conditional::{self, Conditional};
use harmonium::data::Preprocess;
use harmonium::logz::{self, LogZ};
use harmonium::measure::sampled_pseudo_log_likelihood;
use harmonium::rng::Key;
use harmonium::{Bits, Dataset, Natural, Rbm};
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
/// Rows whose unknown cells are summed over at a time.
const PIECE: usize = 100;

/// How well a machine fits some rows, nats per row of the data as they were given.
pub struct Fit {
    pub rows: usize,
    /// Of the cells that are known.
    pub log_likelihood: Option<f64>,
    /// Standard error that summing over unknown cells brings, log Z apart; 0 if there are none or the sums are exact.
    pub std_err: f64,
    /// How unknown cells were summed over, in words, if there are any.
    pub missing: Option<String>,
    pub pseudo_log_likelihood: Option<f64>,
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
    preprocess: &'a Preprocess,
    rbm: &'a Rbm<f32>,
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
    pub fn new(
        rbm: &'a Rbm<f32>,
        preprocess: &'a Preprocess,
        train: &Dataset<f32>,
        log_z: Option<&'a LogZ>,
    ) -> Judge<'a> {
        let narrow = rbm.lower();
        let independent = train.moments(narrow.visible()).fitted(rbm.visible().kind());
        Judge { machine: rbm.cast::<f64>().lower(), narrow, independent, preprocess, rbm, log_z }
    }

    pub fn fit(&self, rows: &Dataset<f32>) -> Result<Fit> {
        let moments = rows.moments(self.narrow.visible());
        let kind = self.rbm.visible().kind();
        let jacobian = self.preprocess.mean_log_jacobian(kind, &moments.known);
        let (energy, std_err, missing) = match (self.log_z, rows.known()) {
            (None, _) => (0.0, 0.0, None),
            (Some(_), None) => (self.mean_free_energy(rows), 0.0, None),
            (Some(_), Some(known)) => self.energy_of_known(rows, known)?,
        };
        Ok(Fit {
            rows: rows.len(),
            log_likelihood: self.log_z.map(|z| jacobian - z.value - energy),
            std_err,
            missing,
            pseudo_log_likelihood: rows.known().is_none().then(|| self.pseudo(rows, jacobian)).flatten(),
            baseline: moments.log_likelihood(kind, &self.independent) + jacobian,
        })
    }

    /// −⟨log p*(v_B)⟩ of some rows with its error, and how it was found.
    fn energy_of_known(&self, rows: &Dataset<f32>, known: &Bits) -> Result<(f64, f64, Option<String>)> {
        let meter = Meter::new("unknown cells");
        let which = evenly(rows.len(), ROWS);
        let mut ask = Conditional::new(&self.rbm.cast::<f64>(), conditional::Settings::default())?;
        let (mut sum, mut squares, mut total, mut exact) = (0.0, 0.0, 0.0, 0);
        for (done, some) in which.chunks(PIECE).enumerate() {
            let few = rows.select(some);
            let x = few.states().columns(self.narrow.visible().unit(), 0, few.len()).mapv(f64::from);
            let scores = ask.scores(x.view(), &known.select(some), some[0] as u64)?;
            exact += scores.exact;
            for (score, w) in scores.rows.iter().zip(few.weights()) {
                let w = f64::from(*w);
                (sum, squares, total) = (sum - w * score.value, squares + (w * score.std_err).powi(2), total + w);
            }
            meter.tell(((done + 1) * PIECE) as u64, Some(which.len() as u64));
        }
        let of = if which.len() < rows.len() {
            format!("{} of {} rows", which.len(), rows.len())
        } else {
            "all rows".into()
        };
        let how = match exact == which.len() {
            true => format!("summed over exactly, in {of}"),
            false => format!("annealed in {} rows of {of}, summed over exactly in the others", which.len() - exact),
        };
        Ok((sum / total, squares.sqrt() / total, Some(how)))
    }

    fn mean_free_energy(&self, rows: &Dataset<f32>) -> f64 {
        let (up, unit) = (self.machine.up(), self.narrow.visible().unit());
        let starts: Vec<usize> = (0..rows.len()).step_by(CHUNK).collect();
        let chunk = |&a: &usize| {
            let b = (a + CHUNK).min(rows.len());
            let x = rows.states().columns(unit, a, b).mapv(f64::from);
            let weights = rows.weights()[a..b].iter().map(|w| f64::from(*w));
            up.free_energy(x.view()).iter().zip(weights).map(|(f, w)| f * w).sum::<f64>()
        };
        let sums: Vec<f64> = starts.par_iter().map(chunk).collect();
        sums.iter().sum::<f64>() / total(rows)
    }

    fn pseudo(&self, rows: &Dataset<f32>, jacobian: f64) -> Option<f64> {
        let few = rows.select(&evenly(rows.len(), PSEUDO_ROWS));
        let x = few.states().columns(self.narrow.visible().unit(), 0, few.len()).mapv(f64::from);
        let each = sampled_pseudo_log_likelihood(&self.machine, x.view(), PSEUDO_TERMS, Key::root(0))? + jacobian;
        let sum: f64 = each.iter().zip(few.weights()).map(|(p, w)| p * f64::from(*w)).sum();
        Some(sum / total(&few)).filter(|p| p.is_finite())
    }
}

fn total(rows: &Dataset<f32>) -> f64 {
    rows.weights().iter().map(|w| f64::from(*w)).sum()
}
