//! `log-z`: log Z of a machine, in nats, of the energy in the file's own coordinates.

use crate::args::{Global, log_z_methods};
use crate::model::Model;
use crate::report::Report;
use anyhow::Result;
use clap::Args;
use serde_json::Value;
use std::path::PathBuf;

/// Compute log Z
#[derive(Args)]
#[command(name = "log-z", after_help = "Example:\n  harmonium log-z model.safetensors --method exact")]
pub struct LogZ {
    /// Model file (.safetensors)
    model: PathBuf,
    /// How it is computed
    #[arg(long, default_value = "auto", value_parser = log_z_methods())]
    method: String,
}

impl LogZ {
    pub fn run(&self, _: &Global) -> Result<Report> {
        let model = Model::read(&self.model)?;
        let z = model.log_z(&self.method)?;
        Ok(Report::new(format!("{}", self.model.display()))
            .line("log Z", in_words(&z))
            .line("method", format!("{}: {}", z.method, z.how))
            .field("value", z.value)
            .field("std_err", z.std_err)
            .field("lower", z.lower)
            .field("upper", z.upper)
            .field("ess", z.ess.map_or(Value::Null, Value::from))
            .field("method", z.method)
            .field("how", z.how)
            .field("verdict", z.verdict))
    }
}

/// The value, its error and interval unless it is exact, and what to make of it.
pub fn in_words(z: &harmonium::logz::LogZ) -> String {
    match z.std_err == 0.0 {
        true => format!("{:.6} nats, {}", z.value, z.verdict),
        false => {
            format!("{:.4} ± {:.4} nats ({:.4} to {:.4}), {}", z.value, z.std_err, z.lower, z.upper, z.verdict)
        }
    }
}
