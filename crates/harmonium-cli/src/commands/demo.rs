//! `demo`: the embedded digits learned, judged and drawn, in less than a minute.

use crate::args::Global;
use crate::report::Report;
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

impl Demo {
    pub fn run(&self, global: &Global) -> Result<Report> {
        let mut typed = TypedList::default();
        let mut set = |key, value: toml::Value| typed.0.push(Typed { flag: "demo", key, value });
        set("data.source", "builtin:digits".into());
        set("data.binarize", "threshold:0.5".into());
        // The likelihood of 2^18 hidden states is exact in a second.
        set("machine.n_hidden", 18.into());
        set("train.updates", if self.quick { 1000 } else { 10_000 }.into());
        set("train.seed", i64::try_from(global.seed()).unwrap_or(0).into());
        train::run(&Request { typed, epochs: None, config: None, output: DIRECTORY.into(), resume: false, demo: true })
    }
}
