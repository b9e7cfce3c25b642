//! `compare`: runs side by side.

use crate::args::Global;
use crate::compare::compare;
use crate::output::CommandOutput;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Compare runs: a table, and a page with curves and pictures
///
/// Log likelihoods can be compared only between runs on the same rows; runs on other rows are marked with another letter.
#[derive(Args)]
#[command(after_help = "Examples:\n  harmonium compare first second\n  harmonium compare first second -o compare.html")]
pub struct Compare {
    /// Run directories
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// HTML page to write, with learning curves and pictures
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Compare {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        compare(&self.dirs, self.output.as_deref())
    }
}
