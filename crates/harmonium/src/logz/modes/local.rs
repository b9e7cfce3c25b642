//! What happens near one mode: a first look at its mass, where chains from it go, and annealing from its own base.

use super::super::mean_field::{Follow, product_at, settle};
use super::masses::{Run, combine};
use super::survey::Survey;
use crate::backend::{Slot, Sweeps};
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::{Families, Pilots, Saved};
use crate::states::States;

use ndarray::{Array2, Axis, s};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const MOVING: Slot = 2;
/// Pilots of the path of one mode.
const PILOTS: Pilots = Pilots { chains: 16, steps: 40, rounds: 1, cautious: false };
/// Chains from the base of one mode. Bases of the whole rest have as many as the flat one.
const CHAINS: usize = 64;
/// The first look at a mode: chains and temperatures.
const LOOK: (usize, usize) = (16, 60);
/// Modes that are looked at in a round: the deepest, and those where most annealed chains ended.
const LOOKED: (usize, usize) = (96, 32);
/// Modes whose bound lies further below the best estimate are not looked at. A broad mode can have a mass some tens of nats above
/// its bound.
const DEEP: f64 = 40.0;
/// A mode with a smaller part of the whole, in nats, is not measured by itself.
const SMALL: f64 = 9.0;
/// Chains and sweeps that show which modes sampling connects, and the part of the chains that must arrive.
const MOVES: (usize, u64) = (12, 60);
const CONNECTED: f64 = 0.2;
/// The part of the chains that stay in a stable set.
const STABLE: f64 = 0.5;
/// Bases from which the rest is annealed, besides the flat one.
const REST_BASES: usize = 4;
/// Temperatures of a run at least. Runs near a mode can miss part of its basin while their weights hardly differ; more
/// temperatures help a little.
const FEWEST_TEMPERATURES: usize = 400;
/// Rows to which the base of all modes is fitted.
const MIXED: usize = 200;
/// Temperatures of a run at most, and runs with growing effort in one round.
const MOST_TEMPERATURES: usize = 20_000;
const REFINED: u64 = 3;
/// An estimate of the rest this many nats below others is not refined.
const HOPELESS: f64 = 2.0;
/// Target error of each part, in nats of the whole.
const PART_ERROR: f64 = 0.03;

/// A part of all states, in the order in which they are measured where time is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Everything that is in no stable set.
    Rest,
    /// Modes between which chains move, and which they hardly leave.
    Set(usize),
}

/// A base at a mode, and what was annealed from there.
pub struct Local<T> {
    /// The region whose mass it measures.
    pub region: Region,
    pub run: Run,
    kind: BaseKind,
    base: Saved<T>,
    temperatures: usize,
}

/// Independent units to anneal from.
#[derive(Clone, Copy, PartialEq)]
enum BaseKind {
    /// The mean-field product at a mode.
    Product(usize),
    /// Fitted to chains from a mode.
    Fitted(usize),
    /// Fitted to rows of all modes, in proportion to their mass.
    Mixture,
    /// Fitted to data rows.
    Data,
}

impl<T> Local<T> {
    /// Whether the base stands at one of the many modes of its region: what it finds is less than the whole region, as a rule.
    pub fn is_narrow(&self) -> bool {
        self.region == Region::Rest && self.kind.mode().is_some()
    }
}

impl BaseKind {
    /// The mode it stands at.
    fn mode(self) -> Option<usize> {
        match self {
            BaseKind::Product(k) | BaseKind::Fitted(k) => Some(k),
            BaseKind::Mixture | BaseKind::Data => None,
        }
    }

    /// A number of its own, for random numbers.
    fn tag(self) -> u64 {
        match self {
            BaseKind::Mixture => 0,
            BaseKind::Data => u64::MAX,
            BaseKind::Product(k) => 2 * k as u64 + 1,
            BaseKind::Fitted(k) => 2 * k as u64 + 2,
        }
    }
}

