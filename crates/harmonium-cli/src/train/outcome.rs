//! What was learned: ⟨log p⟩ of all rows where log Z is affordable, ⟨log PL⟩ otherwise, beside independent units.

use crate::progress::Meter;
use anyhow::Result;
use harmonium::data::Preprocess;
use harmonium::measure::sampled_pseudo_log_likelihood;
use harmonium::rng::Key;
use harmonium::{Dataset, Exact, Layer, Natural, Rbm};
use ndarray::Array1;
use rayon::prelude::*;

/// States times columns up to which log Z is computed after a run: below a minute on two cores.
pub const AFFORDABLE: f64 = 2e10;
/// Rows whose pseudo-likelihood is measured at most: its standard error is then a few percent of the rows' spread.
const PSEUDO_ROWS: usize = 1000;
/// Exponentials that the pseudo-likelihood may take, about half a second; of large machines some columns of every row must do.
const PSEUDO_TERMS: f64 = 2e8;
/// Rows that one thread takes at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// How well a machine fits some rows, nats per row of the data as they were given.
pub struct Fit {
    pub rows: usize,
    pub log_likelihood: Option<f64>,
    pub pseudo_log_likelihood: Option<f64>,
    /// The same of independent units that were fitted to the training rows.
    pub baseline: f64,
}

/// A machine as it stands in its file, and log Z if it was affordable.
pub struct Judge<'a> {
    machine: Natural<f64>,
    /// The same in the number type of packed rows.
    narrow: Natural<f32>,
    independent: Natural<f64>,
    jacobian: f64,
    pub exact: Option<&'a Exact>,
}

/// Solves a machine if it is affordable.
pub fn solve(rbm: &Rbm<f32>) -> Result<Option<Exact>> {
    if Exact::cost(&rbm.lower()).is_none_or(|cost| cost > AFFORDABLE) {
        return Ok(None);
    }
    let meter = Meter::new("log Z");
    Ok(Some(Exact::with_progress(rbm, &|done, all| meter.tell(done, Some(all)))?))
}

impl<'a> Judge<'a> {
    pub fn new(
        rbm: &Rbm<f32>,
        preprocess: &Preprocess,
        train: &Dataset<f32>,
        exact: Option<&'a Exact>,
    ) -> Result<Judge<'a>> {
        let jacobian = preprocess.log_jacobian(rbm.visible().kind());
        let independent = independent(rbm, train)?;
        Ok(Judge { machine: rbm.cast::<f64>().lower(), narrow: rbm.lower(), independent, jacobian, exact })
    }

    pub fn fit(&self, rows: &Dataset<f32>) -> Fit {
        let log_likelihood = self.exact.map(|e| self.jacobian - e.log_z() - self.mean_free_energy(rows));
        Fit {
            rows: rows.len(),
            log_likelihood,
            pseudo_log_likelihood: self.pseudo(rows),
            baseline: self.baseline(rows),
        }
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

    fn pseudo(&self, rows: &Dataset<f32>) -> Option<f64> {
        // Rows spread evenly over the data: the first ones of a sorted file are all alike.
        let n = rows.len().min(PSEUDO_ROWS);
        let chosen: Vec<usize> = (0..n).map(|k| k * rows.len() / n.max(1)).collect();
        let few = rows.select(&chosen);
        let x = few.states().columns(self.narrow.visible().unit(), 0, few.len()).mapv(f64::from);
        let each = sampled_pseudo_log_likelihood(&self.machine, x.view(), PSEUDO_TERMS, Key::root(0))? + self.jacobian;
        let sum: f64 = each.iter().zip(few.weights()).map(|(p, w)| p * f64::from(*w)).sum();
        Some(sum / total(&few)).filter(|p| p.is_finite())
    }

    /// ⟨η, ⟨T⟩⟩ − Γ(η): the mean log likelihood of an exponential family needs only the mean statistics.
    fn baseline(&self, rows: &Dataset<f32>) -> f64 {
        let side = self.independent.visible();
        let (moments, _) = rows.moments(self.narrow.visible());
        let norm = side.unit().log_norm(side.eta(), &vec![0.0; side.columns()]);
        (&side.eta() * &moments).sum() - norm + self.jacobian
    }
}

fn total(rows: &Dataset<f32>) -> f64 {
    rows.weights().iter().map(|w| f64::from(*w)).sum()
}

/// A machine of no weights whose visible units have the means and variances of the rows.
fn independent(rbm: &Rbm<f32>, train: &Dataset<f32>) -> Result<Natural<f64>> {
    let visible = rbm.visible();
    let (moments, rows) = train.moments(rbm.lower().visible());
    let none = Array1::zeros(visible.columns());
    let plain = Layer::<f64>::new(visible.kind().clone(), visible.sites());
    let mut par = plain.par().to_owned();
    visible.kind().unit::<f64>().fit(moments.view(), rows, none.view(), par.view_mut());
    let fitted = Layer::from_parts(visible.kind().clone(), par, none)?;
    let hidden = Layer::new(rbm.hidden().kind().clone(), 1);
    let weights = ndarray::Array2::zeros((fitted.columns(), hidden.columns()));
    Ok(Rbm::from_parts(fitted, hidden, weights)?.lower())
}
