//! An estimate of log Z: its value and error, what was done, and how far it can be trusted.

use super::verdict::{Evidence, Verdict};
use super::weights::Estimate;
use crate::advice::Advice;

/// An estimate of log Z in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogZ {
    /// log Z.
    pub value: f64,
    /// Its standard error; 0 if exact.
    pub std_err: f64,
    /// Lower end of the interval: two standard errors below the value.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Effective sample size; none if nothing was sampled.
    pub ess: Option<f64>,
    /// From the base to the model, if that was done: its expectation is below log Z.
    pub forward: Option<Estimate>,
    /// From the model to the base, if that was done: its expectation is above log Z for exact samples of the model.
    pub backward: Option<Estimate>,
    /// The method's name.
    pub method: &'static str,
    /// A description of what was done.
    pub how: String,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// Why, in one sentence; empty if there is nothing to add.
    pub reason: String,
    /// What to do about it, the most useful first.
    pub advice: Vec<Advice>,
    /// What was checked.
    pub evidence: Vec<Evidence>,
    /// The parts of a sum over modes, the largest first.
    pub parts: Vec<Part>,
    /// Work done in weights visited, if it was counted: as [`budget`](super::LogZOptions::budget) it repeats the estimate to the bit.
    pub work: Option<f64>,
}

/// A part of a sum over modes: a set of modes between which chains move, or the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// log of its mass; the sum of all masses is Z.
    pub log_mass: f64,
    /// Its standard error.
    pub std_err: f64,
    /// Its share of Z.
    pub share: f64,
    /// Whether it is what lies outside of all stable modes.
    pub is_rest: bool,
    /// Estimates of it from different bases.
    pub estimates: Vec<Estimate>,
}

impl LogZ {
    /// A value with its error and nothing else; an interval of two standard errors.
    pub(super) fn plain(method: &'static str, value: f64, std_err: f64) -> LogZ {
        LogZ {
            value,
            std_err,
            lower: value - 2.0 * std_err,
            upper: value + 2.0 * std_err,
            ess: None,
            forward: None,
            backward: None,
            method,
            how: String::new(),
            verdict: Verdict::Imprecise,
            reason: String::new(),
            advice: Vec::new(),
            evidence: Vec::new(),
            parts: Vec::new(),
            work: None,
        }
    }
}

/// A share of the whole in words: never a rounded 0 or 100 for what is neither.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p < 0.1 => "less than 0.1 %".into(),
        p if p > 99.9 => "more than 99.9 %".into(),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_never_rounded_to_nothing_or_all() {
        let words = [-1e-9, 0.0, 0.0004, 0.25, 0.9994, 1.0].map(percent);
        let (little, most) = ("less than 0.1 %", "more than 99.9 %");
        assert_eq!(words, [little, little, little, "25.0 %", most, most]);
    }
}
