//! Whether a row is filled by the exact sum or by chains: the cheaper of both, for an error that does not matter.
//!
//! A filled cell is off by about its own standard deviation. A Monte Carlo error of a twentieth of it raises the root mean square error
//! of filled cells by √(1 + 1/400), about 0.1 %. Chains that do not reach that are replaced by the sum where it is affordable.

use super::chains::EVERY;
use super::{Answer, Conditional, Method, cost};
use crate::exact::budget;
use crate::states::Bits;

/// Largest error of chains, root mean square over the unknown cells of a row in units of their standard deviations.
const PRECISION: f64 = 0.05;
/// Weights that a sweep visits in the time of a term of the sum, which is taken twice, for log Z and for means.
const WEIGHTS_PER_TERM: f64 = 4.0;
/// What a measurement costs, in sweeps: it works on numbers where a sweep works on bits.
const MEASUREMENT: f64 = 4.0;

impl Conditional {
    /// The cost of the chains of a row, in terms.
    pub(super) fn cost_of_chains(&self) -> f64 {
        let (settings, weights) = (&self.settings, self.lowered.weights().len() as f64);
        let sweeps =
            (settings.burn_in + settings.steps) as f64 + MEASUREMENT * settings.steps.div_ceil(EVERY as u64) as f64;
        2.0 * weights * settings.chains as f64 * sweeps / WEIGHTS_PER_TERM
    }

    /// Whether the result of chains is as good as exact.
    pub(super) fn is_precise(&self, answer: &Answer) -> bool {
        self.settings.method == Method::Chains || answer.off <= PRECISION
    }

    /// Whether a row can be summed over in little time.
    pub(super) fn is_affordable(&self, known: &Bits, row: usize) -> bool {
        budget::ROW.allows(cost(self.lowered.layers(), known, row))
    }
}
