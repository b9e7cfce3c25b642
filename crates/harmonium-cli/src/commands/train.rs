//! `train`: a model trained on data, in a directory that can be resumed, repeated and compared.

use crate::args::Global;
use crate::output::CommandOutput;
use crate::train::options::SettingArgs;
use crate::train::{self, TrainRequest};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Train a model on data
///
/// Every setting has a sensible default; only DATA and -o are required. DIR gets the model (model.safetensors), a report (report.html), the settings
/// (config.toml), the measurements (events.jsonl) and a checkpoint. The same command gives the same model, bit for bit, on any
/// number of threads and however often it is interrupted and resumed.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium train builtin:bars:2 -o bars --updates 1000
  harmonium train data.npy -o run --n-hidden 8 --updates 2000 --valid-fraction 0.2
  harmonium train --config run/config.toml -o again
  harmonium train --resume -o run
  harmonium train --resume -o run --updates 5000")]
pub struct Train {
    /// Output directory (new or empty, unless --resume)
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Settings of an earlier run (its config.toml); DATA is then optional
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Continue an interrupted run in DIR, or extend a finished one
    ///
    /// To extend a finished run, also give a larger --updates.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

impl Train {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let mut settings = self.settings.clone();
        settings.set_seed(global)?;
        train::run(TrainRequest {
            settings,
            config: self.config.clone(),
            output: self.output.clone(),
            resume: self.resume,
            demo: false,
        })
    }
}
