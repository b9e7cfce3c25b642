//! log Z along training: annealed importance sampling whose path is the run itself. From θ to θ′ every chain gains
//! log p*_θ′(v) − log p*_θ(v), then moves by one sweep at θ′ (Desjardins, Courville & Bengio, *On tracking the partition
//! function*, 2011; Béreux, Decelle, Furtlehner & Seoane, *Fast, accurate training and sampling of restricted Boltzmann
//! machines*, 2024). These chains never enter the gradient: chains that drive the learning have learned its noise.
//!
//! Chains live on islands that do not mix, so that the spread between islands is an honest error. While learning is fast the
//! islands are soon apart; then annealing from independent units anchors them anew, as often as its cost allows.

use super::path::{Path, Pilots};
use super::weights::{Estimate, log_mean_exp};
use crate::backend::{Backend, Slot, Sweeps};
use crate::error::{Error, Result};
use crate::math::log_sum_exp;
use crate::natural::Side;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;

/// Islands, and chains on each.
const ISLANDS: usize = 8;
const CHAINS: usize = 4;
const ALL: usize = ISLANDS * CHAINS;
/// Updates between two moves of the chains.
const STRIDE: u64 = 2;
/// The slot of the chains in the backend that trains.
const SLOT: Slot = 6;
/// Updates between two looks at the error; those between snapshots are a divisor.
const LOOK_EVERY: u64 = 200;
/// Error from which on the chains are anchored anew, in nats.
const LARGE: f64 = 0.3;
/// Temperatures of an anchor, and anchors that a run may have however short it is.
const TEMPERATURES: usize = 300;
const FIRST: u64 = 6;
/// Products of a row with the weights that an anchor takes: three for each chain and temperature, pilots included.
const ANCHOR_ROWS: u64 = (3 * ALL * (TEMPERATURES + 100)) as u64;
/// Part of a run that later anchors may take.
const PART: f64 = 0.04;

/// Chains that follow a machine: what a checkpoint holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Online<T> {
    /// Visible rows, island after island.
    pub chains: States<T>,
    /// Log weights since the island was resampled.
    pub weights: Vec<f64>,
    /// log Z of every island when it was resampled.
    pub log_z: Vec<f64>,
    /// Standard error that all islands share: that of the last anchor.
    pub shared: f64,
    /// Anchors so far.
    pub anchors: u64,
}

impl<T: Real> Online<T> {
    /// Refuses a state that this program could not have written.
    pub fn check(&self, side: &Side<T>) -> Result<()> {
        self.chains.check(side)?;
        let sizes = [self.chains.rows(), self.weights.len(), self.log_z.len()];
        match sizes == [ALL, ALL, ISLANDS] && self.shared >= 0.0 {
            true => Ok(()),
            false => Err(Error::Undefined("a checkpoint's chains for log Z have other numbers of rows".into())),
        }
    }
}

/// Chains that follow the machine of a backend.
pub(crate) struct Follower<T> {
    state: Online<T>,
    /// log p*(v) of every chain under the machine that it last followed.
    log_p: Vec<f64>,
    /// Updates that are allowed to pass for every anchor.
    interval: u64,
    key: Key,
}

impl<T: Real> Follower<T> {
    /// Follows a machine from the beginning of a run; an update takes about `update_rows` products of a row with the weights.
    pub fn new(backend: &mut dyn Backend<T>, update_rows: usize, key: Key) -> Result<Follower<T>> {
        let key = key.of(Purpose::Online);
        let interval = (ANCHOR_ROWS as f64 / (PART * update_rows.max(1) as f64)) as u64 + 1;
        let (state, _) = anchored(backend, key)?;
        let mut follower = Follower { state, log_p: Vec::new(), interval, key };
        follower.restore(None, backend);
        Ok(follower)
    }

    /// Takes the chains to a backend, those of `state` if there is one.
    pub fn restore(&mut self, state: Option<Online<T>>, backend: &mut dyn Backend<T>) {
        if let Some(state) = state {
            self.state = state;
        }
        backend.put(SLOT, &self.state.chains, None);
        self.log_p = log_marginals(backend, None);
    }

    /// The state, for a checkpoint.
    pub fn state(&self, backend: &dyn Backend<T>) -> Online<T> {
        Online { chains: backend.get(SLOT), ..self.state.clone() }
    }

    /// Follows the machine of the backend to what it is after `update` updates.
    pub fn follow(&mut self, backend: &mut dyn Backend<T>, update: u64) -> Result<()> {
        if !update.is_multiple_of(STRIDE) {
            return Ok(());
        }
        let log_p = log_marginals(backend, Some((self.key, update)));
        for (w, (new, old)) in self.state.weights.iter_mut().zip(log_p.iter().zip(&self.log_p)) {
            *w += new - old;
        }
        self.resample(backend, update);
        backend.gibbs(SLOT, Sweeps { steps: 1, key: self.key, first: update, beta: None });
        let allowed = self.state.anchors < FIRST + update / self.interval;
        if update.is_multiple_of(LOOK_EVERY) && allowed && self.estimate().std_err > LARGE {
            return self.anchor(backend, update);
        }
        self.log_p = log_marginals(backend, None);
        Ok(())
    }

