//! The settings of a run, with defaults that learn at the first try.

use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::optimize::{OptimizerConfig, Penalty, Schedule};
use serde::{Deserialize, Serialize};

/// Most temperatures of a ladder.
const MOST_TEMPERATURES: usize = 1000;

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
    /// Learning rate: multiplies the gradient of the mean log likelihood.
    pub lr: f64,
    /// How it falls.
    pub schedule: Schedule,
    /// Factor of the learning rate for log-variances.
    pub variance_rate: f64,
    /// Whether offsets follow the means.
    pub centering: bool,
    /// How fast: the part of the difference taken each update.
    pub offset_rate: f64,
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

/// Hidden units unless asked otherwise: enough for images, and not many more than narrow data can teach. Tables of
/// numbers are short of rows more often than images are, and with 16 hidden units their likelihood is exact.
pub fn default_hidden(columns: usize, continuous: bool) -> usize {
    let wanted = if continuous { columns } else { columns.saturating_mul(4) };
    wanted.clamp(16, DEFAULT_HIDDEN)
}

/// Hidden units of data with many columns.
pub const DEFAULT_HIDDEN: usize = 256;

/// Updates unless asked otherwise: ten passes through large data, and enough of them for small data.
pub fn default_updates(rows: usize, batch: usize) -> u64 {
    (10 * rows.div_ceil(batch.max(1)) as u64).max(10_000)
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
            lr: 0.005,
            schedule: Schedule::Cosine,
            variance_rate: 0.3,
            centering: true,
            offset_rate: 0.01,
            early_stop: None,
            report_every: 200,
            likelihood: true,
            optimizer: OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false },
            penalty: Penalty::default(),
        }
    }
}

impl TrainConfig {
    /// Updates between two estimates of the likelihood: as between measurements, but not fewer than a hundred.
    pub(super) fn likelihood_every(&self) -> u64 {
        self.report_every.saturating_mul(100u64.div_ceil(self.report_every))
    }

    /// Products of a row with the weights that the updates in between are about: two for a row of the batch, three for a chain
    /// that makes one sweep, and as much as 200 rows for the passes over the weights themselves.
    pub(super) fn rows_between_likelihoods(&self) -> f64 {
        let chain = (2 * self.gibbs_steps + 1) as f64;
        let update = 2.0 * self.batch_size as f64 + chain * self.chains as f64 + 200.0;
        update * self.likelihood_every() as f64
    }

    /// Updates that pass once through `rows` rows.
    pub fn updates_per_epoch(&self, rows: usize) -> u64 {
        rows.div_ceil(self.batch_size).max(1) as u64
    }

    /// Refuses settings that make no sense, by name.
    pub fn check(&self, rows: usize, has_valid: bool) -> Result<()> {
        let refuse = |key, problem: String| Err(Error::Config { key, problem });
        if rows == 0 {
            return refuse("data", "there are no rows to learn from".into());
        }
        let whole = [
            ("gibbs-steps", self.gibbs_steps),
            ("chains", self.chains as u64),
            ("batch-size", self.batch_size as u64),
            ("report-every", self.report_every),
        ];
        if let Some((key, _)) = whole.iter().find(|w| w.1 == 0) {
            return refuse(key, "is 0, but must be at least 1".into());
        }
        if !(2..=MOST_TEMPERATURES).contains(&self.temperatures) {
            return refuse("temperatures", format!("is {}, but must be 2 to {MOST_TEMPERATURES}", self.temperatures));
        }
        if !(self.lr > 0.0 && self.lr.is_finite()) {
            return refuse("lr", format!("is {}, but must be positive", self.lr));
        }
        let p = &self.penalty;
        let none =
            [("l1", p.l1), ("l2", p.l2), ("sparsity-cost", p.sparsity_cost), ("variance-rate", self.variance_rate)];
        if let Some((key, x)) = none.iter().find(|x| !(x.1 >= 0.0 && x.1.is_finite())) {
            return refuse(key, format!("is {x}, but must be 0 or more"));
        }
        let positive = [("max-norm", p.max_norm), ("clip", p.clip)];
        if let Some((key, Some(x))) = positive.iter().find(|x| x.1.is_some_and(|x| !(x > 0.0 && x.is_finite()))) {
            return refuse(key, format!("is {x}, but must be positive"));
        }
        let parts = [("momentum", self.optimizer.momentum), ("offset-rate", self.offset_rate)];
        if let Some((key, x)) = parts.iter().find(|x| !(0.0..1.0).contains(&x.1)) {
            return refuse(key, format!("is {x}, but must be at least 0 and below 1"));
        }
        if self.early_stop.is_some() && !has_valid {
            let refused = Error::Config { key: "early-stop", problem: "needs held-out rows".into() };
            return Err(refused.advise(&[Advice::HoldOutRows]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_get_ten_thousand_updates_and_large_data_ten_epochs() {
        assert_eq!(default_updates(1797, 100), 10_000);
        assert_eq!(default_updates(1_000_000, 100), 100_000);
        let hidden = |columns| (default_hidden(columns, false), default_hidden(columns, true));
        assert_eq!([hidden(2), hidden(25), hidden(784)], [(16, 16), (100, 25), (256, 256)]);
    }
}
