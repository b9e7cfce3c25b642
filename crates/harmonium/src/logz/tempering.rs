//! Parallel tempering: log Z − log Z₀ = Σ_k log Z_{k+1}/Z_k over neighbouring temperatures, each by Bennett's ratio from the
//! proposed swaps. It is the thermodynamic integral ∫⟨∂_β log p*⟩dβ without the error of a quadrature.
//!
//! Round trips and accepted swaps are no evidence that the ladders have reached every mode. So there are two groups of ladders:
//! one starts at annealed chains, and misses modes that annealing misses; the other starts with all its rungs in the deepest
//! modes that a search finds, and has too many chains in them until it has mixed. If both lead to the same number, and the second
//! half of the sweeps to that of the first, where the ladders started no longer matters. What they differ by is an error.

use super::bennett::{bennett, slopes};
use super::bidirectional::{Annealer, Trial};
use super::modes::{Mode, searched};
use super::{Evidence, Limits, LogZ, Problem, Sampler, Setup, Verdict};
use crate::advice::Advice;
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use ndarray::Array2;

/// Ladders at least: half of them start at annealed chains, half at modes.
const LADDERS: usize = 16;
/// Rounds at least and at most: a single one cannot show that it was enough, and ladders that disagree after five doublings of the
/// sweeps do not mix.
const ROUNDS: std::ops::RangeInclusive<u64> = 2..=6;
/// Standard errors from which on a difference is significant, and nats from which on a significant one is a disagreement.
const ERRORS: f64 = 3.0;
const NATS: f64 = 1.0;
/// The part of a difference that counts as error: two errors around the middle of two estimates then reach either of them, and
/// half their distance beyond.
const DIFFERENCE: f64 = 0.5;
/// Modes whose bound is that far below the best, in nats, are no starts: bounds of broad modes are up to 30 nats too low.
const WINDOW: f64 = 30.0;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Tempering)
}

struct Tempering;

impl Sampler for Tempering {
    fn run<T: Real>(self, mut setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        let (lowered, key) = (setup.backend.model(), setup.key);
        let modes = searched(&mut setup);
        let mut annealer = Annealer::new(setup);
        let mut effort = limits.first_effort(annealer.length());
        effort.ladders = effort.ladders.max(LADDERS);
        effort.chains = effort.chains.max(effort.ladders);
        let (mut spent, mut before) = (0.0, None);
        for round in 0.. {
            limits.meter.plan(annealer.cost(&effort));
            let starts = at_modes(&lowered, &modes, effort.ladders / 2, key.of(Purpose::Near).step(round));
            let found = annealer.swap_trials(&effort, &starts, round);
            spent += annealer.cost(&effort);
            let sum = Sum::new(&found.works, found.log_z0, effort.ladders, starts.nrows());
            let bound = modes.first().map_or(limits.bound, |mode| mode.bound.max(limits.bound));
            let evidence = evidence(&sum, before.as_ref(), bound, limits.tolerance);
            let holds = evidence.iter().all(|e| e.holds);
            (limits.on_round)(sum.all.0, sum.all.1);
            let enough = holds && round + 1 >= *ROUNDS.start();
            if enough || round + 1 == *ROUNDS.end() || limits.is_over(3.0 * spent) {
                let how = format!(
                    "{} ladders of {} temperatures, {} sweeps, at least {:.0} % of the swaps accepted; half of the ladders \
                     started in {} modes",
                    effort.ladders,
                    found.works.len() + 1,
                    effort.sweeps,
                    100.0 * found.swaps,
                    modes.len().min(starts.nrows()),
                );
                return Ok(LogZ { how, ess: Some(effort.ladders as f64), ..conclude(&sum, evidence) });
            }
            (effort.sweeps, before) = (2 * effort.sweeps, Some(sum.all));
        }
        unreachable!("the loop ends by returning")
    }
}

/// Visible states in the modes with the best bounds, one row per ladder; no rows without modes.
fn at_modes<T: Real>(lowered: &LoweredModel<T>, modes: &[Mode<T>], ladders: usize, key: Key) -> Array2<T> {
    let best = modes.first().map_or(0.0, |mode| mode.bound);
    let near: Vec<&Mode<T>> = modes.iter().take(ladders).filter(|mode| mode.bound >= best - WINDOW).collect();
    if near.is_empty() {
        return Array2::zeros((0, lowered.visible().columns()));
    }
    let mut hidden = Array2::zeros((ladders, lowered.hidden().columns()));
    hidden.rows_mut().into_iter().zip(near.iter().cycle()).for_each(|(mut row, mode)| row.assign(&mode.hidden));
    lowered.down().sample(hidden.view(), key, 0)
}

/// log Z and its standard error.
type Value = (f64, f64);

/// The sum over all rungs, from all trials and from parts of them.
struct Sum {
    all: Value,
    /// From ladders that started at annealed chains, and at modes.
    starts: Option<[Value; 2]>,
    /// From the first half of the sweeps, and from the second.
    halves: [Value; 2],
}

