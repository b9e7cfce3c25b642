//! The commands. **To add one: write its file, add its line to `commands!` below.**

use crate::args::{DataOptions, Global, data_help, output_help, parse_output};
use crate::output::CommandOutput;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::path::PathBuf;

macro_rules! commands {
    ($($module:ident :: $name:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every command: the one list.
        #[derive(Subcommand)]
        #[allow(clippy::large_enum_variant)] // one exists per process
        pub enum Command { $($name($module::$name)),* }

        impl Command {
            /// Does what was asked.
            pub fn run(&self, global: &Global) -> Result<CommandOutput> {
                match self { $(Command::$name(command) => command.run(global)),* }
            }
        }
    };
}

commands! {
    demo::Demo,
    train::Train,
    report::Report,
    compare::Compare,
    inspect::Inspect,
    log_z::LogZ,
    evaluate::Evaluate,
    sample::Sample,
    transform::Transform,
    reconstruct::Reconstruct,
    free_energy::FreeEnergy,
    impute::Impute,
    convert::Convert,
    completions::Completions,
    man::Man,
}

/// Nothing typed is the demo.
impl Default for Command {
    fn default() -> Command {
        Command::Demo(demo::Demo::default())
    }
}

/// What a command needs that makes one row out of every row of DATA.
#[derive(Args)]
struct RowsToFile {
    /// Model file (.safetensors)
    model: PathBuf,
    #[arg(help = data_help())]
    data: String,
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help = output_help())]
    output: PathBuf,
    #[command(flatten)]
    options: DataOptions,
}

impl RowsToFile {
    /// "X.npy: 3 rows of 4 what", and the fields `rows` and `output`.
    fn report(&self, rows: u64, what: &str) -> CommandOutput {
        let path = self.output.display().to_string();
        CommandOutput::new(format!("{path}: {rows} rows of {what}")).field("rows", rows).field("output", path)
    }
}
