//! log Z during training: annealed importance sampling from the model of the last measurement to the current one (after
//! Desjardins, Courville & Bengio, *On tracking the partition function*, 2011; Béreux, Decelle, Furtlehner & Seoane, *Fast,
//! accurate training and sampling of restricted Boltzmann machines*, 2024). The path is the straight line between the two models
//! and not the sequence of updates, whose noise would add up; along the line most of it cancels.
//!
//! These chains are never used for the gradient, because the chains of the gradient have adapted to its noise. They are divided
//! into islands that do not exchange chains, so that the spread between islands is a valid error. When learning is so fast that
//! the chains lag behind, they are dropped and replaced by annealed ones (an anchor) as soon as a small fraction of the run's
//! work pays for it: annealing from independent units to the model and back. Half of the paths start from units with the means of
//! an annealed run without fields, half from units between those and the persistent chains of the run: a model that learns fast
//! has modes that one of the two never finds.
//!
//! No number is better than a wrong one, so what the chains say is checked whenever it is reported: the modes that lead from the
//! deepest rows, the persistent chains and the tracker's own chains have a mass of their own ([`modes`]), and what the chains say
//! of the same basins must agree. The difference counts as error. Mass in basins that hold no chain is added, and chains are
//! moved there. An estimate below what has been seen ([`bound`]) is not reported.

mod anchor;
mod bound;
mod line;
mod modes;
mod state;

pub(crate) use bound::Seen;
pub(crate) use state::Online;

use super::weights::{Estimate, log_mean_exp};
use crate::backend::{Backend, DeviceRef, Slot};
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::math::{log_sum_exp, softplus};
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::resampling::systematic;
use crate::states::States;
use anchor::{ENOUGH, TEMPERATURES, affordable_temperatures, anchor_rows, anchored};
use line::{HOPELESS, SPREAD, STEP_ROWS, STEPS};

/// Islands, and chains per island.
const ISLANDS: usize = 8;
const CHAINS: usize = 8;
const ALL: usize = ISLANDS * CHAINS;
const SLOT: Slot = 0;
/// Fraction of a run's work that may be spent.
const PART: f64 = 0.08;
/// What a product of an update is worth beside one of the tracker if rows are one-hot: most products of an update are with such
/// rows, which are cheap, and most of the tracker's are not. Measured: 31 sites of 21 states, 14 hidden units.
const ONE_HOT: f64 = 0.7;
/// Error in nats from which on the chains are replaced.
const LARGE: f64 = 0.3;
/// Error of an anchor from which on its chains are not used, because they cover too few modes.
const LOOSE: f64 = 2.0;
/// Deepest rows, and other rows, and persistent chains from which modes are searched, and rows that are remembered for it at
/// most.
const STARTS: usize = 20;
const REMEMBERED: usize = 2 * modes::MOST;
/// Fewest and most temperatures from a mode to the model.
const NEAR: (f64, f64) = (20.0, 200.0);
/// What an error is multiplied by, and its smallest value in nats: an error from a dozen paths is often too small, and errors of
/// successive points are not independent.
const CAUTION: f64 = 1.25;
const LEAST_ERROR: f64 = 0.1;
/// The fraction of the difference between two estimates that counts as error: two errors then cover either.
const DIFFERENCE: f64 = 0.5;
/// Independent samples that the chains are worth when they are counted.
const WORTH: f64 = 16.0;

/// Tracks log Z of a model during training.
pub(crate) struct LogZTracker<T: Real> {
    state: Online<T>,
    device: DeviceRef,
    backend: Box<dyn Backend<T>>,
    /// Products of a row with the weights between two measurements.
    rows: f64,
    key: Key,
}

impl<T: Real> LogZTracker<T> {
    /// Tracks a model from the start of a run that takes `rows` products of a row with the weights between two measurements.
    pub fn new(device: DeviceRef, rbm: &Rbm<T>, rows: f64, key: Key) -> Result<LogZTracker<T>> {
        let key = key.of(Purpose::Online);
        let rows = if rbm.visible().columns() > rbm.visible().sites() { ONE_HOT * rows } else { rows };
        let (state, _) = anchored(device, rbm, None, TEMPERATURES.0, key)?;
        Ok(LogZTracker { backend: device.backend(rbm.lower())?, device, state, rows, key })
    }

