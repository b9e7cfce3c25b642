//! `compare`: runs side by side.

use crate::args::Global;
use crate::compare::compare;
use crate::output::CommandOutput;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Put runs side by side: a table, and a page with their curves and pictures
///
/// Log likelihoods can be compared only between runs on the same rows; runs on others are marked by another letter.
#[derive(Args)]
#[command(after_help = "Examples:\n  harmonium compare first second\n  harmonium compare first second -o compare.html")]
pub struct Compare {
    /// Directories of runs
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Page to write, with learning curves and pictures
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Compare {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        compare(&self.dirs, self.output.as_deref())
    }
}
