//! What can be typed after `harmonium train`, and the key of config.toml that each option means.

use super::settings::Weights;
use crate::args::{DataOptions, Global, Missing, data_help};
use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use harmonium::TrainConfig;
use harmonium::data::Alphabet;
use harmonium::estimate::estimators;
use harmonium::optimize::{Schedule, optimizers};
use harmonium::units::Kind;
use harmonium::units::gaussian::Coupling;
use toml::Value;

/// An option that was typed: `--flag` sets `key`.
pub struct Typed {
    pub flag: &'static str,
    pub key: &'static str,
    pub value: Value,
}

/// The options that were typed, in the order of the help.
#[derive(Default)]
pub struct TypedList(pub Vec<Typed>);

impl TypedList {
    fn add(&mut self, flag: &'static str, key: &'static str, value: Option<impl Into<Value>>) {
        self.0.extend(value.map(|value| Typed { flag, key, value: value.into() }));
    }

    /// The seed, if it was typed and config.toml can hold it.
    pub fn add_seed(&mut self, global: &Global) -> Result<()> {
        let too_large = "the seed of a run may be at most 9223372036854775807, which config.toml can hold";
        let seed = global.seed.map(i64::try_from).transpose().context(too_large)?;
        self.add("--seed", "train.seed", seed);
        Ok(())
    }
}

/// Where the data are and which of them are held out.
#[derive(Args, Default)]
#[command(next_help_heading = "Data options")]
pub struct TrainData {
    #[arg(help = data_help(), help_heading = "Arguments")]
    data: Option<String>,
    /// Letters of the codes: protein, rna, dna, or the letters in the order of the codes [default: those of a FASTA file]
    #[arg(long, value_name = "LETTERS", value_parser = parse_alphabet)]
    alphabet: Option<String>,
    /// Weight of every row: a table of one column, similarity, similarity:PART or none
    ///
    /// similarity:0.8 (or similarity) counts a row with all rows that have 80 % of their sites equal as one, and is the
    /// default for FASTA files; none counts every row once.
    #[arg(long, value_name = "FILE|HOW", value_parser = |text: &str| Weights::parse(text).map(|_| text.to_string()))]
    weights: Option<String>,
    /// Held-out rows to judge by
    #[arg(long, value_name = "FILE", conflicts_with = "valid_fraction")]
    valid: Option<String>,
    /// Part of the rows to hold out, chosen by --seed
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    valid_fraction: Option<f64>,
    /// Give every column mean 0 and standard deviation 1; remembered in the model and undone on output
    #[arg(long)]
    standardize: bool,
    #[command(flatten)]
    missing: Missing,
    /// Rows are images of this height and width, for the report
    #[arg(long, value_name = "HxW", value_parser = parse_image)]
    image: Option<String>,
    #[command(flatten)]
    options: DataOptions,
}

/// What is trained.
#[derive(Args, Default)]
#[command(next_help_heading = "Model")]
pub struct TrainModel {
    /// Visible units [default: bernoulli, potts for sequences, or what suits the built-in data]
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    visible: Option<String>,
    /// Coupling of Gaussian visible units
    #[arg(long, value_name = "NAME", value_parser = couplings())]
    coupling: Option<String>,
    /// States of Potts visible units [default: as many as the alphabet has letters, or the largest code + 1]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(i64).range(2..))]
    states: Option<i64>,
    /// Hidden units [default: bernoulli]
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    hidden: Option<String>,
    /// Coupling of Gaussian hidden units
    #[arg(long, value_name = "NAME", value_parser = couplings())]
    hidden_coupling: Option<String>,
    /// States of Potts hidden units
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(i64).range(2..))]
    hidden_states: Option<i64>,
    /// Number of hidden units [default: 4 per column, 1 for Gaussian units, from 16 to 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..1 << 24))]
    n_hidden: Option<i64>,
    /// Begin with the model of a model file, which has its kinds, sizes and preprocessing
    #[arg(long, value_name = "MODEL", conflicts_with_all =
        ["visible", "coupling", "states", "hidden", "hidden_coupling", "hidden_states", "n_hidden", "standardize"])]
    init: Option<String>,
}