    /// log Z of the machine that it last followed.
    pub fn estimate(&self) -> Estimate {
        let islands: Vec<f64> = (0..ISLANDS).map(|i| self.state.log_z[i] + self.island(i).0).collect();
        let found = log_mean_exp(&islands);
        Estimate { std_err: found.std_err.hypot(self.state.shared), ..found }
    }

    /// log of an island's mean weight, and how many of its weights count.
    fn island(&self, i: usize) -> (f64, f64) {
        let w = || self.state.weights[i * CHAINS..(i + 1) * CHAINS].iter();
        let sum = log_sum_exp(w().copied());
        (sum - (CHAINS as f64).ln(), (2.0 * sum - log_sum_exp(w().map(|w| 2.0 * w))).exp())
    }

    /// On islands where fewer than half of the weights count, chains are copied in proportion to their weights (systematic
    /// resampling) and weights begin again.
    fn resample(&mut self, backend: &mut dyn Backend<T>, update: u64) {
        let mut rows: Vec<usize> = (0..ALL).collect();
        for i in 0..ISLANDS {
            let (log_mean, ess) = self.island(i);
            if ess >= 0.5 * CHAINS as f64 {
                continue;
            }
            let u = self.key.of(Purpose::Resample).step(update).uniforms::<f64>(i as u64, 0)[0];
            let island = i * CHAINS..(i + 1) * CHAINS;
            let sources = systematic(&self.state.weights[island.clone()], u);
            rows[island.clone()].iter_mut().zip(sources).for_each(|(row, s)| *row = i * CHAINS + s);
            self.state.log_z[i] += log_mean;
            self.state.weights[island].fill(0.0);
        }
        if rows.iter().enumerate().any(|(k, row)| k != *row) {
            let (visible, hidden) = (backend.get(SLOT), backend.hidden(SLOT));
            backend.put(SLOT, &visible.select(&rows), None);
            if let Some(hidden) = hidden {
                backend.put_hidden(SLOT, &hidden.select(&rows));
            }
        }
    }

    /// Anneals to the machine as it is, and begins anew there if that is more certain.
    fn anchor(&mut self, backend: &mut dyn Backend<T>, update: u64) -> Result<()> {
        let (state, found) = anchored(backend, self.key.step(update))?;
        let anchors = self.state.anchors + 1;
        if found.std_err < self.estimate().std_err {
            self.state = state;
            backend.put(SLOT, &self.state.chains, None);
        }
        self.state.anchors = anchors;
        self.log_p = log_marginals(backend, None);
        Ok(())
    }
}

/// Annealed chains at the machine of a backend.
fn anchored<T: Real>(backend: &dyn Backend<T>, key: Key) -> Result<(Online<T>, Estimate)> {
    let tell = |_| ();
    let mut path = Path::new(backend.machine().clone(), None, Pilots::FEW, key, &tell)?;
    path.start(0, ALL, key.of(Purpose::Forward));
    let schedule = path.schedule(TEMPERATURES);
    let weights = path.anneal(0, &schedule, key.of(Purpose::Forward), |_, _, _| ());
    let found = log_mean_exp(&weights);
    let u = key.of(Purpose::Resample).uniforms::<f64>(0, 0)[0];
    // Copies of one chain go to different islands.
    let sources = systematic(&weights, u);
    let spread: Vec<usize> = (0..ALL).map(|k| sources[k % CHAINS * ISLANDS + k / CHAINS]).collect();
    let state = Online {
        chains: path.backend.get(0).select(&spread),
        weights: vec![0.0; ALL],
        log_z: vec![path.log_z0 + found.value; ISLANDS],
        shared: found.std_err,
        anchors: 0,
    };
    Ok((state, found))
}

/// As many numbers of weights as there are weights, each in proportion to eʷ: those passed at u, 1 + u, 2 + u, …
fn systematic(w: &[f64], u: f64) -> Vec<usize> {
    let log_mean = log_sum_exp(w.iter().copied()) - (w.len() as f64).ln();
    let (mut source, mut passed) = (0, 0.0);
    (0..w.len())
        .map(|k| {
            while source + 1 < w.len() && passed + (w[source] - log_mean).exp() < k as f64 + u {
                passed += (w[source] - log_mean).exp();
                source += 1;
            }
            source
        })
        .collect()
}

fn log_marginals<T: Real>(backend: &mut dyn Backend<T>, draw: Option<(Key, u64)>) -> Vec<f64> {
    backend.log_marginals(SLOT, &[None], draw).into_iter().collect()
}
