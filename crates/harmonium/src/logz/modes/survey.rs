//! One model surveyed: annealed without fields, searched for modes, the modes' masses measured, with growing effort until the
//! evidence is complete.

use super::super::verdict::Evidence;
use super::super::{Limits, LogZ, Setup, Verdict};
use super::basins::{Modes, Sets, Source, rows_of};
use super::masses::{Combined, Run, combine};
use super::mean_field::{product_at, settle};
use super::search;
use crate::advice::Advice;
use crate::backend::{Slot, Sweeps};
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::{Path, Pilots, Saved};
use crate::states::States;
use crate::stats::{Stats, Take};
use ndarray::Array2;

const CHAINS: Slot = 0;
const MIXING: Slot = 2;
/// Pilots of the flat path and of the path of one mode.
const PILOTS: Pilots = Pilots { chains: 64, steps: 50, rounds: 2, cautious: false };
const NEAR: Pilots = Pilots { chains: 16, steps: 40, rounds: 1, cautious: false };
/// Chains from the flat base, and from the base of one mode.
const FLAT_CHAINS: usize = 256;
const LOCAL_CHAINS: usize = 64;
/// The first look at a mode: chains and temperatures.
const LOOK: (usize, usize) = (16, 60);
/// Modes that are looked at, at most.
const MOST_LOOKED: usize = 96;
/// A mode whose mass is smaller than this part of the whole, in nats, is part of the rest.
const SMALL: f64 = 9.0;
/// Chains and sweeps that show which modes sampling connects, and the part of the chains that must arrive.
const MOVES: (usize, u64) = (12, 60);
const CONNECTED: f64 = 0.2;
/// The part of the chains that stay in a stable set.
const STABLE: f64 = 0.5;
/// Bases from which the rest is annealed, besides the flat one.
const REST_BASES: usize = 4;
/// Temperatures of a local run at most, before it is repeated with three times as many.
const MOST_TEMPERATURES: usize = 6000;
/// Data rows that are followed: the deepest, and some of all.
const ROWS: usize = 64;
/// Target error of each part, in nats of the whole.
const PART_ERROR: f64 = 0.03;

/// One base at a mode, and what was annealed from there.
struct Local<T> {
    /// The set whose mass it measures; none for the rest.
    set: Option<usize>,
    mode: usize,
    base: Saved<T>,
    run: Run,
    temperatures: usize,
    /// Whether its base is fitted to samples; else it is the mean-field product.
    fitted: bool,
}

/// A sum of masses, and how it came about.
pub struct Total {
    pub value: f64,
    pub std_err: f64,
    /// The sets with their combined mass.
    pub sets: Vec<(usize, Combined)>,
    pub rest: Combined,
}

pub struct Survey<'a, T: Real> {
    path: Path<'a, T>,
    flat: Saved<T>,
    lowered: LoweredModel<T>,
    rows: Option<Array2<T>>,
    modes: Modes<T>,
    sets: Sets,
    /// First look at each mode: log mass of its own basin.
    looks: Vec<Option<f64>>,
    connected: Vec<bool>,
    /// Where chains from each mode that was tried went: how many of them ended in each mode.
    moves: std::collections::BTreeMap<usize, Vec<Option<usize>>>,
    stable: std::collections::BTreeSet<usize>,
    whole: Vec<Run>,
    local: Vec<Local<T>>,
    temperatures: usize,
    limits: Limits<'a>,
    key: Key,
    spent: f64,
    fresh: (usize, usize),
}

