//! `evaluate`: the mean log likelihood ⟨log p(v)⟩ = −⟨F(v)⟩ − log Z − Σ log scale of data, in nats per row.

use crate::advice;
use crate::args::{DataOptions, Global, LogZArgs, Missing, command, data_help, log_z_methods, parse_output};
use crate::measured::{Measured, Sample, measured};
use crate::model::Model;
use crate::output::{CommandOutput, say};
use crate::progress::Meter;
use crate::run_model;
use crate::stream::{Mapped, Stream};
use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use harmonium::backend::Cpu;
use harmonium::conditional::{self, Conditional};
use harmonium::data::{Block, RowCounts, TableHead, write_table};
use harmonium::logz::LogZ;
use harmonium::rng::{Key, Purpose};
use harmonium::{Bits, Dataset};
use ndarray::{Array2, Axis};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Rows whose unknown cells are summed over at a time.
const PIECE: usize = 100;
/// Sweeps that fill unknown cells.
const FILL: u64 = 40;

/// Mean log likelihood of data, in nats per row
///
/// Likelihoods are probabilities, or densities in the units of the data. Several models are compared on the same data.
#[derive(Args)]
#[command(override_usage = "harmonium evaluate [OPTIONS] <MODEL>... [DATA]")]
#[command(after_help = "Examples:
  harmonium evaluate model.safetensors data.npy
  harmonium evaluate model.safetensors other.safetensors data.npy --per-row rows.npy --json")]
pub struct Evaluate {
    #[arg(required = true, value_name = "MODEL", help = inputs_help())]
    inputs: Vec<PathBuf>,
    /// How log Z is computed
    #[arg(long, default_value = "auto", value_name = "METHOD", value_parser = log_z_methods())]
    log_z: String,
    /// Also write the log likelihood of every row (.npy or .csv; several models: one column each)
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    per_row: Option<PathBuf>,
    #[command(flatten)]
    estimate: LogZArgs,
    /// The rows the model was trained on, for the free energy gap of DATA
    #[arg(long, value_name = "DATA")]
    train: Option<String>,
    #[command(flatten)]
    options: DataOptions,
    /// With unknown cells the likelihood is that of the known ones
    #[command(flatten)]
    missing: Missing,
}

fn inputs_help() -> String {
    format!("Model files (.safetensors) or run directories, then DATA\n\n{}.", data_help())
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
        let entropy = rows.entropy.filter(|_| log_z.method == "exact" && rows.unknown.cells == 0);
        let energies = rows.sample.energies.iter();
        let log_likelihoods = energies.zip(&rows.jacobians).map(|(f, j)| j - f - log_z.value).collect();
        Ok(Score { model: model.path, measured, log_likelihoods, entropy, log_z, unknown: rows.unknown })
    }
}

