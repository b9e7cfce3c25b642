//! What became of a run: learned, still rising, overfitting, not mixed, little, failed. All rules are here, as data.

use super::curves::{Collapse, Fall};
use super::fit::RowsFit;
use crate::advice::Advice;
use crate::logz::{LogZ, Verdict as Trust};
use crate::measure::Idle;
use serde::Serialize;

/// A difference counts if it is this many standard errors.
pub const SURE: f64 = 3.0;
/// Nats per row that count: two per cent of a row's probability.
pub const WORTH: f64 = 0.02;
/// Fractions of the gain on training rows: a larger gap to held-out rows, or a larger fall of the held-out rows from their
/// best, is overfitting.
pub const GAP: f64 = 0.3;
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
/// Means of samples and of data that differ by this many standard deviations, and by [`SURE`] times what chance makes.
const MEANS_APART: f64 = 0.3;
/// A learning rate this many times the usual one is the likely cause of a failure.
const HIGH_RATE: f64 = 4.0;
/// Passes through the data below which a run that has learned little was too short.
const FEW_EPOCHS: f64 = 5.0;
/// Part of the gap between training and held-out rows that the baseline has when they have different distributions.
const SHIFT: f64 = 0.25;
/// Part of the held-out rows that may be copies of training rows.
const COPIES: f64 = 0.5;

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

/// What to do next, precisely enough for a command that can be copied.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// Continue the run until it has made this many updates.
    Continue {
        /// Updates in all.
        updates: u64,
    },
    /// Train again with these settings changed, by their keys in config.toml.
    Retrain(Vec<(&'static str, toml::Value)>),
    /// Measure the likelihood of the trained model.
    Measure,
}

/// How well a model fits, nats per row.
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

/// Column means of samples beside those of the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Means {
    /// Root mean square difference over the columns, in standard deviations of the data.
    pub apart: f64,
    /// What chance makes of it with this many rows.
    pub chance: f64,
}

