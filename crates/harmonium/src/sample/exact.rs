//! Independent samples by enumeration, see [`crate::exact`]. Every chain is a new draw each time.

use super::{Problem, Sampler};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::exact::Solved;
use crate::rng::{Key, Purpose};
use ndarray::{Array1, Array2, s};

/// Numbers drawn at once at most; every time, all states are enumerated again.
const NUMBERS: usize = 1 << 23;

struct Independent {
    exact: Solved,
    key: Key,
    chains: usize,
    /// Draws per chain that are made at once.
    draws: usize,
    number: u64,
    rows: Array2<f64>,
}

pub(super) fn make(problem: &Problem) -> Result<Box<dyn Sampler>> {
    let exact = Solved::new(problem.lowered.clone(), problem.progress).map_err(|error| match error {
        Error::TooManyStates { .. } => error.advise(&[Advice::TemperedSampler]),
        other => other,
    })?;
    let columns = problem.lowered.visible().columns() + problem.lowered.hidden().columns();
    let needed = problem.settings.n.div_ceil(problem.chains as u64);
    let draws = ((NUMBERS / (columns * problem.chains)).max(1) as u64).min(needed) as usize;
    let rows = Array2::zeros((0, problem.lowered.visible().columns()));
    Ok(Box::new(Independent { exact, key: problem.key, chains: problem.chains, draws, number: 0, rows }))
}

impl Sampler for Independent {
    fn advance(&mut self, _: u64) {}

    fn states(&mut self) -> Result<(Array2<f64>, Array1<f64>)> {
        let (block, within) = (self.number / self.draws as u64, (self.number % self.draws as u64) as usize);
        self.number += 1;
        if within == 0 {
            let key = self.key.of(Purpose::ExactState).step(block);
            let (values, _) = self.exact.sample(self.draws * self.chains, key);
            self.rows = self.exact.lowered().visible().encode(values.view(), 1)?;
        }
        let x = self.rows.slice(s![within * self.chains..(within + 1) * self.chains, ..]).to_owned();
        let free_energies = self.exact.lowered().up().free_energy(x.view());
        Ok((x, free_energies))
    }
}
