//! One model surveyed: annealed from a base without fields, searched for modes, the modes' masses measured, with growing effort
//! until the evidence is complete.

use super::super::mean_field::{Follow, settle};
use super::super::weights::Estimate;
use super::super::{Limits, LogZ, Part, Setup, Verdict, percent};
use super::basins::{Modes, Sets, Source};
use super::evidence;
use super::local::{Local, Region};
use super::masses::{Combined, Run, combine};
use super::search;
use crate::backend::{Chains, Slot};
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::{Families, Path, Pilots, Saved};
use crate::states::States;
use ndarray::{Array2, s};
use std::collections::{BTreeMap, BTreeSet};

const CHAINS: Slot = 0;
/// Pilots of the flat path.
const PILOTS: Pilots = Pilots { chains: 64, steps: 50, rounds: 2, cautious: false };
/// Chains from the flat base, unless a number was asked for; and ends of such chains that the search starts from.
const FLAT_CHAINS: usize = 256;
const SEARCHED: usize = 64;
/// Data rows that are followed: the deepest, and as many spread over all.
const ROWS: usize = 64;
/// Rounds at most and at least: a single one cannot show that it was enough.
const ROUNDS: std::ops::Range<u64> = 2..6;

/// Runs from the flat base that count: the last ones.
const KEPT: usize = 2;

/// The deepest rows by free energy, and as many spread over all, as rows of columns.
pub fn deepest_and_others<T: Real>(backend: &mut dyn Chains<T>, rows: &States<T>) -> Array2<T> {
    let (n, energies) = (rows.rows(), backend.free_energy(rows));
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| energies[*a].total_cmp(&energies[*b]));
    order.truncate(ROWS);
    order.extend((0..ROWS.min(n)).map(|k| k * n / ROWS.min(n)));
    let picked = rows.select(&order);
    picked.columns(backend.layers()[0], 0, picked.rows())
}

/// A model, what is known of its modes, and what was annealed so far.
pub struct Survey<'a, T: Real> {
    pub(super) path: Path<'a, T>,
    pub(super) lowered: LoweredModel<T>,
    pub(super) modes: Modes<T>,
    pub(super) sets: Sets,
    /// A first look at modes: the log mass of the mode's own basin.
    pub(super) looks: BTreeMap<usize, f64>,
    /// The modes where chains from a mode ended.
    pub(super) moves: BTreeMap<usize, Vec<Option<usize>>>,
    /// Sets that chains hardly leave.
    pub(super) stable: BTreeSet<usize>,
    /// Runs from the flat base, one per round.
    pub(super) whole: Vec<Run>,
    pub(super) local: Vec<Local<T>>,
    pub(super) limits: Limits<'a>,
    pub(super) key: Key,
    /// Sweeps of a chain done so far.
    pub(super) spent: f64,
    pub(super) rows: Option<Array2<T>>,
    /// Of the last search by sampling: how many starts led to modes that were not known, and how many there were.
    pub(super) new_modes: (usize, usize),
    flat: Saved<T>,
    pub(super) temperatures: usize,
    /// Whether a run did not fit into the time that was left: nothing more starts.
    over: bool,
}

/// The sum of the masses of all parts.
pub struct Total {
    pub value: f64,
    pub std_err: f64,
    /// Every part that was measured, and the rest.
    pub parts: Vec<(Region, Combined)>,
}

impl Total {
    /// The share of a part in the whole.
    pub fn share(&self, part: &Combined) -> f64 {
        (part.value - self.value).exp()
    }

    /// The share of all that lies outside of stable sets.
    pub fn rest_share(&self) -> f64 {
        self.parts.iter().filter(|part| !matches!(part.0, Region::Set(_))).map(|part| self.share(&part.1)).sum()
    }
}

