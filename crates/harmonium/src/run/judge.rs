//! What became of a run: learned, still rising, overfitting, not mixed, little, failed. All rules are here, as data.

use super::fit::RowsFit;
use crate::advice::Advice;
use crate::events::{Event, Progress};
use crate::logz::{LogZ, Verdict as Trust};
use serde::Serialize;

/// A difference counts if it is this many standard errors.
pub const SURE: f64 = 3.0;
/// Nats per row that count: two per cent of a row's probability.
pub const WORTH: f64 = 0.02;
/// Fractions of the gain on training rows: a larger gap to held-out rows, or a larger fall of the held-out rows from their
/// best, is overfitting.
const GAP: f64 = 0.3;
const FALL: f64 = 0.1;
/// A likelihood that grew by this fraction of the whole gain in the last quarter of the run is still rising.
const RISING: f64 = 0.05;
/// R̂ above which chains disagree: Gelman and Rubin's old limit. Whoever publishes numbers from chains should ask for 1.01
/// (Vehtari and others, *Rank-normalization, folding, and localization*, 2021).
pub const APART: f64 = 1.1;
/// Effective sample size below which a mean over the chains has an error of more than a tenth of the spread.
const FEWEST: f64 = 100.0;
/// Fraction of the hidden units that may be idle without advice.
const IDLE: f64 = 0.1;

/// How far the held-out likelihood fell from its best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fall {
    /// The difference, nats per row.
    pub by: f64,
    /// Its standard error; 0 if the likelihoods are exact.
    pub std_err: f64,
    /// The update of the best.
    pub update: u64,
}

impl Fall {
    /// From updates, likelihoods and their standard errors, in the order of updates. The best is the one that exceeds the last
    /// most surely: the largest of many estimates is large by chance.
    pub fn of(measured: impl DoubleEndedIterator<Item = (u64, f64, f64)> + Clone) -> Option<Fall> {
        let (_, last, last_err) = measured.clone().next_back()?;
        let falls =
            measured.map(|(update, value, err)| Fall { by: value - last, std_err: err.hypot(last_err), update });
        let sure = |f: &Fall| f.by - SURE * f.std_err;
        falls.max_by(|a, b| sure(a).total_cmp(&sure(b)))
    }
}

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
    /// Learned, but Gibbs sampling does not move freely between its modes.
    NotMixed,
    /// Hardly better than the baseline.
    Little,
    /// Worse than the baseline, or not finite.
    Failed,
    /// Not at its end.
    Unfinished,
    /// Neither likelihood nor pseudo-likelihood is known.
    Unknown,
}

impl Outcome {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
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

/// How well a model fits some rows, nats per row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Mean log likelihood (or log pseudo-likelihood).
    pub value: f64,
    /// Standard error of that mean over the rows.
    pub std_err: f64,
    /// The same of independent columns.
    pub baseline: f64,
}

impl Fit {
    /// Nats per row above the baseline.
    pub fn gain(&self) -> f64 {
        self.value - self.baseline
    }
}

/// The numbers a run is judged by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Updates done, and asked for.
    pub updates: (u64, u64),
    /// Whether the run came to its end.
    pub finished: bool,
    /// Fit to the training rows.
    pub train: Option<Fit>,
    /// Fit to the held-out rows.
    pub valid: Option<Fit>,
    /// Whether the fits are pseudo-likelihoods, since no likelihood is known.
    pub pseudo: bool,
    /// Standard error of log Z; 0 if it is exact.
    pub log_z_std_err: f64,
    /// How far the held-out likelihood fell from its best.
    pub fall: Option<Fall>,
    /// Rise of the training likelihood in the last quarter of the run, nats per row.
    pub rise: Option<f64>,
    /// Rank-normalised split R̂ of the free energy.
    pub r_hat: Option<f64>,
    /// Its effective sample size.
    pub ess: Option<f64>,
    /// Number of hidden units.
    pub hidden: usize,
    /// Fraction of them that is idle: dead, saturated or constant.
    pub idle: Option<f64>,
    /// Updates that diverged and were repeated with a smaller learning rate.
    pub recovered: usize,
    /// Whether the gradient was exact, so that no chains were used.
    pub exact_gradient: bool,
}

/// What became of a run, why, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In one word.
    pub outcome: Outcome,
    /// The numbers it rests on.
    pub evidence: Evidence,
    /// What to do next, the most useful first; may be empty.
    pub advice: Vec<Advice>,
}

/// Judges a run.
pub fn judge(evidence: Evidence) -> Verdict {
    let outcome = evidence.outcome();
    Verdict { outcome, advice: evidence.advice(outcome), evidence }
}

impl Evidence {
    fn outcome(&self) -> Outcome {
        if !self.finished {
            return Outcome::Unfinished;
        }
        let Some(fit) = self.train else { return Outcome::Unknown };
        let (gain, least) = (fit.gain(), WORTH.max(SURE * self.log_z_std_err));
        if !gain.is_finite() || gain < -least {
            Outcome::Failed
        } else if gain < least {
            Outcome::Little
        } else if self.overfits(&fit) {
            Outcome::Overfitting
        } else if self.mixed() == Some(false) {
            Outcome::NotMixed
        } else if self.rising() {
            Outcome::StillRising
        } else {
            Outcome::Learned
        }
    }

