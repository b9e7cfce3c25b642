//! `report`: the report of a run, rebuilt.

use crate::args::Global;
use crate::output::CommandOutput;
use crate::train;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Rebuild the report of a run
///
/// The report of a finished run comes out the same to the byte; that of an unfinished run shows how far it got.
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium report first")]
pub struct Report {
    /// Run directory, finished or not
    dir: PathBuf,
    /// Write the page to this file and leave DIR unchanged
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Report {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        train::report(&self.dir, self.output.as_deref())
    }
}
