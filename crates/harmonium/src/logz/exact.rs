//! log Z = log Σ_h p*(h) with no error: see [`crate::exact`].

use super::{LogZ, Problem, Verdict};
use crate::error::Result;
use crate::exact::Exact;

pub(super) fn run(problem: &Problem) -> Result<LogZ> {
    let exact = Exact::with_progress(problem.rbm, problem.progress)?;
    let value = exact.log_z();
    Ok(LogZ {
        value,
        std_err: 0.0,
        lower: value,
        upper: value,
        ess: None,
        forward: None,
        backward: None,
        method: "exact",
        how: exact.method(),
        verdict: Verdict::Exact,
        reason: String::new(),
        advice: Vec::new(),
        evidence: Vec::new(),
    })
}
