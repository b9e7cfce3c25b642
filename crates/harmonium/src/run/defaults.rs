//! Settings that follow from the data where none were asked for: method, rate, weight decay, length, held-out rows.
//!
//! One rule for all data; `studies/learning` has the held-out likelihoods behind its numbers.

use super::front::{Front, Note};
use super::length::Length;
use super::spec::{Spec, lookup};
use crate::dataset::Dataset;
use crate::events::MOST_COUNT;
use crate::keep::Keep;
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::start::Start;
use crate::train::TrainConfig;
use toml::Table;

/// Rows from which on a tenth is held out.
const ENOUGH_ROWS: usize = 1000;
const HELD_OUT: f64 = 0.1;
/// Rate of tempered chains, and the drift of the model to which it is limited: wide data would otherwise move it by nats.
const RATE: f64 = 0.003;
const MAX_DRIFT: f64 = 0.3;
/// The first part of the updates that is made fast.
const QUICK_START: f64 = 0.025;
/// The last part of the updates over which the parameters are averaged.
const AVERAGE: f64 = 0.1;
/// Sweeps, chains, rows and rate where chains are not tempered.
const LARGE: (u64, usize, usize, f64) = (5, 200, 200, 0.003);
/// Weight decay times the number of rows, the precision of a normal prior of the weights, from so many hidden units on; fewer units can
/// do less harm, and have less. Beyond so many columns it grows with their square root, since more weights add up to a unit's input.
const PRIOR_PRECISION: (f64, f64) = (4.0, 256.0);
const PRIOR_COLUMNS: f64 = 100.0;
/// Updates: 300 epochs, but within this range; without noise fewer are enough.
const EPOCHS: u64 = 300;
const UPDATES: (u64, u64) = (40_000, 80_000);
pub const EXACT_UPDATES: u64 = 10_000;
/// Epochs are not counted beyond so many updates where they decide how few are enough.
const SHORT: u64 = 20_000;
/// Weights visited in a run, with and without temperatures: a minute or two on two cores. Beyond it fewer updates are made, but not
/// fewer than these, and so many epochs: 50 as long as that is a short run, and 10 in any case.
const WORK: (f64, f64) = (5e12, 1e14);
const FEWEST: u64 = 5000;
const FEWEST_EPOCHS: (u64, u64) = (50, 10);

/// What a run was asked for; everything else may be chosen.
pub struct Chooser<'a> {
    asked: &'a Table,
}

