//! `evaluate`: the mean log likelihood ⟨log p(v)⟩ = −⟨F(v)⟩ − log Z − Σ log scale of data, in nats per row.

use crate::advice;
use crate::args::{DataOptions, Global, LogZArgs, Missing, command, log_z_methods, parse_output};
use crate::data_pass::{DataPass, MissingCells, Taken};
use crate::measured::{Measured, measured};
use crate::model::Model;
use crate::output::{CommandOutput, say, with_error};
use crate::run_model;
use crate::stream::Stream;
use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use harmonium::data::{TableHead, write_table};
use harmonium::error::count;
use harmonium::logz::LogZ;
use harmonium::measure::Value as Mean;
use harmonium::run::{Errors, Files, Recorded, RowWeights, possible};
use harmonium::{Dataset, split_rows};
use harmonium_report::{UNKNOWN, likelihood_in_words};
use ndarray::Array2;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Compute the mean log likelihood of data
///
/// In nats per row: logarithms of probabilities, or of densities in the units of the data. Several models are compared on the
/// same rows. Without DATA, a run directory is judged by the data of its run: training rows and held-out rows.
#[derive(Args)]
#[command(override_usage = "harmonium evaluate [OPTIONS] <MODEL>... [DATA]")]
#[command(after_help = "Examples:
  harmonium evaluate model.safetensors data.npy --per-row rows.npy
  harmonium evaluate model.safetensors other.safetensors data.npy --json")]
pub struct Evaluate {
    /// Model files (.safetensors) or run directories, then DATA
    ///
    /// DATA is a file or builtin:NAME; `harmonium --help` lists the file formats and the built-in data sets.
    #[arg(required = true, value_name = "MODEL")]
    inputs: Vec<PathBuf>,
    /// How to compute log Z
    #[arg(long, default_value = "auto", value_name = "METHOD", value_parser = log_z_methods())]
    log_z: String,
    /// Also write the log likelihood of every row to this file
    ///
    /// With several models, one column each.
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    per_row: Option<PathBuf>,
    /// Training rows, to also print the free energy gap of DATA
    ///
    /// The gap is the mean free energy F of DATA minus that of these rows; well above 0 means overfitting.
    #[arg(long, value_name = "DATA")]
    train: Option<String>,
    #[command(flatten)]
    estimate: LogZArgs,
    #[command(flatten)]
    options: DataOptions,
    #[command(flatten)]
    missing: Missing,
}

/// The rows to judge by.
struct Rows {
    data: String,
    options: DataOptions,
    /// Held-out rows of the run, if there are some and they count by themselves.
    held_out: HeldOut,
    /// Weights of the run's training rows and held-out rows, if they have any.
    weights: [Option<Vec<f64>>; 2],
}

/// The held-out rows of a run.
enum HeldOut {
    None,
    /// Rows of the data, by their numbers from 0.
    Rows(HashSet<u64>),
    /// Another table.
    Table(String),
}

impl Rows {
    fn new(data: &str, options: DataOptions) -> Rows {
        Rows { data: data.into(), options, held_out: HeldOut::None, weights: [None, None] }
    }
}

