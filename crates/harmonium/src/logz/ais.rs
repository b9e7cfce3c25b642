//! Annealed importance sampling: Z/Z₀ = ⟨Π p*_{k+1}(v_k)/p*_k(v_k)⟩ over chains that start at the base (Neal, *Annealed
//! importance sampling*, 2001; Salakhutdinov & Murray 2008). The mean is right, so its logarithm is low on average.

use super::sandwich::Both;
use super::weights::FEW;
use super::{Asked, LogZ, Problem, Sampler, Verdict};
use crate::error::Result;
use crate::real::Real;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Ais)
}

struct Ais;

impl Sampler for Ais {
    fn run<T: Real>(self, mut both: Both<T>, asked: Asked) -> Result<LogZ> {
        let effort = asked.first_effort(both.length());
        asked.meter.plan((effort.chains * effort.temperatures) as f64);
        let found = both.forward(&effort, 0);
        let few = found.ess < FEW;
        Ok(LogZ {
            value: found.value,
            std_err: found.std_err,
            lower: found.value - 2.0 * found.std_err,
            upper: found.value + 2.0 * found.std_err,
            ess: Some(found.ess),
            forward: Some(found),
            backward: None,
            method: "ais",
            how: format!("{} chains through {} temperatures", effort.chains, effort.temperatures),
            verdict: if few { Verdict::Unreliable } else { Verdict::LowerBound },
            advice: one_sided("low", few, found.ess, effort.chains),
        })
    }
}

/// What an estimate from one direction is worth.
pub(super) fn one_sided(side: &str, few: bool, ess: f64, chains: usize) -> String {
    match few {
        true => format!(
            "only {ess:.1} of {chains} weights count, too few for an error bar: the value is {side} on average and may be \
             far off; use more --temperatures, or --method bar"
        ),
        false => format!("{side} on average; --method bar adds the other direction"),
    }
}
