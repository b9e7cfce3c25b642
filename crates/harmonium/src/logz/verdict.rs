//! What to make of an estimate, in a word and in words.

use super::LogZ;
use std::fmt;

/// What to make of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No error.
    Exact,
    /// Both directions agree and the interval is narrow.
    Certain,
    /// Nothing contradicts the interval, but it is wider than asked.
    Wide,
    /// Two ways to the same number lead to different ones: the number is not to be trusted.
    Disagree,
    /// One direction only: low on average, by how much is not known.
    LowerBound,
    /// One direction only: high on average, by how much is not known.
    UpperBound,
    /// Nothing was done to find what the chains did not reach.
    Unchecked,
    /// Too few weights count for an error bar.
    Unreliable,
}

impl Verdict {
    /// The word in files and JSON.
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

/// The value, its error and interval unless it is exact, and what to make of it.
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
