//! The settings of a run, with defaults that learn at the first try.

use super::Penalty;
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::keep::Keep;
use crate::optimize::{OptimizerConfig, Schedule};
use crate::settings;
use serde::{Deserialize, Serialize};

/// Everything that decides a run besides the data and the model it begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Seed of all randomness.
    pub seed: u64,
    /// Estimator of the model's statistics.
    pub method: String,
    /// Gibbs sweeps per update.
    pub gibbs_steps: u64,
    /// Number of persistent chains; ladders of them if they are tempered.
    pub chains: usize,
    /// Temperatures of every ladder, if chains are tempered.
    pub temperatures: usize,
    /// Rows per update.
    pub batch_size: usize,
    /// Updates in all.
    pub updates: u64,
    /// Update at which a time limit ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at: Option<u64>,
    /// Learning rate: multiplies the gradient of the mean log likelihood.
    pub lr: f64,
    /// Largest drift of the model per update, in nats, to which the rate is limited; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_drift: Option<f64>,
    /// Updates at the start that are made fast: with untempered chains and a larger rate.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub quick_start: u64,
    /// How it falls.
    pub schedule: Schedule,
    /// Factor of the learning rate for log-variances.
    pub variance_rate: f64,
    /// Whether offsets follow the means.
    pub centering: bool,
    /// How fast: the part of the difference taken each update.
    pub offset_rate: f64,
    /// The part of the updates, the last one, over which the parameters are averaged; none for the model of the last update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
    /// Which model of the run is the result.
    #[serde(default)]
    pub keep: Keep,
    /// Stop after this many measurements without improvement on the held-out rows.
    pub early_stop: Option<u64>,
    /// Updates between measurements.
    pub report_every: u64,
    /// Whether the exact likelihood is measured where it is cheap.
    pub likelihood: bool,
    /// The optimiser.
    pub optimizer: OptimizerConfig,
    /// Penalties.
    pub penalty: Penalty,
}

/// Rows that teach one more hidden unit of narrow data.
const ROWS_PER_UNIT: usize = 100;

/// Hidden units unless asked otherwise: enough for images, and not many more than narrow or short data can teach. Tables of
/// numbers are short of rows more often than images are, and with 16 hidden units their likelihood is exact.
pub(crate) fn default_hidden(columns: usize, rows: usize, continuous: bool) -> usize {
    let wanted = if continuous { columns } else { columns.saturating_mul(4).max(rows / ROWS_PER_UNIT) };
    wanted.clamp(16, DEFAULT_HIDDEN)
}

/// Hidden units of data with many columns.
pub(crate) const DEFAULT_HIDDEN: usize = 256;

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Default for TrainConfig {
    fn default() -> TrainConfig {
        TrainConfig {
            seed: 0,
            method: "pcd".into(),
            gibbs_steps: 1,
            chains: 100,
            temperatures: 10,
            batch_size: 100,
            updates: 10_000,
            stop_at: None,
            lr: 0.005,
            max_drift: None,
            quick_start: 0,
            average: None,
            schedule: Schedule::Cosine,
            variance_rate: 0.3,
            centering: true,
            offset_rate: 0.01,
            keep: Keep::Last,
            early_stop: None,
            report_every: 200,
            likelihood: true,
            optimizer: OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false },
            penalty: Penalty::default(),
        }
    }
}

impl TrainConfig {
    /// Whether the likelihood is measured during the run: early stopping needs it.
    pub(super) fn measures_likelihood(&self) -> bool {
        self.likelihood || self.early_stop.is_some()
    }

    /// Updates between two estimates of the likelihood: a multiple of those between measurements, not fewer than a hundred, and
    /// about thirty estimates in a run at most, so that each of them is worth its work.
    pub(super) fn likelihood_every(&self) -> u64 {
        let least = 100.max(self.updates / 30);
        self.report_every.saturating_mul(least.div_ceil(self.report_every))
    }

    /// Products of a row with the weights that an update is about: two for a row of the batch, three for a chain that makes one
    /// sweep, and as much as 200 rows for the passes over the weights themselves.
    pub(crate) fn rows_per_update(&self) -> f64 {
        let chain = (2 * self.gibbs_steps + 1) as f64;
        let rungs = if self.method == "pt" { self.temperatures } else { 1 };
        2.0 * self.batch_size as f64 + chain * (self.chains * rungs) as f64 + 200.0
    }

    /// The same for the updates between two estimates.
    pub(super) fn rows_between_likelihoods(&self) -> f64 {
        self.rows_per_update() * self.likelihood_every() as f64
    }

    /// Updates that pass once through `rows` rows.
    pub fn updates_per_epoch(&self, rows: usize) -> u64 {
        rows.div_ceil(self.batch_size).max(1) as u64
    }

    /// Refuses settings that make no sense, by name.
    pub(crate) fn check(&self, rows: usize, has_valid: bool) -> Result<()> {
        if rows == 0 {
            return Err(Error::Config { key: "data.source", problem: "has no rows to learn from".into() });
        }
        self.check_numbers()?;
        for (key, name) in [("train.method", &self.method), ("train.optimizer.name", &self.optimizer.name)] {
            settings::find(key).map_or(Ok(()), |s| s.check_choice(name))?;
        }
        if self.early_stop.is_some() && !has_valid {
            let problem = "needs held-out rows".into();
            return Err(Error::Config { key: "train.early_stop", problem }.advise(&[Advice::HoldOutRows]));
        }
        Ok(())
    }

    /// Refuses numbers outside the ranges of the table of settings.
    fn check_numbers(&self) -> Result<()> {
        let (p, whole) = (&self.penalty, |n: u64| Some(n as f64));
        settings::check_all(&[
            ("train.updates", whole(self.updates.max(self.stop_at.unwrap_or(0)))),
            ("train.gibbs_steps", whole(self.gibbs_steps)),
            ("train.chains", whole(self.chains as u64)),
            ("train.temperatures", whole(self.temperatures as u64)),
            ("train.batch_size", whole(self.batch_size as u64)),
            ("train.lr", Some(self.lr)),
            ("train.max_drift", self.max_drift),
            ("train.quick_start", whole(self.quick_start)),
            ("train.average", self.average),
            ("train.optimizer.momentum", Some(self.optimizer.momentum)),
            ("train.variance_rate", Some(self.variance_rate)),
            ("train.offset_rate", Some(self.offset_rate)),
            ("train.early_stop", self.early_stop.map(|n| n as f64)),
            ("train.report_every", whole(self.report_every)),
            ("train.penalty.l1", Some(p.l1)),
            ("train.penalty.l2", Some(p.l2)),
            ("train.penalty.max_norm", p.max_norm),
            ("train.penalty.sparsity", p.sparsity),
            ("train.penalty.sparsity_cost", Some(p.sparsity_cost)),
            ("train.penalty.clip", p.clip),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_data_get_more_hidden_units() {
        let hidden = |columns| (default_hidden(columns, 1000, false), default_hidden(columns, 1000, true));
        assert_eq!([hidden(2), hidden(25), hidden(784)], [(16, 16), (100, 25), (256, 256)]);
        assert_eq!(default_hidden(16, 16_000, false), 160);
    }
}
