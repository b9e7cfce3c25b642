//! log Z as a sum over modes: search for the modes, measure the mass of each from its own base, and take the rest from annealing
//! that starts without fields.
//!
//! | file | idea |
//! |---|---|
//! | `search` | starts from the weights and by sampling |
//! | `basins` | the list of modes, and sets of modes that sampling connects |
//! | `masses` | the mass of a set from annealed weights |
//! | `local` | what happens near one mode |
//! | `survey` | all of these on one model, with growing effort |
//! | `evidence` | what speaks for the sum or against it, and the verdict |

mod basins;
mod evidence;
mod local;
mod masses;
mod search;
mod survey;

use super::mean_field::{Follow, settle};
use super::{Limits, LogZ, Problem, Sampler, Setup};
use crate::error::Result;
use crate::real::Real;
use crate::rng::Purpose;
use basins::{Modes, Source};
use survey::{Survey, deepest_and_others};

pub(super) use basins::Mode;

/// Modes that the search from the weights finds, and those of the deepest rows, the best bound first.
pub(super) fn searched<T: Real>(setup: &mut Setup<T>) -> Vec<Mode<T>> {
    let lowered = setup.backend.model();
    let mut modes = Modes::new(&lowered);
    let starts = search::from_weights(&lowered, setup.key.of(Purpose::Far));
    modes.add(&settle(&lowered, starts.view(), Follow::FAR), Some(Source::Weights));
    if let Some(data) = &setup.data {
        let rows = deepest_and_others(setup.backend.as_mut(), data);
        modes.add(&settle(&lowered, rows.view(), Follow::FAR), Some(Source::Data));
    }
    modes.all.sort_by(|a, b| b.bound.total_cmp(&a.bound));
    modes.all
}

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    problem.sample(ByModes)
}

struct ByModes;

impl Sampler for ByModes {
    fn run<T: Real>(self, setup: Setup<T>, limits: Limits) -> Result<LogZ> {
        Survey::new(setup, limits).run()
    }
}
