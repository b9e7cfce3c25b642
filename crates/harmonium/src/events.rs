//! Events of a training run: the schema of the log, and the input of progress bars and callbacks.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A run starts, or continues from a checkpoint.
    Started {
        /// Version of the program.
        version: String,
        /// Updates already done.
        update: u64,
        /// Updates in all.
        updates: u64,
        /// Training rows.
        rows: usize,
        /// Held-out rows.
        valid_rows: usize,
        /// The kind of the visible units.
        visible: String,
        /// The kind of the hidden units.
        hidden: String,
        /// Number of visible units.
        n_visible: usize,
        /// Number of hidden units.
        n_hidden: usize,
        /// Mean log likelihood of the rows under independent units, in nats per row.
        baseline: f64,
    },
    /// A measurement after some updates.
    Progress(Progress),
    /// A checkpoint was written.
    Checkpoint {
        /// Updates it holds.
        update: u64,
    },
    /// An update failed, and the run went back to a snapshot.
    Recovered {
        /// The update that failed.
        update: u64,
        /// The update it went back to.
        back_to: u64,
        /// What was observed.
        reason: String,
        /// The factor of the learning rate from now on.
        rate_factor: f64,
    },
    /// The run ends.
    Finished {
        /// Updates done.
        update: u64,
        /// Why it ended.
        reason: Reason,
        /// The update whose model was kept.
        kept: u64,
        /// By what it was chosen, with early stopping; none if it is the last because no likelihood could be measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_by: Option<KeptBy>,
    },
}

/// Updates and rows beyond this are a mistake or a lie; with sums and products of a few of them nothing overflows.
pub const MOST_COUNT: u64 = 1 << 40;

impl Event {
    /// Whether a run can have it: what stands in a log may have been written by anyone.
    pub(crate) fn is_possible(&self) -> bool {
        let counts = |all: &[u64]| all.iter().all(|n| *n <= MOST_COUNT);
        let sizes = |all: &[usize]| all.iter().all(|n| *n as u64 <= MOST_COUNT);
        match self {
            Event::Started { update, updates, rows, valid_rows, n_visible, n_hidden, .. } => {
                counts(&[*update, *updates]) && sizes(&[*rows, *valid_rows, *n_visible, *n_hidden])
            }
            Event::Progress(p) => {
                counts(&[p.update]) && sizes(&[p.train.rows]) && p.valid.as_ref().is_none_or(|v| sizes(&[v.rows]))
            }
            Event::Checkpoint { update } => counts(&[*update]),
            Event::Recovered { update, back_to, .. } => counts(&[*update, *back_to]),
            Event::Finished { update, kept, .. } => counts(&[*update, *kept]),
        }
    }
}

/// Why early stopping kept a model: no other measured model makes the held-out rows more likely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptBy {
    /// Mean log likelihood of the held-out rows in nats per row.
    pub valid_log_likelihood: f64,
    /// Its standard error, if it is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_err: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// All updates are done.
    Done,
    /// The held-out rows no longer became more likely.
    EarlyStop,
    /// The time was over.
    Time,
    /// An observer stopped the run; it can be resumed.
    Interrupted,
}

/// A measurement during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Updates done.
    pub update: u64,
    /// Passes through the data done.
    pub epoch: f64,
    /// Current learning rate.
    pub learning_rate: f64,
    /// Norm of the last gradient.
    pub gradient_norm: f64,
    /// Training rows (a sample of them).
    pub train: Measures,
    /// Held-out rows (a sample of them).
    pub valid: Option<Measures>,
    /// Measures of the model, its chains, or both sets of rows, by the names of [`crate::measure::MEASURES`]; `…_std_err`
    /// is the standard error of `…`.
    #[serde(flatten, deserialize_with = "numbers")]
    pub more: BTreeMap<String, f64>,
}

