//! What the next update needs: kept every few updates, written as a checkpoint, restored after trouble or by `resume`.

use super::best::Best;
use super::{SNAPSHOT_EVERY, Trainer, checkpoint};
use crate::atomic;
use crate::backend::Part;
use crate::error::{Error, Result};
use crate::events::{Event, Observer};
use crate::logz::online::Online;
use crate::model::{Gradient, Rbm};
use crate::real::Real;
use crate::states::States;
use ndarray::Array1;
use std::time::Instant;

/// What the next update needs.
#[derive(Clone)]
pub(super) struct State<T> {
    pub rbm: Rbm<T>,
    /// The average of the parameters, if it is the result.
    pub average: Option<Rbm<T>>,
    pub optimizer: Vec<Gradient<T>>,
    pub chains: Option<Chains<T>>,
    pub update: u64,
    pub rate_factor: f64,
    pub failures: u32,
    pub best: Option<Best<T>>,
    pub waited: u64,
    /// The last measured likelihood of the held-out rows, and its standard error if it is an estimate.
    pub last: Option<(f64, Option<f64>)>,
    pub online: Option<Online<T>>,
    /// The rows with what was filled in for unknown cells, if there are any.
    pub filled: Option<States<T>>,
    /// Running means of both layers, where they are ahead of the offsets.
    pub running: Option<[Array1<T>; 2]>,
}

/// Persistent chains: visible states, and the hidden states that the next sweep starts from if they are drawn.
#[derive(Clone)]
pub(super) struct Chains<T> {
    pub visible: States<T>,
    pub hidden: Option<States<T>>,
    /// What else the estimator goes by.
    pub numbers: Vec<f64>,
}

impl<T: Real> Trainer<T> {
    /// Keeps the state every [`SNAPSHOT_EVERY`] updates; whether it did.
    pub(super) fn take_snapshot(&mut self) -> bool {
        let is_new = self.snapshot.as_ref().is_none_or(|s| s.update != self.update)
            && (self.snapshot.is_none() || self.update.is_multiple_of(SNAPSHOT_EVERY));
        if is_new {
            self.snapshot = Some(Box::new(self.state()));
        }
        is_new
    }

    pub(super) fn state(&self) -> State<T> {
        State {
            rbm: self.last_model(),
            average: self.average.as_ref().map(|average| average.rbm(self.learner.as_ref())),
            optimizer: self.moments(),
            chains: self.estimator.persistent().map(|slot| Chains {
                visible: self.learner.backend().get(slot),
                hidden: self.learner.backend().hidden(slot),
                numbers: self.estimator.numbers(),
            }),
            update: self.update,
            rate_factor: self.rate_factor,
            failures: self.failures,
            best: self.best.clone(),
            waited: self.waited,
            last: self.last,
            online: self.tracker.as_ref().map(|f| f.state().clone()),
            filled: self.data.known().map(|_| self.data.states().clone()),
            running: self.running_means(),
        }
    }

    pub(super) fn set_state(&mut self, state: State<T>) -> Result<()> {
        self.set_moments(state.optimizer);
        self.set_model(&state.rbm);
        self.estimator.at(state.update);
        if let (Some(slot), Some(chains)) = (self.estimator.persistent(), state.chains) {
            let backend = self.learner.backend_mut();
            backend.put(slot, &chains.visible, None);
            if let Some(hidden) = &chains.hidden {
                backend.put_hidden(slot, hidden);
            }
            self.estimator.start(backend, Some(&chains.numbers))?;
        }
        if let (Some(tracker), Some(online)) = (&mut self.tracker, state.online) {
            tracker.restore(online);
        }
        if let Some(filled) = state.filled {
            self.data.refill(filled);
        }
        if let Some(average) = &mut self.average {
            let rbm = state.average.unwrap_or(state.rbm);
            average.layers = rbm.layers().clone();
            self.learner.write(Part::Average, rbm.weights().to_owned());
        }
        self.set_running_means(state.running);
        self.update = state.update;
        self.rate_factor = state.rate_factor;
        self.failures = state.failures;
        self.best = state.best;
        self.waited = state.waited;
        self.last = state.last;
        Ok(())
    }

    /// Writes the last snapshot to disk, reports it once it is there, and returns its update.
    pub(super) fn save(&mut self, observer: &mut dyn Observer) -> Result<Option<u64>> {
        let (Some((path, _)), Some(snapshot)) = (&self.checkpoint, &self.snapshot) else { return Ok(None) };
        let (bytes, update) = (self.bytes_of(snapshot, Some(self.seconds())), snapshot.update);
        atomic::write(path, |w| w.write_all(&bytes))?;
        observer.on(&Event::Checkpoint { update });
        Ok(Some(update))
    }

    /// The bytes of a checkpoint of the run as it is, see [`resume`](Trainer::resume).
    pub fn checkpoint(&self) -> Vec<u8> {
        self.bytes_of(&self.state(), None)
    }

    fn bytes_of(&self, state: &State<T>, seconds: Option<f64>) -> Vec<u8> {
        checkpoint::to_bytes(state, self.work.optimizer.moments(), self.config.seed, seconds)
    }

    /// Goes on from the bytes of a checkpoint of the same configuration.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<()> {
        let moments = self.work.optimizer.moments();
        let state = checkpoint::from_bytes(bytes, &self.last_model(), moments, self.config.seed)?;
        // A quick start has other chains than the method that goes on.
        self.estimator.at(state.update);
        let rows = self.estimator.persistent().map(|_| self.estimator.rows(self.config.chains));
        if state.chains.as_ref().map(|chains| chains.visible.rows()) != rows {
            return Err(Error::Undefined("the checkpoint has another number of chains than this run".into()));
        }
        if let Some(chains) = &state.chains {
            chains.visible.check(self.learner.backend().layers()[0])?;
            if let Some(hidden) = &chains.hidden {
                hidden.check(self.learner.backend().layers()[1])?;
                if hidden.rows() != chains.visible.rows() {
                    return Err(Error::Undefined("a checkpoint's chains have different numbers of rows".into()));
                }
            }
        }
        if let Some(online) = &state.online {
            online.check(self.learner.backend().layers()[0])?;
        }
        self.check_filled(state.filled.as_ref())?;
        self.clock = (Instant::now(), checkpoint::seconds(bytes));
        self.set_state(state)
    }

    /// Refuses filled rows that are not those of the data: another number of them, or other known cells.
    fn check_filled(&self, filled: Option<&States<T>>) -> Result<()> {
        let side = self.learner.backend().layers()[0];
        let same = match (filled, self.data.known()) {
            (None, None) => true,
            (Some(filled), Some(known)) if filled.rows() == self.data.len() && filled.sites() == side.sites() => {
                filled.check(side)?;
                let (ours, theirs) = (self.data.states().values(side), filled.values(side));
                ours.indexed_iter().zip(&theirs).all(|(((r, i), a), b)| a == b || !known.get(r, i))
            }
            _ => false,
        };
        match same {
            true => Ok(()),
            false => Err(Error::Undefined("the checkpoint's rows are not those of the data".into())),
        }
    }
}
