//! A search for modes that annealing does not reach. Chains at β = 1 start from states that are far apart and settle in a mode.
//! Annealing backwards from a mode gives log weights that exceed log Z by as much as annealing forwards is unlikely to end
//! there; if no sample of the model had such weights, none was in that mode. Its mass is estimated by annealing from independent
//! units fitted to the mode itself.

use crate::averages::median;
use crate::backend::{Slot, Sweeps};
use crate::lowered::LoweredLayer;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::Path;
use crate::states::States;
use ndarray::{Array1, Array2, s};

const SEARCH: Slot = 3;

/// Starting states, each of which leads to a mode.
const MODES: usize = 16;
/// Samples of each mode, which are annealed backwards, and to which its own base is fitted.
const SAMPLES: usize = 4;
/// Chains that are annealed.
pub const SEARCHED: usize = MODES * SAMPLES;
/// Sweeps between two samples.
const APART: u64 = 5;
/// Inverse temperatures from the base of a mode to the model, and chains.
const NEAR: (usize, usize) = (200, 32);
/// A mode has no sample if its log weights exceed those of all samples by this many nats.
const BEYOND: f64 = 1.0;

/// log of the mass of the largest mode that has no sample. `down` are the log weights of the samples, annealed backwards along
/// `schedule`.
pub fn missed<T: Real>(path: &mut Path<T>, schedule: &[f64], down: &[f64], sweeps: u64, key: Key) -> Option<f64> {
    let samples = settle(path, sweeps, key)?;
    let layer = path.backend.layers()[0];
    let mut rows = States::new(layer);
    rows.push(layer, samples.view());
    path.backend.put(SEARCH, &rows, None);
    let back: Vec<f64> = schedule.iter().rev().copied().collect();
    let weights = path.anneal(SEARCH, &back, key.of(Purpose::Backward), |_, _, _| ());
    let seen = down.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) + BEYOND;
    let unreached: Vec<usize> =
        (0..MODES).filter(|p| -median(&weights[p * SAMPLES..(p + 1) * SAMPLES]) > seen).collect();
    let mass = |p: usize| {
        let rows = samples.slice(s![p * SAMPLES..(p + 1) * SAMPLES, ..]).to_owned();
        near(path, &rows, key.of(Purpose::Near).step(p as u64))
    };
    unreached.into_iter().map(mass).max_by(f64::total_cmp)
}

/// Rows of visible columns: the samples of every mode, one mode after another.
fn settle<T: Real>(path: &mut Path<T>, sweeps: u64, key: Key) -> Option<Array2<T>> {
    let model = path.backend.model();
    let (width, rows) = (model.visible().columns(), |states: &States<T>| states.rows());
    let hidden = far_apart(model.hidden(), key).filter(|_| path.layers == 2);
    let states = match hidden {
        Some(hidden) => {
            let h = hidden.columns(model.hidden(), 0, rows(&hidden));
            States::of(model.visible(), model.down().sample(h.view(), key.of(Purpose::Visible), 0).view())
        }
        // Two layers that are not finite are Gaussian: there is one mode.
        None => far_apart(model.visible(), key)?,
    };
    path.backend.put(SEARCH, &states, None);
    path.backend.gibbs(SEARCH, Sweeps { steps: sweeps, key, first: 0, beta: None });
    let mut samples = Array2::zeros((MODES * SAMPLES, width));
    for k in 0..SAMPLES {
        path.backend.gibbs(SEARCH, Sweeps { steps: APART, key, first: sweeps + k as u64 * APART, beta: None });
        let now = path.backend.get(SEARCH).columns(path.backend.layers()[0], 0, MODES);
        samples.slice_mut(s![k..; SAMPLES, ..]).assign(&now);
    }
    Some(samples)
}

/// log of the mass near these rows, by annealing from independent units fitted to them. The median is used, because a chain that
/// leaves the mode has the weight of another.
fn near<T: Real>(path: &mut Path<T>, rows: &Array2<T>, key: Key) -> f64 {
    path.backend.put(SEARCH, &States::of(path.backend.layers()[0], rows.view()), None);
    let means = path.backend.layer_means(SEARCH, None);
    let main = path.set_base(&means);
    let betas: Vec<f64> = (0..=NEAR.0).map(|k| k as f64 / NEAR.0 as f64).collect();
    path.start(SEARCH, NEAR.1, key);
    let weights = path.anneal(SEARCH, &betas, key, |_, _, _| ());
    let log_mass = median(&weights) + path.log_z0();
    path.restore_base(main);
    log_mass
}

/// States that are far apart, one row per mode; none if no unit is finite. In each row a fraction of the sites, from all
/// to none, has the same state, and the others are random.
fn far_apart<T: Real>(layer: &LoweredLayer<T>, key: Key) -> Option<States<T>> {
    if !layer.has_finite() {
        return None;
    }
    let mut columns = Array2::zeros((MODES, layer.columns()));
    let none = vec![T::zero(); layer.columns()];
    let (mut u, mut row) = (vec![0.0; 2 * layer.sites()], none.clone());
    for r in 0..MODES {
        layer.means(layer.eta(), &none, &mut row);
        key.of(Purpose::Far).fill(r as u64, &mut u);
        for (site, u) in layer.each_site().zip(u.chunks_exact(2)) {
            let Some(n) = site.n_states() else { continue };
            let part = 1.0 - (r / n) as f64 / MODES.div_ceil(n) as f64;
            let random = ((u[1] * n as f64) as usize).min(n - 1);
            site.kind.unit().state(if u[0] < part { r % n } else { random }, &mut row[site.columns]);
        }
        columns.row_mut(r).assign(&Array1::from(row.clone()));
    }
    let mut states = States::new(layer);
    states.push(layer, columns.view());
    Some(states)
}
