//! Annealing in both directions with growing effort, until the interval is narrow enough and nothing contradicts it.

use super::bidirectional::{Annealer, Bidirectional, Effort};
use super::weights::{Estimate, MIN_ESS};
use super::{Limits, LogZ, Problem, Sampler, Setup, Verdict};
use crate::advice::Advice;
use crate::error::Result;
use crate::math::softplus;
use crate::real::Real;

/// A difference of more than this many standard errors is significant.
const ERRORS: f64 = 3.0;
/// A significant difference of more than this many nats is a disagreement.
const NATS: f64 = 1.0;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Bar)
}

struct Bar;

impl Sampler for Bar {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        let mut annealer = Annealer::new(setup);
        let mut effort = limits.first_effort(annealer.length());
        let (mut spent, mut before) = (0.0, None);
        for round in 0.. {
            limits.meter.plan(annealer.cost(&effort));
            let found = annealer.run(effort, round);
            spent += annealer.cost(&effort);
            let doubts = doubts(&found, before.as_ref(), limits.tolerance);
            let next = grown(&found, &limits);
            let stop = limits.temperatures.is_some() || spent + annealer.cost(&next) > limits.sweeps;
            // A single round cannot show that it was enough.
            if stop || doubts.is_empty() && before.is_some() {
                return Ok(conclude(&found, &doubts, limits.tolerance));
            }
            (effort, before) = (next, Some(found));
        }
        unreachable!("the loop ends by returning")
    }
}

/// The next effort: more temperatures while the variance of the log weights is above 1, then more chains; always more sweeps.
/// Three times as much, so that the rounds before the last are a third of the work.
fn grown(found: &Bidirectional, limits: &Limits) -> Effort {
    let Effort { chains, ladders, temperatures, sweeps } = found.effort;
    if found.spread > 1.0 || limits.chains.is_some() {
        Effort { chains, ladders, temperatures: 3 * temperatures, sweeps: 3 * sweeps }
    } else {
        Effort { chains: 2 * chains, ladders: 2 * ladders, temperatures, sweeps: 2 * sweeps }
    }
}

/// A reason not to be certain.
#[derive(Clone, Debug, PartialEq)]
enum Doubt {
    /// The interval is wider than the tolerance.
    Wide,
    /// The two directions hardly overlap.
    Overlap,
    /// Two estimates of log Z differ by so many nats; `far` if that is a disagreement.
    Differ { what: &'static str, by: f64, far: bool },
}

fn doubts(found: &Bidirectional, before: Option<&Bidirectional>, tolerance: f64) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut compare = |what, by: f64, error: f64| {
        if by > ERRORS * error {
            doubts.push(Doubt::Differ { what, by, far: by > NATS + ERRORS * error });
        }
    };
    let (up, down, both) = (found.forward, found.backward, found.both);
    compare("the two directions", (down.value - up.value).abs(), up.std_err.hypot(down.std_err));
    compare("chains started from data and from random states", found.groups.0, found.groups.1);
    if let Some(missed) = found.missed {
        compare("log Z with and without a mode that no sample reached", softplus(missed - both.value), both.std_err);
    }
    if let Some(before) = before {
        let error = both.std_err.hypot(before.both.std_err);
        compare("this round and the one before", (both.value - before.both.value).abs(), error);
    }
    if both.ess < MIN_ESS.min(0.2 * found.effort.ladders as f64) {
        doubts.push(Doubt::Overlap);
    }
    if 4.0 * both.std_err > tolerance {
        doubts.push(Doubt::Wide);
    }
    doubts
}

/// The result. Its standard error is at least three quarters of the difference between two estimates, because log Z lies
/// somewhere between them.
fn conclude(found: &Bidirectional, doubts: &[Doubt], tolerance: f64) -> LogZ {
    let far = doubts.iter().any(|d| matches!(d, Doubt::Differ { far: true, .. }));
    let verdict = match (doubts.is_empty(), far) {
        (true, _) => Verdict::Likely,
        (false, true) => Verdict::Disagree,
        (false, false) => Verdict::Imprecise,
    };
    let mut value = found.both.value;
    if let Some(missed) = found.missed.filter(|_| !doubts.is_empty()) {
        value += softplus(missed - value);
    }
    let mut std_err = found.both.std_err;
    if !doubts.is_empty() {
        std_err = std_err.max(0.5 * (found.backward.value - found.forward.value).abs());
    }
    for doubt in doubts {
        std_err = std_err.max(0.75 * doubt.nats());
    }
    LogZ {
        ess: Some(found.both.ess),
        forward: Some(found.forward),
        backward: Some(found.backward),
        how: how(found),
        verdict,
        reason: if doubts.is_empty() { ONE_METHOD.into() } else { reason(doubts, far, tolerance) },
        advice: if doubts.is_empty() { vec![Advice::AllMethods] } else { MORE.to_vec() },
        ..LogZ::plain("bar", value, std_err)
    }
}

fn how(found: &Bidirectional) -> String {
    let Effort { chains, ladders, temperatures, sweeps } = found.effort;
    let words = |e: Estimate| format!("{:.3} ± {:.3}", e.value, e.std_err);
    format!(
        "{chains} chains annealed to the model ({}) and {ladders} from it ({}) through {temperatures} temperatures, after \
         {sweeps} sweeps of parallel tempering",
        words(found.forward),
        words(found.backward)
    )
}

/// Why agreement of both directions is not enough.
const ONE_METHOD: &str = "both directions agree, but a mode that neither of them reached would not be noticed";

/// What to do about any doubt.
const MORE: [Advice; 3] = [Advice::MoreTemperatures, Advice::MoreChains, Advice::GiveData];

/// The largest doubt in words.
fn reason(doubts: &[Doubt], disagree: bool, tolerance: f64) -> String {
    let worst = doubts.iter().max_by(|a, b| a.nats().total_cmp(&b.nats()));
    match worst {
        None => String::new(),
        Some(Doubt::Differ { what, by, .. }) if disagree => {
            format!("{what} disagree by {by:.2} nats: do not trust this number, the chains do not mix")
        }
        Some(Doubt::Differ { what, by, .. }) => {
            format!("{what} differ by {by:.2} nats, more than their errors explain")
        }
        Some(Doubt::Overlap) => "the two directions hardly overlap".into(),
        Some(Doubt::Wide) => format!("the interval is wider than {tolerance} nats"),
    }
}

impl Doubt {
    fn nats(&self) -> f64 {
        match self {
            Doubt::Differ { by, .. } => *by,
            Doubt::Wide | Doubt::Overlap => 0.0,
        }
    }
}
