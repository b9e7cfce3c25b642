//! The `harmonium` command: one call of the library and one answer.
//!
//! Exit code 0: done. 1: the work failed, one line on stderr says why, and no output file was touched. 2: usage.
//! 130: interrupted.

#![forbid(unsafe_code)]

mod advice;
mod args;
mod cells;
mod commands;
mod compare;
mod data_pass;
mod filled_cells;
mod hidden_cells;
mod interrupt;
mod measured;
mod model;
mod output;
mod progress;
mod run_model;
mod stream;
mod train;
mod usage;

use clap::FromArgMatches;
use interrupt::Interrupted;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = parse();
    output::set_quiet(cli.global.quiet);
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(usage) = error.downcast_ref::<clap::Error>() {
                usage.exit();
            }
            output::say("error", &output::one_line(&error));
            if error.is::<Interrupted>() { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::FAILURE }
        }
    }
}

/// What was typed; help, the version and usage errors end the program here.
fn parse() -> args::Cli {
    let parsed = args::command().try_get_matches();
    let cli = parsed.and_then(|matches| {
        advice::set_command(matches.subcommand_name().unwrap_or("demo"));
        args::Cli::from_arg_matches(&matches)
    });
    cli.unwrap_or_else(|error| usage::plain(error).exit())
}

fn run(cli: &args::Cli) -> anyhow::Result<()> {
    interrupt::install()?;
    // This thread is one of the workers: handing it a piece of work needs no other thread to wake.
    let threads = cli.global.threads.map_or(0, Into::into);
    rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
    let demo = commands::Command::default();
    cli.command.as_ref().unwrap_or(&demo).run(&cli.global)?.print(cli.global.json)
}
