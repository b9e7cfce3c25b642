//! The `harmonium` command: what was typed becomes one call of the library and one report.
//!
//! Exit code 0: done. 1: the work failed, one line on stderr says why, and no output file was touched. 2: usage.

#![forbid(unsafe_code)]

mod advice;
mod args;
mod cells;
mod commands;
mod measured;
mod model;
mod notes;
mod output;
mod progress;
mod stream;
mod train;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say("error", &output::one_line(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &args::Cli) -> anyhow::Result<()> {
    // This thread is one of the workers: handing it a piece of work needs no other thread to wake.
    let threads = cli.global.threads.map_or(0, Into::into);
    rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
    let demo = commands::Command::default();
    cli.command.as_ref().unwrap_or(&demo).run(&cli.global)?.print(cli.global.json)
}
