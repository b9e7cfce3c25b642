//! `log-z`: log Z of a model, in nats, of the energy in the file's own coordinates.

use crate::advice;
use crate::args::{DataOptions, Global, LogZArgs, log_z_methods};
use crate::measured::Sample;
use crate::model::{MODEL_HELP, Model};
use crate::output::CommandOutput;
use crate::stream::Stream;
use anyhow::Result;
use clap::Args;
use harmonium::logz::Estimate;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Compute log Z, or estimate it with an error bar
///
/// An estimate comes with a verdict. certain: annealing up and down agree, and the interval is narrow. wide: they agree, but
/// the interval is wider than --tolerance. disagree: do not trust the number; the chains do not mix.
#[derive(Args)]
#[command(
    name = "log-z",
    after_help = "Examples:
  harmonium log-z model.safetensors --method exact
  harmonium log-z model.safetensors --method bar --tolerance 0.2 --json"
)]
pub struct LogZ {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
    /// How to compute log Z
    #[arg(long, default_value = "auto", value_parser = log_z_methods())]
    method: String,
    #[arg(long, value_name = "DATA", help = "Rows like the training data, to improve an estimate")]
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
                    sample.add(&block.columns, []);
                }
                Some(sample.columns(&model))
            }
            None => None,
        };
        let z = model.log_z(&self.method, &self.estimate, rows.as_ref(), global.seed())?;
        Ok(CommandOutput::new(model.path.display().to_string())
            .line("log Z", z.to_string())
            .line("method", format!("{}: {}", z.method, z.how))
            .maybe("verdict", advice::explanation(&z))
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
            .field("advice", advice::sentence(&z.reason, &z.advice)))
    }
}

fn direction(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |e| json!({"value": e.value, "std_err": e.std_err, "ess": e.ess}))
}