    /// Training rows minus held-out rows in nats per row, and the standard error; log Z cancels.
    pub fn gap(&self) -> Option<(f64, f64)> {
        let (train, valid) = (self.train?, self.valid?);
        Some((train.value - valid.value, train.std_err.hypot(valid.std_err)))
    }

    fn overfits(&self, train: &Fit) -> bool {
        let apart = self.gap().is_some_and(|(gap, error)| gap > SURE * error && gap > (GAP * train.gain()).max(WORTH));
        self.fell().is_some() || apart
    }

    /// The fall of the held-out rows, if it is sure and counts beside the gain.
    pub fn fell(&self) -> Option<Fall> {
        let gain = self.train?.gain();
        self.fall.filter(|f| f.by > (FALL * gain).max(WORTH) && f.by > SURE * f.std_err)
    }

    /// Whether sampling has converged; `None` if no chains were run.
    pub fn mixed(&self) -> Option<bool> {
        Some(self.r_hat? <= APART && self.ess.is_none_or(|ess| ess >= FEWEST))
    }

    /// Whether the likelihood was still rising at the end.
    pub fn rising(&self) -> bool {
        let gain = self.train.map_or(0.0, |f| f.gain());
        self.rise.is_some_and(|rise| rise > WORTH.max(RISING * gain) && rise > SURE * self.log_z_std_err)
    }

    fn advice(&self, outcome: Outcome) -> Vec<Advice> {
        match outcome {
            Outcome::Unfinished => vec![Advice::Resume],
            Outcome::Unknown => vec![Advice::MeasureLikelihood],
            Outcome::Overfitting => {
                vec![Advice::StopEarly, Advice::FewerHidden, Advice::WeightDecay, Advice::MoreRows]
            }
            Outcome::Little | Outcome::Failed if self.rising() => vec![Advice::MoreUpdates],
            Outcome::Failed | Outcome::Little if self.exact_gradient => {
                vec![Advice::MoreUpdates, Advice::MoreHidden, Advice::CheckData]
            }
            Outcome::Failed => vec![Advice::SmallerRate, Advice::TemperedTraining, Advice::CheckData],
            Outcome::Little => vec![Advice::MoreUpdates, Advice::TemperedTraining, Advice::MoreHidden],
            Outcome::NotMixed => vec![Advice::TemperedTraining, Advice::MoreGibbsSteps],
            Outcome::StillRising => vec![Advice::MoreUpdates],
            Outcome::Learned if self.recovered > 0 => vec![Advice::SmallerRate],
            Outcome::Learned if self.idle.is_some_and(|part| part > IDLE) => {
                vec![Advice::FewerHidden, Advice::SparseHidden]
            }
            Outcome::Learned => Vec::new(),
        }
    }
}

/// Fits as they are judged: likelihoods where log Z is known, else pseudo-likelihoods.
pub(super) fn judged(fit: &RowsFit, pseudo: bool) -> Option<Fit> {
    let (value, std_err) =
        if pseudo { (fit.pseudo_log_likelihood?, fit.pseudo_std_err) } else { (fit.log_likelihood?, fit.rows_std_err) };
    Some(Fit { value, std_err, baseline: fit.baseline })
}

/// Whether a log Z should not be relied on without a look at its explanation.
pub fn is_doubtful(log_z: &LogZ) -> bool {
    !matches!(log_z.verdict, Trust::Exact | Trust::Certain)
}

/// The measurements of a run, in the order of updates; a repeated stretch replaces the abandoned one.
pub(super) struct Curves<'a> {
    progress: std::collections::BTreeMap<u64, &'a Progress>,
    measure: &'static str,
}

