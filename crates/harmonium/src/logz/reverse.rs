//! Reverse annealed importance sampling: Z₀/Z = ⟨Π p*_k(v_k)/p*_{k+1}(v_k)⟩ over chains that start at samples of the model
//! (Burda, Grosse & Salakhutdinov, *Accurate and conservative estimates of MRF log-likelihood*, 2015; Grosse, Ghahramani &
//! Adams, *Sandwiching the marginal likelihood*, 2015). −log of the mean is too high on average, if the samples are exact.

use super::ais::one_sided;
use super::bidirectional::Annealer;
use super::{Limits, LogZ, Problem, Sampler, Setup};
use crate::error::Result;
use crate::real::Real;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(Reverse)
}

struct Reverse;

impl Sampler for Reverse {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        let mut annealer = Annealer::new(setup);
        let mut effort = limits.first_effort(annealer.length());
        effort.ladders = effort.chains;
        limits.meter.plan(annealer.cost(&effort));
        let found = annealer.run(effort, 0).backward;
        let how = format!(
            "{} samples from {} sweeps of parallel tempering, annealed back through {} temperatures",
            effort.ladders, effort.sweeps, effort.temperatures
        );
        let z = one_sided(found, "high", effort.ladders, limits.tolerance);
        Ok(LogZ { backward: Some(found), method: "reverse-ais", how, ..z })
    }
}