/// How it is trained.
#[derive(Args, Default)]
#[command(next_help_heading = "Learning")]
pub struct Learning {
    #[arg(long, help = usual("Estimator of the model's side of the gradient", |c| c.method.clone()), value_parser = named(estimators::<f32>().map(|e| (e.name, e.about))))]
    method: Option<String>,
    #[arg(long, help = usual("Gibbs sweeps per update", |c| c.gibbs_steps), value_name = "N", value_parser = whole())]
    gibbs_steps: Option<i64>,
    #[arg(long, help = usual("Number of persistent chains", |c| c.chains), value_name = "N", value_parser = whole())]
    chains: Option<i64>,
    #[arg(long, help = usual("Temperatures of every chain's ladder, for pt", |c| c.temperatures), value_name = "N", value_parser = whole())]
    temperatures: Option<i64>,
    #[arg(long, help = usual("Rows per update", |c| c.batch_size), value_name = "N", value_parser = whole())]
    batch_size: Option<i64>,
    /// Passes through the data [default: 10, but at least 10,000 updates]
    #[arg(long, value_name = "N", conflicts_with = "updates", value_parser = parse_epochs)]
    pub epochs: Option<f64>,
    /// Updates in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    updates: Option<i64>,
    #[arg(long, help = usual("Learning rate: multiplies the gradient of the mean log likelihood; constant unless --schedule is given", |c| c.lr), value_name = "X", allow_negative_numbers = true)]
    lr: Option<f64>,
    #[arg(long, help = usual("How the learning rate falls", |c| in_list(c.schedule)), value_parser = PossibleValuesParser::new(Schedule::LIST.map(|s| s.0)))]
    schedule: Option<String>,
    #[arg(long, help = usual("From gradients to steps", |c| c.optimizer.name.clone()), value_parser = named(optimizers::<f32>().map(|o| (o.name, o.about))))]
    optimizer: Option<String>,
    #[arg(long, help = usual("Part of the last step, or of the mean gradient, that is kept", |c| c.optimizer.momentum), value_name = "X", allow_negative_numbers = true)]
    momentum: Option<f64>,
    /// Look ahead along the last step (sgd)
    #[arg(long)]
    nesterov: bool,
    #[arg(long, help = usual("Factor of the learning rate for log-variances", |c| c.variance_rate), value_name = "X", allow_negative_numbers = true)]
    variance_rate: Option<f64>,
    /// Leave the offsets at zero
    #[arg(long)]
    no_centering: bool,
    /// Stop after N measurements without improvement on the held-out rows, and keep the best model [N: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = whole())]
    early_stop: Option<i64>,
}

/// What else is asked of the model.
#[derive(Args, Default)]
#[command(next_help_heading = "Penalties (none by default)")]
pub struct Penalties {
    /// Weight of Σ|W|
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    l1: Option<f64>,
    /// Weight of ½ΣW²
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    l2: Option<f64>,
    /// Largest length of a hidden unit's weight vector
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    max_norm: Option<f64>,
    /// Mean activity that hidden units are pulled to [with --sparsity-cost, default 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    sparsity: Option<f64>,
    /// How strongly
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    sparsity_cost: Option<f64>,
    /// Longest gradient; longer ones are shortened to it
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    clip: Option<f64>,
}

/// What is measured and written meanwhile.
#[derive(Args, Default)]
#[command(next_help_heading = "Run")]
pub struct Watching {
    /// Whether the likelihood is measured: exact where that is affordable, else estimated [default: auto]
    #[arg(long, value_name = "WHEN", value_parser = ["none", "auto"])]
    likelihood: Option<String>,
    #[arg(long, help = usual("Updates between measurements", |c| c.report_every), value_name = "N", value_parser = whole())]
    report_every: Option<i64>,
    /// Updates between checkpoints [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole())]
    checkpoint_every: Option<i64>,
}

impl TrainData {
    pub fn typed(&self, list: &mut TypedList) -> Result<()> {
        let o = &self.options;
        let skip = o.skip_rows.map(i64::try_from).transpose().context("--skip-rows")?;
        list.add("DATA", "data.source", self.data.clone());
        list.add("--skip-rows", "data.skip_rows", skip);
        list.add("--columns", "data.columns", o.columns.clone());
        list.add("--label-column", "data.label_column", o.label_column.clone());
        list.add("--alphabet", "data.alphabet", self.alphabet.clone());
        list.add("--weights", "data.weights", self.weights.clone());
        list.add("--valid", "data.valid", self.valid.clone());
        list.add("--valid-fraction", "data.valid_fraction", self.valid_fraction);
        list.add("--binarize", "data.binarize", o.binarize.map(|b| b.to_string()));
        list.add("--standardize", "data.standardize", self.standardize.then_some(true));
        list.add("--missing", "data.missing", self.missing.missing.then_some(true));
        list.add("--image", "data.image", self.image.clone());
        Ok(())
    }
}

