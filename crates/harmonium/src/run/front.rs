//! What a run needs from its front end: tables to read, somebody to inform, a clock face for long work.

use super::directory::MODEL;
use crate::data::{self, Binarize, ReadOptions, Source};
use crate::error::{Error, Result};
use crate::file::ModelFile;
use crate::schema::Schema;
use crate::train::TrainConfig;
use std::path::{Path, PathBuf};

/// Opens the tables and the model that settings name.
pub trait Tables: Sync {
    /// The table `name`, from its first row.
    fn open(&self, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>>;

    /// The model to start from: that of a model file, or of a run directory.
    fn model(&self, name: &str) -> Result<ModelFile> {
        let path = Path::new(name);
        ModelFile::read(if path.is_dir() { path.join(MODEL) } else { path.into() })
    }
}

/// What the name of a table in memory starts with.
pub const MEMORY: &str = "memory:";

/// Tables are files, or built in.
pub struct Files;

impl Tables for Files {
    fn open(&self, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
        if name.starts_with(MEMORY) {
            let problem = "these rows were an array in a program and are not in a file".into();
            return Err(Error::Data { path: name.into(), problem });
        }
        data::open_with(name, options)
    }
}

/// Long work that is not training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Rows are read.
    Rows,
    /// Rows are compared with each other.
    Similarity,
    /// log Z is computed.
    LogZ,
    /// Missing cells are summed over.
    MissingCells,
}

/// Something a user should know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// How a file was read.
    Reading {
        /// The file.
        path: PathBuf,
        /// In words.
        text: String,
    },
    /// The columns of a table were described one by one.
    Schema {
        /// The file.
        path: PathBuf,
        /// What they are.
        schema: Schema,
    },
    /// Values between 0 and 1 were binarised without being asked to.
    Binarized {
        /// The file.
        path: PathBuf,
        /// How.
        rule: Binarize,
    },
    /// Sequences were weighted by similarity without being asked to.
    Weighted {
        /// Identity from which sequences count as related.
        identity: f64,
        /// Number of rows.
        rows: usize,
        /// Sum of their weights.
        weight: f64,
    },
    /// Rows are sequences, so the visible units are Potts units.
    Sequences {
        /// The letters.
        letters: String,
        /// The name of the alphabet, if it has one.
        name: Option<&'static str>,
        /// Number of states.
        states: u64,
    },
    /// Columns are continuous and some cells missing, so the hidden units are Gaussian.
    GaussianHidden,
    /// A setting was asked for that changes nothing in this run.
    NoEffect {
        /// Its key.
        key: &'static str,
        /// The keys and values of the settings because of which; without a value those that are not set.
        because: Vec<(&'static str, Option<String>)>,
    },
    /// Settings were chosen by the data.
    Chosen {
        /// Number of hidden units.
        n_hidden: usize,
        /// The settings of training.
        config: Box<TrainConfig>,
        /// Held-out rows.
        held_out: usize,
    },
    /// All columns are constant.
    NothingToLearn {
        /// How they were binarised, if they were.
        binarize: Option<Binarize>,
    },
    /// A learning rate was given without a schedule, and is constant.
    ConstantRate,
    /// The run goes on from a checkpoint.
    Resumed {
        /// Updates done.
        update: u64,
        /// Updates in all.
        updates: u64,
    },
    /// The run cannot give the result of the configuration it repeats.
    Differs(Difference),
    /// The offsets of the model are so large that single precision suffers.
    LargeOffsets(String),
    /// The report has to do without the data.
    WithoutData(String),
}

/// Why a repeated run differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The data or the first model are others.
    Data,
    /// The backend is another.
    Kernel {
        /// The backend here.
        found: String,
        /// The backend of the configuration.
        recorded: String,
    },
}

/// Receives what happens besides training events.
pub trait Front: Sync {
    /// Something a user should know.
    fn note(&self, note: &Note);

    /// `done` of `all` (if known) of a stage is done; called from any thread.
    fn progress(&self, stage: Stage, done: u64, all: Option<u64>);
}

/// Ignores everything.
impl Front for () {
    fn note(&self, _: &Note) {}
    fn progress(&self, _: Stage, _: u64, _: Option<u64>) {}
}