    /// The state, for a checkpoint.
    pub fn state(&self) -> &Online<T> {
        &self.state
    }

    /// Restores a state.
    pub fn restore(&mut self, state: Online<T>) {
        self.state = state;
    }

    /// log Z of the model after `update` updates, unless the chains lag behind or what was seen contradicts them. After the last
    /// update of a run there is always enough work left for it.
    pub fn follow(&mut self, rbm: &Rbm<T>, seen: &Seen<T>, update: u64, last: bool) -> Result<Option<Estimate>> {
        let (key, state) = (self.key.step(update), &mut self.state);
        let starts = ALL + 3 * STARTS + REMEMBERED;
        let check = modes::price(starts, NEAR.0 as usize);
        state.credit += PART * self.rows;
        if last {
            state.credit = state.credit.max(check + anchor_rows(ENOUGH) + STEP_ROWS * STEPS.0);
        }
        let affordable = (state.credit - check).min(PART * self.rows).max(0.0) / STEP_ROWS;
        let steps = (state.pace / SPREAD).clamp(STEPS.0, STEPS.1).min(affordable).floor();
        if !state.lost && state.shared <= LOOSE && steps >= STEPS.0 && state.pace <= HOPELESS * steps {
            self.walk(rbm, steps as u64, key);
        } else {
            // The pace decays, so that a line is tried again after a while.
            (state.lost, state.pace) = (true, 0.7 * state.pace);
        }
        if (self.state.lost || self.estimate().std_err > LARGE)
            && let Some(temperatures) = affordable_temperatures(self.state.credit - check, self.state.temperatures)
        {
            self.anchor(rbm, seen.persistent, temperatures, key)?;
        }
        if self.state.lost || self.state.credit < check {
            return Ok(None);
        }
        // What the next point needs is left for it.
        let earned = PART * self.rows;
        let next = (check + anchor_rows(self.state.temperatures.min(ENOUGH)) - earned).max(0.0);
        let more = (self.state.credit - check - next).min(earned).max(0.0);
        let per_temperature = modes::price(starts, 1) - modes::price(starts, 0);
        let temperatures = (NEAR.0 + more / per_temperature).clamp(NEAR.0, NEAR.1) as usize;
        self.checked(rbm, seen, temperatures, key)
    }

    /// The estimate, compared with the mass of the modes in sight and with what was seen.
    fn checked(&mut self, rbm: &Rbm<T>, seen: &Seen<T>, temperatures: usize, key: Key) -> Result<Option<Estimate>> {
        let lowered = rbm.lower();
        let starts = self.starts(&lowered, seen);
        let found = modes::masses(self.device, &lowered, &starts, ALL, temperatures, key)?;
        self.state.credit -= found.work;
        let near: Vec<(&States<T>, usize)> = found
            .remembered
            .iter()
            .map(|row| match row {
                modes::Row::Start(r) => (&starts, *r),
                modes::Row::End(r) => (&found.ends, *r),
            })
            .collect();
        self.state.near = gathered(&lowered, &near[..near.len().min(REMEMBERED)]);
        self.backend.load(&lowered);
        let mut energies = |rows: &States<T>| self.backend.free_energy(rows).to_vec();
        let (of_chains, of_ends) = (energies(&self.state.chains), energies(&found.ends));
        let of_persistent = seen.persistent.map(|p| (p, energies(p)));
        let mut all = seen.rows.clone();
        all.extend([(&self.state.chains, &of_chains[..]), (&found.ends, &of_ends[..])]);
        all.extend(of_persistent.as_ref().map(|(p, e)| (*p, &e[..])));
        let least = bound::log_z_at_least(lowered.visible(), &all).map_or(found.bound, |b| b.max(found.bound));
        let (mut both, inside) = self.with_modes(&found);
        if both.value < least {
            if both.value + both.std_err < least {
                self.state.lost = true;
                return Ok(None);
            }
            both.value = least;
        }
        self.adopt(&lowered, &found, both, inside, key);
        Ok(Some(Estimate { std_err: (CAUTION * both.std_err).hypot(LEAST_ERROR), ..both }))
    }

