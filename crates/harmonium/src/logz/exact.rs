//! log Z = log Σ_h p*(h) with no error: see [`crate::exact`].

use super::{LogZ, Problem, Verdict};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::exact::Exact;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    let exact = Exact::with_progress(problem.rbm, problem.progress).map_err(|error| match error {
        Error::TooManyStates { .. } => error.advise(&[Advice::AllMethods]),
        other => other,
    })?;
    let value = exact.log_z();
    Ok(LogZ { how: exact.method(), verdict: Verdict::Exact, ..LogZ::plain("exact", value, 0.0) })
}
