//! Options that commands share: those of every command, of commands that take DATA, and of log Z.

use crate::commands::{Command, help_template};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser};
use harmonium::data::{self, Binarize, Header, ReadOptions, Source, Writer};
use harmonium::schema::{Schema, Unseen};
use harmonium::units::Kind;
use harmonium::units::gaussian::{Coupling, Gaussian};
use harmonium::{logz, sample};
use std::path::{Path, PathBuf};

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
  harmonium evaluate bars
  harmonium sample bars -n 100 -o samples.npy";

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
    "Data file, or builtin:NAME (formats and names: `harmonium --help`)".into()
}

/// Options of every command.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print the answer as one JSON object
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no notes and no progress; warnings and errors stay
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Random seed [default: 0]
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of threads [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Options of every command that takes DATA; what the model file records applies by default.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Data options")]
pub struct DataOptions {
    /// How to turn grey values into 0 or 1: auto, none, threshold:T, sample
    ///
    /// auto (the default): as recorded in the model file, or, if it records nothing, threshold:0.5 if the visible units are
    /// Bernoulli and some value lies strictly between 0 and 1. none: keep values as probabilities of a 1. threshold:T: 1 above T, otherwise 0; plain
    /// threshold means threshold:0.5. sample: draw a 1 with the value as its probability, using --seed.
    #[arg(long, value_name = "HOW", value_parser = parse_binarize)]
    pub binarize: Option<BinarizeArg>,
    /// Skip the first N lines of a text file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    pub skip_rows: Option<u64>,
    /// What the first line of a text file is
    #[arg(long, value_name = "WHAT", value_parser = headers())]
    pub header: Option<Header>,
    /// Columns to read: numbers from 1 and ranges (1-4,7), or names
    ///
    /// For text and Parquet files.
    #[arg(long, value_name = "LIST")]
    pub columns: Option<String>,
    /// Column to leave out: first, last, a number from 1, or a name
    ///
    /// For text and Parquet files.
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// What to do with words that the model does not know [default: error]
    #[arg(long, value_name = "WHAT", value_parser = unseen())]
    pub unseen: Option<Unseen>,
    /// What the columns are: the schema of the model.
    #[arg(skip)]
    pub schema: Option<Schema>,
    /// The letters of sequences: those of the model, or of `train --alphabet`.
    #[arg(skip)]
    pub alphabet: Option<String>,
    /// Whether cells may be missing.
    #[arg(skip)]
    pub missing: bool,
}

/// Option of commands that can use rows with missing cells.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = "Data options")]
pub struct Missing {
    /// Refuse empty, NaN, NA and ? cells, instead of summing them out
    #[arg(long)]
    no_missing: bool,
    /// The default, which had to be asked for once.
    #[arg(long, hide = true, conflicts_with = "no_missing")]
    missing: bool,
}

impl Missing {
    /// Whether cells may be missing.
    pub fn is_allowed(self) -> bool {
        self.missing || !self.no_missing
    }
}

impl Global {
    /// The seed, also when none was typed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

impl DataOptions {
    /// The same options for rows that may have missing cells.
    pub fn with_missing(&self, missing: bool) -> DataOptions {
        DataOptions { missing, ..self.clone() }
    }

    /// The binarisation that was asked for; none for `auto`.
    pub fn binarize(&self) -> Option<Binarize> {
        self.binarize.and_then(|asked| asked.0)
    }

    /// Opens DATA.
    pub fn open(&self, spec: &str) -> harmonium::Result<Box<dyn Source>> {
        let source = self.open_cells(spec)?;
        match &self.schema {
            Some(schema) => schema.coded(source, Path::new(spec), self.unseen.unwrap_or_default()),
            None => Ok(source),
        }
    }

    /// Opens DATA as it stands, words and all.
    pub fn open_cells(&self, spec: &str) -> harmonium::Result<Box<dyn Source>> {
        let DataOptions { columns, label_column, alphabet, .. } = self.clone();
        let (skip_rows, missing) = (self.skip_rows.unwrap_or(0), self.missing);
        let header = self.header.unwrap_or_default();
        data::open_with(spec, &ReadOptions { skip_rows, header, columns, label_column, alphabet, missing })
    }
}

/// The binarisation that was asked for; none for `auto`.
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

/// A table to write; an extension that no writer has is refused.
pub fn parse_output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    Writer::of(&path).map(|_| path.clone()).map_err(|e| e.to_string())
}

/// What a table can be written as, for help.
pub fn output_help() -> String {
    let files = data::WRITERS.iter().map(|w| format!(".{}", w.extensions[0])).collect::<Vec<_>>().join(", ");
    format!("Output file ({files})")
}

/// Options of every command that may have to estimate log Z.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options for estimating log Z")]
pub struct LogZArgs {
    /// Target width of the interval of ± 2 standard errors, in nats
    ///
    /// The effort grows until the interval from 2 standard errors below the estimate to 2 above is narrower than this.
    #[arg(long, value_name = "NATS", default_value_t = 0.5, value_parser = positive)]
    pub tolerance: f64,
    /// Number of annealed chains [default: as the tolerance needs]
    #[arg(long, value_name = "N")]
    pub chains: Option<usize>,
    /// Number of inverse temperatures [default: as the tolerance needs]
    ///
    /// With this option the number of temperatures stays fixed instead of growing until the tolerance is met.
    #[arg(long, value_name = "N")]
    pub temperatures: Option<usize>,
    /// Stop an estimate after this many seconds [default: no limit]
    ///
    /// The result then depends on the speed of the computer; --work stops at the same point on every computer.
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub time: Option<f64>,
    /// Stop an estimate after this many weight multiplications
    ///
    /// Unlike --time, it gives the same result on every computer. The JSON field `work` has the number that an estimate took: see there for
    /// typical values, or pass it here to repeat a time-limited estimate bit for bit.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub work: Option<f64>,
}

/// A number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("expected a number above 0".into()),
    }
}

