//! `report`: the report of a run, rebuilt.

use crate::args::{Global, positive};
use crate::output::CommandOutput;
use crate::train;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Rebuild the report of a run
///
/// Rebuilding the report of a finished run gives the same bytes; that of an unfinished run shows how far it got. If a run was
/// stopped while its likelihood was being estimated, the estimate is completed.
#[derive(Args)]
#[command(after_help = "Examples:\n  harmonium report first\n  harmonium report first --time 300")]
pub struct Report {
    /// Run directory, finished or not
    dir: PathBuf,
    /// Write the page to this file and leave DIR unchanged
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seconds for estimating log Z [default: as long as training took, at least 10]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time: Option<f64>,
}

impl Report {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        train::report(&self.dir, self.output.as_deref(), self.time)
    }
}
