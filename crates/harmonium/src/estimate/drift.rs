//! How far one update moves the model, seen by its own samples, and the learning rate that follows from it.
//!
//! KL(p‖p′) of the models before and after an update is ½ Var(F − F′) over samples of p, to second order in the step. Chains that
//! need some hundred updates to cross the model keep up only if it moves little in that time. So the rate falls while updates
//! move the model by more than a limit, and recovers slowly while they do not.

/// Factors after an update that moved too far, and after one that did not.
const SLOW: (f64, f64) = (0.98, 1.005);
/// The same where few updates are measured, and the rate may be wrong by a large factor.
const FAST: (f64, f64) = (0.9, 1.1);

/// A limit on the drift of the model, and the factor of the learning rate that keeps it.
#[derive(Clone, Debug, Default)]
pub struct Drift {
    limit: Option<f64>,
    /// The largest factor.
    most: f64,
    rate: f64,
    /// log p* of the samples under the model they were drawn from; empty before the first update.
    before: Vec<f64>,
}

impl Drift {
    /// At most `limit` nats per update; without a limit nothing is computed and the factor is 1.
    pub fn new(limit: Option<f64>) -> Drift {
        Drift { limit, most: 1.0, rate: 1.0, before: Vec::new() }
    }

    /// With a factor that rises from 1 to `most` where the limit allows it.
    pub fn rising(limit: f64, most: f64) -> Drift {
        Drift { most, ..Drift::new(Some(limit)) }
    }

    /// Whether the drift is watched.
    pub fn is_watched(&self) -> bool {
        self.limit.is_some()
    }

    /// The factor of the learning rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the limit.
    pub fn limit_to(&mut self, limit: f64) {
        self.limit = Some(limit);
    }

    /// Remembers log p* of new samples under the model as it is.
    pub fn remember(&mut self, log_p: Vec<f64>) {
        self.before = log_p;
    }

    /// Adapts the factor to log p* of the same samples after the update; returns how much each has gained, less the mean, if
    /// there was an update since.
    pub fn adapt(&mut self, log_p: &[f64]) -> Option<Vec<f64>> {
        if self.before.len() != log_p.len() {
            return None;
        }
        let n = log_p.len() as f64;
        let mean = log_p.iter().zip(&self.before).map(|(now, before)| now - before).sum::<f64>() / n;
        let gains: Vec<f64> = log_p.iter().zip(&self.before).map(|(now, before)| now - before - mean).collect();
        let drift = 0.5 * gains.iter().map(|g| g * g).sum::<f64>() / n;
        let limit = self.limit.unwrap_or(f64::INFINITY);
        let (down, up) = if self.most > 1.0 { FAST } else { SLOW };
        self.rate = if drift <= limit { (self.rate * up).min(self.most) } else { self.rate * down };
        Some(gains)
    }

    /// What the next update depends on: the factor, and log p* of the samples. None without a limit.
    pub fn numbers(&self) -> Vec<f64> {
        if self.limit.is_none() {
            return Vec::new();
        }
        std::iter::once(self.rate).chain(self.before.iter().copied()).collect()
    }

    /// Restores these numbers for so many samples; false if they do not fit.
    pub fn restore(&mut self, numbers: &[f64], samples: usize) -> bool {
        let Some((rate, before)) = numbers.split_first().filter(|_| self.limit.is_some()) else {
            return numbers.is_empty();
        };
        (self.rate, self.before) = (*rate, before.to_vec());
        (0.0..=self.most).contains(rate) && (before.is_empty() || before.len() == samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_while_updates_move_the_model_too_far_and_recovers_slowly() {
        let mut drift = Drift::new(Some(0.003));
        assert_eq!(drift.adapt(&[0.0, 0.0]), None);
        drift.remember(vec![1.0, 2.0]);
        // Gains of ±0.1 are a drift of 0.005.
        let gains = drift.adapt(&[6.1, 6.9]).unwrap();
        assert!((gains[0] - 0.1).abs() < 1e-12 && (gains[1] + 0.1).abs() < 1e-12);
        assert_eq!(drift.rate(), SLOW.0);
        drift.adapt(&[6.05, 6.95]);
        assert_eq!(drift.rate(), SLOW.0 * SLOW.1);
        for _ in 0..1000 {
            drift.adapt(&[1.0, 2.0]);
        }
        assert_eq!(drift.rate(), 1.0);
    }

    #[test]
    fn its_numbers_restore_it_and_others_are_refused() {
        let mut drift = Drift::new(Some(0.003));
        drift.remember(vec![1.0, 2.0]);
        let numbers = drift.numbers();
        let mut other = Drift::new(Some(0.003));
        assert!(other.restore(&numbers, 2) && other.numbers() == numbers);
        assert!(!Drift::new(Some(0.003)).restore(&numbers, 3));
        assert!(!Drift::new(Some(0.003)).restore(&[f64::NAN], 2));
        assert!(!Drift::new(None).restore(&numbers, 2) && Drift::new(None).restore(&[], 2));
    }
}
