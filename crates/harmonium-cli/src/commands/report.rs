//! `report`: the page of a run made again.

use crate::args::Global;
use crate::output::CommandOutput;
use crate::train;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Make the report of a run again
///
/// DIR is the directory of a run, finished or not. The page of a finished run is the same, to the byte; that of an unfinished
/// one tells how far it got.
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium report first")]
pub struct Report {
    /// Directory of a run
    dir: PathBuf,
    /// Write the page to this file and leave DIR as it is
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Report {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        train::report(&self.dir, self.output.as_deref())
    }
}
