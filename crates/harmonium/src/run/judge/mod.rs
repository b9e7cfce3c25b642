//! What became of a run: learned, still rising, overfitting, not mixed, little, failed. All rules are here, as data.

mod evidence;
mod remedy;
#[cfg(test)]
mod tests;

pub use evidence::{APART, Evidence, Fit, GAP, Means, SURE, WORTH};
pub use remedy::Remedy;

use super::fit::RowsFit;
use crate::advice::Advice;
use crate::logz::{LogZ, Verdict as Trust};
use serde::Serialize;

/// A learning rate this many times the usual one is the likely cause of a failure.
const HIGH_RATE: f64 = 4.0;
/// Passes through the data below which a run that has learned little was too short.
const FEW_EPOCHS: f64 = 5.0;

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Better than a baseline of independent columns, on held-out rows too if there are some.
    Learned,
    /// Learned, and the likelihood was still rising at the end.
    StillRising,
    /// Much better on training rows than on held-out ones.
    Overfitting,
    /// Learned, but Gibbs sampling does not move freely between its modes, or they have the wrong weights.
    NotMixed,
    /// Hardly better than the baseline.
    Little,
    /// Worse than the baseline, or not finite.
    Failed,
    /// Not at its end.
    Unfinished,
    /// Neither likelihood nor pseudo-likelihood is known, or not yet.
    Unknown,
}

impl Outcome {
    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Learned => "learned",
            Outcome::StillRising => "still-rising",
            Outcome::Overfitting => "overfitting",
            Outcome::NotMixed => "not-mixed",
            Outcome::Little => "little",
            Outcome::Failed => "failed",
            Outcome::Unfinished => "unfinished",
            Outcome::Unknown => "unknown",
        }
    }
}

/// Why a run failed or learned little, as far as the evidence shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// Updates diverged, or numbers are not finite.
    Diverged,
    /// The learning rate is too high.
    HighRate,
    /// The chains no longer follow the model: it learned first and lost it again.
    ChainsLost,
    /// There were too few updates.
    TooShort,
    /// The rows are all alike: the baseline describes them already.
    NothingToLearn,
    /// Gaussian hidden units were fitted directly, as well as they can be.
    Solved,
}

/// What became of a run, why, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In one word.
    pub outcome: Outcome,
    /// The likely cause of a failure.
    pub cause: Option<Cause>,
    /// The numbers it rests on.
    pub evidence: Evidence,
    /// What to do next, the most useful first; may be empty.
    pub advice: Vec<Advice>,
    /// The first of these as a command.
    pub remedy: Option<Remedy>,
}

/// Judges a run.
pub fn judge(evidence: Evidence) -> Verdict {
    let outcome = evidence.outcome();
    let cause = evidence.cause(outcome);
    let (advice, remedy) = (evidence.advice(outcome, cause), evidence.remedy(outcome, cause));
    Verdict { outcome, cause, advice, remedy, evidence }
}

impl Evidence {
    fn outcome(&self) -> Outcome {
        if !self.finished {
            return Outcome::Unfinished;
        }
        if self.not_normalisable {
            return Outcome::Failed;
        }
        let Some(fit) = self.train.filter(|_| !self.pending && !self.refuted) else { return Outcome::Unknown };
        let (gain, least) = (fit.gain(), self.least_gain());
        if !gain.is_finite() || gain < -least {
            Outcome::Failed
        } else if self.alike {
            Outcome::Little
        } else if gain < least {
            if self.fails_held_out() { Outcome::Failed } else { Outcome::Little }
        } else if self.overfits(&fit) {
            Outcome::Overfitting
        } else if self.mixed() == Some(false) || self.wrong_means().is_some() {
            Outcome::NotMixed
        } else if self.rising() {
            Outcome::StillRising
        } else {
            Outcome::Learned
        }
    }

    /// The likely cause of a failure; the first that the evidence shows.
    fn cause(&self, outcome: Outcome) -> Option<Cause> {
        if self.not_normalisable {
            return Some(Cause::Diverged);
        }
        let gain = self.train?.gain();
        let short = self.epochs < FEW_EPOCHS || self.rising();
        // What is as good as the baseline on training rows and worse on held-out rows has learned little, and that is noise.
        let little = outcome == Outcome::Little || outcome == Outcome::Failed && self.equals_baseline();
        match outcome {
            _ if little && self.alike => Some(Cause::NothingToLearn),
            _ if little && self.solved => Some(Cause::Solved),
            _ if little && self.rates.0 > HIGH_RATE * self.rates.1 => Some(Cause::HighRate),
            _ if little && short => Some(Cause::TooShort),
            _ if little => None,
            Outcome::Failed if !gain.is_finite() || self.recovered > 0 => Some(Cause::Diverged),
            Outcome::Failed if self.rates.0 > HIGH_RATE * self.rates.1 => Some(Cause::HighRate),
            // As much again, and it is above the baseline.
            Outcome::Failed if self.rise.is_some_and(|rise| rise > -gain) => Some(Cause::TooShort),
            Outcome::Failed if self.exact_gradient => Some(Cause::HighRate),
            Outcome::Failed if self.best_gain.is_some_and(|best| best > WORTH) || self.mixed() == Some(false) => {
                Some(Cause::ChainsLost)
            }
            Outcome::Failed => Some(Cause::HighRate),
            _ => None,
        }
    }
}

/// Fits as they are judged: likelihoods where log Z is known, else pseudo-likelihoods.
pub(in crate::run) fn judged(fit: &RowsFit, pseudo: bool) -> Option<Fit> {
    let (value, std_err) =
        if pseudo { (fit.pseudo_log_likelihood?, fit.pseudo_std_err) } else { (fit.log_likelihood?, fit.rows_std_err) };
    Some(Fit { value, std_err, baseline: fit.baseline })
}

/// Whether a log Z should not be relied on without a look at its explanation.
pub fn is_doubtful(log_z: &LogZ) -> bool {
    !matches!(log_z.verdict, Trust::Exact | Trust::Certain)
}
