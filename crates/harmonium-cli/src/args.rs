//! What can be typed: the options every command has, and those of every command that takes DATA.

use crate::commands::Command;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser};
use harmonium::data::Binarize;
use harmonium::logz;

/// Restricted Boltzmann Machines, exact where they can be exact.
#[derive(Parser)]
#[command(name = "harmonium", version, arg_required_else_help = true, after_help = AFTER)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "DATA is a .npy or .csv file, one row per example. \
Numbers are in nats.\n\nExample:\n  harmonium inspect model.safetensors";

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
    /// How values between 0 and 1 become 0 or 1: auto, none, threshold[:T] or sample
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

/// `auto` and every log Z method of the library.
pub fn log_z_methods() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("the first method that can");
    let listed = logz::METHODS.iter().map(|m| PossibleValue::new(m.name).help(m.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(listed))
}
