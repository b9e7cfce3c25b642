//! How far an estimate of log Z can be trusted.

use super::LogZ;
use std::fmt;

/// How far an estimate can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exact: no error.
    Exact,
    /// Both directions agree and the interval is narrow.
    Certain,
    /// Nothing contradicts the interval, but it is wider than the tolerance.
    Wide,
    /// Two estimates of the same number differ: do not trust it.
    Disagree,
    /// One direction only: too low on average, by an unknown amount.
    LowerBound,
    /// One direction only: too high on average, by an unknown amount.
    UpperBound,
    /// Modes that the chains did not reach were not searched for.
    Unchecked,
    /// The effective sample size is too small for an error bar.
    Unreliable,
}

impl Verdict {
    /// The name in files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Exact => "exact",
            Verdict::Certain => "certain",
            Verdict::Wide => "wide",
            Verdict::Disagree => "disagree",
            Verdict::LowerBound => "lower bound",
            Verdict::UpperBound => "upper bound",
            Verdict::Unchecked => "unchecked",
            Verdict::Unreliable => "unreliable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value, its error and interval unless it is exact, and the verdict.
impl fmt::Display for LogZ {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let LogZ { value, std_err, lower, upper, verdict, .. } = self;
        match verdict {
            Verdict::Exact => write!(f, "{value:.6} nats, {verdict}"),
            _ => write!(f, "{value:.4} ± {std_err:.4} nats ({lower:.4} to {upper:.4}), {verdict}"),
        }
    }
}

impl LogZ {
    /// The verdict and its reason; none if the verdict alone is all there is to report. [`LogZ::advice`] has what to do.
    pub fn explanation(&self) -> Option<String> {
        (!self.reason.is_empty()).then(|| format!("{}: {}", self.verdict, self.reason))
    }
}