    /// The states from which modes are searched: the tracker's chains first.
    fn starts(&self, lowered: &LoweredModel<T>, seen: &Seen<T>) -> States<T> {
        let mut from: Vec<(&States<T>, usize)> = (0..ALL).map(|r| (&self.state.chains, r)).collect();
        from.extend((0..self.state.near.rows()).map(|r| (&self.state.near, r)));
        from.extend(seen.deepest_and_others(STARTS));
        from.extend(seen.persistent.iter().flat_map(|p| (0..p.rows().min(STARTS)).map(move |r| (*p, r))));
        gathered(lowered, &from)
    }

    /// The mass in the listed basins, and the rest as the chains have it: the estimate, and the part in those basins.
    fn with_modes(&self, found: &modes::Masses<T>) -> (Estimate, f64) {
        let (own, of_modes) = (self.estimate(), found.log_z);
        let part = found.inside.iter().filter(|i| **i).count() as f64 / ALL as f64;
        let (of_chains, rest) = (own.value + part.ln(), own.value + (1.0 - part).ln());
        let difference = of_modes.value - of_chains;
        let agree = difference.abs() <= 2.0 * of_modes.std_err.hypot(own.std_err);
        let modes_count = if agree { of_modes.std_err < own.std_err } else { difference > 0.0 };
        let (listed, listed_err) =
            if modes_count { (of_modes.value, of_modes.std_err) } else { (of_chains, own.std_err) };
        let value = log_sum_exp([listed, rest].into_iter());
        let inside = (listed - value).exp();
        let doubt = match (part > 0.0, of_modes.value > f64::NEG_INFINITY) {
            (true, true) => inside * difference.abs(),
            (false, true) => value - own.value,
            // The mass of the basins that hold chains could not be estimated.
            (_, false) => part * LOOSE,
        };
        let counted = if (0.0..1.0).contains(&part) { (part / (WORTH * (1.0 - part))).sqrt() } else { 0.0 };
        let of_rest = if inside < 1.0 { (1.0 - inside) * own.std_err.hypot(counted) } else { 0.0 };
        let of_listed = if inside > 0.0 { inside * listed_err } else { 0.0 };
        let std_err = of_listed.hypot(of_rest).hypot(DIFFERENCE * doubt).hypot(softplus(found.left_out - value));
        (Estimate { value, std_err, ess: own.ess }, inside)
    }

    /// Goes on from what was found: moves chains into basins that hold too few of them, and takes the number if it is better.
    fn adopt(&mut self, lowered: &LoweredModel<T>, found: &modes::Masses<T>, both: Estimate, inside: f64, key: Key) {
        let own = self.estimate();
        let missed = both.value - own.value > LARGE.max(2.0 * own.std_err);
        if missed {
            let n = (inside * ALL as f64).round() as usize;
            let u = |k: u64| key.of(Purpose::Far).uniforms::<f64>(k, 0)[0];
            let outside: Vec<f64> = found.inside.iter().map(|i| if *i { f64::NEG_INFINITY } else { 0.0 }).collect();
            let n = if found.inside.iter().all(|i| *i) { ALL } else { n };
            let mut rows: Vec<(&States<T>, usize)> =
                systematic(&found.weights, n, u(0)).into_iter().map(|r| (&found.ends, r)).collect();
            rows.extend(systematic(&outside, ALL - n, u(1)).into_iter().map(|r| (&self.state.chains, r)));
            let spread: Vec<_> = (0..ALL).map(|k| rows[k % CHAINS * ISLANDS + k / CHAINS]).collect();
            self.state.chains = gathered(lowered, &spread);
        }
        if missed || both.std_err < own.std_err {
            // The next point is checked again, so that a doubt does not end what is now right.
            self.state.log_z.fill(both.value);
            self.state.shared = both.std_err.min(LOOSE);
        }
    }

    /// log Z of the model that the chains sample.
    fn estimate(&self) -> Estimate {
        let found = log_mean_exp(&self.state.log_z);
        Estimate { std_err: found.std_err.hypot(self.state.shared), ..found }
    }
}

