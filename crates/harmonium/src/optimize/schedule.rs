//! The learning rate as a function of the fraction t ∈ [0, 1] of the run that is done.

use serde::{Deserialize, Serialize};

/// The schedule of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// 1.
    Constant,
    /// 1, then 1/10 from half of the run on and 1/100 from three quarters on.
    Step,
    /// (1 + cos πt)/2: falls to zero.
    Cosine,
    /// 1/(1 + 9t): falls to a tenth.
    Inverse,
}

impl Schedule {
    /// Every schedule by name.
    pub(crate) const LIST: [(&'static str, Schedule); 4] = [
        ("constant", Schedule::Constant),
        ("step", Schedule::Step),
        ("cosine", Schedule::Cosine),
        ("inverse", Schedule::Inverse),
    ];

    /// The factor of the learning rate.
    pub(crate) fn factor(self, t: f64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Step if t < 0.5 => 1.0,
            Schedule::Step if t < 0.75 => 0.1,
            Schedule::Step => 0.01,
            Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * t).cos()),
            Schedule::Inverse => 1.0 / (1.0 + 9.0 * t),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_starts_at_one_and_never_rises() {
        for (name, schedule) in Schedule::LIST {
            assert_eq!(schedule.factor(0.0), 1.0, "{name}");
            let factors: Vec<f64> = (0..=100).map(|k| schedule.factor(k as f64 / 100.0)).collect();
            assert!(factors.windows(2).all(|w| w[1] <= w[0]), "{name}");
        }
        assert!(Schedule::Cosine.factor(1.0).abs() < 1e-15);
        assert_eq!((Schedule::Inverse.factor(1.0), Schedule::Step.factor(0.8)), (0.1, 0.01));
    }
}