impl<'a> Curves<'a> {
    pub fn new(events: &'a [Event], pseudo: bool) -> Curves<'a> {
        let measured = events.iter().filter_map(|e| match e {
            Event::Progress(p) => Some((p.update, p)),
            _ => None,
        });
        let measure = if pseudo { "pseudo_log_likelihood" } else { "log_likelihood" };
        Curves { progress: measured.collect(), measure }
    }

    /// The fall of the held-out rows from their best. Pseudo-likelihoods are of the same rows every time.
    pub fn fall(&self) -> Option<Fall> {
        let is_estimated = self.measure == "log_likelihood";
        let measured = self.progress.iter().filter_map(|(update, p)| {
            let valid = p.valid.as_ref()?;
            let std_err = valid.log_likelihood_std_err.filter(|_| is_estimated).unwrap_or(0.0);
            Some((*update, valid.get(self.measure).filter(|l| l.is_finite())?, std_err))
        });
        Fall::of(measured)
    }

    /// The rise of the training rows in the last quarter of the run: medians around its ends, since single estimates are noisy.
    pub fn rise(&self) -> Option<f64> {
        let last = *self.progress.keys().next_back()?;
        let part = |k: u64| (u128::from(last) * u128::from(k) / 16) as u64;
        let median = |from: u64, to: u64| {
            let range = self.progress.range(part(from)..=part(to));
            let mut values: Vec<f64> = range.filter_map(|(_, p)| p.train.get(self.measure)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().filter(|v| v.is_finite())
        };
        Some(median(15, 16)? - median(11, 13)?)
    }

    /// The fraction of hidden units that were idle at the last measurement.
    pub fn idle(&self) -> Option<f64> {
        let last = self.progress.values().next_back()?;
        let part = |name| last.train.get(name);
        let all = ["dead_units", "saturated_units", "still_units"].into_iter().filter_map(part);
        // A unit may be dead and constant; none counts twice.
        all.reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without blemish: 8 nats gained, 1.0 ± 0.2 nats of them not on held-out rows.
    fn good() -> Evidence {
        let fit = |value| Fit { value, std_err: 0.14, baseline: -24.0 };
        Evidence {
            updates: (1000, 1000),
            finished: true,
            train: Some(fit(-16.0)),
            valid: Some(fit(-17.0)),
            r_hat: Some(1.002),
            ess: Some(900.0),
            hidden: 20,
            idle: Some(0.0),
            ..Evidence::default()
        }
    }

    #[track_caller]
    fn check(evidence: Evidence, outcome: Outcome, advice: &[Advice]) {
        let found = judge(evidence);
        assert_eq!((found.outcome, &found.advice[..]), (outcome, advice));
    }

    #[test]
    fn a_good_run_has_learned_and_needs_no_advice() {
        check(good(), Outcome::Learned, &[]);
        check(Evidence { rise: Some(1.0), ..good() }, Outcome::StillRising, &[Advice::MoreUpdates]);
        let idle = [Advice::FewerHidden, Advice::SparseHidden];
        check(Evidence { idle: Some(0.25), ..good() }, Outcome::Learned, &idle);
        check(Evidence { recovered: 1, ..good() }, Outcome::Learned, &[Advice::SmallerRate]);
        // The spread of the rows explains such a gap.
        let spread = Fit { value: -19.0, std_err: 3.0, ..good().valid.unwrap() };
        check(Evidence { valid: Some(spread), ..good() }, Outcome::Learned, &[]);
    }

    #[test]
    fn a_run_near_its_baseline_learned_little_and_one_below_it_failed() {
        let at = |value| Evidence { train: Some(Fit { value, ..good().train.unwrap() }), valid: None, ..good() };
        assert_eq!(judge(at(-23.99)).outcome, Outcome::Little);
        check(Evidence { rise: Some(0.5), ..at(-23.99) }, Outcome::Little, &[Advice::MoreUpdates]);
        // A gain that the error of log Z explains is none, nor is such a loss.
        assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-22.0) }).outcome, Outcome::Little);
        assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-26.0) }).outcome, Outcome::Little);
        assert_eq!(judge(at(-26.0)).outcome, Outcome::Failed);
        assert_eq!(judge(at(f64::NAN)).outcome, Outcome::Failed);
    }

    #[test]
    fn a_gap_or_a_fall_that_is_sure_is_overfitting() {
        let wide = Fit { value: -19.0, ..good().valid.unwrap() };
        assert_eq!(judge(Evidence { valid: Some(wide), ..good() }).outcome, Outcome::Overfitting);
        let fall = |std_err| Some(Fall { by: 1.5, std_err, update: 300 });
        assert_eq!(judge(Evidence { fall: fall(0.1), ..good() }).outcome, Outcome::Overfitting);
        assert_eq!(judge(Evidence { fall: fall(1.0), ..good() }).outcome, Outcome::Learned);
    }

    #[test]
    fn chains_that_disagree_have_not_mixed() {
        assert_eq!(judge(Evidence { r_hat: Some(1.4), ..good() }).outcome, Outcome::NotMixed);
        assert_eq!(judge(Evidence { ess: Some(30.0), ..good() }).outcome, Outcome::NotMixed);
        assert_eq!(judge(Evidence { r_hat: None, ess: None, ..good() }).outcome, Outcome::Learned);
    }

    #[test]
    fn a_run_without_its_end_or_without_numbers_is_not_judged() {
        check(Evidence { finished: false, ..good() }, Outcome::Unfinished, &[Advice::Resume]);
        check(Evidence { train: None, ..good() }, Outcome::Unknown, &[Advice::MeasureLikelihood]);
    }

    #[test]
    fn the_best_of_noisy_estimates_is_the_one_that_is_sure() {
        let noisy = [(100, -10.0, 0.1), (200, -8.0, 5.0), (300, -12.0, 0.1)];
        let fall = Fall::of(noisy.into_iter()).unwrap();
        assert_eq!((fall.update, fall.by), (100, 2.0));
        assert_eq!(Fall::of(std::iter::empty()), None);
    }

    #[test]
    fn a_log_with_impossible_updates_does_not_overflow() {
        let progress = Progress { update: u64::MAX, ..Progress::default() };
        assert_eq!(Curves::new(&[Event::Progress(progress)], false).rise(), None);
    }
}
