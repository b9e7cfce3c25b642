//! log Z = log Σ_h p*(h) with no error: see [`crate::exact`].

use super::{LogZ, Problem, Verdict};
use crate::error::Result;
use crate::exact::Exact;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    let exact = Exact::with_progress(problem.rbm, problem.progress)?;
    let value = exact.log_z();
    Ok(LogZ { how: exact.method(), verdict: Verdict::Exact, ..LogZ::plain("exact", value, 0.0) })
}