impl Sum {
    fn new(works: &[Vec<Trial>], log_z0: f64, ladders: usize, at_modes: usize) -> Sum {
        let half = ladders - at_modes;
        let part = |keep: &dyn Fn(&Trial) -> bool| {
            let (value, std_err) = over_rungs(works, ladders, keep);
            (log_z0 + value, std_err)
        };
        Sum {
            all: part(&|_| true),
            starts: (at_modes > 0).then(|| [part(&|t| t.ladder < half), part(&|t| t.ladder >= half)]),
            halves: [part(&|t| !t.late), part(&|t| t.late)],
        }
    }
}

/// Sum over rungs of Bennett's ratio of the trials to keep. Ladders are independent of each other and trials of one ladder are
/// not, so the error is the infinitesimal jackknife over ladders: how far the sum moves with the weight of each.
fn over_rungs(works: &[Vec<Trial>], ladders: usize, keep: &dyn Fn(&Trial) -> bool) -> Value {
    let (mut value, mut influence, mut trials) = (0.0, vec![0.0; ladders], vec![0usize; ladders]);
    for works in works {
        let kept: Vec<&Trial> = works.iter().filter(|t| keep(t)).collect();
        let (up, down): (Vec<f64>, Vec<f64>) = kept.iter().map(|t| (t.forward, t.backward)).unzip();
        let ratio = bennett(&up, &down).value;
        value += ratio;
        let each: Vec<(f64, f64)> = up.iter().zip(&down).map(|(u, d)| slopes(*u, *d, ratio)).collect();
        let steepness: f64 = each.iter().map(|e| e.1).sum();
        for (t, (balance, _)) in kept.iter().zip(&each) {
            influence[t.ladder] += balance / steepness;
            trials[t.ladder] += 1;
        }
    }
    let n = trials.iter().filter(|n| **n > 0).count() as f64;
    (value, (influence.iter().map(|i| i * i).sum::<f64>() * n / (n - 1.0)).sqrt())
}

/// What was compared. The value of a comparison is the difference in nats, its limit what its errors explain.
fn evidence(sum: &Sum, before: Option<&Value>, bound: f64, tolerance: f64) -> Vec<Evidence> {
    let (value, std_err) = sum.all;
    let mut evidence = vec![
        Evidence {
            name: "error",
            holds: std_err <= 0.25 * tolerance,
            value: std_err,
            limit: 0.25 * tolerance,
            words: format!("the standard error between ladders is {std_err:.3} nats"),
        },
        Evidence {
            name: "bound",
            holds: value + ERRORS * std_err >= bound,
            value: value + ERRORS * std_err,
            limit: bound,
            words: format!("log Z is at least {bound:.3} nats, by mean-field bounds and states seen"),
        },
    ];
    let mut compare = |name, what: &str, a: Value, b: Value| {
        let (by, limit) = ((a.0 - b.0).abs(), ERRORS * a.1.hypot(b.1));
        let words = format!("{what} differ by {by:.3} nats");
        evidence.push(Evidence { name, holds: by <= limit, value: by, limit, words });
    };
    if let Some([annealed, modes]) = sum.starts {
        compare("starts", "ladders started at annealed chains and in modes", annealed, modes);
    }
    compare("halves", "the two halves of the sweeps", sum.halves[0], sum.halves[1]);
    if let Some(before) = before {
        compare("rounds", "this round and the one before", sum.all, *before);
    }
    evidence
}

/// The value, with what its parts differ by in its error, and the verdict: never better than likely.
fn conclude(sum: &Sum, evidence: Vec<Evidence>) -> LogZ {
    let (mut value, mut std_err) = sum.all;
    let failed = |name: &str| evidence.iter().any(|e| e.name == name && !e.holds);
    let differences = || evidence.iter().filter(|e| ["starts", "halves", "rounds"].contains(&e.name));
    // The part of the squared difference that its own errors do not explain.
    let excess = differences().map(|e| e.value.powi(2) - (e.limit / ERRORS).powi(2)).fold(0.0, f64::max);
    std_err = std_err.hypot(DIFFERENCE * excess.sqrt());
    let bound = evidence.iter().find(|e| e.name == "bound").map_or(f64::NEG_INFINITY, |e| e.limit);
    if value < bound {
        std_err = std_err.hypot(bound - value);
        value = bound;
    }
    let far = differences().any(|e| e.value > NATS + e.limit);
    let verdict = if far || failed("bound") {
        Verdict::Disagree
    } else if evidence.iter().any(|e| !e.holds) {
        Verdict::Imprecise
    } else {
        Verdict::Likely
    };
    let mut why: Vec<String> = evidence.iter().filter(|e| !e.holds).map(|e| e.words.clone()).collect();
    if why.is_empty() {
        why.push(
            "ladders agree wherever they started; modes that neither they nor the search reached are not seen".into(),
        );
    }
    LogZ {
        verdict,
        reason: why.join("; "),
        advice: vec![Advice::AllMethods],
        evidence,
        ..LogZ::plain("tempering", value, std_err)
    }
}
