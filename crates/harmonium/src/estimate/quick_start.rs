//! A quick start: the first updates of a run are made with one sweep of untempered chains and a larger learning rate, and cost a
//! fraction of an update by the run's own method, which continues from these chains.
//!
//! A model that has just begun to learn has no modes to get lost in, so one sweep is enough to follow it. The rate is as large as
//! the drift of the model allows, see [`Drift`]: data that differ in the number of columns want rates that differ by a factor of ten.

use super::drift::Drift;
use super::{Context, Estimator, Phases};
use crate::backend::{Backend, Slot};
use crate::error::{Error, Result};
use crate::real::Real;

/// Largest factor of the learning rate, and largest drift of an update in nats; both fall along the quick start, the factor to 1.
const MOST: f64 = 8.0;
const MAX_DRIFT: f64 = 0.04;
/// Updates between two measurements of the drift; a divisor of those between snapshots.
const WATCH_EVERY: u64 = 5;
/// The untempered chains; the slot in which every method shows its chains.
const CHAINS: Slot = 1;

/// The first updates, and the method that goes on.
pub(super) struct QuickStart<T> {
    until: u64,
    /// The next update.
    update: u64,
    drift: Drift,
    then: Box<dyn Estimator<T>>,
}

impl<T: Real> QuickStart<T> {
    /// Of the first `until` updates; the others are made by `then`.
    pub fn new(until: u64, then: Box<dyn Estimator<T>>) -> QuickStart<T> {
        QuickStart { until, update: 0, drift: Drift::rising(MAX_DRIFT, MOST), then }
    }

    fn is_quick(&self) -> bool {
        self.update < self.until
    }

    /// The part of the quick start that is left.
    fn left(&self) -> f64 {
        1.0 - self.update as f64 / self.until as f64
    }

    /// One update by the untempered chains. Now and then the drift of an update is measured, which costs two more products.
    fn quick(&mut self, cx: &mut Context<T>, out: &mut Phases<T>) {
        cx.data(None, out);
        if self.update.is_multiple_of(WATCH_EVERY) {
            let now = cx.log_marginals(CHAINS);
            self.drift.limit_to(MAX_DRIFT * self.left());
            self.drift.adapt(&now);
        }
        let sweeps = cx.sweeps(1);
        cx.backend().gibbs(CHAINS, sweeps);
        let next = (cx.key, sweeps.first + 1);
        cx.model(CHAINS, None, Some(next), out);
        if (self.update + 1).is_multiple_of(WATCH_EVERY) {
            let log_p = cx.log_marginals(CHAINS);
            self.drift.remember(log_p);
        }
    }

    /// Gives the chains to the method that goes on: each of its rows starts from the chain with the same number, and each
    /// temperature of a ladder from the same chain.
    fn hand_over(&mut self, backend: &mut dyn Backend<T>) -> Result<()> {
        let Some(slot) = self.then.persistent() else { return Ok(()) };
        let chains = backend.get(CHAINS);
        let each = self.then.rows(chains.rows()) / chains.rows().max(1);
        let rows: Vec<usize> = (0..chains.rows() * each).map(|row| row / each).collect();
        backend.put(slot, &chains, Some(&rows));
        self.then.start(backend, None)
    }
}

impl<T: Real> Estimator<T> for QuickStart<T> {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        self.at(cx.update);
        if !self.is_quick() {
            return self.then.phases(cx, out);
        }
        self.quick(&mut cx, out);
        self.at(cx.update + 1);
        if self.is_quick() { Ok(()) } else { self.hand_over(cx.backend()) }
    }

    fn at(&mut self, update: u64) {
        self.update = update;
    }

    fn chains(&self) -> Option<Slot> {
        self.then.chains()
    }

    fn persistent(&self) -> Option<Slot> {
        if self.is_quick() { Some(CHAINS) } else { self.then.persistent() }
    }

    fn rows(&self, chains: usize) -> usize {
        if self.is_quick() { chains } else { self.then.rows(chains) }
    }

    fn rate(&self) -> f64 {
        if self.is_quick() { self.drift.rate().min(1.0 + (MOST - 1.0) * self.left()) } else { self.then.rate() }
    }

    fn numbers(&self) -> Vec<f64> {
        if self.is_quick() { self.drift.numbers() } else { self.then.numbers() }
    }

    fn start(&mut self, backend: &mut dyn Backend<T>, numbers: Option<&[f64]>) -> Result<()> {
        if !self.is_quick() {
            return self.then.start(backend, numbers);
        }
        let chains = backend.get(CHAINS).rows();
        match numbers {
            Some(numbers) if !self.drift.restore(numbers, chains) => {
                Err(Error::Undefined("the checkpoint's chains are inconsistent".into()))
            }
            _ => Ok(()),
        }
    }
}
