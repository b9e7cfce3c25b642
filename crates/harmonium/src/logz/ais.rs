//! Annealed importance sampling: Z/Z₀ = ⟨Π p*_{k+1}(v_k)/p*_k(v_k)⟩ over chains that start at the base (Neal, *Annealed
//! importance sampling*, 2001; Salakhutdinov & Murray 2008). The mean is unbiased, so its logarithm is too low on average.

use super::bidirectional::Annealer;
use super::weights::{Estimate, MIN_ESS};
use super::{Limits, LogZ, Problem, Sampler, Setup, Verdict};
use crate::advice::Advice;
use crate::error::Result;
use crate::real::Real;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Ais)
}

struct Ais;

impl Sampler for Ais {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        let mut annealer = Annealer::new(setup);
        let effort = limits.first_effort(annealer.length());
        limits.meter.plan((effort.chains * effort.temperatures) as f64);
        let found = annealer.forward(&effort, 0);
        let how = format!("{} chains through {} temperatures", effort.chains, effort.temperatures);
        let z = one_sided(found, "low", effort.chains, limits.tolerance);
        Ok(LogZ { forward: Some(found), method: "ais", how, ..z })
    }
}

/// An estimate from one direction, which is too low or too high (`bias`) on average.
pub(super) fn one_sided(found: Estimate, bias: &str, chains: usize, tolerance: f64) -> LogZ {
    let Estimate { value, std_err, ess } = found;
    let few = ess < MIN_ESS;
    let reason = if few {
        format!(
            "the effective sample size is {ess:.1} of {chains}, too small for an error bar: the value is too {bias} on average \
             and may be far off"
        )
    } else {
        format!("one direction only, too {bias} on average")
    };
    let advice = if few { &[Advice::MoreTemperatures, Advice::AllMethods][..] } else { &[Advice::AllMethods] };
    LogZ {
        ess: Some(ess),
        verdict: if few || 4.0 * std_err > tolerance { Verdict::Imprecise } else { Verdict::Likely },
        reason,
        advice: advice.to_vec(),
        ..LogZ::plain("", value, std_err)
    }
}
