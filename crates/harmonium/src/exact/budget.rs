//! When an exact answer is affordable: every default in one table.
//!
//! The unit is one *term*: the log norm Γ of one column of one layer for one state of the other, which is what enumeration
//! repeats. A model costs the states of its cheaper layer times the columns of the other layer, see
//! [`Exact::cost`](super::Exact::cost). Two cores compute about
//! 4·10⁹ terms of finite units per second, 4·10⁸ of others.

/// The largest cost, in terms, up to which an exact method is the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget(f64);

impl Budget {
    /// Whether a cost is within the budget; a cost of `None` means that there is no exact method.
    pub fn allows(self, cost: Option<f64>) -> bool {
        cost.is_some_and(|cost| cost <= self.0)
    }
}

/// Training uses the exact gradient: below a millisecond per update. Chains of models this small often do not mix.
pub(crate) const GRADIENT: Budget = Budget(5e4);
/// The same against a Gaussian layer, whose sums are closed forms: half a millisecond for 16 hidden units and any number of columns.
pub(crate) const GRADIENT_GAUSSIAN: Budget = Budget(3e5);
/// The exact gradient sums over the unknown cells of one row: a tenth of a second for a batch of 100.
pub(crate) const GRADIENT_ROW: Budget = Budget(2e5);
/// The likelihood measured during training is exact, as is the sum over the unknown cells of all measured rows: some
/// thousandths of a second per measurement. Dearer models are exact at fewer measurements, as the work of the updates allows.
pub(crate) const MONITOR: Budget = Budget(1e7);
/// The unknown cells of one row are summed over, in imputation and in scores: about 50 ms per row.
pub(crate) const ROW: Budget = Budget(2e7);
/// The density in the report's picture of the plane is normalised: about a second.
pub const REPORT_DENSITY: Budget = Budget(3e8);
/// The samples in the report are independent draws: a few seconds.
pub(crate) const REPORT_SAMPLES: Budget = Budget(1e9);
/// The sampler `auto` draws independent samples: some seconds.
pub(crate) const SAMPLE: Budget = Budget(2e9);
/// After training, the unknown cells of all rows are summed over: some ten seconds.
pub(crate) const ALL_ROWS: Budget = Budget(2e9);
/// The log Z method `auto` enumerates: below a minute.
pub(crate) const LOG_Z: Budget = Budget(2e10);

/// log₂ of the most states that are ever enumerated: about half an hour for 784 × 30.
pub const MOST_STATES_LOG2: u32 = 30;
/// log₂ of the largest cost that is reported as a number; beyond it there is no exact method.
pub(super) const MOST_COST_LOG2: f64 = 60.0;
/// Units at most in the smaller of two Gaussian layers: their covariance matrix takes half a gigabyte.
pub(super) const MOST_GAUSSIAN_UNITS: usize = 8192;
