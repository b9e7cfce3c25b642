//! What the first round of an estimate needs of memory and work, and whether that is too much.

use super::{BUDGET, LogZOptions, Problem, bidirectional::Effort};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::memory;

/// Weights that the first round of an estimate may visit, unless more is allowed: some minutes on two cores.
const MOST_WORK: f64 = 3.0 * BUDGET;
/// Bytes per column of an annealed chain, with its ladder and its copies. An upper bound: ais in one direction takes about 6.
const PER_STATE: f64 = 20.0;

impl Problem<'_> {
    /// Refuses chains and temperatures whose first round does not fit in memory, or is far more work than an estimate
    /// may take.
    pub(super) fn check_effort(&self, columns: usize, work: f64, least: Effort) -> Result<()> {
        let LogZOptions { chains, temperatures, budget, .. } = self.settings;
        let (Some(n), key) = (chains.max(temperatures), if chains >= temperatures { "chains" } else { "temperatures" })
        else {
            return Ok(());
        };
        let chains = chains.unwrap_or(least.chains) as f64;
        memory::check(key, n, PER_STATE * chains * columns as f64)?;
        let first = work * chains * temperatures.unwrap_or(least.temperatures) as f64;
        let limit = if budget.is_finite() { budget.max(MOST_WORK) } else { MOST_WORK };
        if first <= limit {
            return Ok(());
        }
        let problem =
            format!("is {n}, which visits {first:.1e} weights before there is an estimate; the limit is {limit:.1e}");
        Err(Error::Config { key, problem }.advise(&[Advice::MoreTime]))
    }
}
