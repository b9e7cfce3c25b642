//! log p*(v_B) = log Σ_{v_A, h} exp(−E): exact, or by annealing chains with v_B clamped.
//!
//! At inverse temperature 0 the units are independent, and the clamped ones contribute ⟨η₀, T(v_B)⟩; the rest is annealed
//! importance sampling as for log Z, with some chains per row. The estimate is unbiased before the logarithm and too low after it.

use super::known::KnownPath;
use super::{Conditional, Row};
use crate::backend::Cpu;
use crate::error::Result;
use crate::logz::Estimate;
use crate::rng::{Key, Purpose};
use crate::states::{Bits, States};
use crate::threads;
use ndarray::{ArrayView2, Axis};

/// Rows annealed at once.
const BLOCK: usize = 256;

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
        let key = self.key.of(Purpose::Forward).step(first);
        for (block, rest) in rest.chunks(BLOCK).enumerate() {
            let x = x.select(Axis(0), rest);
            let found = self.annealed(x.view(), &known.select(rest), key.step(block as u64))?;
            for (r, Estimate { value, std_err, .. }) in rest.iter().zip(found) {
                rows[*r] = Score { value, std_err };
            }
        }
        Ok(Scores { rows, exact: some.len() })
    }

    fn annealed(&mut self, x: ArrayView2<f64>, known: &Bits, key: Key) -> Result<Vec<Estimate>> {
        let states = States::of(self.narrow.visible(), x.mapv(|x| x as f32).view());
        let path = match &mut self.path {
            Some(path) => path,
            none => none.insert(KnownPath::new(Box::new(Cpu::new(self.narrow.clone())?), self.key)),
        };
        Ok(path.log_marginals(&states, known, self.settings.chains, key))
    }
}
