//! `demo`: the embedded digits learned, judged and drawn, in less than a minute.

use crate::args::Global;
use crate::output::{CommandOutput, say};
use crate::train::options::{Typed, TypedList};
use crate::train::{self, Request};
use anyhow::Result;
use clap::Args;

/// Where the demo leaves its run.
const DIRECTORY: &str = "harmonium-demo";

/// Learn the embedded digits, print how well, and draw what was learned
///
/// Writes ./harmonium-demo, and replaces it only if an earlier demo has made it.
#[derive(Args, Default)]
#[command(after_help = "Example:\n  harmonium demo --quick")]
pub struct Demo {
    /// Some seconds only
    #[arg(long)]
    quick: bool,
}

/// Hidden units and updates: 2^24 hidden states make an exact likelihood of some seconds, 2^16 one that is watched live.
const WHOLE: (i64, i64) = (24, 10_000);
const QUICK: (i64, i64) = (16, 1500);

impl Demo {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let (n_hidden, updates) = if self.quick { QUICK } else { WHOLE };
        let text = format!("learning handwritten digits of 8 × 8 pixels with {n_hidden} hidden units");
        say("demo", &text);
        let mut typed = TypedList::default();
        typed.add_seed(global)?;
        let mut set = |key, value: toml::Value| typed.0.push(Typed { flag: "demo", key, value });
        set("data.source", "builtin:digits".into());
        set("data.binarize", "threshold:0.5".into());
        set("data.valid_fraction", 0.2.into());
        set("model.n_hidden", n_hidden.into());
        set("train.updates", updates.into());
        train::run(&Request { typed, epochs: None, config: None, output: DIRECTORY.into(), resume: false, demo: true })
    }
}
