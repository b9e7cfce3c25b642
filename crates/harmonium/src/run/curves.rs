//! What the measurements during a run show: how far the likelihood rose, fell, or collapsed.

use super::judge::{SURE, WORTH};
use crate::events::{Event, Progress};
use serde::Serialize;
use std::collections::BTreeMap;

/// A loss of this many standard errors, and of this part of what was gained before it, is a collapse.
const COLLAPSE_ERRORS: f64 = 5.0;
const COLLAPSE_PART: f64 = 0.1;

/// How far the held-out likelihood fell from its best, beyond any fall of the training rows.
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
    pub(crate) fn of(measured: impl DoubleEndedIterator<Item = (u64, f64, f64)> + Clone) -> Option<Fall> {
        let (_, last, last_err) = measured.clone().next_back()?;
        let falls =
            measured.map(|(update, value, err)| Fall { by: value - last, std_err: err.hypot(last_err), update });
        let sure = |f: &Fall| f.by - SURE * f.std_err;
        falls.max_by(|a, b| sure(a).total_cmp(&sure(b)))
    }
}

/// A loss of likelihood on the training rows in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Collapse {
    /// Nats per row that were lost.
    pub by: f64,
    /// The standard error of that.
    pub std_err: f64,
    /// The update before it, and the update of the lowest point after it.
    pub updates: (u64, u64),
    /// Whether the run came back to within a tenth of the loss.
    pub regained: bool,
}

/// A point of a likelihood curve.
#[derive(Clone, Copy)]
struct Point {
    update: u64,
    value: f64,
    std_err: f64,
}

/// The measurements of a run, in the order of updates; a repeated stretch replaces the abandoned one.
pub(super) struct Curves<'a> {
    progress: BTreeMap<u64, &'a Progress>,
    measure: &'static str,
    /// Mean log likelihood of the training rows under independent columns.
    baseline: Option<f64>,
}