fn one(data: &str, score: &Score) -> CommandOutput {
    let title = format!("{} on {}", score.model.display(), data);
    let report = CommandOutput::new(title)
        .line("rows", score.log_likelihoods.len().to_string())
        .line("log likelihood", format!("{} nats per row (rows spread by {:.4})", score.mean_words(), score.spread()))
        .maybe("unknown cells", score.unknown.in_words())
        .line("log Z", score.log_z.to_string())
        .maybe("verdict", advice::explanation(&score.log_z))
        .maybe("entropy of rows", score.entropy.map(|h| format!("{h:.6} nats")))
        .maybe("KL divergence", score.divergence().map(|kl| format!("{kl:.6} nats from the data")));
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

/// What one pass over the data gives.
struct DataPass {
    sample: Sample,
    entropy: Option<f64>,
    /// What the units of the data add to the log density of each row.
    jacobians: Vec<f64>,
    unknown: Unknown,
}

/// Cells that are not known, and what became of them.
#[derive(Clone, Copy, Default)]
struct Unknown {
    cells: u64,
    rows: usize,
    /// Rows whose unknown cells were summed over exactly.
    exact: usize,
    /// Sum of the squared standard errors of the rows.
    squares: f64,
}

impl Unknown {
    fn in_words(&self) -> Option<String> {
        let Unknown { cells, rows, exact, .. } = *self;
        let how = match exact == rows {
            true => "summed over exactly".into(),
            false => format!("annealed in {} rows, a little low on average, else summed over exactly", rows - exact),
        };
        let what = "the likelihood is that of the known ones, measures take draws in their place";
        (cells > 0).then(|| format!("{cells} in {rows} rows, {how}: {what}"))
    }
}

impl DataPass {
    fn run(model: &Model, mut stream: Stream, seed: u64) -> Result<DataPass> {
        let (up, unit) = (model.lowered.up(), model.lowered.visible().unit());
        let (mut counts, mut sample) = (RowCounts::new(unit), Sample::new(model, seed));
        let (mut jacobians, mut unknown) = (Vec::new(), Unknown::default());
        let mut ask =
            Conditional::new(&model.file.rbm, conditional::ConditionalOptions { seed, ..Default::default() })?;
        let kind = model.file.rbm.visible().kind();
        while let Some(Mapped { block, mut result }) = stream.map(1, |v| up.free_energy(v).insert_axis(Axis(1)))? {
            counts.add(block.values.view());
            let rows = block.values.nrows();
            jacobians.extend(model.file.preprocess.log_jacobians(kind, rows, block.known.as_ref()));
            match &block.known {
                None => sample.add(&block.columns, result),
                Some(known) => {
                    unknown.sum_over(&mut ask, &block, known, &mut result)?;
                    sample.add(&filled(model, &block, known, seed)?, result);
                }
            }
        }
        if unit.n_states().is_some() && !counts.all_states() {
            say("note", "grey values are taken as probabilities: log likelihoods are -F(v) - log Z, not probabilities");
        }
        Ok(DataPass { sample, entropy: counts.entropy(), jacobians, unknown })
    }
}

/// The columns of a block with unknown cells drawn given the others, for measures that need whole rows.
fn filled(model: &Model, block: &Block, known: &Bits, seed: u64) -> harmonium::Result<Array2<f64>> {
    let side = model.lowered.visible();
    let mut rows = Dataset::new(side);
    rows.push_known(side, block.columns.view(), Some(known));
    let key = Key::root(seed).of(Purpose::Missing).step(block.first);
    let rows = conditional::filled(&mut Cpu::new(model.lowered.clone())?, 0, &rows, FILL, key);
    Ok(rows.states().columns(side.unit(), 0, rows.len()))
}

impl Unknown {
    /// Puts −log p*(v_B) in the place of the free energies of rows with unknown cells.
    fn sum_over(
        &mut self,
        ask: &mut Conditional,
        block: &Block,
        known: &Bits,
        energies: &mut Array2<f64>,
    ) -> harmonium::Result<()> {
        let rows: Vec<usize> = (0..known.rows()).filter(|r| known.ones(*r) < known.sites()).collect();
        let meter = Meter::new("unknown cells");
        for (done, some) in rows.chunks(PIECE).enumerate() {
            let x = block.columns.select(Axis(0), some);
            let scores = ask.scores(x.view(), &known.select(some), block.first + some[0] as u64)?;
            for (r, score) in some.iter().zip(&scores.rows) {
                energies[[*r, 0]] = -score.value;
                self.squares += score.std_err.powi(2);
                self.cells += (known.sites() - known.ones(*r)) as u64;
            }
            self.exact += scores.exact;
            meter.tell((done * PIECE) as u64, Some(rows.len() as u64));
        }
        self.rows += rows.len();
        Ok(())
    }
}

/// How well one model fits.
struct Score {
    model: PathBuf,
    log_likelihoods: Vec<f64>,
    measured: Measured,
    entropy: Option<f64>,
    log_z: LogZ,
    unknown: Unknown,
}

impl Score {
    fn mean(&self) -> f64 {
        mean(&self.log_likelihoods)
    }

    /// The mean with its error, if it has one.
    fn mean_words(&self) -> String {
        match self.std_err() == 0.0 {
            true => format!("{:.6}", self.mean()),
            false => format!("{:.4} ± {:.4}", self.mean(), self.std_err()),
        }
    }

    /// The error that log Z and unknown cells bring.
    fn std_err(&self) -> f64 {
        self.log_z.std_err.hypot(self.unknown.squares.sqrt() / self.log_likelihoods.len() as f64)
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
            "unknown_cells": self.unknown.cells,
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