/// What the first line of a text file may be.
fn headers() -> impl TypedValueParser<Value = Header> {
    let parse = |name: String| Header::LIST.iter().find(|h| h.0 == name).map_or(Header::Auto, |h| h.1);
    PossibleValuesParser::new(Header::LIST.map(|h| PossibleValue::new(h.0).help(h.2))).map(parse)
}

/// What may be done with unknown words.
fn unseen() -> impl TypedValueParser<Value = Unseen> {
    let parse = |name: String| Unseen::LIST.iter().find(|u| u.0 == name).map_or(Unseen::Error, |u| u.1);
    PossibleValuesParser::new(Unseen::LIST.map(|u| PossibleValue::new(u.0).help(u.2))).map(parse)
}

/// Every coupling of Gaussian visible units.
pub fn couplings() -> PossibleValuesParser {
    PossibleValuesParser::new(Coupling::LIST.map(|c| c.0))
}

/// Every coupling of Gaussian hidden units.
pub fn hidden_couplings() -> PossibleValuesParser {
    let fits = |coupling| !Kind::Gaussian(Gaussian { coupling }).visible_only();
    PossibleValuesParser::new(Coupling::LIST.into_iter().filter(|c| fits(c.1)).map(|c| c.0))
}

/// `auto` and every sampler of the library.
pub fn samplers() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("exact if that takes only seconds, otherwise tempering");
    let listed = sample::SAMPLERS.iter().map(|s| PossibleValue::new(s.name).help(s.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}

/// `auto` and every log Z method of the library.
pub fn log_z_methods() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("exact where that takes less than a minute, otherwise modes");
    let listed = logz::METHODS.iter().map(|m| PossibleValue::new(m.name).help(m.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[default: …]` at the end is not counted.
    #[test]
    fn help_lines_are_short() {
        let short = |text: Option<String>, of: &str| {
            let text = text.unwrap_or_default();
            let line = text.split(" [default").next().unwrap_or_default();
            assert!(!line.is_empty() && line.chars().count() < 70, "{of}: '{line}'");
            assert!(!line.ends_with('.'), "{of}: '{line}'");
        };
        for command in command().get_subcommands().filter(|c| c.get_name() != "train") {
            let name = command.get_name();
            short(command.get_about().map(ToString::to_string), name);
            for arg in command.get_arguments().filter(|a| !a.is_hide_set()) {
                short(arg.get_help().map(ToString::to_string), &format!("{name} {}", arg.get_id()));
            }
        }
    }

    #[test]
    fn hidden_units_are_offered_only_the_couplings_they_take() {
        let names = |parser: PossibleValuesParser| {
            let values = clap::builder::TypedValueParser::possible_values(&parser).unwrap();
            values.map(|v| v.get_name().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(couplings()), ["cho", "krizhevsky", "goodfellow"]);
        assert_eq!(names(hidden_couplings()), ["cho", "krizhevsky"]);
    }
}