/// Rows of several states, in one.
fn gathered<T: Real>(lowered: &LoweredModel<T>, rows: &[(&States<T>, usize)]) -> States<T> {
    let layer = lowered.visible();
    let mut all = States::new(layer);
    for (states, r) in rows {
        all.push(layer, states.columns(layer, *r, r + 1).view());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu;
    use crate::exact::Exact;
    use crate::layer::Layer;
    use crate::units::Kind;

    /// 100 fair coins, and most of them 1 with ten hidden units on, of e^more times the mass; and log Z.
    fn two_modes(more: f64) -> (Rbm<f64>, f64) {
        let (n, m, w): (usize, usize, f64) = (100, 10, 4.0);
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let both = n as f64 * (0.5 * (1.0 + w.exp())).ln();
        let hidden = ndarray::Array2::from_elem((1, m), (more - both) / m as f64);
        let rbm = Rbm::from_parts(
            Layer::new(kind.clone(), n),
            Layer::from_parts(kind, hidden, ndarray::Array1::zeros(m)).unwrap(),
            ndarray::Array2::from_elem((n, m), w / m as f64),
        )
        .unwrap();
        let exact = Exact::new(&rbm).unwrap().log_z();
        (rbm, exact)
    }

    /// Two modes: 100 fair coins, and most of them 1 with ten hidden units on, of e⁵ times the mass. Annealing without fields finds
    /// the coins alone; with persistent chains in the other mode the anchor finds both.
    #[test]
    fn anchors_find_mass_at_the_persistent_chains_and_elsewhere() {
        let (rbm, exact) = two_modes(5.0);
        let ones = States::of(rbm.lower().visible(), ndarray::Array2::ones((16, 100)).view());
        for seed in 0..5 {
            let key = Key::root(seed);
            let (state, found) = anchored(cpu(), &rbm, Some(&ones), 400, key).unwrap();
            let off = state.log_z[0] - exact;
            assert!(off.abs() <= 2.0 * found.std_err + 0.02 && found.std_err < 3.0, "{off} ± {}", found.std_err);
            let (alone, _) = anchored(cpu(), &rbm, None, 400, key).unwrap();
            assert!(alone.log_z[0] < exact - 4.0, "the other mode was found without the chains, so this tests nothing");
        }
    }

    /// The same two modes. The tracker has the coins alone, and one row that was seen lies in the other mode: the estimate has
    /// both, and chains are moved to where the mass is.
    #[test]
    fn a_row_in_a_mode_without_chains_is_enough_to_find_its_mass() {
        let (rbm, exact) = two_modes(5.0);
        let lowered = rbm.lower();
        let rows = States::of(lowered.visible(), ndarray::Array2::ones((1, 100)).view());
        let mut tracker = LogZTracker::new(cpu(), &rbm, 1e6, Key::root(3)).unwrap();
        assert!(tracker.estimate().value < exact - 4.0);
        let energies = tracker.backend.free_energy(&rows).to_vec();
        let seen = Seen { rows: vec![(&rows, &energies[..])], persistent: None };
        let found = tracker.follow(&rbm, &seen, 100, false).unwrap();
        if let Some(z) = found {
            assert!((z.value - exact).abs() <= 2.0 * z.std_err, "{z:?}, exact {exact}");
        }
        let ones = |s: &States<f64>| s.values(lowered.visible()).rows().into_iter().filter(|r| r.sum() > 80.0).count();
        assert!(ones(&tracker.state.chains) > ALL / 2);
        // From then on the chains have it.
        let z = tracker.follow(&rbm, &seen, 200, false).unwrap().unwrap();
        assert!((z.value - exact).abs() <= 2.0 * z.std_err && z.std_err < 1.0, "{z:?}, exact {exact}");
    }

    /// A tracker whose number is below what was seen reports nothing.
    #[test]
    fn an_estimate_below_what_was_seen_is_not_reported() {
        let (rbm, exact) = two_modes(0.0);
        let lowered = rbm.lower();
        // A state that no chain will visit again.
        let half = ndarray::Array2::from_shape_fn((1, 100), |(_, i)| (i % 2) as f64);
        let rows = States::of(lowered.visible(), half.view());
        let mut tracker = LogZTracker::new(cpu(), &rbm, 1e6, Key::root(3)).unwrap();
        let energies = [-(exact + 20.0)];
        let seen = Seen { rows: vec![(&rows, &energies[..])], persistent: None };
        assert_eq!(tracker.follow(&rbm, &seen, 100, false).unwrap(), None);
        assert!(tracker.state.lost);
    }
}