/// Measures of a model on some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Number of rows measured.
    pub rows: usize,
    /// Mean squared difference between rows and their mean-field reconstruction, per column.
    #[serde(deserialize_with = "number")]
    pub reconstruction_error: f64,
    /// Mean free energy, nats.
    #[serde(deserialize_with = "number")]
    pub free_energy: f64,
    /// Mean log likelihood in nats per row: exact where that is cheap, otherwise estimated.
    pub log_likelihood: Option<f64>,
    /// Standard error of an estimated log likelihood: that of log Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_likelihood_std_err: Option<f64>,
    /// Mean pseudo log likelihood, nats per row.
    pub pseudo_log_likelihood: Option<f64>,
    /// Further measures of the rows, by name, as in [`Progress`].
    #[serde(flatten, deserialize_with = "numbers")]
    pub more: BTreeMap<String, f64>,
}

impl Measures {
    /// The measure called `name`, if it was measured.
    pub fn get(&self, name: &str) -> Option<f64> {
        match name {
            "reconstruction_error" => Some(self.reconstruction_error),
            "free_energy" => Some(self.free_energy),
            "log_likelihood" => self.log_likelihood,
            "pseudo_log_likelihood" => self.pseudo_log_likelihood,
            _ => self.more.get(name).copied(),
        }
    }

    /// Sets the measure called `name`.
    pub fn set(&mut self, name: &str, value: f64) {
        match name {
            "reconstruction_error" => self.reconstruction_error = value,
            "free_energy" => self.free_energy = value,
            "log_likelihood" => self.log_likelihood = Some(value),
            "pseudo_log_likelihood" => self.pseudo_log_likelihood = Some(value),
            _ => {
                self.more.insert(name.into(), value);
            }
        }
    }
}

/// Reads a number; null is NaN, which JSON cannot represent.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Reads the numbers among unnamed fields; anything else, from a later version, is ignored.
fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let all = BTreeMap::<String, serde_json::Value>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect())
}

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Continue,
    /// Stop at the last snapshot.
    Stop,
}

/// Receives the events of a run.
pub trait Observer {
    /// Receives an event; returns whether the run continues.
    fn on(&mut self, event: &Event) -> Flow;

    /// Called between updates, so that an interrupt need not wait for the next event.
    fn poll(&mut self) -> Flow {
        Flow::Continue
    }
}

/// Several observers together; the run stops if any of them stops it.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn on(&mut self, event: &Event) -> Flow {
        self.iter_mut().fold(Flow::Continue, |flow, o| if o.on(event) == Flow::Stop { Flow::Stop } else { flow })
    }
    fn poll(&mut self) -> Flow {
        self.iter_mut().fold(Flow::Continue, |flow, o| if o.poll() == Flow::Stop { Flow::Stop } else { flow })
    }
}

/// Ignores all events.
impl Observer for () {
    fn on(&mut self, _: &Event) -> Flow {
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_earlier_and_later_versions_are_read() {
        let old = r#"{"event":"progress","update":5,"epoch":1.0,"learning_rate":0.1,"gradient_norm":2.0,"train":{"rows":3,
            "reconstruction_error":0.5,"free_energy":null,"log_likelihood":-1.5,"pseudo_log_likelihood":null},"valid":null}"#;
        let Event::Progress(p) = serde_json::from_str(old).unwrap() else { panic!() };
        assert_eq!((p.train.get("log_likelihood"), p.train.get("pseudo_log_likelihood")), (Some(-1.5), None));
        assert!(p.train.free_energy.is_nan() && p.more.is_empty() && p.valid.is_none());
        let new = old.replace("\"valid\":null", r#""valid":null,"b":2,"verdict":"good","a":{"x":1},"c":null"#);
        let Event::Progress(p) = serde_json::from_str(&new).unwrap() else { panic!() };
        assert_eq!(p.more, [("b".to_string(), 2.0)].into());
    }

    #[test]
    fn numbers_are_written_in_the_order_of_their_names_and_read_to_the_bit() {
        let mut progress = Progress { update: 7, ..Progress::default() };
        for name in ["zeta", "alpha", "free_energy", "mid"] {
            progress.train.set(name, 0.1 + 0.2);
            progress.more.insert(name.into(), 1.0 / 3.0);
        }
        let event = Event::Progress(progress);
        let text = serde_json::to_string(&event).unwrap();
        let place = |name: &str| text.rfind(&format!("\"{name}\"")).unwrap();
        assert!(
            place("alpha") < place("free_energy")
                && place("free_energy") < place("mid")
                && place("mid") < place("zeta")
        );
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
