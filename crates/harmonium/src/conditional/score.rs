//! log p*(v_B) = log Σ_{v_A, h} exp(−E): exact, or annealed with some chains per row.

use super::known::annealed;
use super::{Conditional, Row};
use crate::error::Result;
use crate::logz::Estimate;
use crate::rng::Purpose;
use crate::states::Bits;
use crate::threads;
use ndarray::ArrayView2;

/// log p*(v_B) of one row, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The value.
    pub value: f64,
    /// Its standard error; 0 if exact.
    pub std_err: f64,
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
        let (some, rest) = self.parted(known);
        let mut rows = vec![Score { value: 0.0, std_err: 0.0 }; x.nrows()];
        let lowered = &self.lowered;
        let solved = threads::map(some.len() > 1, some.iter(), |&r| {
            Row { lowered, x: x.row(r).to_vec(), known, number: r }.log_p()
        });
        for (r, log_z) in some.iter().zip(solved) {
            rows[*r].value = log_z?;
        }
        let (key, chains) = (self.key.of(Purpose::Missing).step(first), self.settings.chains);
        let found = threads::map(rest.len() > 1, rest.iter(), |&r| {
            let unknown = lowered.clamped(&x.row(r).to_vec(), |site| known.get(r, site));
            annealed(unknown.cast(), chains, key.step(r as u64))
        });
        for (r, estimate) in rest.iter().zip(found) {
            let Estimate { value, std_err, .. } = estimate?;
            rows[*r] = Score { value, std_err };
        }
        Ok(Scores { rows, exact: some.len() })
    }
}
