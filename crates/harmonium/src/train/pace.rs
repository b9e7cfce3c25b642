//! How many updates fit in a time: some are made, timed, and taken back.

use super::Trainer;
use crate::error::Result;
use crate::events::MOST_COUNT;
use crate::real::Real;
use std::time::Instant;

/// The part of the time that is spent on trial updates, and their number.
const TRIAL_PART: f64 = 0.03;
const TRIALS: (u64, u64) = (20, 2000);
/// Updates slow down as weights grow and less of a row is zero, and other programs take their share.
const MARGIN: f64 = 0.9;
/// The part of the work of a run that tracking log Z adds.
const TRACKING: f64 = 0.12;

impl<T: Real> Trainer<T> {
    /// The number of updates that fit in `seconds`, with the measurements between them. Nothing changes but the clock.
    pub(crate) fn updates_within(&mut self, seconds: f64) -> Result<u64> {
        let before = self.state();
        let start = Instant::now();
        let spent = || start.elapsed().as_secs_f64();
        let mut made = 0;
        while made < TRIALS.0 || (made < TRIALS.1 && spent() < TRIAL_PART * seconds) {
            if self.try_update().is_err() {
                break;
            }
            self.update += 1;
            made += 1;
        }
        let per_update = spent() / made.max(1) as f64;
        let measuring = Instant::now();
        self.monitor.look(self.learner.backend_mut(), 0)?;
        let per_report = 2.0 * measuring.elapsed().as_secs_f64();
        self.set_state(before)?;
        let tracked = if self.tracker.is_some() { 1.0 + TRACKING } else { 1.0 };
        let all = tracked * per_update + per_report / self.config.report_every as f64;
        Ok(((MARGIN * seconds - spent()).max(0.0) / all).clamp(1.0, MOST_COUNT as f64) as u64)
    }

    /// Ends the run at the first measurement after so many seconds, those before its last checkpoint included.
    pub(crate) fn end_after(&mut self, seconds: f64) {
        self.time_limit = Some(seconds);
    }

    /// The rows it learns from, for another trainer.
    pub(crate) fn into_data(self) -> crate::Dataset<T> {
        self.data
    }
}