impl<T: Real> Survey<'_, T> {
    /// Looks at the modes that could matter and were not looked at yet.
    pub(super) fn look(&mut self) {
        let (all, best) = (&self.modes.all, self.at_least());
        let mut deep: Vec<usize> = (0..all.len()).filter(|k| all[*k].found() && all[*k].bound > best - DEEP).collect();
        deep.sort_by(|a, b| all[*b].bound.total_cmp(&all[*a].bound));
        let mut visits: BTreeMap<usize, usize> = BTreeMap::new();
        self.whole.iter().flat_map(|run| run.ends.iter().flatten()).for_each(|k| *visits.entry(*k).or_default() += 1);
        let mut often: Vec<usize> = visits.keys().copied().filter(|k| visits[k] > 1).collect();
        often.sort_by_key(|k| Reverse(visits[k]));
        let chosen: BTreeSet<usize> = deep.into_iter().take(LOOKED.0).chain(often.into_iter().take(LOOKED.1)).collect();
        for k in chosen {
            if !self.looks.contains_key(&k) && !self.is_over() {
                self.look_at(k);
            }
        }
    }

    fn look_at(&mut self, k: usize) {
        let (eta, bound) = (self.product(k), self.modes.all[k].bound);
        self.path.rebase_evenly(eta);
        let (chains, ends) = self.anneal(LOOK.0, LOOK.1, self.key.of(Purpose::Near).step(k as u64));
        let run = Run { chains, ends: self.modes.of_states(&self.lowered, ends.view()) };
        self.looks.insert(k, run.mass(|end| end == Some(k)).value.max(bound));
    }

    /// Natural parameters of the mean-field product at a mode.
    fn product(&self, k: usize) -> [Array2<T>; 2] {
        let mode = &self.modes.all[k];
        product_at(&self.lowered, &mode.visible, &mode.hidden)
    }

    /// Modes that matter by their first look, the largest first.
    fn large(&self) -> Vec<usize> {
        let best = log_sum_exp(self.looks.values().copied()).max(self.at_least());
        let mut large: Vec<usize> = self.looks.iter().filter(|(_, m)| **m > best - SMALL).map(|(k, _)| *k).collect();
        large.sort_by(|a, b| self.looks[b].total_cmp(&self.looks[a]));
        large
    }

    /// The part that a chain belongs to, by the mode where it ended.
    pub(super) fn region(&self, end: Option<usize>) -> Region {
        let set = end.map(|mode| self.sets.of(mode)).filter(|set| self.stable.contains(set));
        set.map_or(Region::Rest, Region::Set)
    }

    /// Joins modes between which chains move. A set is stable if most chains stay in it; modes of other sets belong to the rest.
    pub(super) fn connect(&mut self) {
        for k in self.large() {
            if self.moves.contains_key(&k) || self.is_over() {
                continue;
            }
            let ends = self.chains_from(k, MOVES.0);
            let ends = self.modes.of_states(&self.lowered, ends.view());
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            ends.iter().flatten().for_each(|j| *counts.entry(*j).or_default() += 1);
            for (j, n) in counts {
                if n as f64 >= CONNECTED * MOVES.0 as f64 {
                    self.sets.join(k, j);
                }
            }
            self.moves.insert(k, ends);
        }
        let best = self.at_least();
        let mut stayed: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for (k, ends) in &self.moves {
            let set = self.sets.of(*k);
            let mass = (self.looks[k] - best).exp();
            let inside = ends.iter().flatten().filter(|e| self.sets.of(**e) == set).count() as f64 / ends.len() as f64;
            let sums = stayed.entry(set).or_default();
            *sums = [sums[0] + mass * inside, sums[1] + mass];
        }
        self.stable = stayed.iter().filter(|(_, [inside, all])| *inside >= STABLE * all).map(|(set, _)| *set).collect();
    }

    /// Chains that start from a mode's product distribution, after some sweeps of the model.
    pub(super) fn chains_from(&mut self, k: usize, chains: usize) -> Array2<T> {
        let key = self.key.of(Purpose::Chains).step(k as u64);
        let eta = self.product(k);
        self.path.rebase_evenly(eta);
        self.path.start(MOVING, chains, key);
        self.path.backend.gibbs(MOVING, Sweeps { steps: MOVES.1, key, first: 1, beta: None });
        let sweeps = chains as u64 * MOVES.1;
        self.path.report_sweeps(sweeps as usize);
        self.spent += sweeps as f64;
        self.path.backend.get(MOVING).columns(self.lowered.visible(), 0, chains)
    }

    /// Measures the mass of the stable sets: from the mean-field product at the largest mode of each, and from units fitted to
    /// samples there or at the second largest. The rest is measured from unstable modes that are far apart, and from a mixture.
    pub(super) fn measure_modes(&mut self, round: u64) {
        let mut by_region: BTreeMap<Region, Vec<usize>> = BTreeMap::from([(Region::Rest, Vec::new())]);
        for k in self.large() {
            by_region.entry(self.region(Some(k))).or_default().push(k);
        }
        // Regions change while modes are found; what was measured for another one is dropped.
        let regions: Vec<Region> = self.local.iter().map(|l| self.region(l.kind.mode())).collect();
        let mut regions = regions.into_iter();
        self.local.retain(|l| regions.next() == Some(l.region));
        let whole = self.at_least();
        for (region, modes) in by_region {
            for kind in self.bases(region, &modes) {
                if !self.local.iter().any(|l| l.kind == kind) && !self.is_over() {
                    self.start(region, kind);
                }
            }
            for k in 0..self.local.len() {
                if self.local[k].region == region {
                    self.refine(k, whole, round);
                }
            }
        }
        self.local.retain(|l| !l.run.ends.is_empty());
    }

    /// The bases from which a region is measured.
    fn bases(&self, region: Region, modes: &[usize]) -> Vec<BaseKind> {
        if region != Region::Rest {
            return vec![BaseKind::Product(modes[0]), BaseKind::Fitted(*modes.get(1).unwrap_or(&modes[0]))];
        }
        let rest = combine(
            &self.last_whole().iter().map(|run| run.mass(|end| self.region(end) == Region::Rest)).collect::<Vec<_>>(),
            &[],
            &[],
        );
        if rest.value < self.at_least() - SMALL / 2.0 {
            return Vec::new();
        }
        let far = self.far_apart(modes);
        let fitted = far.first().map(|k| BaseKind::Fitted(*k));
        let data = self.rows.as_ref().map(|_| BaseKind::Data);
        let wide = [BaseKind::Mixture].into_iter().chain(data);
        wide.chain(fitted).chain(far.iter().map(|k| BaseKind::Product(*k))).collect()
    }

    /// Some of these modes, far from each other, the first one first.
    fn far_apart(&self, modes: &[usize]) -> Vec<usize> {
        let mut chosen: Vec<usize> = modes.iter().copied().take(1).collect();
        while chosen.len() < REST_BASES.min(modes.len()) {
            let distance = |k: usize| chosen.iter().map(|c| self.modes.distance(*c, k)).fold(f64::INFINITY, f64::min);
            let next = modes.iter().copied().max_by(|a, b| distance(*a).total_cmp(&distance(*b)));
            match next.filter(|k| distance(*k) > 0.0) {
                Some(k) => chosen.push(k),
                None => break,
            }
        }
        chosen
    }

    /// Sets up a base, with nothing annealed yet.
    fn start(&mut self, region: Region, kind: BaseKind) {
        let key = self.key.of(Purpose::Pilot).step(kind.tag());
        match kind {
            BaseKind::Product(mode) => {
                let eta = self.product(mode);
                self.path.rebase_evenly(eta);
            }
            BaseKind::Fitted(mode) => {
                let rows = self.chains_from(mode, MOVES.0);
                self.fit_base(&rows);
            }
            BaseKind::Mixture => {
                let rows = self.rows_of_modes(key);
                self.fit_base(&rows);
            }
            BaseKind::Data => {
                if let Some(rows) = &self.rows {
                    // The second half is spread over all rows; the deepest are often alike.
                    let spread = rows.slice(s![rows.nrows() / 2.., ..]).to_owned();
                    self.fit_base(&spread);
                }
            }
        }
        self.path.measure_speeds(PILOTS, key);
        self.spent += (PILOTS.chains * PILOTS.steps) as f64;
        let temperatures =
            ((4.0 * self.path.length.powi(2)) as usize).clamp(FEWEST_TEMPERATURES, MOST_TEMPERATURES / 9);
        let (base, run) = (self.path.saved(), Run { chains: Families::default(), ends: Vec::new() });
        self.local.push(Local { region, run, kind, base, temperatures });
    }

    /// Fits the base of the path to rows of visible columns.
    fn fit_base(&mut self, rows: &Array2<T>) {
        self.path.backend.put(MOVING, &States::of(self.lowered.visible(), rows.view()), None);
        let means = self.path.backend.layer_means(MOVING, None);
        self.path.set_base(&means);
    }

    /// Rows of the modes that were looked at, each drawn from the product at a mode, which is drawn by its mass.
    fn rows_of_modes(&self, key: Key) -> Array2<T> {
        let modes: Vec<usize> = self.looks.keys().copied().collect();
        let all = log_sum_exp(self.looks.values().copied());
        let mut rows = Array2::zeros((MIXED, self.lowered.visible().columns()));
        for (r, mut row) in rows.rows_mut().into_iter().enumerate() {
            // Evenly spread over the masses.
            let at = (r as f64 + 0.5) / MIXED as f64;
            let mut passed = 0.0;
            let chosen = modes.iter().find(|k| {
                passed += (self.looks[*k] - all).exp();
                passed >= at
            });
            let mode = &self.modes.all[*chosen.unwrap_or(&modes[modes.len() - 1])];
            let hidden = mode.hidden.view().insert_axis(Axis(0));
            row.assign(&self.lowered.down().sample(hidden, key, r as u64).row(0));
        }
        rows
    }

    /// Anneals from a local base with growing effort, until the error is small compared with the whole and what other bases
    /// found is not significantly larger.
    fn refine(&mut self, k: usize, whole: f64, round: u64) {
        let region = self.local[k].region;
        for again in 0..REFINED {
            let inside = |end: Option<usize>| self.region(end) == region;
            let mass = self.local[k].run.mass(inside);
            let flat: Vec<_> = self.last_whole().iter().map(|run| run.mass(inside)).collect();
            let others = (0..self.local.len()).filter(|j| *j != k && self.local[*j].region == region);
            let others = combine(&flat, &others.map(|j| self.local[j].run.mass(inside)).collect::<Vec<_>>(), &[]);
            let low =
                others.value - mass.value > 2.0 * others.std_err.hypot(mass.std_err) && others.value > whole - 4.0;
            let part = mass.std_err * (mass.value - whole).min(0.0).exp();
            // From a mode inside of the rest the way to all of it may be too far.
            let hopeless = region == Region::Rest && others.value - mass.value > HOPELESS;
            let enough = mass.ess > 0.0 && (part < PART_ERROR && !low || hopeless);
            let first = self.local[k].run.ends.is_empty();
            let next = self.local[k].temperatures * if first { 1 } else { 3 };
            let most = MOST_TEMPERATURES.max(2 * self.temperatures);
            let chains = if self.local[k].kind.mode().is_some() { CHAINS } else { self.chains() };
            if enough || next > most || !self.may_start(chains * next) {
                return;
            }
            self.local[k].temperatures = next;
            self.path.restore(&self.local[k].base);
            let key = self.key.of(Purpose::Backward).step(round).step(self.local[k].kind.tag()).step(again);
            let (chains, ends) = self.anneal(chains, next, key);
            let points = settle(&self.lowered, ends.view(), Follow::FAR);
            let ends = self.modes.add(&points, None).into_iter().map(Some).collect();
            self.sets.grow(self.modes.all.len());
            self.local[k].run = Run { chains, ends };
        }
    }
}
