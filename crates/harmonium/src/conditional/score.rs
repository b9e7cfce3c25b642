//! log p*(v_B) = log Σ_{v_A, h} exp(−E): exact, or annealed with some chains per row.

use super::known::annealed;
use super::{Conditional, ConditionalOptions, Row};
use crate::bits::Bits;
use crate::error::Result;
use crate::exact::budget;
use crate::rng::Purpose;
use crate::threads;
use ndarray::ArrayView2;

/// log p*(v_B) of one row, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The value.
    pub value: f64,
    /// Its standard error; 0 if exact.
    pub std_err: f64,
    /// The part of it that does not average out over rows: what was added to the logarithm of a mean, which is too low on average;
    /// all of it where chains do not mix.
    pub doubt: f64,
}

impl Score {
    /// The standard error of a weighted mean of scores; 0 of none.
    pub fn error_of_mean(scores: &[Score], weights: &[f64]) -> f64 {
        let sum = |f: &dyn Fn(&Score, f64) -> f64| scores.iter().zip(weights).map(|(s, w)| f(s, *w)).sum::<f64>();
        let apart = sum(&|s, w| w * w * (s.std_err.powi(2) - s.doubt.powi(2)));
        (apart + sum(&|s, w| w * s.doubt).powi(2)).max(0.0).sqrt() / weights.iter().sum::<f64>().max(1e-300)
    }
}

/// log p*(v_B) of some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// One for each row.
    pub rows: Vec<Score>,
    /// How many of them are exact.
    pub exact: usize,
}

impl Conditional {
    /// log Σ exp(−E) over the hidden layer and the cells of rows of columns that are not `known`; minus log Z, it is the log
    /// likelihood of the known cells.
    pub fn scores(&mut self, x: ArrayView2<f64>, known: &Bits, first: u64) -> Result<Scores> {
        let (some, rest) = self.parted(known, |cost| budget::ROW.allows(cost));
        let mut rows = vec![Score::default(); x.nrows()];
        let lowered = &self.lowered;
        let solved = threads::map(some.len() > 1, some.iter(), |&r| {
            Row { lowered, x: x.row(r).to_vec(), known, number: r }.log_p()
        });
        for (r, log_z) in some.iter().zip(solved) {
            rows[*r].value = log_z?;
        }
        let ConditionalOptions { chains, device, .. } = self.settings;
        let key = self.key.of(Purpose::Missing).step(first);
        let found = threads::map(rest.len() > 1, rest.iter(), |&r| {
            let unknown = lowered.clamped(&x.row(r).to_vec(), |site| known.get(r, site));
            annealed(unknown.cast(), device, chains, key.step(r as u64))
        });
        for (r, score) in rest.iter().zip(found) {
            rows[*r] = score?;
        }
        Ok(Scores { rows, exact: some.len() })
    }
}