impl<'a> Curves<'a> {
    pub fn new(events: &'a [Event], pseudo: bool) -> Curves<'a> {
        let measured = events.iter().filter_map(|e| match e {
            Event::Progress(p) => Some((p.update, p)),
            _ => None,
        });
        let baseline = events.iter().find_map(|e| match e {
            Event::Started { baseline, .. } => Some(*baseline),
            _ => None,
        });
        let measure = if pseudo { "pseudo_log_likelihood" } else { "log_likelihood" };
        Curves { progress: measured.collect(), measure, baseline }
    }

    /// The standard error of an estimated log Z; pseudo-likelihoods are of the same rows every time.
    fn std_err(&self, estimated: Option<f64>) -> f64 {
        estimated.filter(|_| self.measure == "log_likelihood").unwrap_or(0.0)
    }

    fn train(&self) -> Vec<Point> {
        let point = |(update, p): (&u64, &&Progress)| {
            let value = p.train.get(self.measure).filter(|l| l.is_finite())?;
            Some(Point { update: *update, value, std_err: self.std_err(p.train.log_likelihood_std_err) })
        };
        self.progress.iter().filter_map(point).collect()
    }

    /// The fall of the held-out rows from their best. What the training rows lost as well is no overfitting.
    pub fn fall(&self) -> Option<Fall> {
        let last = self.progress.values().next_back().and_then(|p| p.train.get(self.measure));
        let measured = self.progress.iter().filter_map(|(update, p)| {
            let valid = p.valid.as_ref()?;
            let std_err = self.std_err(valid.log_likelihood_std_err);
            let lost = p.train.get(self.measure).zip(last).map_or(0.0, |(then, now)| (then - now).max(0.0));
            Some((*update, valid.get(self.measure).filter(|l| l.is_finite())? - lost, std_err))
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

    /// The best likelihood of the training rows above the baseline that was sure when it was measured.
    pub fn best_gain(&self) -> Option<f64> {
        let baseline = self.baseline?;
        self.train().iter().map(|p| p.value - SURE * p.std_err - baseline).reduce(f64::max)
    }

    /// The largest loss of likelihood between two measurements of the training rows, if it was a collapse.
    pub fn collapse(&self) -> Option<Collapse> {
        let (points, baseline) = (self.train(), self.baseline?);
        let loss = |before: &Point, after: &Point| {
            let (by, std_err) = (before.value - after.value, before.std_err.hypot(after.std_err));
            let least = (COLLAPSE_ERRORS * std_err).max(COLLAPSE_PART * (before.value - baseline)).max(WORTH);
            (by > least).then_some((by, std_err))
        };
        let losses = points.iter().enumerate().filter_map(|(k, before)| {
            // A single estimate can be far off in spite of its error; two in a row can hardly be.
            let confirmed = |j: &usize| {
                let beside = [j - 1, j + 1].into_iter().filter(|i| *i > k).filter_map(|i| points.get(i));
                points[*j].std_err == 0.0 || beside.into_iter().any(|p| loss(before, p).is_some())
            };
            let after = (k + 1..points.len()).filter(confirmed).map(|j| &points[j]);
            let after = after.min_by(|a, b| a.value.total_cmp(&b.value))?;
            // What never was above the baseline had nothing to lose.
            let (by, std_err) = loss(before, after).filter(|_| before.value > baseline)?;
            let highest = points.iter().filter(|p| p.update > after.update).map(|p| p.value).reduce(f64::max);
            let regained = highest.is_some_and(|highest| highest > before.value - 0.1 * by);
            Some(Collapse { by, std_err, updates: (before.update, after.update), regained })
        });
        losses.max_by(|a, b| a.by.total_cmp(&b.by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Measures;

    /// The log of a run with this baseline: updates, training and held-out likelihoods, all with one standard error.
    fn log(baseline: f64, std_err: f64, points: &[(u64, f64, f64)]) -> Vec<Event> {
        let started = format!(
            r#"{{"event":"started","version":"1","update":0,"updates":9,"rows":9,"valid_rows":9,"visible":"bernoulli",
            "hidden":"bernoulli","n_visible":2,"n_hidden":2,"baseline":{baseline}}}"#
        );
        let measures = |value| Measures {
            log_likelihood: Some(value),
            log_likelihood_std_err: Some(std_err).filter(|e| *e > 0.0),
            ..Measures::default()
        };
        let progress = |&(update, train, valid): &(u64, f64, f64)| {
            Event::Progress(Progress {
                update,
                train: measures(train),
                valid: Some(measures(valid)),
                ..Progress::default()
            })
        };
        std::iter::once(serde_json::from_str(&started).unwrap()).chain(points.iter().map(progress)).collect()
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

    /// The likelihood of a run on handwritten digits, as it was measured.
    #[test]
    fn a_collapse_is_found_with_its_updates_even_if_the_run_recovered() {
        let points = [
            (800, -160.0),
            (2400, -132.5),
            (3400, -145.0),
            (4200, -153.9),
            (4800, -155.2),
            (7600, -114.0),
            (9400, -80.9),
        ]
        .map(|(update, value)| (update, value, value));
        let events = log(-206.0, 1.0, &points);
        let collapse = Curves::new(&events, false).collapse().unwrap();
        assert_eq!((collapse.updates, collapse.regained), ((2400, 4800), true));
        assert!((collapse.by - 22.7).abs() < 1e-9 && (collapse.std_err - 2f64.sqrt()).abs() < 1e-9);
        // Within five standard errors it is none, nor is the noise of a run that has learned nothing yet.
        assert_eq!(Curves::new(&log(-206.0, 5.0, &points), false).collapse(), None);
        assert_eq!(Curves::new(&log(-80.0, 1.0, &points), false).collapse(), None);
        assert_eq!(Curves::new(&log(-206.0, 1.0, &points), true).collapse(), None);
    }

    /// The likelihood of a run on mushrooms, as it was estimated: the pseudo-likelihood did not fall.
    #[test]
    fn a_single_low_estimate_is_no_collapse() {
        let points = [(22_400, -11.9), (23_800, -11.2), (25_200, -25.8), (28_000, -10.1), (29_400, -10.4)]
            .map(|(update, value)| (update, value, value));
        assert_eq!(Curves::new(&log(-34.1, 1.0, &points), false).collapse(), None);
        assert!(Curves::new(&log(-34.1, 0.0, &points), false).collapse().is_some(), "exact values are no noise");
    }

    #[test]
    fn a_fall_that_the_training_rows_share_is_no_overfitting() {
        let both = log(-24.0, 0.0, &[(100, -16.0, -16.5), (200, -20.0, -20.5)]);
        assert_eq!(Curves::new(&both, false).fall().unwrap().by, 0.0);
        let one = log(-24.0, 0.0, &[(100, -16.0, -16.5), (200, -15.0, -20.5)]);
        let fall = Curves::new(&one, false).fall().unwrap();
        assert_eq!((fall.by, fall.update), (4.0, 100));
    }
}
