//! How far an estimate of log Z can be trusted.

use super::LogZ;
use std::fmt;

/// How far an estimate can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exact: no error.
    Exact,
    /// The interval is narrow, and independent evidence that could have contradicted it does not.
    Certain,
    /// The interval is narrow and nothing contradicts it, but some of the evidence that `Certain` needs is missing.
    Likely,
    /// Nothing contradicts the interval, but it is wider than the tolerance.
    Imprecise,
    /// Two estimates of the same number differ, or a bound is violated: do not trust it.
    Disagree,
}

impl Verdict {
    /// The name in files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Exact => "exact",
            Verdict::Certain => "certain",
            Verdict::Likely => "likely",
            Verdict::Imprecise => "imprecise",
            Verdict::Disagree => "disagree",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that was checked, and could have failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its name in JSON.
    pub name: &'static str,
    /// Whether it supports the estimate.
    pub holds: bool,
    /// What was measured.
    pub value: f64,
    /// What it is compared with.
    pub limit: f64,
    /// Both in words.
    pub words: String,
}

/// The value, its error and interval unless it is exact, and the verdict.
impl fmt::Display for LogZ {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let LogZ { value, std_err, lower, upper, verdict, .. } = self;
        match verdict {
            Verdict::Exact => write!(f, "{value:.6} nats, {verdict}"),
            _ => {
                // Two digits of the error.
                let d = (1.0 - std_err.log10().floor()).clamp(0.0, 9.0) as usize;
                write!(
                    f,
                    "{value:.d$} ± {std_err:.d$} nats (± 2 standard errors: {lower:.d$} to {upper:.d$}), {verdict}"
                )
            }
        }
    }
}

impl LogZ {
    /// The verdict and its reason; none if the verdict alone is all there is to report. [`LogZ::advice`] has what to do.
    pub fn explanation(&self) -> Option<String> {
        (!self.reason.is_empty()).then(|| format!("{}: {}", self.verdict, self.reason))
    }
}
