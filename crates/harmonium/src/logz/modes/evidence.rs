//! What speaks for a sum over modes, and could have spoken against it; and the verdict that follows.
//!
//! Agreement of seeds, effective sample sizes and round trips alone prove nothing: chains with the same blind spot agree. The
//! evidence here comes from searches and bases that share nothing.

use super::super::{Evidence, Verdict};
use super::basins::Source;
use super::local::Region;
use super::survey::{Survey, Total};
use crate::advice::Advice;
use crate::math::log_sum_exp;
use crate::real::Real;
use std::collections::BTreeSet;

/// Differences of more standard errors are significant.
const ERRORS: f64 = 3.0;
/// Nats that one search may miss, and nats from which on two searches contradict each other.
const MISSED: f64 = 0.1;
const APART: f64 = 1.0;
/// Effective number of annealed chains, where the rest has more than this share.
const CHAINS: f64 = 20.0;
const REST: f64 = 0.01;
/// Share of the mass that may rest on a single estimate.
const SINGLE: f64 = 0.05;
/// Nats of the whole by which estimates of one part may differ significantly.
const DIFFER: f64 = 0.1;
/// Part of the last search that may end in new modes.
const NEW: f64 = 0.5;

/// All evidence, and the verdict.
pub fn judge<T: Real>(survey: &Survey<T>, total: &Total) -> (Verdict, Vec<Evidence>) {
    let limit = 0.25 * survey.limits.tolerance;
    let bound = survey.modes.bound().max(survey.limits.bound);
    let flat = survey.flat_estimate();
    let ess = survey.last_whole().iter().map(|run| run.mass(|_| true).ess).fold(0.0, f64::max);
    let parts = || total.parts.iter().map(|part| &part.1);
    let rest = total.rest_share();
    let [weights, sampling, data] =
        [Source::Weights, Source::Sampling, Source::Data].map(|source| missed_by(survey, total, source));
    let single = parts().filter(|p| p.agree < 2).map(|p| total.share(p)).sum::<f64>().abs();
    let differ = parts().map(|p| total.share(p) * p.against).fold(0.0, f64::max);
    // A base that finds less than two others has missed mass; it is no evidence against them, but the part is hard.
    let conflict = parts().filter(|p| p.agree < 2).map(|p| total.share(p) * p.conflict).fold(0.0, f64::max);
    let new = survey.new_modes.0 as f64 / survey.new_modes.1.max(1) as f64;
    let evidence = vec![
        at_most(
            "error",
            total.std_err,
            limit,
            format!("the standard error is {:.3} nats (limit {limit:.3})", total.std_err),
        ),
        at_least(
            "bound",
            total.value + ERRORS * total.std_err,
            bound,
            format!("log Z is at least {bound:.3} nats (guaranteed lower bound)"),
        ),
        at_most(
            "flat",
            flat.value - total.value,
            ERRORS * flat.std_err.hypot(total.std_err),
            format!("annealing from a flat distribution gives {:.3} ± {:.3} nats", flat.value, flat.std_err),
        ),
        Evidence {
            holds: ess >= CHAINS || rest < REST,
            ..at_least(
                "flat_ess",
                ess,
                CHAINS,
                format!(
                    "annealing from a flat distribution has an effective sample size of {ess:.0} (at least {CHAINS} needed)"
                ),
            )
        },
        at_most(
            "weights",
            weights,
            MISSED,
            format!(
                "with only the modes found from the weights, log Z would be {weights:.2} nats lower (limit {MISSED})"
            ),
        ),
        at_most(
            "sampling",
            sampling,
            MISSED,
            format!("with only the modes found by sampling, log Z would be {sampling:.2} nats lower (limit {MISSED})"),
        ),
        at_most(
            "single",
            single,
            SINGLE,
            format!(
                "{:.1} % of Z was estimated at least twice (at least {:.0} % needed)",
                100.0 - 100.0 * single,
                100.0 - 100.0 * SINGLE
            ),
        ),
        at_most(
            "agreement",
            differ,
            DIFFER,
            format!("repeated estimates of the same part of Z agree within {differ:.2} nats (limit {DIFFER})"),
        ),
        at_most(
            "new_modes",
            new,
            NEW,
            format!(
                "{:.0} % of the last searches ended in modes not seen before (limit {:.0} %)",
                100.0 * new,
                100.0 * NEW
            ),
        ),
    ];
    let failed = |name: &str| evidence.iter().any(|e| e.name == name && !e.holds);
    let by_data = survey.rows.is_some() && data <= MISSED;
    let verdict = if evidence.iter().all(|e| e.holds) {
        Verdict::Certain
    } else if failed("bound") || failed("flat") || weights.max(sampling) > APART && !by_data || conflict > APART {
        Verdict::Disagree
    } else if failed("error") {
        Verdict::Imprecise
    } else {
        Verdict::Likely
    };
    (verdict, evidence)
}

fn at_most(name: &'static str, value: f64, limit: f64, words: String) -> Evidence {
    Evidence { name, holds: value <= limit, value, limit, words }
}

fn at_least(name: &'static str, value: f64, limit: f64, words: String) -> Evidence {
    Evidence { name, holds: value >= limit, value, limit, words }
}

/// Nats by which the sum is larger than the part of it that one search has found.
fn missed_by<T: Real>(survey: &Survey<T>, total: &Total, source: Source) -> f64 {
    let modes = survey.modes.all.iter().enumerate();
    let found: BTreeSet<usize> =
        modes.filter(|(_, mode)| mode.found_by(source)).map(|(k, _)| survey.sets.of(k)).collect();
    let included = |region: &Region| if let Region::Set(set) = region { found.contains(set) } else { true };
    let parts = total.parts.iter().filter(|part| included(&part.0)).map(|part| part.1.value);
    total.value - log_sum_exp(parts.collect::<Vec<_>>().into_iter())
}

/// Why a verdict is not better, and what to do about it.
pub fn explain(verdict: Verdict, evidence: &[Evidence], with_data: bool) -> (String, Vec<Advice>) {
    if verdict == Verdict::Certain {
        return (String::new(), Vec::new());
    }
    let failed: Vec<&str> = evidence.iter().filter(|e| !e.holds).map(|e| e.words.as_str()).collect();
    let mut advice = Vec::new();
    if !with_data {
        advice.push(Advice::GiveData);
    }
    advice.push(Advice::MoreTime);
    (failed.join("; "), advice)
}