impl<'a, T: Real> Survey<'a, T> {
    pub fn new(setup: Setup<'a, T>, limits: Limits<'a>) -> Survey<'a, T> {
        let Setup { mut backend, layers, data, key, on_sweeps } = setup;
        let lowered = backend.lowered().clone();
        let rows = data.map(|states| {
            let energies = backend.free_energy(&states);
            let mut order: Vec<usize> = (0..states.rows()).collect();
            order.sort_by(|a, b| energies[*a].total_cmp(&energies[*b]));
            order.truncate(ROWS);
            order.extend((0..ROWS.min(states.rows())).map(|k| k * states.rows() / ROWS.min(states.rows())));
            let picked = states.select(&order);
            picked.columns(lowered.visible().unit(), 0, picked.rows())
        });
        let path = Path::flat(backend, layers, PILOTS, key, on_sweeps);
        let temperatures = limits.first_effort(path.length).temperatures;
        Survey {
            flat: path.saved(),
            modes: Modes::new(&lowered),
            sets: Sets::new(0),
            looks: Vec::new(),
            connected: Vec::new(),
            moves: Default::default(),
            stable: Default::default(),
            whole: Vec::new(),
            local: Vec::new(),
            spent: 0.0,
            fresh: (0, 0),
            path,
            lowered,
            rows,
            temperatures,
            limits,
            key,
        }
    }

    pub fn run(mut self) -> Result<LogZ> {
        let mut round = 0;
        loop {
            let ends = self.anneal_flat(round);
            self.search(&ends, round);
            self.look();
            self.connect();
            self.measure_modes(round);
            let total = self.total();
            let (verdict, evidence) = self.judge(&total);
            if std::env::var("HARMONIUM_DEBUG").is_ok() {
                self.debug(&total, round, &evidence);
            }
            if round > 0 && verdict == Verdict::Certain || self.spent > self.limits.sweeps || round == 4 {
                return Ok(self.conclude(&total, verdict, evidence));
            }
            round += 1;
            if total.std_err > 0.25 * self.limits.tolerance {
                self.temperatures *= 3;
            }
        }
    }

    /// Anneals from the flat base; returns where the chains ended.
    fn anneal_flat(&mut self, round: u64) -> Array2<T> {
        self.path.restore(&self.flat);
        let (weights, ends) = self.anneal(FLAT_CHAINS, self.temperatures, self.key.of(Purpose::Forward).step(round));
        let labels = vec![None; weights.len()];
        self.whole.push(Run { weights, ends: labels });
        let k = self.whole.len() - 1;
        // The modes of the ends are found by the search, which adds them first.
        let points = settle(&self.lowered, ends.view());
        let numbers = self.modes.add(&points, Source::Sampling);
        self.whole[k].ends = numbers.into_iter().map(Some).collect();
        ends
    }

    fn anneal(&mut self, chains: usize, temperatures: usize, key: Key) -> (Vec<f64>, Array2<T>) {
        let schedule = self.path.schedule(temperatures);
        self.path.start(CHAINS, chains, key);
        let weights = self.path.anneal(CHAINS, &schedule, key, |_, _, _| ());
        self.spent += (chains * temperatures) as f64;
        let z0 = self.path.log_z0();
        let unit = self.lowered.visible().unit();
        (weights.iter().map(|w| w + z0).collect(), self.path.backend.get(CHAINS).columns(unit, 0, chains))
    }

    /// Searches for modes: all searches in the first round, sampling again in later ones.
    fn search(&mut self, ends: &Array2<T>, round: u64) {
        let key = self.key.of(Purpose::Far).step(round);
        if round == 0 {
            let starts = search::from_weights(&self.lowered, key);
            let points = settle(&self.lowered, starts.view());
            self.modes.add(&points, Source::Weights);
            if let Some(rows) = &self.rows {
                let points = settle(&self.lowered, rows.view());
                self.modes.add(&points, Source::Data);
            }
        }
        self.path.restore(&self.flat);
        let before = self.modes.all.len();
        let some = rows_of(ends, &(0..64.min(ends.nrows())).collect::<Vec<_>>());
        let (starts, sweeps) = search::from_sampling(self.path.backend.as_mut(), &some, key);
        self.spent += sweeps as f64;
        let points = settle(&self.lowered, starts.view());
        let numbers = self.modes.add(&points, Source::Sampling);
        self.fresh = (numbers.iter().filter(|n| **n >= before).count(), numbers.len());
        self.sets.grow(self.modes.all.len());
        self.looks.resize(self.modes.all.len(), None);
        self.connected.resize(self.modes.all.len(), false);
    }

    /// A first look at the mass of the basins that could matter.
    fn look(&mut self) {
        let mut order: Vec<usize> = (0..self.modes.all.len()).collect();
        order.sort_by(|a, b| self.modes.all[*b].bound.total_cmp(&self.modes.all[*a].bound));
        let best = self.estimate_so_far();
        let often = |k: usize| self.whole.iter().flat_map(|run| &run.ends).filter(|e| **e == Some(k)).count();
        let mut by_ends: Vec<usize> = (0..self.modes.all.len()).filter(|k| often(*k) > 1).collect();
        by_ends.sort_by_key(|k| std::cmp::Reverse(often(*k)));
        by_ends.truncate(MOST_LOOKED / 3);
        let deep = order.into_iter().filter(|k| self.modes.all[*k].bound > best - 40.0).take(MOST_LOOKED);
        let chosen: std::collections::BTreeSet<usize> = deep.chain(by_ends).collect();
        for k in chosen {
            if self.looks[k].is_none() {
                self.look_at(k);
            }
        }
    }

    fn look_at(&mut self, k: usize) {
        let mode = &self.modes.all[k];
        let eta = product_at(&self.lowered, &mode.visible, &mode.hidden);
        let key = self.key.of(Purpose::Near).step(k as u64);
        self.path.rebase_evenly(eta);
        let (weights, ends) = self.anneal(LOOK.0, LOOK.1, key);
        let ends = self.modes.of_states(&self.lowered, ends.view());
        let run = Run { weights, ends };
        let mass = run.mass(|end| end == Some(k)).value;
        self.looks[k] = Some(mass.max(self.modes.all[k].bound));
    }

    /// The largest lower bound, and the flat estimate.
    fn estimate_so_far(&self) -> f64 {
        let bounds = self.modes.all.iter().map(|m| m.bound);
        let flat = self.whole.iter().map(|run| run.mass(|_| true).value);
        bounds.chain(flat).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Modes that matter, by their first look.
    fn large(&self) -> Vec<usize> {
        let looked = self.looks.iter().flatten().copied();
        let best = log_sum_exp(looked.collect::<Vec<_>>().into_iter()).max(self.estimate_so_far());
        (0..self.looks.len()).filter(|k| self.looks[*k].is_some_and(|m| m > best - SMALL)).collect()
    }

    /// Joins modes between which chains move. A set is stable if most chains stay in it; the modes of other sets are part of the
    /// rest.
    fn connect(&mut self) {
        let new: Vec<usize> = self.large().into_iter().filter(|k| !self.connected[*k]).collect();
        for k in new {
            self.connected[k] = true;
            let ends = self.chains_from(k);
            let ends = self.modes.of_states(&self.lowered, ends.view());
            let mut counts = std::collections::BTreeMap::new();
            ends.iter().flatten().for_each(|j| *counts.entry(*j).or_insert(0) += 1);
            for (j, n) in counts {
                if j != k && f64::from(n) >= CONNECTED * MOVES.0 as f64 {
                    self.sets.join(k, j);
                }
            }
            self.moves.insert(k, ends);
        }
        let mut kept: std::collections::BTreeMap<usize, (f64, f64)> = Default::default();
        for (k, ends) in &self.moves {
            let set = self.sets.of(*k);
            let weight = (self.looks[*k].unwrap_or(f64::NEG_INFINITY) - self.estimate_so_far()).exp();
            let inside = ends.iter().flatten().filter(|e| self.sets.of(**e) == set).count() as f64 / ends.len() as f64;
            let all = kept.entry(set).or_insert((0.0, 0.0));
            (all.0, all.1) = (all.0 + weight * inside, all.1 + weight);
        }
        self.stable = kept.iter().filter(|(_, (inside, all))| *inside >= STABLE * all).map(|(set, _)| *set).collect();
    }

    /// The stable set that a mode belongs to.
    fn stable_set(&self, mode: Option<usize>) -> Option<usize> {
        mode.map(|k| self.sets.of(k)).filter(|set| self.stable.contains(set))
    }

    /// Chains that start at a mode's product distribution, after some sweeps of the model.
    fn chains_from(&mut self, k: usize) -> Array2<T> {
        let mode = &self.modes.all[k];
        let eta = product_at(&self.lowered, &mode.visible, &mode.hidden);
        let key = self.key.of(Purpose::Chains).step(k as u64);
        self.path.rebase_evenly(eta);
        self.path.start(MIXING, MOVES.0, key);
        self.path.backend.gibbs(MIXING, Sweeps { steps: MOVES.1, key, first: 1, beta: None });
        self.spent += (MOVES.0 as u64 * MOVES.1) as f64;
        self.path.backend.get(MIXING).columns(self.lowered.visible().unit(), 0, MOVES.0)
    }

    /// Measures the mass of the stable sets: from the mean-field product at the largest mode of each, and from units fitted to
    /// samples there or at the second largest; and of the rest, from unstable modes that are far apart.
    fn measure_modes(&mut self, round: u64) {
        let mut by_set: std::collections::BTreeMap<Option<usize>, Vec<usize>> = Default::default();
        for k in self.large() {
            by_set.entry(self.stable_set(Some(k))).or_default().push(k);
        }
        // What was measured for a set that is no longer one is of no use.
        let mut old = std::mem::take(&mut self.local);
        old.retain(|l| l.set == self.stable_set(Some(l.mode)));
        self.local = old;
        let all = self.estimate_so_far();
        for (set, mut modes) in by_set {
            modes.sort_by(|a, b| self.looks[*b].partial_cmp(&self.looks[*a]).unwrap_or(std::cmp::Ordering::Equal));
            let bases = match set {
                Some(_) => vec![(modes[0], false), (*modes.get(1).unwrap_or(&modes[0]), true)],
                None => {
                    let far = self.far_apart(&modes);
                    far.iter().map(|k| (*k, false)).chain(far.first().map(|k| (*k, true))).collect()
                }
            };
            for (mode, fitted) in bases {
                if !self.local.iter().any(|l| l.mode == mode && l.fitted == fitted) {
                    self.start_local(set, mode, fitted);
                }
            }
            for k in 0..self.local.len() {
                if self.local[k].set == set {
                    self.refine(k, all, round);
                }
            }
        }
    }

    /// Some of these modes, far from each other, the first one first.
    fn far_apart(&self, modes: &[usize]) -> Vec<usize> {
        let mut chosen = vec![modes[0]];
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

    fn start_local(&mut self, set: Option<usize>, mode: usize, fitted: bool) {
        let key = self.key.of(Purpose::Pilot).step(2 * mode as u64 + u64::from(fitted));
        let at = &self.modes.all[mode];
        let eta = product_at(&self.lowered, &at.visible, &at.hidden);
        if fitted {
            let ends = self.chains_from(mode);
            let states = States::of(self.lowered.visible(), ends.view());
            self.path.backend.put(MIXING, &states, None);
            let mut stats = Stats::zeros(&self.lowered);
            self.path.backend.stats(MIXING, None, None, Take::Sums, &mut stats);
            if self.path.layers == 1 {
                // The other layer is summed out; its base is not used.
                stats.hidden.fill(T::zero());
            }
            self.path.set_base(&stats.visible, &stats.hidden, stats.weight);
            self.path.measure(NEAR, key);
        } else {
            self.path.rebase(eta, NEAR, key);
        }
        let temperatures = ((4.0 * self.path.length.powi(2)) as usize).clamp(60, 2000);
        let base = self.path.saved();
        self.local.push(Local { set, mode, base, run: Run { weights: Vec::new(), ends: Vec::new() }, temperatures, fitted });
    }

    /// Anneals from a local base until the error of its set is small compared with the whole, or three times.
    fn refine(&mut self, k: usize, all: f64, round: u64) {
        let set = self.local[k].set;
        for again in 0..3 {
            let mass = self.local[k].run.mass(|end| self.stable_set(end) == set);
            let part = mass.std_err * (mass.value - all).min(0.0).exp();
            if mass.ess > 0.0 && part < PART_ERROR {
                return;
            }
            if !self.local[k].run.weights.is_empty() {
                self.local[k].temperatures *= 3;
            }
            if self.spent > self.limits.sweeps || self.local[k].temperatures > MOST_TEMPERATURES {
                return;
            }
            let base = self.local[k].base.clone();
            self.path.restore(&base);
            let key = self.key.of(Purpose::Backward).step(round).step(k as u64).step(again);
            let (weights, ends) = self.anneal(LOCAL_CHAINS, self.local[k].temperatures, key);
            let ends = self.modes.of_states(&self.lowered, ends.view());
            self.local[k].run = Run { weights, ends };
        }
    }

    /// The sum of all stable sets, and of the rest.
    fn total(&self) -> Total {
        let measured: std::collections::BTreeSet<Option<usize>> = self.local.iter().map(|l| l.set).chain([None]).collect();
        let (mut sets, mut parts, mut rest) = (Vec::new(), Vec::new(), combine(&[]));
        for &set in &measured {
            // Stable sets that were not measured are too small, and part of the rest.
            let inside = |end: Option<usize>| Some(self.stable_set(end)).filter(|s| measured.contains(s)).unwrap_or(None) == set;
            let runs = self.whole.iter().chain(self.local.iter().filter(|l| l.set == set).map(|l| &l.run));
            let estimates: Vec<_> = runs.map(|run| run.mass(inside)).collect();
            let found = combine(&estimates);
            match set {
                Some(set) => sets.push((set, found)),
                None => rest = found,
            }
            if found.value > f64::NEG_INFINITY {
                parts.push((found.value, found.std_err));
            }
        }
        let value = log_sum_exp(parts.iter().map(|p| p.0));
        let variance: f64 = parts.iter().map(|(v, e)| ((v - value).exp() * e).powi(2)).sum();
        Total { value, std_err: variance.sqrt(), sets, rest }
    }

    fn judge(&self, total: &Total) -> (Verdict, Vec<Evidence>) {
        let mut evidence = Vec::new();
        let mut add = |name, holds, value, limit, words: String| evidence.push(Evidence { name, holds, value, limit, words });
        let tolerance = self.limits.tolerance;
        add("error", 4.0 * total.std_err <= tolerance, total.std_err, 0.25 * tolerance, "standard error".into());
        let flat = combine(&self.whole.iter().map(|r| r.mass(|_| true)).collect::<Vec<_>>());
        let above = flat.value - total.value;
        add("flat", above <= 3.0 * flat.std_err.hypot(total.std_err), above, 0.0, "flat estimate above total".into());
        let ess: f64 = self.whole.iter().map(|r| r.mass(|_| true).ess).fold(0.0, f64::max);
        let rest = (total.rest.value - total.value).exp();
        add("flat-ess", ess >= 20.0 || rest < 0.01, ess, 20.0, "flat ess".into());
        for source in [Source::Weights, Source::Sampling] {
            let found: std::collections::BTreeSet<usize> =
                (0..self.modes.all.len()).filter(|k| self.modes.all[*k].found_by(source)).map(|k| self.sets.of(k)).collect();
            let parts = total.sets.iter().filter(|s| found.contains(&s.0)).map(|s| s.1.value).chain([total.rest.value]);
            let missing = total.value - log_sum_exp(parts.collect::<Vec<_>>().into_iter());
            let name = if source == Source::Weights { "weights" } else { "sampling" };
            add(name, missing <= 0.1, missing, 0.1, "missing from one search".into());
        }
        let mut twice = 0.0;
        let mut against = 0.0f64;
        for c in total.sets.iter().map(|s| &s.1).chain([&total.rest]) {
            let share = (c.value - total.value).exp();
            if c.agree < 2 {
                twice += share;
            }
            against = against.max(share * c.against.min(10.0));
        }
        add("two-bases", twice <= 0.05, twice, 0.05, "share of mass with one estimate only".into());
        add("agree", against <= 0.1, against, 0.1, "difference of estimates of one set".into());
        let new = self.fresh.0 as f64 / self.fresh.1.max(1) as f64;
        add("fresh", new < 0.5, new, 0.5, "fresh searches that end in new modes".into());
        let verdict = if evidence.iter().all(|e| e.holds) { Verdict::Certain } else if evidence[0].holds { Verdict::Likely } else { Verdict::Imprecise };
        (verdict, evidence)
    }

    fn debug(&self, total: &Total, round: u64, evidence: &[Evidence]) {
        eprintln!("round {round}: {:.3} ± {:.3}, modes {}, rest {:.3} ± {:.3} agree {} against {:.2}, T {}, spent {:.0}", total.value, total.std_err, self.modes.all.len(), total.rest.value, total.rest.std_err, total.rest.agree, total.rest.against, self.temperatures, self.spent);
        for run in &self.whole {
            let m = run.mass(|_| true);
            eprintln!("  flat {:.3} ± {:.3} ess {:.1}", m.value, m.std_err, m.ess);
        }
        for l in self.local.iter().filter(|l| l.set.is_none()) {
            let m = l.run.mass(|e| self.stable_set(e).is_none());
            eprintln!("  rest from mode {} look {:?} fitted {} T {}: {:.3} ± {:.3} ess {:.1}", l.mode, self.looks[l.mode], l.fitted, l.temperatures, m.value, m.std_err, m.ess);
        }
        for (set, c) in &total.sets {
            if c.value < total.value - 6.0 { continue; }
            eprintln!("  set {set}: {:.3} ± {:.3} agree {} against {:.2} ({} modes)", c.value, c.std_err, c.agree, c.against, (0..self.modes.all.len()).filter(|k| self.sets.of(*k) == *set).count());
            let inside = |end: Option<usize>| end.is_some_and(|e| self.sets.of(e) == *set);
            for run in &self.whole {
                let m = run.mass(inside);
                eprintln!("      flat {:.3} ± {:.3} ess {:.1}", m.value, m.std_err, m.ess);
            }
            for l in self.local.iter().filter(|l| self.sets.of(l.mode) == *set) {
                let m = l.run.mass(inside);
                let mode = &self.modes.all[l.mode];
                eprintln!("      mode {} bound {:.3} fitted {} T {}: {:.3} ± {:.3} ess {:.1} found {:?} look {:?}", l.mode, mode.bound, l.fitted, l.temperatures, m.value, m.std_err, m.ess, mode.found, self.looks[l.mode]);
            }
        }
        for e in evidence {
            eprintln!("  {} {}: {:.3} (limit {:.3})", if e.holds { "ok " } else { "NOT" }, e.name, e.value, e.limit);
        }
    }

    fn conclude(&self, total: &Total, verdict: Verdict, evidence: Vec<Evidence>) -> LogZ {
        let Total { value, std_err, .. } = *total;
        LogZ {
            value,
            std_err,
            lower: value - 2.0 * std_err,
            upper: value + 2.0 * std_err,
            ess: None,
            forward: None,
            backward: None,
            method: "modes",
            how: String::new(),
            verdict,
            reason: String::new(),
            advice: if verdict == Verdict::Certain { Vec::new() } else { vec![Advice::GiveData] },
            evidence,
        }
    }
}
