//! What can be typed: the options every command has, and those of every command that takes DATA.

use crate::commands::Command;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser};
use harmonium::data::{self, Binarize};
use harmonium::logz;
use std::path::PathBuf;

/// Restricted Boltzmann Machines, exact where they can be exact.
#[derive(Parser)]
#[command(name = "harmonium", version, arg_required_else_help = true, max_term_width = 100, after_help = after_help())]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

fn after_help() -> String {
    let formats: Vec<String> =
        data::FORMATS.iter().map(|f| format!("  {:8} {}: {}", extensions(f).join(" "), f.name, f.about)).collect();
    format!("DATA files:\n{}\n\nExample:\n  harmonium inspect model.safetensors", formats.join("\n"))
}

fn extensions(format: &data::Format) -> Vec<String> {
    format.extensions.iter().map(|e| format!(".{e}")).collect()
}

/// What DATA can be, for help.
pub fn data_help() -> String {
    format!("Data file ({})", data::FORMATS.iter().flat_map(extensions).collect::<Vec<_>>().join(", "))
}

/// Options of every command.
#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Options of every command that takes DATA; what the model file remembers applies by default.
#[derive(Args)]
#[command(next_help_heading = "Data options")]
pub struct DataOptions {
    /// How values between 0 and 1 become 0 or 1: auto, none, threshold, threshold:T or sample
    ///
    /// auto: as the model file remembers; otherwise, for Bernoulli units, threshold:0.5 as soon as there is a value
    /// strictly between 0 and 1. none: values are probabilities of a 1. threshold:T: 1 above T. sample: 1 with the
    /// value as its probability, by --seed.
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = parse_binarize)]
    pub binarize: Asked,
}

/// The binarisation asked for; none for `auto`.
#[derive(Clone, Copy)]
pub struct Asked(pub Option<Binarize>);

fn parse_binarize(text: &str) -> Result<Asked, String> {
    match text {
        "auto" => Ok(Asked(None)),
        _ => Binarize::parse(text)
            .map(|b| Asked(Some(b)))
            .map_err(|_| "expected auto, none, threshold, threshold:NUMBER or sample".into()),
    }
}

/// A table to write; a name that promises another format is refused rather than broken.
pub fn parse_output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(e) if !e.eq_ignore_ascii_case("npy") => Err("tables are written as .npy".into()),
        _ => Ok(path),
    }
}

/// `auto` and every log Z method of the library.
pub fn log_z_methods() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("the first method that can");
    let listed = logz::METHODS.iter().map(|m| PossibleValue::new(m.name).help(m.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}
