//! `train`: a model learned from data, in a directory that can be resumed, repeated and looked at.

use crate::args::Global;
use crate::output::CommandOutput;
use crate::train::options::{Learning, Penalties, TrainData, TrainModel, TypedList, Watching};
use crate::train::{self, Request};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Train a model on data
///
/// DIR gets config.toml, events.jsonl, checkpoint.safetensors, model.safetensors and report.html. The same command gives
/// the same model to the bit, on any number of threads and however often it is interrupted and resumed.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium train builtin:bars:2 -o bars --updates 1000
  harmonium train data.npy -o run --n-hidden 8 --updates 2000 --valid-fraction 0.2
  harmonium train --config run/config.toml -o again
  harmonium train --resume -o run")]
pub struct Train {
    /// Directory of the run: new, or with --resume
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Take the settings of an earlier run, or of a file like its config.toml; DATA is then optional
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Go on with the run in DIR
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    data: TrainData,
    #[command(flatten)]
    model: TrainModel,
    #[command(flatten)]
    learning: Learning,
    #[command(flatten)]
    penalties: Penalties,
    #[command(flatten)]
    watching: Watching,
}

impl Train {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let mut typed = TypedList::default();
        self.data.typed(&mut typed)?;
        self.model.typed(&mut typed);
        self.learning.typed(&mut typed);
        self.penalties.typed(&mut typed);
        self.watching.typed(&mut typed, global)?;
        train::run(&Request {
            typed,
            epochs: self.learning.epochs,
            config: self.config.clone(),
            output: self.output.clone(),
            resume: self.resume,
            demo: false,
        })
    }
}
