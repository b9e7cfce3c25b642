//! `demo`: a model of the embedded digits, trained, judged and drawn in less than a minute.

use crate::args::Global;
use crate::output::{CommandOutput, say};
use crate::train::options::SettingArgs;
use crate::train::{self, TrainRequest};
use anyhow::Result;
use clap::Args;

/// Where the demo writes its run.
const DIRECTORY: &str = "harmonium-demo";

/// Train on the embedded digits and write a report
///
/// Writes ./harmonium-demo, and replaces it only if an earlier demo made it.
#[derive(Args, Default)]
#[command(after_help = "Example:\n  harmonium demo --quick")]
pub struct Demo {
    /// Shorter demo, a few seconds
    #[arg(long)]
    quick: bool,
}

/// Hidden units and updates: 2^24 hidden states make an exact likelihood of some seconds, 2^16 one that is watched live.
const WHOLE: (i64, i64) = (24, 10_000);
const QUICK: (i64, i64) = (16, 1500);

impl Demo {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let (n_hidden, updates) = if self.quick { QUICK } else { WHOLE };
        let text = format!("training on handwritten digits of 8 × 8 pixels with {n_hidden} hidden units");
        say("demo", &text);
        let mut settings = SettingArgs::default();
        settings.set_seed(global)?;
        settings.set("data.source", "builtin:digits");
        settings.set("data.binarize", "threshold:0.5");
        settings.set("data.valid_fraction", 0.2);
        settings.set("model.n_hidden", n_hidden);
        settings.set("train.updates", updates);
        let output = DIRECTORY.into();
        train::run(TrainRequest { settings, config: None, output, resume: false, demo: true })
    }
}
