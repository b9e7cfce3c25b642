//! `evaluate`: the mean log likelihood ⟨log p(v)⟩ = −⟨F(v)⟩ − log Z − Σ log scale of data, in nats per row.

use crate::args::{DataOptions, Global, LogZOptions, data_help, log_z_methods, parse_output};
use crate::measured::{Measured, Sample, measured};
use crate::model::Model;
use crate::report::{Report, say};
use crate::stream::{Mapped, Stream};
use anyhow::Result;
use clap::Args;
use harmonium::data::{RowCounts, Table, write_table};
use harmonium::logz::LogZ;
use ndarray::{Array2, Axis};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Mean log likelihood of data, in nats per row
///
/// Likelihoods are probabilities, or densities in the units of the data. Several models are compared on the same data.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium evaluate model.safetensors data.npy
  harmonium evaluate model.safetensors other.safetensors data.npy --per-row rows.npy --json")]
pub struct Evaluate {
    /// Model files (.safetensors)
    #[arg(required = true, num_args = 1.., value_name = "MODEL")]
    models: Vec<PathBuf>,
    #[arg(required = true, help = data_help())]
    data: String,
    /// How log Z is computed
    #[arg(long, default_value = "auto", value_name = "METHOD", value_parser = log_z_methods())]
    log_z: String,
    /// Also write the log likelihood of every row (.npy or .csv; several models: one column each)
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    per_row: Option<PathBuf>,
    #[command(flatten)]
    estimate: LogZOptions,
    /// The rows the machine was trained on, for the free energy gap of DATA
    #[arg(long, value_name = "DATA")]
    train: Option<String>,
    #[command(flatten)]
    options: DataOptions,
}

impl Evaluate {
    pub fn run(&self, global: &Global) -> Result<Report> {
        let mut scores = Vec::new();
        for path in &self.models {
            scores.push(self.score(Model::read(path)?, global)?);
        }
        if let Some(path) = &self.per_row {
            write_per_row(path, &scores)?;
        }
        Ok(match scores.as_slice() {
            [score] => self.one(score),
            several => self.several(several),
        })
    }

    /// The data comes first: a bad value in it is found before minutes are spent on log Z.
    fn score(&self, model: Model, global: &Global) -> Result<Score> {
        let pass =
            |data: &str| DataPass::run(&model, Stream::open(&model, data, &self.options, global)?, global.seed());
        let rows = pass(&self.data)?;
        let train = self.train.as_deref().map(pass).transpose()?;
        let measured = measured(&model, &rows.sample, train.as_ref().map(|t| &t.sample), global.seed())?;
        let sample = rows.sample.columns(&model);
        let log_z = model.log_z(&self.log_z, &self.estimate, Some(&sample), global.seed())?;
        let shift = model.file.preprocess.log_jacobian(model.file.rbm.visible().kind()) - log_z.value;
        let entropy = rows.entropy.filter(|_| log_z.method == "exact");
        let log_likelihoods = rows.sample.energies.iter().map(|f| shift - f).collect();
        Ok(Score { model: model.path, measured, log_likelihoods, entropy, log_z })
    }

    fn one(&self, score: &Score) -> Report {
        let title = format!("{} on {}", score.model.display(), self.data);
        let report = Report::new(title)
            .line("rows", score.log_likelihoods.len().to_string())
            .line(
                "log likelihood",
                format!("{} nats per row (rows spread by {:.4})", score.mean_words(), score.spread()),
            )
            .line("log Z", score.log_z.to_string())
            .maybe("verdict", score.log_z.explanation())
            .maybe("entropy of rows", score.entropy.map(|h| format!("{h:.6} nats")))
            .maybe("KL divergence", score.divergence().map(|kl| format!("{kl:.6} nats from the data")));
        score.measured.lines(report).fields(score.json())
    }

    fn several(&self, scores: &[Score]) -> Report {
        let rows = scores.first().map_or(0, |s| s.log_likelihoods.len());
        let title = format!("log likelihood of {}, {rows} rows, in nats per row", self.data);
        let models: Vec<Value> = scores.iter().map(|s| s.json().into()).collect();
        let report = Report::new(title).field("rows", rows).field("models", models);
        scores.iter().fold(report, |report, score| {
            let text = format!("{:>16}   log Z {}", score.mean_words(), score.log_z);
            report.line(&score.model.display().to_string(), text)
        })
    }
}

/// What one pass over the data gives.
struct DataPass {
    sample: Sample,
    entropy: Option<f64>,
}

impl DataPass {
    fn run(model: &Model, mut stream: Stream, seed: u64) -> Result<DataPass> {
        let (up, unit) = (model.machine.up(), model.machine.visible().unit());
        let (mut counts, mut sample) = (RowCounts::new(unit), Sample::new(model, seed));
        while let Some(Mapped { block, result }) = stream.map(1, |v| up.free_energy(v).insert_axis(Axis(1)))? {
            counts.add(block.values.view());
            sample.add(&block.columns, result);
        }
        if unit.n_states().is_some() && !counts.all_states() {
            say("note", "grey values are taken as probabilities: log likelihoods are -F(v) - log Z, not probabilities");
        }
        Ok(DataPass { sample, entropy: counts.entropy() })
    }
}

/// How well one model fits.
struct Score {
    model: PathBuf,
    log_likelihoods: Vec<f64>,
    measured: Measured,
    entropy: Option<f64>,
    log_z: LogZ,
}

impl Score {
    fn mean(&self) -> f64 {
        mean(&self.log_likelihoods)
    }

    /// The mean with the error that log Z brings, if it brings one.
    fn mean_words(&self) -> String {
        match self.log_z.std_err == 0.0 {
            true => format!("{:.6}", self.mean()),
            false => format!("{:.4} ± {:.4}", self.mean(), self.log_z.std_err),
        }
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
            "std_err": self.log_z.std_err,
            "row_std_dev": self.spread(),
            "log_z": self.log_z.value,
            "log_z_method": self.log_z.method,
            "log_z_lower": self.log_z.lower,
            "log_z_upper": self.log_z.upper,
            "verdict": self.log_z.verdict.name(),
            "advice": self.log_z.advice,
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
    let table = Table { columns, rows: Some(rows as u64), vector, names: Some(&names), ..Table::default() };
    let numbers = Array2::from_shape_fn((rows, columns), |(r, c)| scores[c].log_likelihoods[r]);
    let mut block = Some(numbers);
    write_table(path, &table, &mut || Ok(block.take()))
}
