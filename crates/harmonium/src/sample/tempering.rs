//! Parallel tempering as a sampler: every chain is the last rung of a ladder of chains at other temperatures, where barriers
//! are low, and neighbouring rungs swap their states.
//!
//! The first temperatures follow from the speed at which the distribution changes along the path. During the first half of the
//! burn-in they move, and their number changes, until all swaps are accepted about equally often, half of the time.

use super::gibbs::with_free_energies;
use super::ladder::Ladders;
use super::path::{Path, Pilots};
use super::{Problem, Sampler};
use crate::backend::{Chains, Slot};
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use ndarray::{Array1, Array2};

const CHAINS: Slot = 0;
/// Most temperatures of a ladder.
pub(super) const MOST_RUNGS: usize = 200;
/// Fewest temperatures that are chosen.
const LEAST_RUNGS: usize = 3;

struct Tempering<T: Real> {
    backend: Box<dyn Chains<T>>,
    ladders: Ladders<T>,
    /// Number of temperatures, if it was set.
    rungs: Option<usize>,
    key: Key,
    sweeps: u64,
}

/// Statistics of parallel tempering.
#[derive(Clone, Debug, PartialEq)]
pub struct Tempered {
    /// Inverse temperatures, from independent units at 0 to the model at 1.
    pub betas: Vec<f64>,
    /// The fraction of accepted swaps between each temperature and the next; none if none was proposed.
    pub swap_rates: Vec<Option<f64>>,
    /// How often a state went from the model to the first temperature and back, all chains together.
    pub round_trips: u64,
}

pub(super) fn make(problem: &Problem) -> Result<Box<dyn Sampler>> {
    Ok(if problem.single() {
        Box::new(Tempering::<f32>::new(problem, problem.lowered.cast())?)
    } else {
        Box::new(Tempering::<f64>::new(problem, problem.lowered.clone())?)
    })
}

impl<T: Real> Tempering<T> {
    fn new(problem: &Problem, lowered: LoweredModel<T>) -> Result<Tempering<T>> {
        let mut backend = problem.settings.device.backend(lowered)?;
        let first = problem.settings.start.states(backend.as_mut(), problem.chains, problem.key);
        let path = Path::new(backend, 2, Pilots::FAIR, problem.key, &|_| ());
        let rungs = problem.settings.temperatures.unwrap_or(path.rungs().clamp(LEAST_RUNGS, MOST_RUNGS));
        let betas = path.schedule(rungs - 1);
        let mut backend = path.backend;
        let rows: Vec<usize> = (0..problem.chains).flat_map(|l| std::iter::repeat_n(l, rungs)).collect();
        backend.put(CHAINS, &first, Some(&rows));
        let ladders = Ladders::of_rows(CHAINS, &betas, problem.chains);
        let key = problem.key.of(Purpose::Tempering);
        Ok(Tempering { backend, ladders, rungs: problem.settings.temperatures, key, sweeps: 0 })
    }
}

impl<T: Real> Sampler for Tempering<T> {
    fn advance(&mut self, sweeps: u64) {
        for _ in 0..sweeps {
            self.ladders.step(self.backend.as_mut(), 1, self.key, self.sweeps, |_| ());
            self.sweeps += 1;
        }
    }

    fn states(&mut self) -> Result<(Array2<f64>, Array1<f64>)> {
        let states = self.ladders.last(self.backend.as_ref());
        Ok(with_free_energies(self.backend.as_mut(), &states))
    }

    fn tune(&mut self) {
        if self.ladders.swap_rates().iter().any(Option::is_none) {
            return;
        }
        // Twice as many steps as the sum of the rejection rates make half of the swaps succeed.
        let own = ((2.0 * self.ladders.refused()).ceil() as usize + 1).clamp(LEAST_RUNGS, MOST_RUNGS);
        let betas = self.ladders.even_betas(self.rungs.unwrap_or(own));
        self.ladders = self.ladders.with_betas(self.backend.as_mut(), &betas);
    }

    fn tempered(&self) -> Option<Tempered> {
        Some(Tempered {
            betas: self.ladders.betas().to_vec(),
            swap_rates: self.ladders.swap_rates(),
            round_trips: self.ladders.round_trips(),
        })
    }
}