impl<'a> Chooser<'a> {
    /// For the settings that were asked for.
    pub fn new(asked: &'a Table) -> Chooser<'a> {
        Chooser { asked }
    }

    fn has(&self, key: &str) -> bool {
        lookup(self.asked, key).is_some()
    }

    /// Sets a value unless it was asked for.
    fn unless<T>(&self, key: &str, value: &mut T, chosen: T) {
        if !self.has(key) {
            *value = chosen;
        }
    }

    /// The part of the rows that is held out, if that was left open.
    pub fn held_out(&self, spec: &Spec, rows: usize) -> Option<f64> {
        let open = spec.data.valid.is_none() && spec.data.valid_fraction.is_none();
        (open && rows >= ENOUGH_ROWS).then_some(HELD_OUT)
    }

    /// Method, rate and weight decay of a model whose gradient is not exact; and which model is kept.
    pub fn learning(&self, config: &mut TrainConfig, rbm: &Rbm<f32>, data: &Dataset<f32>, has_valid: bool) {
        let (weights, hidden) = (rbm.weights().len(), rbm.hidden().sites());
        if !self.has("train.keep") {
            config.keep = if has_valid { Keep::Best } else { Keep::Last };
        }
        if self.has("train.method") || config.method == "exact" {
            return;
        }
        if !self.has("train.average") {
            config.average = Some(AVERAGE);
        }
        let own_rate = self.has("train.lr") || config.optimizer.name != "adam";
        let tempered = TrainConfig { method: "pt".into(), ..config.clone() };
        if least_updates(tempered.updates_per_epoch(data.len())) as f64 * work(&tempered, weights) <= WORK.0 {
            config.method = tempered.method;
            if !own_rate {
                config.lr = RATE;
                config.max_drift = config.max_drift.or(Some(MAX_DRIFT));
            }
        } else {
            self.unless("train.gibbs_steps", &mut config.gibbs_steps, LARGE.0);
            self.unless("train.chains", &mut config.chains, LARGE.1);
            self.unless("train.batch_size", &mut config.batch_size, LARGE.2);
            if !own_rate {
                config.lr = LARGE.3;
            }
        }
        if config.penalty.l1 == 0.0 && !self.has("train.penalty.l2") {
            let rows = data.weights().iter().map(|w| f64::from(*w)).sum::<f64>();
            config.penalty.l2 = decay(rows, rbm.visible().sites(), hidden);
        }
    }

    /// The quick start of a run whose method, rate and number of updates are decided. A trained model needs none, real-valued
    /// units may leave the region where a model exists if steps are large, and large models learned less by it (MNIST: 12 nats).
    pub fn quick_start(&self, spec: &mut Spec, rbm: &Rbm<f32>) {
        let (config, model) = (&mut spec.train, &spec.model);
        let own = ["train.quick_start", "train.method", "train.lr"].into_iter().any(|key| self.has(key));
        let finite = [rbm.visible(), rbm.hidden()].iter().all(|layer| layer.layout().is_finite());
        let fits = finite && model.init.is_none() && model.start == Start::Independent;
        if fits && !own && config.method == "pt" && config.optimizer.name == "adam" {
            config.quick_start = (QUICK_START * config.updates as f64) as u64;
        }
    }

    /// Reports what was chosen, unless everything was asked for.
    pub fn report(&self, spec: &Spec, held_out: usize, front: &dyn Front) {
        let open =
            ["train.method", "train.lr", "train.penalty.l2", "data.valid_fraction", "train.updates", "model.n_hidden"];
        if open.iter().all(|key| self.has(key)) || self.has("found") {
            return;
        }
        let config = Box::new(spec.train.clone());
        front.note(&Note::Chosen { n_hidden: spec.model.n_hidden, config, held_out });
    }

    /// The number of updates.
    pub fn updates(
        &self,
        config: &TrainConfig,
        length: Option<Length>,
        lowered: &LoweredModel<f32>,
        rows: usize,
    ) -> u64 {
        let per_epoch = config.updates_per_epoch(rows);
        match length {
            Some(Length::Epochs(epochs)) => ((epochs * per_epoch as f64).ceil() as u64).min(MOST_COUNT),
            _ if self.has("train.updates") => config.updates,
            _ => {
                let limit = if config.method == "pt" { WORK.0 } else { WORK.1 };
                let least = if config.method == "exact" { EXACT_UPDATES } else { UPDATES.0 };
                updates(per_epoch, least, limit / work(config, lowered.weights().len()))
            }
        }
    }
}

/// Weight decay for so many rows, columns and hidden units, in two digits.
fn decay(rows: f64, columns: usize, hidden: usize) -> f64 {
    let (precision, all) = PRIOR_PRECISION;
    let wide = (columns as f64 / PRIOR_COLUMNS).sqrt().max(1.0);
    let exact = precision * wide * (hidden as f64 / all).min(1.0) / rows.max(1.0);
    format!("{exact:.1e}").parse().unwrap_or(exact)
}

/// Weights that an update of a model with so many weights visits.
fn work(config: &TrainConfig, weights: usize) -> f64 {
    weights.max(1) as f64 * config.rows_per_update()
}

/// Updates for data with so many per epoch: `least` if it is small data, and as many as are affordable if it is large.
fn updates(per_epoch: u64, least: u64, affordable: f64) -> u64 {
    let wanted = (EPOCHS * per_epoch).clamp(least, UPDATES.1);
    wanted.min(affordable as u64).max(least_updates(per_epoch))
}

/// Updates that data with so many per epoch need at least.
fn least_updates(per_epoch: u64) -> u64 {
    (FEWEST_EPOCHS.0 * per_epoch).clamp(FEWEST, SHORT).max(FEWEST_EPOCHS.1 * per_epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_get_forty_thousand_updates_wide_data_fewer_and_large_data_ten_epochs() {
        let updates = |per_epoch, affordable| updates(per_epoch, UPDATES.0, affordable);
        assert_eq!(updates(18, 1e9), 40_000);
        assert_eq!(updates(150, 1e9), 45_000);
        assert_eq!(updates(17, 5747.0), 5747);
        assert_eq!(updates(450, 10_000.0), 20_000);
        assert_eq!(updates(10_000, 1e9), 100_000);
        assert_eq!(updates(1, 5.0), 5000);
    }

    #[test]
    fn weight_decay_falls_with_the_rows_and_rises_with_columns_and_hidden_units() {
        let found = [decay(2000.0, 100, 256), decay(50_000.0, 784, 500), decay(1438.0, 64, 24)];
        assert_eq!(found, [0.002, 0.00022, 0.00026]);
    }
}
