//! What happens during a run: the log's schema, the progress bar's input, the callback's payload.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A run begins, or goes on from a checkpoint.
    Started {
        /// Version of the program.
        version: String,
        /// Updates already done.
        update: u64,
        /// Updates in all.
        updates: u64,
        /// Rows to learn from.
        rows: usize,
        /// Held-out rows.
        valid_rows: usize,
        /// Visible units, in words.
        visible: String,
        /// Hidden units, in words.
        hidden: String,
        /// Number of visible units.
        n_visible: usize,
        /// Number of hidden units.
        n_hidden: usize,
        /// Mean log likelihood of the rows under independent units, nats per row.
        baseline: f64,
    },
    /// Some updates later.
    Progress(Progress),
    /// A checkpoint is safely on disk.
    Checkpoint {
        /// Updates it holds.
        update: u64,
    },
    /// Something went wrong and was mended.
    Recovered {
        /// The update that failed.
        update: u64,
        /// The update it went back to.
        back_to: u64,
        /// What was seen.
        reason: String,
        /// The learning rate's factor from now on.
        rate_factor: f64,
    },
    /// The run ends.
    Finished {
        /// Updates done.
        update: u64,
        /// Why: all updates done, stopped early, or interrupted.
        reason: Reason,
        /// The update whose model was kept.
        kept: u64,
    },
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// All updates are done.
    Done,
    /// The held-out rows did not get more likely any more.
    EarlyStop,
    /// An observer said stop; the run can be resumed.
    Interrupted,
}

/// Where a run is and how it is going.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Updates done.
    pub update: u64,
    /// Passes through the data done.
    pub epoch: f64,
    /// Learning rate now.
    pub learning_rate: f64,
    /// Length of the last gradient.
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
    /// Mean log likelihood, nats per row: exact where that is cheap, else estimated.
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
    /// The number called `name`, if it was measured.
    pub fn get(&self, name: &str) -> Option<f64> {
        match name {
            "reconstruction_error" => Some(self.reconstruction_error),
            "free_energy" => Some(self.free_energy),
            "log_likelihood" => self.log_likelihood,
            "pseudo_log_likelihood" => self.pseudo_log_likelihood,
            _ => self.more.get(name).copied(),
        }
    }

    /// Sets it.
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

/// Reads a number; JSON has no word for one that is not, and writes null.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Reads the numbers among fields without a name of their own; anything else that a later version writes is left aside.
fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let all = BTreeMap::<String, serde_json::Value>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect())
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop at the last checkpointed state.
    Stop,
}

/// Someone who is told what happens.
pub trait Observer {
    /// Is told, and says whether to go on.
    fn on(&mut self, event: &Event) -> Flow;

    /// Asked between updates, so that an interrupt need not wait for the next event.
    fn poll(&mut self) -> Flow {
        Flow::Continue
    }
}

/// Several observers are one; it stops when any of them says so.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn on(&mut self, event: &Event) -> Flow {
        self.iter_mut().fold(Flow::Continue, |flow, o| if o.on(event) == Flow::Stop { Flow::Stop } else { flow })
    }
    fn poll(&mut self) -> Flow {
        self.iter_mut().fold(Flow::Continue, |flow, o| if o.poll() == Flow::Stop { Flow::Stop } else { flow })
    }
}

/// Nobody listens.
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
