//! Annealing in both directions: from the base to the model (too low on average) and from samples of the model to the base (too
//! high on average), combined by Bennett's ratio.
//!
//! Samples of the model are the coldest chains of parallel tempering. Half of the ladders start from annealed chains and half
//! from data rows, if there are any. If these groups do not lead to the same log Z, the chains have not mixed, and the relative
//! mass of the modes is unknown.

use super::Setup;
use super::bennett::bennett;
use super::search::{SEARCHED, missed};
use super::weights::{Estimate, log_mean_exp};
use crate::averages::variance;
use crate::backend::Slot;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::ladder::{Ladders, SwapTrial};
use crate::sample::path::{Path, Pilots};
use crate::states::States;
use ndarray::{Array2, s};

const FORWARD: Slot = 0;
const BACKWARD: Slot = 1;
const CHAINS: Slot = 2;

/// How much work is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Chains from the base to the model.
    pub chains: usize,
    /// Chains from the model to the base, each from its own ladder.
    pub ladders: usize,
    /// Inverse temperatures.
    pub temperatures: usize,
    /// Sweeps of parallel tempering.
    pub sweeps: u64,
}

/// The result of both directions: estimates of log Z, not of a ratio.
#[derive(Clone, Debug)]
pub struct Bidirectional {
    pub effort: Effort,
    pub forward: Estimate,
    pub backward: Estimate,
    pub both: Estimate,
    /// Largest difference between groups of ladders with different starts, and its standard error.
    pub groups: (f64, f64),
    /// log of the largest mass of a mode that neither direction has reached, if one was found.
    pub missed: Option<f64>,
    /// Variance of the log weights: the larger of both directions.
    pub spread: f64,
}

/// The proposed swaps of parallel tempering.
pub struct SwapTrials {
    /// Those of each rung but the last.
    pub works: Vec<Vec<Trial>>,
    /// log Z at the first rung.
    pub log_z0: f64,
    /// Smallest fraction of accepted swaps between two rungs.
    pub swaps: f64,
}

/// A proposed swap with the next rung.
pub struct Trial {
    pub ladder: usize,
    /// Whether it was in the second half of the sweeps that count.
    pub late: bool,
    /// Log weights of the step up, for the chain below and for the chain above.
    pub forward: f64,
    pub backward: f64,
}

/// A model with its path, and data rows to start ladders from.
pub struct Annealer<'a, T: Real> {
    path: Path<'a, T>,
    data: Option<States<T>>,
    key: Key,
}

