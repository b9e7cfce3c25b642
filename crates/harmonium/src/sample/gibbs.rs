//! Block Gibbs sampling: h ∼ p(h | v), then v ∼ p(v | h), repeated.

use super::{Problem, Sampler};
use crate::backend::{Backend, Chains, Slot, Sweeps};
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::real::Real;
use crate::rng::Key;
use crate::states::States;
use ndarray::{Array1, Array2};

const CHAINS: Slot = 0;

struct Gibbs<T> {
    backend: Box<dyn Backend<T>>,
    key: Key,
    sweeps: u64,
}

pub(super) fn make(problem: &Problem) -> Result<Box<dyn Sampler>> {
    Ok(if problem.single() {
        Box::new(Gibbs::<f32>::new(problem, problem.lowered.cast())?)
    } else {
        Box::new(Gibbs::<f64>::new(problem, problem.lowered.clone())?)
    })
}

impl<T: Real> Gibbs<T> {
    fn new(problem: &Problem, lowered: LoweredModel<T>) -> Result<Gibbs<T>> {
        let mut backend = problem.settings.device.backend(lowered)?;
        let first = problem.settings.start.states(backend.as_mut(), problem.chains, problem.key);
        backend.put(CHAINS, &first, None);
        Ok(Gibbs { backend, key: problem.key, sweeps: 0 })
    }
}

impl<T: Real> Sampler for Gibbs<T> {
    fn advance(&mut self, sweeps: u64) {
        self.backend.gibbs(CHAINS, Sweeps { steps: sweeps, key: self.key, first: self.sweeps, beta: None });
        self.sweeps += sweeps;
    }

    fn states(&mut self) -> Result<(Array2<f64>, Array1<f64>)> {
        let states = self.backend.get(CHAINS);
        Ok(with_free_energies(self.backend.as_mut(), &states))
    }
}

/// States as rows of columns, and their free energies.
pub(super) fn with_free_energies<T: Real>(
    backend: &mut dyn Chains<T>,
    states: &States<T>,
) -> (Array2<f64>, Array1<f64>) {
    let columns = states.columns(backend.layers()[0], 0, states.rows());
    (columns.mapv(T::f64), backend.free_energy(states))
}
