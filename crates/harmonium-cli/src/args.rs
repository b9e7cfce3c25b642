//! What can be typed: the options every command has, and those of every command that takes DATA.

use crate::commands::{Command, help_template};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, CommandFactory, Parser};
use harmonium::data::{self, Binarize, ReadOptions, Source, Writer};
use harmonium::{Error, logz, sample};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Train, judge and use Restricted Boltzmann Machines
///
/// Without a command, harmonium runs its demo.
#[derive(Parser)]
#[command(name = "harmonium", version, max_term_width = 100, help_template = help_template())]
#[command(after_help = EXAMPLES, after_long_help = after_long_help())]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The command with all its options. A minus sign before a number is no option: what is wrong with `--seed -1` is its value.
pub fn command() -> clap::Command {
    fn numbers(command: clap::Command) -> clap::Command {
        command.mut_args(|arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg })
    }
    numbers(Cli::command()).mut_subcommands(numbers)
}

const EXAMPLES: &str = "Examples:
  harmonium train builtin:bars:2 -o bars --updates 1000
  harmonium inspect bars/model.safetensors";

fn after_long_help() -> String {
    let format = |f: &data::Format| format!("  {} ({}): {}", f.name, extensions(f).join(" "), f.about);
    let formats: Vec<String> = data::FORMATS.iter().map(format).collect();
    let builtins: Vec<String> = data::BUILTINS.iter().map(|b| format!("  builtin:{:8} {}", b.name, b.about)).collect();
    let (formats, builtins) = (formats.join("\n"), builtins.join("\n"));
    format!("{EXAMPLES}\n\nDATA files:\n{formats}\n\nBuilt-in DATA:\n{builtins}")
}

fn extensions(format: &data::Format) -> Vec<String> {
    format.extensions.iter().map(|e| format!(".{e}")).collect()
}

/// What DATA can be, for help.
pub fn data_help() -> String {
    let files = data::FORMATS.iter().flat_map(extensions).collect::<Vec<_>>().join(", ");
    format!("Data: a file ({files}) or builtin:NAME")
}

/// Options of every command.
#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no notes and no progress; warnings and errors stay
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Seed of everything random [default: 0]
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads to use [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Options of every command that takes DATA; what the model file remembers applies by default.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Data options")]
pub struct DataOptions {
    /// How values between 0 and 1 become 0 or 1: auto, none, threshold, threshold:T or sample [default: auto]
    ///
    /// auto: as the model file remembers; otherwise, for Bernoulli units, threshold:0.5 as soon as there is a value
    /// strictly between 0 and 1. none: values are probabilities of a 1. threshold:T: 1 above T. sample: 1 with the
    /// value as its probability, by --seed.
    #[arg(long, value_name = "HOW", value_parser = parse_binarize)]
    pub binarize: Option<BinarizeArg>,
    /// Lines of a text file to skip at the top
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    pub skip_rows: Option<u64>,
    /// Columns of a text or Parquet file to take: numbers and ranges from 1, such as 1-4,7, or names
    #[arg(long, value_name = "LIST")]
    pub columns: Option<String>,
    /// Column of a text or Parquet file to leave out: first, last, a number from 1, or a name
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// The letters of sequences: those of the model, or what `train` was asked for.
    #[arg(skip)]
    pub alphabet: Option<String>,
    /// Whether cells may be unknown.
    #[arg(skip)]
    pub missing: bool,
}

/// Option of commands that can do with rows of which some cells are not known.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = "Data options")]
pub struct Missing {
    /// Cells that are empty or no numbers (NaN, NA, ?) are unknown; without this they are refused
    #[arg(long)]
    pub missing: bool,
}

impl Global {
    /// The seed, also when none was typed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

impl DataOptions {
    /// The same for rows of which some cells may be unknown.
    pub fn with_missing(&self, missing: bool) -> DataOptions {
        DataOptions { missing, ..self.clone() }
    }

    /// The binarisation asked for; none for `auto`.
    pub fn binarize(&self) -> Option<Binarize> {
        self.binarize.and_then(|asked| asked.0)
    }

    /// Opens DATA.
    pub fn open(&self, spec: &str) -> harmonium::Result<Box<dyn Source>> {
        let DataOptions { columns, label_column, alphabet, .. } = self.clone();
        let (skip_rows, missing) = (self.skip_rows.unwrap_or(0), self.missing);
        let opened = data::open_with(spec, &ReadOptions { skip_rows, columns, label_column, alphabet, missing });
        opened.map_err(|error| perhaps_builtin(spec, error))
    }
}

/// A file that does not exist but has the name of built-in data gets a hint.
fn perhaps_builtin(spec: &str, error: Error) -> Error {
    let missing = matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound);
    let name = spec.split(':').next().unwrap_or_default();
    if missing && data::BUILTINS.iter().any(|b| b.name == name) {
        let problem = format!("no such file; did you mean builtin:{spec}?");
        return Error::Data { path: spec.into(), problem };
    }
    error
}

/// The binarisation asked for; none for `auto`.
#[derive(Clone, Copy)]
pub struct BinarizeArg(pub Option<Binarize>);

impl std::fmt::Display for BinarizeArg {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(rule) => rule.fmt(f),
        }
    }
}

/// What `--binarize` takes.
pub fn parse_binarize(text: &str) -> Result<BinarizeArg, String> {
    match text {
        "auto" => Ok(BinarizeArg(None)),
        _ => Binarize::parse(text)
            .map(|b| BinarizeArg(Some(b)))
            .map_err(|_| "expected auto, none, threshold, threshold:NUMBER or sample".into()),
    }
}

/// A table to write; a name that promises another format is refused rather than broken.
pub fn parse_output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    Writer::of(&path).map(|_| path.clone()).map_err(|e| e.to_string())
}

/// What a table can be written as, for help.
pub fn output_help() -> String {
    let files = data::WRITERS.iter().map(|w| format!(".{}", w.extensions[0])).collect::<Vec<_>>().join(", ");
    format!("File to write ({files})")
}

/// Options of every command that may have to estimate log Z.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options of an estimated log Z")]
pub struct LogZArgs {
    /// Width of the interval that is narrow enough, in nats
    #[arg(long, value_name = "NATS", default_value_t = 0.5, value_parser = positive)]
    pub tolerance: f64,
    /// Chains that are annealed [default: as many as the tolerance needs]
    #[arg(long, value_name = "N")]
    pub chains: Option<usize>,
    /// Inverse temperatures they pass; with this there is one round, whatever the tolerance [default: as many as needed]
    #[arg(long, value_name = "N")]
    pub temperatures: Option<usize>,
}

/// A number above zero.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("expected a number above 0".into()),
    }
}

/// `auto` and every sampler of the library.
pub fn samplers() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("exact where that takes seconds, else tempering");
    let listed = sample::SAMPLERS.iter().map(|s| PossibleValue::new(s.name).help(s.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}

/// `auto` and every log Z method of the library.
pub fn log_z_methods() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("exact where that takes less than a minute, else bar");
    let listed = logz::METHODS.iter().map(|m| PossibleValue::new(m.name).help(m.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}