impl Evaluate {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let (models, rows) = self.inputs()?;
        let mut scores = Vec::new();
        for path in models {
            scores.push(self.score(Model::read(path)?, &rows, global)?);
        }
        if let Some(path) = &self.per_row {
            write_per_row(path, &scores)?;
        }
        Ok(match scores.as_slice() {
            [score] => one(&rows.data, score),
            several => self::several(&rows.data, several),
        })
    }

    /// The models and the rows. The last input is DATA, unless it is a run directory.
    fn inputs(&self) -> Result<(&[PathBuf], Rows)> {
        let typed = self.options.with_missing(self.missing.is_allowed());
        match self.inputs.split_last() {
            Some((last, models)) if !models.is_empty() && !run_model::is_run(last) => {
                let data = last.to_str().with_context(|| format!("{} is not UTF-8", last.display()))?;
                Ok((models, Rows::new(data, typed)))
            }
            Some((last, _)) if run_model::is_run(last) => Ok((&self.inputs, self.own_rows(&typed)?)),
            _ => {
                let mut command = command();
                command.build();
                let evaluate = command.find_subcommand_mut("evaluate").context("evaluate")?;
                let text = "DATA is missing: name the rows to judge the model by\n";
                Err(evaluate.error(ErrorKind::MissingRequiredArgument, text).into())
            }
        }
    }

    /// The rows of the runs, which must be the same.
    fn own_rows(&self, typed: &DataOptions) -> Result<Rows> {
        let runs: Vec<&PathBuf> = self.inputs.iter().filter(|path| run_model::is_run(path)).collect();
        let all = runs.iter().map(|dir| run_model::own_rows(dir, typed)).collect::<Result<Vec<_>>>()?;
        let Some((data, options)) = all.first() else { bail!("there is no run among the models") };
        if let Some(other) = all.iter().position(|(d, _)| d.source != data.source) {
            let (first, second) = (runs[0].display(), runs[other].display());
            bail!("{first} and {second} learned from different data; give DATA to judge them by");
        }
        let mut rows = Rows::new(&data.source, options.clone());
        // Other runs have other held-out rows, and a table of all rows has them in their order.
        let split = runs.len() == 1 && self.inputs.len() == 1 && self.per_row.is_none();
        if split {
            (rows.held_out, rows.weights) = parts_of_run(runs[0])?;
        }
        let all = data.valid_fraction.is_some_and(|f| f > 0.0) && !split;
        let held_out = if all { ", held-out rows included" } else { "" };
        say("note", &format!("no DATA given; using the data of the run, {}{held_out}", data.source));
        Ok(rows)
    }

    /// The data comes first: a bad value in it is found before minutes are spent on log Z.
    fn score(&self, model: Model, rows: &Rows, global: &Global) -> Result<Score> {
        let pass = |data: &str, taken: Taken| {
            let stream = Stream::open(&model, data, &rows.options, global)?;
            DataPass::run(&model, stream, &taken, global.seed())
        };
        let (found, held_out) = match &rows.held_out {
            HeldOut::None => (pass(&rows.data, Taken::All)?, None),
            HeldOut::Rows(set) => (pass(&rows.data, Taken::Without(set))?, Some(pass(&rows.data, Taken::Only(set))?)),
            HeldOut::Table(name) => (pass(&rows.data, Taken::All)?, Some(pass(name, Taken::All)?)),
        };
        let train = self.train.as_deref().map(|data| pass(data, Taken::All)).transpose()?;
        let measured = measured(&model, &found.sample, train.as_ref().map(|t| &t.sample), global.seed())?;
        let sample = found.sample.for_log_z(&model);
        let log_z = model.log_z(&self.log_z, &self.estimate, Some(&sample), global.seed())?;
        let [weights, held_out_weights] = rows.weights.clone();
        let is_empirical = log_z.method == "exact" && found.missing.cells == 0 && weights.is_none();
        let finite = model.lowered.visible().is_finite();
        let likelihood = |pass: &DataPass, weights| Likelihood::new(pass, weights, &log_z, finite);
        Ok(Score {
            likelihood: likelihood(&found, weights),
            held_out: held_out.map(|pass| likelihood(&pass, held_out_weights)),
            model: model.path,
            measured,
            entropy: found.entropy.filter(|_| is_empirical),
            log_z,
            missing: found.missing,
        })
    }
}

/// The held-out rows of a run, and the weights of its training rows and held-out rows.
fn parts_of_run(dir: &Path) -> Result<(HeldOut, [Option<Vec<f64>>; 2])> {
    let recorded = Recorded::read(dir)?;
    let (data, seed) = (&recorded.spec.data, recorded.spec.train.seed);
    let rows = recorded.spec.found.as_ref().map_or(0, |f| (f.rows + f.valid_rows) as usize);
    let held_out = match (&data.valid, data.valid_fraction.filter(|f| *f > 0.0)) {
        (Some(table), _) => HeldOut::Table(table.clone()),
        (None, Some(fraction)) => {
            let [_, held_out] = split_rows(rows, fraction, seed)?;
            HeldOut::Rows(held_out.into_iter().map(|r| r as u64).collect())
        }
        (None, None) => HeldOut::None,
    };
    let weighted = !matches!(data.weights()?, RowWeights::None);
    let prepared = if weighted { Some(recorded.rows(&Files, &())?) } else { None };
    let weights = |rows: &Dataset<f32>| rows.weights().iter().map(|w| f64::from(*w)).collect();
    let input = prepared.as_ref().map(|p| &p.input);
    Ok((held_out, [input.map(|i| weights(&i.train)), input.and_then(|i| i.valid.as_ref()).map(weights)]))
}

fn one(data: &str, score: &Score) -> CommandOutput {
    let title = format!("{} on {}", score.model.display(), data);
    let report = CommandOutput::new(title)
        .line("rows", score.likelihood.each.len().to_string())
        .line("log likelihood", score.likelihood.in_words(None, &score.log_z))
        .maybe("held-out rows", score.held_out_words())
        .maybe("missing cells", score.missing.in_words())
        .line("log Z", score.log_z.to_string())
        .maybe("verdict", advice::explanation(&score.log_z))
        .maybe("entropy of the rows", score.entropy.map(|h| format!("{h:.4} nats")))
        .maybe("KL(rows || model)", score.divergence().map(|kl| format!("{kl:.4} nats")));
    score.measured.lines(report).fields(score.json())
}

