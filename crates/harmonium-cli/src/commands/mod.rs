//! The commands. **To add one: write its file, add its line to `commands!` below.**

use crate::args::{DataOptions, Global, data_help, output_help, parse_output};
use crate::model::MODEL_HELP;
use crate::output::CommandOutput;
use anyhow::Result;
use clap::builder::{StyledStr, Styles};
use clap::{Args, Subcommand};
use harmonium::error::count;
use std::path::PathBuf;

macro_rules! commands {
    ($($group:literal: $($module:ident::$name:ident),*;)*) => {
        $($(mod $module;)*)*

        /// Every command.
        #[derive(Subcommand)]
        #[allow(clippy::large_enum_variant)] // one exists per process
        pub enum Command { $($($name($module::$name),)*)* }

        /// The commands by group, in the order of the help.
        const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($name)),*])),*];

        impl Command {
            /// Does what was asked.
            pub fn run(&self, global: &Global) -> Result<CommandOutput> {
                match self { $($(Command::$name(command) => command.run(global),)*)* }
            }
        }
    };
}

commands! {
    "Learn": train::Train, report::Report, compare::Compare, demo::Demo;
    "Judge": evaluate::Evaluate, log_z::LogZ, inspect::Inspect, couplings::Couplings;
    "Use": sample::Sample, impute::Impute, transform::Transform, reconstruct::Reconstruct, free_energy::FreeEnergy;
    "Files": schema::Schema, convert::Convert, completions::Completions, man::Man;
}

/// The help of the program, with its commands in groups, which clap does not have.
pub fn help_template() -> StyledStr {
    let all = Command::augment_subcommands(clap::Command::new("harmonium"));
    let width = all.get_subcommands().map(|c| c.get_name().len()).max().unwrap_or(0);
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_string();
    let mut commands = all.get_subcommands();
    for (group, names) in GROUPS {
        text += &format!("{header}{group}:{header:#}\n");
        for command in commands.by_ref().take(names.len()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            text += &format!("  {literal}{:width$}{literal:#}  {about}\n", command.get_name());
        }
        text += "\n";
    }
    text += &format!("Run `harmonium COMMAND --help` for the options of a command.\n\n{header}Options:{header:#}\n");
    StyledStr::from(text + "{options}{after-help}")
}

/// Without a command, the demo runs.
impl Default for Command {
    fn default() -> Command {
        Command::Demo(demo::Demo::default())
    }
}

/// The arguments of a command that writes one row for every row of DATA.
#[derive(Args)]
struct RowsToFile {
    #[arg(help = MODEL_HELP, help_heading = None)]
    model: PathBuf,
    #[arg(help = data_help(), help_heading = None)]
    data: String,
    // First and without a heading, wherever this struct is flattened.
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help = output_help())]
    #[arg(display_order = 0, help_heading = None)]
    output: PathBuf,
    #[command(flatten)]
    options: DataOptions,
}

impl RowsToFile {
    /// "X.npy: 3 rows of 4 what", and the fields `rows` and `output`.
    fn report(&self, rows: u64, what: &str) -> CommandOutput {
        let path = self.output.display().to_string();
        CommandOutput::new(format!("{path}: {} of {what}", count(rows, "row")))
            .field("rows", rows)
            .field("output", path)
    }
}
