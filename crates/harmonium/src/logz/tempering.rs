//! Parallel tempering: log Z − log Z₀ = Σ_k log Z_{k+1}/Z_k over neighbouring temperatures, each by Bennett's ratio from the
//! proposed swaps. It is the thermodynamic integral ∫⟨∂_β log p*⟩dβ without the error of a quadrature.

use super::bennett::bennett;
use super::bidirectional::Annealer;
use super::{Limits, LogZ, Problem, Sampler, Setup, Verdict};
use crate::advice::Advice;
use crate::error::Result;
use crate::real::Real;

/// Groups of ladders that are left out in turn for the jackknife error.
const GROUPS: usize = 16;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Tempering)
}

struct Tempering;

impl Sampler for Tempering {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        let mut annealer = Annealer::new(setup);
        let mut effort = limits.first_effort(annealer.length());
        effort.ladders = effort.ladders.max(GROUPS);
        effort.chains = effort.chains.max(effort.ladders);
        let mut spent = 0.0;
        for round in 0.. {
            limits.meter.plan(annealer.cost(&effort));
            let swap_trials = annealer.swap_trials(&effort, round);
            spent += annealer.cost(&effort);
            let (value, std_err) = jackknife(&swap_trials.works, effort.ladders);
            let narrow = 4.0 * std_err <= limits.tolerance;
            if narrow || 3.0 * spent > limits.sweeps {
                let rungs = swap_trials.works.len() + 1;
                return Ok(LogZ {
                    ess: Some(effort.ladders as f64),
                    how: format!(
                        "{} ladders of {rungs} temperatures, {} sweeps, at least {:.0} % of the swaps accepted",
                        effort.ladders,
                        effort.sweeps,
                        100.0 * swap_trials.swaps
                    ),
                    verdict: if narrow { Verdict::Likely } else { Verdict::Imprecise },
                    reason:
                        "the error comes from differences between ladders; modes that no ladder reached are not in it"
                            .into(),
                    advice: vec![Advice::AllMethods],
                    ..LogZ::plain("tempering", value + swap_trials.log_z0, std_err)
                });
            }
            effort.sweeps *= 2;
        }
        unreachable!("the loop ends by returning")
    }
}

/// Sum over rungs of Bennett's ratio, and its jackknife error over groups of ladders.
fn jackknife(works: &[Vec<(usize, f64, f64)>], ladders: usize) -> (f64, f64) {
    let group = |ladder: usize| ladder * GROUPS / ladders;
    let without = |g: Option<usize>| -> f64 {
        let rung = |works: &Vec<(usize, f64, f64)>| {
            let kept = || works.iter().filter(|w| Some(group(w.0)) != g);
            bennett(&kept().map(|w| w.1).collect::<Vec<_>>(), &kept().map(|w| w.2).collect::<Vec<_>>()).value
        };
        works.iter().map(rung).sum()
    };
    let parts: Vec<f64> = (0..GROUPS).map(|g| without(Some(g))).collect();
    let n = GROUPS as f64;
    let mean = parts.iter().sum::<f64>() / n;
    let variance = parts.iter().map(|p| (p - mean).powi(2)).sum::<f64>() * (n - 1.0) / n;
    (without(None), variance.sqrt())
}
