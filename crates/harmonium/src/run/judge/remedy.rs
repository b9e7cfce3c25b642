//! What to do about the outcome of a run: advice, and the first of it as a command.

use super::{Cause, Evidence, Outcome};
use crate::advice::Advice;

/// Fraction of the hidden units that may be idle without advice.
const IDLE: f64 = 0.1;

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

impl Evidence {
    pub(super) fn advice(&self, outcome: Outcome, cause: Option<Cause>) -> Vec<Advice> {
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
    pub(super) fn remedy(&self, outcome: Outcome, cause: Option<Cause>) -> Option<Remedy> {
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