impl TrainModel {
    pub fn typed(&self, list: &mut TypedList) {
        list.add("--visible", "model.visible", self.visible.clone());
        list.add("--coupling", "model.coupling", self.coupling.clone());
        list.add("--states", "model.states", self.states);
        list.add("--hidden", "model.hidden", self.hidden.clone());
        list.add("--hidden-coupling", "model.hidden_coupling", self.hidden_coupling.clone());
        list.add("--hidden-states", "model.hidden_states", self.hidden_states);
        list.add("--n-hidden", "model.n_hidden", self.n_hidden);
        list.add("--init", "model.init", self.init.clone());
    }
}

impl Learning {
    pub fn typed(&self, list: &mut TypedList) {
        list.add("--method", "train.method", self.method.clone());
        list.add("--gibbs-steps", "train.gibbs_steps", self.gibbs_steps);
        list.add("--chains", "train.chains", self.chains);
        list.add("--temperatures", "train.temperatures", self.temperatures);
        list.add("--batch-size", "train.batch_size", self.batch_size);
        list.add("--updates", "train.updates", self.updates);
        list.add("--lr", "train.lr", self.lr);
        list.add("--schedule", "train.schedule", self.schedule.clone());
        list.add("--optimizer", "train.optimizer.name", self.optimizer.clone());
        list.add("--momentum", "train.optimizer.momentum", self.momentum);
        list.add("--nesterov", "train.optimizer.nesterov", self.nesterov.then_some(true));
        list.add("--variance-rate", "train.variance_rate", self.variance_rate);
        list.add("--no-centering", "train.centering", self.no_centering.then_some(false));
        list.add("--early-stop", "train.early_stop", self.early_stop);
    }
}

impl Penalties {
    pub fn typed(&self, list: &mut TypedList) {
        list.add("--l1", "train.penalty.l1", self.l1);
        list.add("--l2", "train.penalty.l2", self.l2);
        list.add("--max-norm", "train.penalty.max_norm", self.max_norm);
        list.add("--sparsity", "train.penalty.sparsity", self.sparsity);
        list.add("--sparsity-cost", "train.penalty.sparsity_cost", self.sparsity_cost);
        list.add("--clip", "train.penalty.clip", self.clip);
    }
}

impl Watching {
    pub fn typed(&self, list: &mut TypedList, global: &Global) -> Result<()> {
        list.add("--likelihood", "train.likelihood", self.likelihood.as_ref().map(|l| l != "none"));
        list.add("--report-every", "train.report_every", self.report_every);
        list.add("--checkpoint-every", "checkpoint_every", self.checkpoint_every);
        list.add_seed(global)
    }
}

/// Help that ends with the default.
fn usual<T: std::fmt::Display>(text: &str, default: impl Fn(&TrainConfig) -> T) -> String {
    format!("{text} [default: {}]", default(&TrainConfig::default()))
}

fn in_list(schedule: Schedule) -> &'static str {
    Schedule::LIST.iter().find(|s| s.1 == schedule).map_or("", |s| s.0)
}

fn whole() -> clap::builder::RangedI64ValueParser<i64> {
    clap::value_parser!(i64).range(1..)
}

fn named<const N: usize>(list: [(&'static str, &'static str); N]) -> PossibleValuesParser {
    PossibleValuesParser::new(list.map(|(name, about)| PossibleValue::new(name).help(about)))
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::LIST.iter().map(|(name, about)| PossibleValue::new(name).help(*about)))
}

fn couplings() -> PossibleValuesParser {
    PossibleValuesParser::new(Coupling::LIST.map(|c| c.0))
}

fn parse_epochs(text: &str) -> Result<f64, String> {
    let epochs: Option<f64> = text.parse().ok().filter(|e: &f64| (0.0..=1e12).contains(e));
    epochs.ok_or_else(|| "expected a number of passes".into())
}

/// Names become letters here, so that config.toml says what was meant.
fn parse_alphabet(text: &str) -> Result<String, String> {
    Alphabet::new(text).map(|alphabet| alphabet.letters().to_string())
}

fn parse_image(text: &str) -> Result<String, String> {
    super::settings::image_size(text)
        .map(|_| text.to_string())
        .ok_or_else(|| "expected HEIGHTxWIDTH, such as 28x28".into())
}