impl<'a, T: Real> Annealer<'a, T> {
    /// A path from the means of a few pilot chains.
    pub fn new(setup: Setup<'a, T>) -> Annealer<'a, T> {
        let Setup { backend, layers, data, key, on_sweeps } = setup;
        let pilots = if layers == 1 { Pilots::SOME } else { Pilots::MANY };
        Annealer { path: Path::new(backend, layers, pilots, key, on_sweeps), data, key }
    }

    /// ∫σ_β dβ, see [`Path`].
    pub fn length(&self) -> f64 {
        self.path.length
    }

    /// Number of temperatures of a ladder.
    fn rungs(&self, effort: &Effort) -> usize {
        self.path.rungs().min(effort.temperatures + 1)
    }

    /// The cost of an effort, in sweeps of one chain.
    pub fn cost(&self, effort: &Effort) -> f64 {
        let annealing = (effort.chains + effort.ladders + SEARCHED) * effort.temperatures;
        (annealing + effort.ladders * self.rungs(effort) * effort.sweeps as usize) as f64
    }

    /// Anneals from the base to the model only.
    pub fn forward(&mut self, effort: &Effort, round: u64) -> Estimate {
        let schedule = self.path.schedule(effort.temperatures);
        let (weights, _) = self.up(effort, &schedule, &[], round);
        shifted(log_mean_exp(&weights), self.path.log_z0())
    }

    /// Anneals in both directions.
    pub fn run(&mut self, effort: Effort, round: u64) -> Bidirectional {
        let schedule = self.path.schedule(effort.temperatures);
        let at = self.places(&effort);
        let (up, mut starts) = self.up(&effort, &schedule, &at, round);
        let groups = self.spread_out(&effort, &mut starts, round);
        let down = self.down(&effort, &schedule, &at, &starts, round);
        let z0 = self.path.log_z0();
        let group = |k: usize| -> Vec<f64> { down.iter().zip(&groups).filter(|g| *g.1 == k).map(|g| *g.0).collect() };
        let by_group: Vec<Estimate> = (0..2).map(group).filter(|g| !g.is_empty()).map(|g| bennett(&up, &g)).collect();
        let both = shifted(bennett(&up, &down), z0);
        let key = self.key.of(Purpose::Far).step(round);
        let missed = missed(&mut self.path, &schedule, &down, effort.sweeps, key);
        Bidirectional {
            forward: shifted(log_mean_exp(&up), z0),
            backward: shifted(negated(&down), z0),
            both,
            groups: largest_difference(&by_group),
            missed,
            spread: variance(&up).max(variance(&down)),
            effort,
        }
    }

    /// Runs parallel tempering; the first quarter of the sweeps is not counted. The last ladders start with all their rungs at
    /// the rows of columns `elsewhere`, the others at annealed chains.
    pub fn swap_trials(&mut self, effort: &Effort, elsewhere: &Array2<T>, round: u64) -> SwapTrials {
        let schedule = self.path.schedule(effort.temperatures);
        let at = self.places(effort);
        let (_, mut starts) = self.up(effort, &schedule, &at, round);
        for start in &mut starts {
            start.slice_mut(s![effort.ladders - elsewhere.nrows().., ..]).assign(elsewhere);
        }
        let mut works: Vec<Vec<Trial>> = (1..at.len()).map(|_| Vec::new()).collect();
        let swaps = self.temper(effort, &schedule, &at, &starts, round, |step, m| {
            if 4 * step >= effort.sweeps {
                let late = 8 * step >= 5 * effort.sweeps;
                works[m.rung].push(Trial { ladder: m.ladder, late, forward: m.forward, backward: m.backward });
            }
        });
        SwapTrials { works, log_z0: self.path.log_z0(), swaps: swaps.least_swaps() }
    }

    /// The indices of a schedule that are rungs of a ladder.
    fn places(&self, effort: &Effort) -> Vec<usize> {
        let rungs = self.rungs(effort);
        (0..rungs).map(|k| k * effort.temperatures / (rungs - 1)).collect()
    }

    /// Anneals from the base; returns log weights, and the first chains as they were at each index `at` of the schedule.
    fn up(&mut self, effort: &Effort, schedule: &[f64], at: &[usize], round: u64) -> (Vec<f64>, Vec<Array2<T>>) {
        let key = self.key.of(Purpose::Forward).step(round);
        let mut starts = Vec::new();
        self.path.start(FORWARD, effort.chains, key);
        let weights = self.path.anneal(FORWARD, schedule, key, |path, k, _| {
            // Before the sweep at k the chains have made the one at k − 1.
            if at.contains(&(k - 1)) {
                starts.push(columns(path, effort.ladders));
            }
        });
        if !at.is_empty() {
            starts.push(columns(&self.path, effort.ladders));
        }
        (weights, starts)
    }

    /// Starts the last rung of half of the ladders from data rows; returns the group of each ladder.
    fn spread_out(&mut self, effort: &Effort, starts: &mut [Array2<T>], round: u64) -> Vec<usize> {
        let mut groups = vec![0; effort.ladders];
        let (Some(rows), Some(last)) = (&self.data, starts.last_mut()) else { return groups };
        let half = effort.ladders / 2;
        let key = self.key.of(Purpose::Chains).step(round);
        let pick = |r: usize| (key.uniforms::<f64>(r as u64, 0)[0] * rows.rows() as f64) as usize;
        let chosen: Vec<usize> = (half..effort.ladders).map(|r| pick(r).min(rows.rows() - 1)).collect();
        let layer = self.path.backend.layers()[0].layout();
        last.slice_mut(s![half.., ..]).assign(&rows.select(&chosen).columns(layer, 0, chosen.len()));
        groups[half..].fill(1);
        groups
    }

    /// Runs ladders that start from the rows of columns `starts`; calls `observe` with every proposed swap and its step.
    fn temper(
        &mut self,
        effort: &Effort,
        schedule: &[f64],
        at: &[usize],
        starts: &[Array2<T>],
        round: u64,
        mut observe: impl FnMut(u64, SwapTrial),
    ) -> Ladders<T> {
        let betas: Vec<f64> = at.iter().map(|k| schedule[*k]).collect();
        let mut ladders = Ladders::new(self.path.backend.as_mut(), CHAINS, &betas, starts);
        let key = self.key.of(Purpose::Tempering).step(round);
        for step in 0..effort.sweeps {
            ladders.step(self.path.backend.as_mut(), 1, key, step, |trial| observe(step, trial));
            self.path.report_sweeps(betas.len() * effort.ladders);
        }
        ladders
    }

    /// Runs parallel tempering, then anneals to the base; returns log weights with the sign of the forward direction.
    fn down(&mut self, effort: &Effort, schedule: &[f64], at: &[usize], starts: &[Array2<T>], round: u64) -> Vec<f64> {
        let ladders = self.temper(effort, schedule, at, starts, round, |_, _| ());
        let samples = ladders.last(self.path.backend.as_ref());
        self.path.backend.put(BACKWARD, &samples, None);
        let back: Vec<f64> = schedule.iter().rev().copied().collect();
        let key = self.key.of(Purpose::Backward).step(round);
        let weights = self.path.anneal(BACKWARD, &back, key, |_, _, _| ());
        weights.iter().map(|w| -w).collect()
    }
}

/// The first rows of the forward chains.
fn columns<T: Real>(path: &Path<T>, rows: usize) -> Array2<T> {
    let states = path.backend.get(FORWARD);
    states.columns(path.backend.layers()[0], 0, rows.min(states.rows()))
}

fn shifted(e: Estimate, by: f64) -> Estimate {
    Estimate { value: e.value + by, ..e }
}

/// −log ⟨e^−w⟩: the estimate of the reverse direction.
fn negated(w: &[f64]) -> Estimate {
    let e = log_mean_exp(&w.iter().map(|w| -w).collect::<Vec<_>>());
    Estimate { value: -e.value, ..e }
}

/// The most significant difference between two estimates, and its standard error.
fn largest_difference(estimates: &[Estimate]) -> (f64, f64) {
    let mut worst: (f64, f64) = (0.0, 0.0);
    for (i, a) in estimates.iter().enumerate() {
        for b in &estimates[..i] {
            let found = ((a.value - b.value).abs(), a.std_err.hypot(b.std_err));
            if worst.1 == 0.0 || found.0 * worst.1 > worst.0 * found.1 {
                worst = found;
            }
        }
    }
    worst
}
