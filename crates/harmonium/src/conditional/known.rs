//! log Σ exp(−E) over the unknown cells of many rows at once, by annealing with the known cells clamped.

use super::chains::put_copies;
use crate::backend::{Backend, Slot};
use crate::logz::{Estimate, log_mean_exp};
use crate::real::Real;
use crate::rng::Key;
use crate::sample::path::{Path, Pilots};
use crate::states::{Bits, States};

const SLOT: Slot = 0;
/// Fewest and most temperatures.
const TEMPERATURES: (f64, f64) = (50.0, 1000.0);

/// The path from independent units to a model, with clamped cells.
pub(super) struct KnownPath<T: Real> {
    path: Path<'static, T>,
    temperatures: usize,
}

impl<T: Real> KnownPath<T> {
    pub fn new(backend: Box<dyn Backend<T>>, key: Key) -> KnownPath<T> {
        let path = Path::new(backend, 2, Pilots::SOME, key, &|_| ());
        // The variance of the log weights is about length²/temperatures, and less with clamped cells.
        let temperatures = (2.0 * path.length * path.length).clamp(TEMPERATURES.0, TEMPERATURES.1) as usize;
        KnownPath { path, temperatures }
    }

    /// log Σ exp(−E) over everything that is not known, for every row, by `chains` chains each: too low on average.
    pub fn log_marginals(&mut self, rows: &States<T>, known: &Bits, chains: usize, key: Key) -> Vec<Estimate> {
        let path = &mut self.path;
        let copies = put_copies(path.backend.as_mut(), SLOT, rows, known, chains);
        // At β = 0 the result of a sweep depends on the clamped cells only.
        path.sweep(SLOT, &vec![T::zero(); copies], key, 0);
        let weights = path.anneal(SLOT, &path.schedule(self.temperatures), key, |_, _, _| ());
        let x = rows.columns(path.backend.lowered().visible().unit(), 0, rows.rows());
        let one = |(r, w): (usize, &[f64])| {
            let found = log_mean_exp(w);
            let z0 = path.log_z0_given(&x.row(r).to_vec(), |site| known.get(r, site));
            Estimate { value: found.value + z0, ..found }
        };
        weights.chunks(chains).enumerate().map(one).collect()
    }
}
