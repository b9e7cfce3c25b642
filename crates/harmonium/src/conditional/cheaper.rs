//! Whether a row is filled by the exact sum or by chains: the cheaper of both, for an error that does not matter.
//!
//! A filled cell is off by about its own standard deviation. A Monte Carlo error of a twentieth of it raises the root mean square error
//! of filled cells by √(1 + 1/400), about 0.1 %. Chains that do not reach that are replaced by the sum where it is affordable.
//!
//! Costs are in terms of the sum, 10 ns each with log Z and means (`studies/imputation/speed.py`).

use super::{Answer, Conditional, Method, cost};
use crate::bits::Bits;
use crate::exact::budget;
use crate::layout::{Block, Layout};

/// Largest error of chains, root mean square over the unknown cells of a row in units of their standard deviations.
const PRECISION: f64 = 0.05;
/// A draw of a unit with finitely many states, and of another: 1.3 and 5 ns.
const DRAW: [f64; 2] = [0.13, 0.5];
/// A weight that a product visits, 0.03 ns; and to start the chains of a row, 0.2 ms.
const WEIGHT: f64 = 0.003;
const START: f64 = 2e4;

impl Conditional {
    /// The cost of the chains of a row.
    pub(super) fn cost_of_chains(&self) -> f64 {
        let (settings, lowered) = (&self.settings, &self.lowered);
        let draws = draws(lowered.visible()) + draws(lowered.hidden());
        let sweep = draws + 2.0 * WEIGHT * lowered.weights().len() as f64;
        START + sweep * settings.chains as f64 * (settings.burn_in + settings.steps) as f64
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

/// The cost of drawing the units of a layer once.
fn draws(layer: &Layout) -> f64 {
    let of = |b: &Block| DRAW[usize::from(b.unit::<f64>().n_states().is_none())] * b.sites().len() as f64;
    layer.blocks().iter().map(of).sum()
}
