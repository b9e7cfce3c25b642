//! `log-z`: log Z of a model, in nats, of the energy in the file's own coordinates.

use crate::advice;
use crate::args::{DataOptions, Global, LogZArgs, log_z_methods};
use crate::measured::Sample;
use crate::model::{MODEL_HELP, Model};
use crate::output::CommandOutput;
use crate::stream::Stream;
use anyhow::Result;
use clap::Args;
use harmonium::logz::{Estimate, Evidence, Part};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Compute log Z, or estimate it with an error bar
///
/// log Z is the log of the partition function, in nats. An estimate comes with a verdict and the checks behind it. certain: the
/// interval is narrow and all checks passed. likely: the interval is narrow, but some checks
/// failed or could not be made. imprecise: the interval is wider than --tolerance. disagree: estimates contradict each other; do
/// not use the number.
#[derive(Args)]
#[command(
    name = "log-z",
    after_help = "Examples:
  harmonium log-z model.safetensors --method exact
  harmonium log-z model.safetensors --data data.npy --tolerance 0.2 --json"
)]
pub struct LogZ {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
    /// How to compute log Z
    #[arg(long, default_value = "auto", value_parser = log_z_methods())]
    method: String,
    #[arg(long, value_name = "DATA", help = "Training rows; they reveal modes that the searches might miss")]
    data: Option<String>,
    #[command(flatten)]
    estimate: LogZArgs,
    #[command(flatten)]
    options: DataOptions,
}

impl LogZ {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.model)?;
        let rows = match &self.data {
            Some(data) => {
                let mut stream = Stream::open(&model, data, &self.options, global)?;
                let mut sample = Sample::new(&model, global.seed());
                while let Some(block) = stream.read()? {
                    let x = block.columns()?;
                    sample.add(&x, model.lowered.up().free_energy(x.view()));
                }
                Some(sample.for_log_z(&model))
            }
            None => None,
        };
        let z = model.log_z(&self.method, &self.estimate, rows.as_ref(), global.seed())?;
        let evidence = |e: &Evidence| format!("{} {}", if e.holds { "passed:" } else { "FAILED:" }, e.words);
        let report = CommandOutput::new(model.path.display().to_string())
            .line("log Z", z.to_string())
            .line("method", format!("{}: {}", z.method, z.how))
            .maybe("verdict", advice::explanation(&z));
        Ok(z.evidence
            .iter()
            .fold(report, |report, e| report.line("check", evidence(e)))
            .field("value", z.value)
            .field("std_err", z.std_err)
            .field("lower", z.lower)
            .field("upper", z.upper)
            .field("ess", z.ess.map_or(Value::Null, Value::from))
            .field("forward", direction(z.forward))
            .field("backward", direction(z.backward))
            .field("method", z.method)
            .field("how", z.how)
            .field("verdict", z.verdict.name())
            .field("evidence", z.evidence.iter().map(evidence_json).collect::<Value>())
            .field("parts", z.parts.iter().map(part_json).collect::<Value>())
            .field("work", z.work.map_or(Value::Null, Value::from))
            .field("advice", advice::sentence(&z.reason, &z.advice)))
    }
}

fn evidence_json(e: &Evidence) -> Value {
    json!({"name": e.name, "holds": e.holds, "value": e.value, "limit": e.limit, "words": e.words})
}

fn part_json(part: &Part) -> Value {
    let estimates: Value = part.estimates.iter().map(|e| direction(Some(*e))).collect();
    let Part { log_mass, std_err, share, is_rest, .. } = part;
    json!({"log_mass": log_mass, "std_err": std_err, "share": share, "is_rest": is_rest, "estimates": estimates})
}

fn direction(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |e| json!({"value": e.value, "std_err": e.std_err, "ess": e.ess}))
}
