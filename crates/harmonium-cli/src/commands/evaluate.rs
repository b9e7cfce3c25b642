//! `evaluate`: the mean log likelihood ⟨log p(v)⟩ = −⟨F(v)⟩ − log Z − Σ log scale of data, in nats per row.

use crate::advice;
use crate::args::{DataOptions, Global, LogZArgs, Missing, command, log_z_methods, parse_output};
use crate::data_pass::{DataPass, MissingCells};
use crate::measured::{Measured, measured};
use crate::model::Model;
use crate::output::{CommandOutput, say, with_error};
use crate::run_model;
use crate::stream::Stream;
use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use harmonium::data::{TableHead, write_table};
use harmonium::logz::LogZ;
use ndarray::Array2;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Compute the mean log likelihood of data
///
/// In nats per row: logarithms of probabilities, or of densities in the units of the data. Several models are compared on the
/// same rows. Without DATA, a run directory is judged by the data of its run.
#[derive(Args)]
#[command(override_usage = "harmonium evaluate [OPTIONS] <MODEL>... [DATA]")]
#[command(after_help = "Examples:
  harmonium evaluate model.safetensors data.npy --per-row rows.npy
  harmonium evaluate model.safetensors other.safetensors data.npy --json")]
pub struct Evaluate {
    /// Model files (.safetensors) or run directories, then DATA
    ///
    /// DATA is a file or builtin:NAME; `harmonium --help` lists both.
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
    /// Training rows, to print the free energy gap of DATA
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
        let typed = self.options.with_missing(self.missing.missing);
        match self.inputs.split_last() {
            Some((last, models)) if !models.is_empty() && !run_model::is_run(last) => {
                let data = last.to_str().with_context(|| format!("{} is not UTF-8", last.display()))?;
                Ok((models, Rows { data: data.into(), options: typed }))
            }
            Some((last, _)) if run_model::is_run(last) => Ok((&self.inputs, self.own_rows(&typed)?)),
            _ => {
                let mut command = command();
                command.build();
                let evaluate = command.find_subcommand_mut("evaluate").context("evaluate")?;
                let text = "DATA is missing: the rows to judge the model by\n";
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
        let held_out = if data.valid_fraction.is_some() { ", held-out rows included" } else { "" };
        say("note", &format!("no DATA given; using the data of the run, {}{held_out}", data.source));
        Ok(Rows { data: data.source.clone(), options: options.clone() })
    }

    /// The data comes first: a bad value in it is found before minutes are spent on log Z.
    fn score(&self, model: Model, rows: &Rows, global: &Global) -> Result<Score> {
        let pass = |data: &str| {
            let stream = Stream::open(&model, data, &rows.options, global)?;
            DataPass::run(&model, stream, global.seed())
        };
        let rows = pass(&rows.data)?;
        let train = self.train.as_deref().map(pass).transpose()?;
        let measured = measured(&model, &rows.sample, train.as_ref().map(|t| &t.sample), global.seed())?;
        let sample = rows.sample.columns(&model);
        let log_z = model.log_z(&self.log_z, &self.estimate, Some(&sample), global.seed())?;
        let entropy = rows.entropy.filter(|_| log_z.method == "exact" && rows.missing.cells == 0);
        let energies = rows.sample.energies.iter();
        let log_likelihoods = energies.zip(&rows.jacobians).map(|(f, j)| j - f - log_z.value).collect();
        Ok(Score { model: model.path, measured, log_likelihoods, entropy, log_z, missing: rows.missing })
    }
}

fn one(data: &str, score: &Score) -> CommandOutput {
    let title = format!("{} on {}", score.model.display(), data);
    let report = CommandOutput::new(title)
        .line("rows", score.log_likelihoods.len().to_string())
        .line(
            "log likelihood",
            format!("{} nats per row (standard deviation over rows {:.4})", score.mean_words(), score.spread()),
        )
        .maybe("missing cells", score.missing.in_words())
        .line("log Z", score.log_z.to_string())
        .maybe("verdict", advice::explanation(&score.log_z))
        .maybe("entropy of the rows", score.entropy.map(|h| format!("{h:.4} nats")))
        .maybe("KL divergence", score.divergence().map(|kl| format!("{kl:.4} nats, of the model from the rows")));
    score.measured.lines(report).fields(score.json())
}

fn several(data: &str, scores: &[Score]) -> CommandOutput {
    let rows = scores.first().map_or(0, |s| s.log_likelihoods.len());
    let title = format!("log likelihood of {data}, {rows} rows, in nats per row");
    let models: Vec<Value> = scores.iter().map(|s| s.json().into()).collect();
    let report = CommandOutput::new(title).field("rows", rows).field("models", models);
    scores.iter().fold(report, |report, score| {
        let text = format!("{:>16}   log Z {}", score.mean_words(), score.log_z);
        report.line(&score.model.display().to_string(), text)
    })
}

/// How well one model fits.
struct Score {
    model: PathBuf,
    log_likelihoods: Vec<f64>,
    measured: Measured,
    entropy: Option<f64>,
    log_z: LogZ,
    missing: MissingCells,
}

impl Score {
    fn mean(&self) -> f64 {
        mean(&self.log_likelihoods)
    }

    /// The mean with its error, if it has one.
    fn mean_words(&self) -> String {
        with_error(self.mean(), self.std_err())
    }

    /// The error from log Z and from missing cells.
    fn std_err(&self) -> f64 {
        self.log_z.std_err.hypot(self.missing.squares.sqrt() / self.log_likelihoods.len() as f64)
    }

    /// Standard deviation over the rows.
    fn spread(&self) -> f64 {
        let centre = self.mean();
        mean(&self.log_likelihoods.iter().map(|l| (l - centre).powi(2)).collect::<Vec<_>>()).sqrt()
    }

    /// KL(q‖p) = −⟨log p⟩ − H(q), where the rows are states and log Z is exact.
    fn divergence(&self) -> Option<f64> {
        self.entropy.map(|h| -self.mean() - h)
    }

    fn json(&self) -> Map<String, Value> {
        let fields = json!({
            "model": self.model.display().to_string(),
            "rows": self.log_likelihoods.len(),
            "mean_log_likelihood": self.mean(),
            "std_err": self.std_err(),
            "unknown_cells": self.missing.cells,
            "row_std_dev": self.spread(),
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

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// One column per model.
fn write_per_row(path: &Path, scores: &[Score]) -> harmonium::Result<u64> {
    let rows = scores.iter().map(|s| s.log_likelihoods.len()).min().unwrap_or(0);
    let names: Vec<String> = scores.iter().map(|s| s.model.display().to_string()).collect();
    let names = if names.len() == 1 { vec!["log_likelihood".into()] } else { names };
    let (columns, vector) = (scores.len(), scores.len() == 1);
    let table = TableHead { columns, rows: Some(rows as u64), vector, names: Some(&names), ..TableHead::default() };
    let numbers = Array2::from_shape_fn((rows, columns), |(r, c)| scores[c].log_likelihoods[r]);
    let mut block = Some(numbers);
    write_table(path, &table, &mut || Ok(block.take()))
}
