//! The numbers a run is judged by, and what each of them shows.

use crate::measure::Idle;
use crate::run::curves::{Collapse, Fall};
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
/// Means of samples and of data that differ by this many standard deviations, and by [`SURE`] times what chance makes.
const MEANS_APART: f64 = 0.3;
/// Part of the gap between training and held-out rows that the baseline has when they have different distributions.
const SHIFT: f64 = 0.25;
/// Part of the held-out rows that may be copies of training rows.
const COPIES: f64 = 0.5;

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

impl Evidence {
    /// A smaller gain or loss may be an error of log Z, or does not count.
    pub(super) fn least_gain(&self) -> f64 {
        WORTH.max(SURE * self.log_z_std_err)
    }

    /// Whether the held-out rows are less likely than under the baseline, by more than the errors of the rows and of log Z explain.
    pub(super) fn fails_held_out(&self) -> bool {
        let error = |valid: Fit| SURE * valid.std_err.hypot(self.log_z_std_err);
        self.valid.is_some_and(|valid| valid.gain() < -WORTH.max(error(valid)))
    }

    /// Whether the training rows are neither likelier nor less likely than under the baseline, as far as can be known.
    pub fn equals_baseline(&self) -> bool {
        self.train.is_some_and(|train| train.gain().abs() < self.least_gain())
    }

    /// Whether the program chose the setting with this key.
    pub(super) fn chose(&self, key: &str) -> bool {
        self.chosen.iter().any(|chosen| chosen == key)
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

    pub(super) fn overfits(&self, train: &Fit) -> bool {
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
    pub(crate) fn rising(&self) -> bool {
        let gain = self.train.map_or(0.0, |f| f.gain());
        self.rise.is_some_and(|rise| rise > WORTH.max(RISING * gain) && rise > SURE * self.log_z_std_err)
    }

    /// The fraction of held-out rows that are copies of training rows, if it is large.
    pub fn copied(&self) -> Option<f64> {
        self.copies.filter(|part| *part > COPIES)
    }
}
