//! Annealed importance sampling backwards: Z₀/Z = ⟨Π p*_k(v_k)/p*_{k+1}(v_k)⟩ over chains that start at samples of the machine
//! (Burda, Grosse & Salakhutdinov, *Accurate and conservative estimates of MRF log-likelihood*, 2015; Grosse, Ghahramani &
//! Adams, *Sandwiching the marginal likelihood*, 2015). −log of the mean is high on average, if the samples are exact.

use super::ais::one_sided;
use super::sandwich::Both;
use super::weights::FEW;
use super::{Asked, LogZ, Problem, Sampler, Verdict};
use crate::error::Result;
use crate::real::Real;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Reverse)
}

struct Reverse;

impl Sampler for Reverse {
    fn run<T: Real>(self, mut both: Both<T>, asked: Asked) -> Result<LogZ> {
        let mut effort = asked.first_effort(both.length());
        effort.ladders = effort.chains;
        asked.meter.plan(both.cost(&effort));
        let sandwich = both.run(effort, 0);
        let found = sandwich.backward;
        let few = found.ess < FEW;
        Ok(LogZ {
            value: found.value,
            std_err: found.std_err,
            lower: found.value - 2.0 * found.std_err,
            upper: found.value + 2.0 * found.std_err,
            ess: Some(found.ess),
            forward: None,
            backward: Some(found),
            method: "reverse-ais",
            how: format!(
                "{} samples by {} sweeps of parallel tempering, back through {} temperatures",
                effort.ladders, effort.sweeps, effort.temperatures
            ),
            verdict: if few { Verdict::Unreliable } else { Verdict::UpperBound },
            advice: one_sided("high", few, found.ess, effort.ladders),
        })
    }
}