impl<'a, T: Real> Survey<'a, T> {
    pub fn new(setup: Setup<'a, T>, limits: Limits<'a>) -> Survey<'a, T> {
        let Setup { mut backend, layers, data, key, on_sweeps } = setup;
        let lowered = backend.model();
        let rows = data.map(|states| deepest_and_others(backend.as_mut(), &states));
        let path = Path::flat(backend, layers, PILOTS, key, on_sweeps);
        let temperatures = limits.first_effort(path.length).temperatures;
        Survey {
            flat: path.saved(),
            modes: Modes::new(&lowered),
            sets: Sets::default(),
            looks: BTreeMap::new(),
            moves: BTreeMap::new(),
            stable: BTreeSet::new(),
            whole: Vec::new(),
            local: Vec::new(),
            over: false,
            spent: 0.0,
            new_modes: (0, 0),
            path,
            lowered,
            rows,
            temperatures,
            limits,
            key,
        }
    }

    pub fn run(mut self) -> Result<LogZ> {
        for round in 0.. {
            self.limits.meter.plan((self.chains() * self.temperatures) as f64 * PLANNED);
            let ends = self.anneal_flat(round);
            self.search(&ends, round);
            self.look();
            self.connect();
            self.measure_modes(round);
            let total = self.total();
            let (verdict, evidence) = evidence::judge(&self, &total);
            (self.limits.on_round)(total.value, total.std_err);
            let enough = verdict == Verdict::Certain && round + 1 >= ROUNDS.start;
            if enough || round + 1 == ROUNDS.end || self.is_over() {
                return Ok(self.conclude(&total, verdict, evidence));
            }
            if self.limits.temperatures.is_none() && verdict != Verdict::Certain {
                let narrow = total.std_err <= 0.25 * self.limits.tolerance;
                self.temperatures *= if narrow { 2 } else { 3 };
            }
            if !self.may_start(self.chains() * self.temperatures) {
                return Ok(self.conclude(&total, verdict, evidence));
            }
        }
        unreachable!("the loop ends by returning")
    }

    pub(super) fn chains(&self) -> usize {
        self.limits.chains.unwrap_or(FLAT_CHAINS)
    }

    /// Whether no further work may start.
    pub(super) fn is_over(&self) -> bool {
        self.over || self.limits.is_over(self.spent)
    }

    /// Whether so many sweeps can be made in the time that is left, at the speed of all work so far. Once they cannot, nothing
    /// more starts, so that the work done repeats the estimate.
    pub(super) fn may_start(&mut self, sweeps: usize) -> bool {
        self.over = self.is_over() || self.limits.is_late_after(sweeps as f64 / self.spent.max(1.0));
        !self.over
    }

    /// Anneals from the flat base; returns where the chains ended.
    fn anneal_flat(&mut self, round: u64) -> Array2<T> {
        self.path.restore(&self.flat);
        let key = self.key.of(Purpose::Forward).step(round);
        let (chains, ends) = self.anneal(self.chains(), self.temperatures, key);
        let points = settle(&self.lowered, ends.view(), Follow::FAR);
        let ends_in = self.modes.add(&points, Some(Source::Sampling)).into_iter().map(Some).collect();
        self.whole.push(Run { chains, ends: ends_in });
        ends
    }

    /// Anneals chains from the base of the path to the model; returns their log weights, log Z of the base included, and states.
    pub(super) fn anneal(&mut self, chains: usize, temperatures: usize, key: Key) -> (Families, Array2<T>) {
        let schedule = self.path.schedule(temperatures);
        self.path.start(CHAINS, chains, key);
        let mut annealed = self.path.anneal_families(CHAINS, &schedule, key);
        self.spent += (chains * temperatures) as f64;
        let z0 = self.path.log_z0();
        annealed.weights.iter_mut().for_each(|w| *w += z0);
        (annealed, self.path.backend.get(CHAINS).columns(self.lowered.visible(), 0, chains))
    }

    /// Searches for modes: from the weights and the data in the first round, by sampling in every round.
    fn search(&mut self, ends: &Array2<T>, round: u64) {
        let key = self.key.of(Purpose::Far).step(round);
        if round == 0 {
            let starts = search::from_weights(&self.lowered, key);
            let points = settle(&self.lowered, starts.view(), Follow::FAR);
            self.modes.add(&points, Some(Source::Weights));
            if let Some(rows) = &self.rows {
                let points = settle(&self.lowered, rows.view(), Follow::FAR);
                self.modes.add(&points, Some(Source::Data));
            }
        }
        self.path.restore(&self.flat);
        let known: Vec<bool> = self.modes.all.iter().map(|mode| mode.found()).collect();
        let some = ends.slice(s![..SEARCHED.min(ends.nrows()), ..]);
        let (starts, sweeps) = search::from_sampling(self.path.backend.as_mut(), some, key);
        self.path.report_sweeps(sweeps as usize);
        self.spent += sweeps as f64;
        let points = settle(&self.lowered, starts.view(), Follow::FAR);
        let found = self.modes.add(&points, Some(Source::Sampling));
        let is_new = |mode: &&usize| !known.get(**mode).copied().unwrap_or(false);
        self.new_modes = (found.iter().filter(is_new).count(), found.len());
        self.sets.grow(self.modes.all.len());
    }

    /// The largest lower bound or flat estimate.
    pub(super) fn at_least(&self) -> f64 {
        let flat = self.last_whole().iter().map(|run| run.mass(|_| true).value);
        flat.fold(self.modes.bound(), f64::max)
    }

    /// The last runs from the flat base. Earlier ones had fewer temperatures, and miss more.
    pub(super) fn last_whole(&self) -> &[Run] {
        &self.whole[self.whole.len().saturating_sub(KEPT)..]
    }

    /// The mass of everything by the flat runs alone.
    pub(super) fn flat_estimate(&self) -> Combined {
        combine(&self.last_whole().iter().map(|run| run.mass(|_| true)).collect::<Vec<_>>(), &[], &[])
    }

    /// All estimates of the mass of a region: from the flat base, from other bases, and from those at one of its many modes.
    fn estimates(&self, region: Region) -> [Vec<Estimate>; 3] {
        let mass = |run: &Run| run.mass(|end| self.measured_region(end) == region);
        let (narrow, wide): (Vec<_>, Vec<_>) =
            self.local.iter().filter(|l| l.region == region).partition(|l| l.is_narrow());
        let masses = |local: Vec<&Local<T>>| local.iter().map(|l| mass(&l.run)).collect();
        [self.last_whole().iter().map(mass).collect(), masses(wide), masses(narrow)]
    }

    fn combined(&self, region: Region) -> Combined {
        let [flat, wide, narrow] = self.estimates(region);
        combine(&flat, &wide, &narrow)
    }

    /// The region of a mode if it was measured. Those that were not are too small, and part of the rest.
    fn measured_region(&self, mode: Option<usize>) -> Region {
        let region = self.region(mode);
        if self.local.iter().any(|l| l.region == region) { region } else { Region::Rest }
    }

    /// The sum of all parts.
    fn total(&self) -> Total {
        let regions: BTreeSet<Region> = self.local.iter().map(|l| l.region).chain([Region::Rest]).collect();
        let all = regions.into_iter().map(|region| (region, self.combined(region)));
        let parts: Vec<(Region, Combined)> = all.filter(|part| part.1.value > f64::NEG_INFINITY).collect();
        let value = log_sum_exp(parts.iter().map(|part| part.1.value));
        // Estimates err by missing mass, all on the same side, so their errors add and do not average out.
        let std_err = parts.iter().map(|part| (part.1.value - value).exp() * part.1.std_err).sum();
        Total { value, std_err, parts }
    }

    fn conclude(&self, total: &Total, verdict: Verdict, evidence: Vec<super::super::Evidence>) -> LogZ {
        let Total { value, std_err, .. } = *total;
        let judgement = evidence::explain(verdict, &evidence, self.rows.is_some());
        let part = |(region, found): &(Region, Combined)| Part {
            log_mass: found.value,
            std_err: found.std_err,
            share: total.share(found),
            is_rest: !matches!(region, Region::Set(_)),
            estimates: self.estimates(*region).concat().into_iter().filter(|e| e.ess > 0.0).collect(),
        };
        let mut parts: Vec<Part> = total.parts.iter().map(part).collect();
        parts.sort_by(|a, b| b.log_mass.total_cmp(&a.log_mass));
        LogZ {
            ess: Some(self.whole.iter().map(|run| run.mass(|_| true).ess).fold(0.0, f64::max)),
            how: self.how(total, &parts),
            verdict,
            reason: judgement.0,
            advice: judgement.1,
            evidence,
            parts,
            work: Some(self.spent),
            ..LogZ::plain("modes", value, std_err)
        }
    }

    fn how(&self, total: &Total, parts: &[Part]) -> String {
        let large = |p: &&Part| p.share >= 0.001;
        let n = parts.iter().filter(large).filter(|p| !p.is_rest).count();
        let modes = if n == 1 {
            "1 mode, measured separately, holds".to_string()
        } else {
            format!("{n} modes, measured separately, hold")
        };
        let rest = total.rest_share();
        let others = self.modes.all.len().saturating_sub(n);
        let others = if others == 1 { "1 smaller mode".to_string() } else { format!("{others} smaller modes") };
        format!(
            "{modes} {} of Z; the rest ({others} and the space between) {}; rounds: {}, chains: {}, temperatures in the last round: {}",
            percent(1.0 - rest),
            percent(rest),
            self.whole.len(),
            self.chains(),
            self.temperatures,
        )
    }
}

/// Work of a round in units of its flat run, for the progress bar.
const PLANNED: f64 = 3.0;
