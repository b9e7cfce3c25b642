//! An anchor: chains annealed from independent units to the model and back, and log Z from both directions.

use super::state::Online;
use super::{ALL, CHAINS, ISLANDS, LogZTracker, SLOT};
use crate::averages::mean;
use crate::backend::{DeviceRef, Sweeps};
use crate::error::Result;
use crate::logz::bennett::bennett;
use crate::logz::weights::Estimate;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::{Path, Pilots};
use crate::sample::resampling::systematic;
use crate::states::States;

/// Fewest and most temperatures of an anchor, and its chains.
pub(super) const TEMPERATURES: (usize, usize) = (50, 800);
const ANNEALED: usize = 32;
/// Temperatures for which a tracker that is lost does not wait any longer.
pub(super) const ENOUGH: usize = 80;
/// Pilot chains of an anchor: paths are short, and the modes are searched anyway.
const PILOTS: Pilots = Pilots { chains: ANNEALED, steps: 20, rounds: 1, cautious: false };
/// Target gap between the mean log weights of both directions of an anchor, in nats.
const ANCHOR_GAP: f64 = 4.0;
/// The fraction of the gap that counts as error: with a large gap few paths decide, and all may have missed the same mode.
const DOUBT: f64 = 0.4;
/// Sweeps of chains before they are annealed back, so that copies separate.
const SETTLE: u64 = 10;

impl<T: Real> LogZTracker<T> {
    /// Anneals from independent units, and replaces the chains if that has the smaller error. The number of temperatures of the
    /// next anchor follows from the gap between both directions.
    pub(super) fn anchor(
        &mut self,
        rbm: &Rbm<T>,
        persistent: Option<&States<T>>,
        temperatures: usize,
        key: Key,
    ) -> Result<()> {
        let (state, found) = anchored(self.device, rbm, persistent, temperatures, key)?;
        let (credit, pace) = (self.state.credit - anchor_rows(temperatures), self.state.pace);
        let temperatures = state.temperatures;
        // Annealing errs by missing mass: what it has lost does not replace what the chains have.
        let own = self.estimate();
        if self.state.lost || (found.std_err < own.std_err && found.value >= own.value - own.std_err) {
            let near = self.state.near.clone();
            self.state = Online { pace, near, ..state };
        }
        (self.state.credit, self.state.temperatures) = (credit, temperatures);
        Ok(())
    }
}

/// Cost of an anchor in products of a row with the weights: for each chain and temperature one per direction and half for the
/// rest, for both directions, pilots included.
pub(super) fn anchor_rows(temperatures: usize) -> f64 {
    2.5 * (ANNEALED * (2 * temperatures + 3 * PILOTS.steps)) as f64
}

/// Temperatures of an anchor that `credit` pays for: those wanted, or fewer, but not fewer than enough.
pub(super) fn affordable_temperatures(credit: f64, wanted: usize) -> Option<usize> {
    let most = (credit - anchor_rows(0)) / (anchor_rows(1) - anchor_rows(0));
    let most = if most > 0.0 { most as usize } else { 0 };
    (most >= wanted.min(ENOUGH)).then(|| wanted.min(most))
}

/// Chains annealed to a model, and its log Z.
pub(super) fn anchored<T: Real>(
    device: DeviceRef,
    rbm: &Rbm<T>,
    persistent: Option<&States<T>>,
    temperatures: usize,
    key: Key,
) -> Result<(Online<T>, Estimate)> {
    let on_sweeps = |_| ();
    let mut path = Path::new(device.backend(rbm.lower())?, 2, PILOTS, key, &on_sweeps);
    let found = match persistent.filter(|p| p.rows() > 0) {
        None => there_and_back(&mut path, ANNEALED, temperatures, key),
        Some(rows) => {
            let one = there_and_back(&mut path, ANNEALED / 2, temperatures, key);
            let key = key.of(Purpose::Near);
            path.lean(rows, PILOTS, key);
            larger(one, there_and_back(&mut path, ANNEALED / 2, temperatures, key))
        }
    };
    // Copies of one chain are put on different islands.
    let spread: Vec<usize> = (0..ALL).map(|k| k % CHAINS * ISLANDS + k / CHAINS).collect();
    let wanted = (temperatures as f64 * found.gap / ANCHOR_GAP) as usize;
    let state = Online {
        rbm: rbm.clone(),
        chains: found.chains.select(&spread),
        log_z: vec![found.log_z.value; ISLANDS],
        shared: found.log_z.std_err,
        credit: 0.0,
        pace: 0.0,
        temperatures: wanted.clamp(TEMPERATURES.0, TEMPERATURES.1),
        lost: false,
        near: found.chains.select(&[0]),
    };
    Ok((state, found.log_z))
}

/// The result of annealing in both directions.
struct Found<T> {
    log_z: Estimate,
    /// Samples of the model, copies of a few.
    chains: States<T>,
    /// Gap between the mean log weights of both directions.
    gap: f64,
}

/// Anneals `n` chains to the model, and as many back from where these ended.
fn there_and_back<T: Real>(path: &mut Path<T>, n: usize, temperatures: usize, key: Key) -> Found<T> {
    let mut betas = path.schedule(temperatures);
    path.start(SLOT, n, key.of(Purpose::Forward));
    let up = path.anneal(SLOT, &betas, key.of(Purpose::Forward), |_, _, _| ());
    // The ends of the paths, weighted by e^w, are samples of the model.
    let ends = path.backend.get(SLOT);
    let pick = |n: usize, k: u64| systematic(&up, n, key.of(Purpose::Resample).uniforms::<f64>(k, 0)[0]);
    path.backend.put(SLOT, &ends, Some(&pick(n, 1)));
    path.backend.gibbs(SLOT, Sweeps { steps: SETTLE, key: key.of(Purpose::Chains), first: 0, beta: None });
    betas.reverse();
    let down = path.anneal(SLOT, &betas, key.of(Purpose::Backward), |_, _, _| ());
    let down: Vec<f64> = down.iter().map(|w| -w).collect();
    let (both, gap) = (bennett(&up, &down), (mean(&down) - mean(&up)).max(0.0));
    let std_err = both.std_err.hypot(DOUBT * gap);
    let log_z = Estimate { value: path.log_z0() + both.value, std_err, ..both };
    Found { log_z, chains: ends.select(&pick(ALL, 0)), gap }
}

/// The larger estimate, because annealing errs by missing mass. Its error is at most that of the other plus the difference.
fn larger<T>(a: Found<T>, b: Found<T>) -> Found<T> {
    let (low, mut high) = if a.log_z.value < b.log_z.value { (a.log_z, b) } else { (b.log_z, a) };
    let by_other = low.std_err + high.log_z.value - low.value;
    high.log_z.std_err = high.log_z.std_err.min(by_other);
    high
}
