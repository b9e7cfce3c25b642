//! Annealed importance sampling backwards: Z₀/Z = ⟨Π p*_k(v_k)/p*_{k+1}(v_k)⟩ over chains that start at samples of the model
//! (Burda, Grosse & Salakhutdinov, *Accurate and conservative estimates of MRF log-likelihood*, 2015; Grosse, Ghahramani &
//! Adams, *Sandwiching the marginal likelihood*, 2015). −log of the mean is high on average, if the samples are exact.

use super::ais::one_sided;
use super::bidirectional::Both;
use super::{Limits, LogZ, Problem, Sampler, Verdict};
use crate::error::Result;
use crate::real::Real;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Reverse)
}

struct Reverse;

impl Sampler for Reverse {
    fn run<T: Real>(self, mut both: Both<T>, asked: Limits) -> Result<LogZ> {
        let mut effort = asked.first_effort(both.length());
        effort.ladders = effort.chains;
        asked.meter.plan(both.cost(&effort));
        let found = both.run(effort, 0).backward;
        let how = format!(
            "{} samples by {} sweeps of parallel tempering, back through {} temperatures",
            effort.ladders, effort.sweeps, effort.temperatures
        );
        let z = one_sided(found, "high", Verdict::UpperBound, effort.ladders);
        Ok(LogZ { backward: Some(found), method: "reverse-ais", how, ..z })
    }
}