fn several(data: &str, scores: &[Score]) -> CommandOutput {
    let rows = scores.first().map_or(0, |s| s.likelihood.each.len());
    let title = format!("log likelihood of {data}, {}, in nats per row", count(rows as u64, "row"));
    let models: Vec<Value> = scores.iter().map(|s| s.json().into()).collect();
    let report = CommandOutput::new(title).field("rows", rows).field("models", models);
    scores.iter().fold(report, |report, score| {
        let likelihood = &score.likelihood;
        let mean = likelihood.mean.map_or("unknown".into(), |mean| with_error(mean, likelihood.errors.total()));
        let text = format!("{mean:>16}   log Z {}", score.log_z);
        report.line(&score.model.display().to_string(), text)
    })
}

/// How well one model fits.
struct Score {
    model: PathBuf,
    likelihood: Likelihood,
    /// The same of the held-out rows of a run.
    held_out: Option<Likelihood>,
    measured: Measured,
    entropy: Option<f64>,
    log_z: LogZ,
    missing: MissingCells,
}

/// The log likelihoods of some rows.
struct Likelihood {
    each: Vec<f64>,
    /// Their weighted mean, unless the rows refute log Z.
    mean: Option<f64>,
    errors: Errors,
    /// Standard deviation over the rows.
    spread: f64,
}

impl Likelihood {
    fn new(pass: &DataPass, weights: Option<Vec<f64>>, log_z: &LogZ, finite: bool) -> Likelihood {
        let energies = pass.sample.energies.iter();
        let each: Vec<f64> = energies.zip(&pass.jacobians).map(|(f, j)| j - f - log_z.value).collect();
        let weights = weights.unwrap_or_else(|| vec![1.0; each.len()]);
        let mean = Mean::mean("log_likelihood", each.iter().copied(), &weights);
        let squares = Mean::mean("spread", each.iter().map(|l| (l - mean.value).powi(2)), &weights);
        let errors = Errors {
            log_z: log_z.std_err,
            missing: pass.missing.error_of_mean(each.len()),
            rows: mean.std_err.unwrap_or(0.0),
        };
        Likelihood { mean: possible(mean.value, finite), errors, spread: squares.value.sqrt(), each }
    }

    /// The mean in words, with the number of rows if it is asked for.
    fn in_words(&self, rows: Option<usize>, log_z: &LogZ) -> String {
        match self.mean {
            Some(mean) => {
                let text = likelihood_in_words(mean, rows, &self.errors, log_z.verdict).replace('−', "-");
                format!("{text}; standard deviation over rows {:.2}", self.spread)
            }
            None => UNKNOWN.into(),
        }
    }
}

impl Score {
    fn held_out_words(&self) -> Option<String> {
        let rows = self.held_out.as_ref()?;
        Some(rows.in_words(Some(rows.each.len()), &self.log_z))
    }

    /// KL(q‖p) = −⟨log p⟩ − H(q), where the rows are states and log Z is exact.
    fn divergence(&self) -> Option<f64> {
        Some((-self.likelihood.mean? - self.entropy?).max(0.0))
    }

    fn json(&self) -> Map<String, Value> {
        let (rows, held_out) = (&self.likelihood, self.held_out.as_ref());
        let fields = json!({
            "model": self.model.display().to_string(),
            "rows": rows.each.len(),
            "mean_log_likelihood": rows.mean,
            "std_err": rows.errors.total(),
            "log_z_std_err": rows.errors.log_z,
            "row_std_err": rows.errors.rows,
            "missing_std_err": rows.errors.missing,
            "valid_rows": held_out.map(|v| v.each.len()),
            "valid_mean_log_likelihood": held_out.and_then(|v| v.mean),
            "valid_std_err": held_out.map(|v| v.errors.total()),
            "valid_row_std_err": held_out.map(|v| v.errors.rows),
            "unknown_cells": self.missing.cells,
            "row_std_dev": rows.spread,
            "log_z": self.log_z.value,
            "log_z_method": self.log_z.method,
            "log_z_lower": self.log_z.lower,
            "log_z_upper": self.log_z.upper,
            "verdict": self.log_z.verdict.name(),
            "advice": advice::sentence(&self.log_z.reason, &self.log_z.advice),
            "entropy": self.entropy,
            "kl_divergence": self.divergence(),
        });
        let mut all = self.measured.fields();
        if let Value::Object(map) = fields {
            all.extend(map);
        }
        all
    }
}

/// One column per model.
fn write_per_row(path: &Path, scores: &[Score]) -> harmonium::Result<u64> {
    let rows = scores.iter().map(|s| s.likelihood.each.len()).min().unwrap_or(0);
    let names: Vec<String> = scores.iter().map(|s| s.model.display().to_string()).collect();
    let names = if names.len() == 1 { vec!["log_likelihood".into()] } else { names };
    let (columns, vector) = (scores.len(), scores.len() == 1);
    let table = TableHead { columns, rows: Some(rows as u64), vector, names: Some(&names), ..TableHead::default() };
    let numbers = Array2::from_shape_fn((rows, columns), |(r, c)| scores[c].likelihood.each[r]);
    let mut block = Some(numbers);
    write_table(path, &table, &mut || Ok(block.take()))
}