/// The numbers a run is judged by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Updates done, and asked for.
    pub updates: (u64, u64),
    /// Passes through the data done.
    pub epochs: f64,
    /// Whether the run came to its end.
    pub finished: bool,
    /// Whether the likelihood has still to be estimated.
    pub pending: bool,
    /// Fit to the training rows.
    pub train: Option<Fit>,
    /// Fit to the held-out rows.
    pub valid: Option<Fit>,
    /// Whether the fits are pseudo-likelihoods, since no likelihood is known.
    pub pseudo: bool,
    /// Standard error of log Z; 0 if it is exact.
    pub log_z_std_err: f64,
    /// Whether the estimate of log Z makes probabilities of the rows larger than 1, so that the likelihood is unknown.
    pub refuted: bool,
    /// Whether the parameters are so large that the model cannot be normalised.
    pub not_normalisable: bool,
    /// Whether all training rows are the same.
    pub alike: bool,
    /// How far the held-out likelihood fell from its best.
    pub fall: Option<Fall>,
    /// A loss of likelihood on the training rows in the middle of the run.
    pub collapse: Option<Collapse>,
    /// Rise of the training likelihood in the last quarter of the run, nats per row.
    pub rise: Option<f64>,
    /// The largest gain over the baseline that was measured during the run.
    pub best_gain: Option<f64>,
    /// Rank-normalised split R̂ of the free energy.
    pub r_hat: Option<f64>,
    /// Its effective sample size.
    pub ess: Option<f64>,
    /// Column means of samples and data.
    pub means: Option<Means>,
    /// Fraction of the held-out rows that are also among the training rows.
    pub copies: Option<f64>,
    /// Number of hidden units.
    pub hidden: usize,
    /// Those of them that are idle on the training rows.
    pub idle: Option<Idle>,
    /// How the rows were binarised, if they were.
    pub binarized: Option<String>,
    /// Whether the model is the factor analysis that it started from: with Gaussian hidden units nothing is left to learn.
    pub solved: bool,
    /// Keys of the settings that the program chose; nobody needs advice about these.
    pub chosen: Vec<String>,
    /// Updates that diverged and were repeated with a smaller learning rate.
    pub recovered: usize,
    /// The learning rate asked for, and the usual one of the optimizer.
    pub rates: (f64, f64),
    /// Whether the gradient was exact, so that no chains were used.
    pub exact_gradient: bool,
    /// Whether the chains were tempered.
    pub tempered: bool,
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

    /// A smaller gain or loss may be an error of log Z, or does not count.
    fn least_gain(&self) -> f64 {
        WORTH.max(SURE * self.log_z_std_err)
    }

    /// Whether the held-out rows are less likely than under the baseline, by more than the errors of the rows and of log Z explain.
    fn fails_held_out(&self) -> bool {
        let error = |valid: Fit| SURE * valid.std_err.hypot(self.log_z_std_err);
        self.valid.is_some_and(|valid| valid.gain() < -WORTH.max(error(valid)))
    }

    /// Whether the training rows are neither likelier nor less likely than under the baseline, as far as can be known.
    pub fn equals_baseline(&self) -> bool {
        self.train.is_some_and(|train| train.gain().abs() < self.least_gain())
    }

    /// Whether the program chose the setting with this key.
    fn chose(&self, key: &str) -> bool {
        self.chosen.iter().any(|chosen| chosen == key)
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

    /// Training rows minus held-out rows in nats per row, and the standard error; log Z cancels.
    pub fn gap(&self) -> Option<(f64, f64)> {
        let (train, valid) = (self.train?, self.valid?);
        Some((train.value - valid.value, train.std_err.hypot(valid.std_err)))
    }

    /// Whether the held-out rows differ from the training rows under the baseline as well, by much of the gap: they have
    /// another distribution, and cannot show overfitting.
    pub fn shifted(&self) -> bool {
        let Some(((gap, error), (train, valid))) = self.gap().zip(self.train.zip(self.valid)) else { return false };
        let shift = train.baseline - valid.baseline;
        gap > SURE * error && shift > SURE * error && shift > SHIFT * gap
    }

    fn overfits(&self, train: &Fit) -> bool {
        let sure = self.gap().filter(|(gap, error)| *gap > SURE * error && *gap > WORTH && !self.shifted());
        sure.is_some_and(|(gap, _)| gap > GAP * train.gain() || self.fell().is_some())
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

    /// The means of samples and data, if they differ by more than chance explains. An exact gradient would have mended that.
    pub fn wrong_means(&self) -> Option<Means> {
        self.means.filter(|m| !self.exact_gradient && m.apart > MEANS_APART && m.apart > SURE * m.chance)
    }

    /// Whether the likelihood was still rising at the end.
    pub fn rising(&self) -> bool {
        let gain = self.train.map_or(0.0, |f| f.gain());
        self.rise.is_some_and(|rise| rise > WORTH.max(RISING * gain) && rise > SURE * self.log_z_std_err)
    }

    /// The fraction of held-out rows that are copies of training rows, if it is large.
    pub fn copied(&self) -> Option<f64> {
        self.copies.filter(|part| *part > COPIES)
    }

    fn advice(&self, outcome: Outcome, cause: Option<Cause>) -> Vec<Advice> {
        match (outcome, cause) {
            (Outcome::Unfinished, _) => vec![Advice::Resume],
            (Outcome::Unknown, _) if self.pending => vec![Advice::FinishJudging],
            (Outcome::Unknown, _) if self.refuted => vec![Advice::MeasureLonger],
            (Outcome::Unknown, _) => vec![Advice::MeasureLikelihood],
            (Outcome::Overfitting, _) => {
                vec![Advice::StopEarly, Advice::FewerHidden, Advice::WeightDecay, Advice::MoreRows]
            }
            (_, Some(Cause::Diverged)) => vec![Advice::SmallerRate, Advice::CheckData],
            (_, Some(Cause::HighRate)) => vec![Advice::SmallerRate],
            (_, Some(Cause::ChainsLost)) if self.tempered => vec![Advice::SmallerRate, Advice::MoreGibbsSteps],
            (_, Some(Cause::ChainsLost)) => {
                vec![Advice::TemperedTraining, Advice::MoreGibbsSteps, Advice::SmallerRate]
            }
            (_, Some(Cause::TooShort)) => vec![Advice::MoreUpdates],
            (_, Some(Cause::NothingToLearn)) if self.binarized.is_some() => vec![Advice::OtherThreshold],
            (_, Some(Cause::NothingToLearn)) => Vec::new(),
            (_, Some(Cause::Solved)) => vec![Advice::BinaryHidden],
            (Outcome::Little, None) if self.exact_gradient => vec![Advice::MoreUpdates, Advice::MoreHidden],
            (Outcome::Little, None) => vec![Advice::MoreUpdates, Advice::TemperedTraining, Advice::MoreHidden],
            (Outcome::NotMixed, _) if self.tempered => vec![Advice::MoreGibbsSteps, Advice::SmallerRate],
            (Outcome::NotMixed, _) => vec![Advice::TemperedTraining, Advice::MoreGibbsSteps],
            (Outcome::StillRising, _) => vec![Advice::MoreUpdates],
            (Outcome::Learned, _) if self.shifted() => vec![Advice::CheckData],
            (Outcome::Learned, _) if self.was_unsteady() => vec![Advice::SmallerRate],
            (Outcome::Learned, _) if self.has_too_many_units() => vec![Advice::FewerHidden, Advice::SparseHidden],
            (Outcome::Learned, _) => Vec::new(),
            (Outcome::Failed, _) => vec![Advice::WeightDecay, Advice::MoreRows],
        }
    }

    /// Whether a smaller rate would have made the run steadier: what it lost for good, and if the rate was asked for, any loss.
    fn was_unsteady(&self) -> bool {
        let lost = self.collapse.is_some_and(|collapse| !collapse.regained);
        lost || !self.chose("train.lr") && (self.recovered > 0 || self.collapse.is_some())
    }

    /// Whether more hidden units were asked for than the model uses.
    fn has_too_many_units(&self) -> bool {
        let idle = self.idle.map_or(0, |idle| idle.total());
        idle as f64 > IDLE * self.hidden as f64 && !self.chose("model.n_hidden")
    }

    /// As many hidden units as are used, and some to spare.
    fn enough_units(&self) -> usize {
        let idle = self.idle.map_or(0, |idle| idle.total());
        let used = self.hidden.saturating_sub(idle).max(1);
        used + used.min(idle / 2)
    }

    /// The first advice as a command, where one can be given.
    fn remedy(&self, outcome: Outcome, cause: Option<Cause>) -> Option<Remedy> {
        match self.advice(outcome, cause).first()? {
            Advice::FinishJudging => Some(Remedy::Measure),
            Advice::SmallerRate => Some(Remedy::Retrain(vec![("train.lr", self.smaller_rate().into())])),
            Advice::TemperedTraining => Some(Remedy::Retrain(vec![("train.method", "pt".into())])),
            Advice::FewerHidden => Some(Remedy::Retrain(vec![("model.n_hidden", (self.enough_units() as i64).into())])),
            Advice::StopEarly => Some(Remedy::Retrain(vec![("train.early_stop", 10.into())])),
            Advice::MoreUpdates => Some(Remedy::Continue { updates: self.more_updates() }),
            _ => None,
        }
    }

    /// The usual rate where this one is far above it, else a fifth of this one.
    fn smaller_rate(&self) -> f64 {
        let (rate, usual) = self.rates;
        let smaller = if rate > 2.0 * usual { usual } else { rate / 5.0 };
        // Two digits are enough for a rate.
        format!("{smaller:.1e}").parse().unwrap_or(smaller)
    }

    /// Twice as many updates, and at least ten passes through the data.
    fn more_updates(&self) -> u64 {
        let done = self.updates.0.max(self.updates.1);
        let ten_passes = if self.epochs > 0.0 { 10.0 * self.updates.0 as f64 / self.epochs } else { 0.0 };
        done.saturating_mul(2).max(ten_passes.min(1e15) as u64).max(1000)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without blemish: 8 nats gained, 1.0 ± 0.2 nats of them not on held-out rows.
    fn good() -> Evidence {
        let fit = |value| Fit { value, std_err: 0.14, baseline: -24.0 };
        Evidence {
            updates: (1000, 1000),
            epochs: 50.0,
            finished: true,
            train: Some(fit(-16.0)),
            valid: Some(fit(-17.0)),
            r_hat: Some(1.002),
            ess: Some(900.0),
            hidden: 20,
            idle: Some(Idle::default()),
            rates: (0.005, 0.005),
            best_gain: Some(8.0),
            ..Evidence::default()
        }
    }

    /// With this likelihood of the training rows, and no held-out rows.
    fn at(value: f64) -> Evidence {
        Evidence { train: Some(Fit { value, ..good().train.unwrap() }), valid: None, ..good() }
    }

    #[track_caller]
    fn check(evidence: Evidence, outcome: Outcome, advice: &[Advice]) {
        let found = judge(evidence);
        assert_eq!((found.outcome, &found.advice[..]), (outcome, advice));
    }

    fn retrain(key: &'static str, value: impl Into<toml::Value>) -> Option<Remedy> {
        Some(Remedy::Retrain(vec![(key, value.into())]))
    }

    /// Made-up disasters: what was seen, the verdict, its cause, and the remedy.
    #[test]
    fn disasters_have_their_verdict_cause_and_remedy() {
        let rates = |rate| (rate, 0.005);
        let fit = |value, baseline| Some(Fit { value, std_err: 0.2, baseline });
        let wide_gap = Evidence { valid: fit(-19.5, -24.0), ..good() };
        let collapse = Collapse { by: 23.0, std_err: 1.4, updates: (2400, 4800), regained: true };
        type Case = (&'static str, Evidence, Outcome, Option<Cause>, Option<Remedy>);
        let table: Vec<Case> = vec![
            (
                "a rate a thousand times too high",
                // The noise of such a run may look like a rise.
                Evidence { rates: rates(5.0), rise: Some(40.0), ..at(-234.5) },
                Outcome::Failed,
                Some(Cause::HighRate),
                retrain("train.lr", 0.005),
            ),
            (
                "a rate a little too high for these data",
                Evidence { rates: rates(0.01), best_gain: Some(-1.0), ..at(-30.0) },
                Outcome::Failed,
                Some(Cause::HighRate),
                retrain("train.lr", 0.002),
            ),
            (
                "a high rate that ended at the baseline",
                Evidence { rates: rates(0.5), ..at(-24.0) },
                Outcome::Little,
                Some(Cause::HighRate),
                retrain("train.lr", 0.005),
            ),
            (
                "numbers that are not finite",
                at(f64::NAN),
                Outcome::Failed,
                Some(Cause::Diverged),
                retrain("train.lr", 0.001),
            ),
            (
                "weights that cannot be normalised",
                Evidence { not_normalisable: true, train: None, ..good() },
                Outcome::Failed,
                Some(Cause::Diverged),
                retrain("train.lr", 0.001),
            ),
            (
                "a divergence that was not recovered from",
                Evidence { recovered: 8, ..at(-40.0) },
                Outcome::Failed,
                Some(Cause::Diverged),
                retrain("train.lr", 0.001),
            ),
            (
                "a divergence that was recovered from",
                Evidence { recovered: 1, ..good() },
                Outcome::Learned,
                None,
                retrain("train.lr", 0.001),
            ),
            (
                "chains that were lost after five nats had been learned",
                Evidence { best_gain: Some(5.0), r_hat: Some(2.0), ..at(-60.0) },
                Outcome::Failed,
                Some(Cause::ChainsLost),
                retrain("train.method", "pt"),
            ),
            (
                "tempered chains that were lost",
                Evidence { best_gain: Some(5.0), tempered: true, ..at(-60.0) },
                Outcome::Failed,
                Some(Cause::ChainsLost),
                retrain("train.lr", 0.001),
            ),
            (
                "a bad start that is nearly made up for",
                Evidence { best_gain: Some(-3.0), rise: Some(9.0), ..at(-27.0) },
                Outcome::Failed,
                Some(Cause::TooShort),
                Some(Remedy::Continue { updates: 2000 }),
            ),
            (
                "ten updates",
                Evidence { updates: (10, 10), epochs: 0.5, ..at(-23.99) },
                Outcome::Little,
                Some(Cause::TooShort),
                Some(Remedy::Continue { updates: 1000 }),
            ),
            (
                "constant data",
                Evidence { alike: true, train: fit(-0.021, -0.05), valid: None, ..good() },
                Outcome::Little,
                Some(Cause::NothingToLearn),
                None,
            ),
            (
                "as good as the baseline on training rows, and surely worse on held-out rows",
                Evidence { valid: fit(-25.8, -24.0), ..at(-24.02) },
                Outcome::Failed,
                None,
                None,
            ),
            (
                "worse on held-out rows by less than their error",
                Evidence { valid: fit(-24.5, -24.0), ..at(-24.0) },
                Outcome::Little,
                None,
                Some(Remedy::Continue { updates: 2000 }),
            ),
            (
                "Gaussian hidden units on columns without factors",
                Evidence { solved: true, updates: (0, 0), epochs: 0.0, ..at(-24.0) },
                Outcome::Little,
                Some(Cause::Solved),
                None,
            ),
            ("few rows learned by heart", wide_gap, Outcome::Overfitting, None, retrain("train.early_stop", 10)),
            (
                "held-out rows of another distribution",
                Evidence { valid: fit(-29.0, -35.0), ..good() },
                Outcome::Learned,
                None,
                None,
            ),
            (
                "a collapse in mid-run",
                Evidence { collapse: Some(collapse), ..good() },
                Outcome::Learned,
                None,
                retrain("train.lr", 0.001),
            ),
            (
                "modes of the wrong weight",
                Evidence { means: Some(Means { apart: 0.6, chance: 0.06 }), ..good() },
                Outcome::NotMixed,
                None,
                retrain("train.method", "pt"),
            ),
            (
                "an estimate of log Z that the rows refute",
                Evidence { refuted: true, ..good() },
                Outcome::Unknown,
                None,
                None,
            ),
            (
                "killed in the final estimate",
                Evidence { pending: true, ..good() },
                Outcome::Unknown,
                None,
                Some(Remedy::Measure),
            ),
        ];
        for (what, evidence, outcome, cause, remedy) in table {
            let found = judge(evidence);
            assert_eq!((found.outcome, found.cause, found.remedy), (outcome, cause, remedy), "{what}");
        }
    }

    #[test]
    fn a_good_run_has_learned_and_needs_no_advice() {
        check(good(), Outcome::Learned, &[]);
        check(Evidence { rise: Some(1.0), ..good() }, Outcome::StillRising, &[Advice::MoreUpdates]);
        // The spread of the rows explains such a gap.
        let spread = Fit { value: -19.0, std_err: 3.0, ..good().valid.unwrap() };
        check(Evidence { valid: Some(spread), ..good() }, Outcome::Learned, &[]);
        // Chance explains such means.
        let means = Some(Means { apart: 0.4, chance: 0.2 });
        check(Evidence { means, ..good() }, Outcome::Learned, &[]);
    }

    #[test]
    fn idle_units_and_unsteady_runs_get_advice_unless_the_program_chose_the_setting() {
        let idle = Some(Idle { off: 2, on: 1, constant: 11 });
        let evidence = Evidence { hidden: 16, idle, ..good() };
        let found = judge(evidence.clone());
        assert_eq!(found.advice, [Advice::FewerHidden, Advice::SparseHidden]);
        assert_eq!(found.remedy, retrain("model.n_hidden", 4));
        check(Evidence { chosen: vec!["model.n_hidden".into()], ..evidence }, Outcome::Learned, &[]);
        let collapse = |regained| Some(Collapse { by: 14.7, std_err: 1.4, updates: (12_600, 25_200), regained });
        let chosen = vec!["train.lr".to_string()];
        let collapsed = |regained| Evidence { collapse: collapse(regained), chosen: chosen.clone(), ..good() };
        check(collapsed(true), Outcome::Learned, &[]);
        check(collapsed(false), Outcome::Learned, &[Advice::SmallerRate]);
        check(Evidence { recovered: 1, chosen, ..good() }, Outcome::Learned, &[]);
    }

    #[test]
    fn constant_columns_have_advice_only_about_a_binarisation() {
        let constant = Evidence { alike: true, ..at(-24.0) };
        check(constant.clone(), Outcome::Little, &[]);
        let binarized = Some("threshold:2".into());
        check(Evidence { binarized, ..constant }, Outcome::Little, &[Advice::OtherThreshold]);
    }

    #[test]
    fn a_run_near_its_baseline_learned_little_and_one_below_it_failed() {
        assert_eq!(judge(at(-23.99)).outcome, Outcome::Little);
        check(Evidence { rise: Some(0.5), ..at(-23.99) }, Outcome::Little, &[Advice::MoreUpdates]);
        // A gain that the error of log Z explains is none, nor is such a loss.
        assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-22.0) }).outcome, Outcome::Little);
        assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-26.0) }).outcome, Outcome::Little);
        assert_eq!(judge(at(-26.0)).outcome, Outcome::Failed);
    }

    #[test]
    fn a_gap_that_is_sure_and_a_part_of_the_gain_is_overfitting() {
        let valid = |value, std_err| Evidence { valid: Some(Fit { value, std_err, baseline: -24.0 }), ..good() };
        assert_eq!(judge(valid(-19.0, 0.14)).outcome, Outcome::Overfitting);
        assert_eq!(judge(valid(-19.0, 1.1)).outcome, Outcome::Learned, "not sure");
        assert_eq!(judge(valid(-18.0, 0.14)).outcome, Outcome::Learned, "a quarter of the gain");
        let fall = |std_err| Some(Fall { by: 1.5, std_err, update: 300 });
        assert_eq!(judge(Evidence { fall: fall(0.1), ..good() }).outcome, Outcome::Overfitting);
        assert_eq!(judge(Evidence { fall: fall(1.0), ..good() }).outcome, Outcome::Learned);
        assert_eq!(judge(Evidence { fall: fall(0.1), ..valid(-16.1, 0.14) }).outcome, Outcome::Learned, "no gap");
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
}
