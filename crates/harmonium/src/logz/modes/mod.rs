//! log Z as a sum over modes: search for the modes, measure the mass of each from its own base, and take the rest from annealing
//! that starts without fields.
//!
//! | file | idea |
//! |---|---|
//! | `search` | starts from the weights and by sampling |
//! | `basins` | the list of modes, and sets of modes that sampling connects |
//! | `masses` | the mass of a set from annealed weights |
//! | `local` | what happens near one mode |
//! | `places` | places that few chains reach, each with a large weight |
//! | `survey` | all of these on one model, with growing effort |
//! | `evidence` | what speaks for the sum or against it, and the verdict |

mod basins;
mod evidence;
mod local;
mod masses;
mod places;
mod search;
mod survey;

use super::{Limits, LogZ, Problem, Sampler, Setup};
use crate::error::Result;
use crate::real::Real;
use survey::Survey;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(ByModes)
}

struct ByModes;

impl Sampler for ByModes {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        Survey::new(setup, limits).run()
    }
}
