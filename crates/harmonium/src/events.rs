//! What happens during a run: the log's schema, the progress bar's input, the callback's payload.

use serde::{Deserialize, Serialize};

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
        /// The update whose machine was kept.
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
}

/// Measures of a machine on some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Number of rows measured.
    pub rows: usize,
    /// Mean squared difference between rows and their mean-field reconstruction, per column.
    pub reconstruction_error: f64,
    /// Mean free energy, nats.
    pub free_energy: f64,
    /// Mean exact log likelihood, nats per row, where it is cheap.
    pub log_likelihood: Option<f64>,
    /// Mean pseudo log likelihood, nats per row, for finite units.
    pub pseudo_log_likelihood: Option<f64>,
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
