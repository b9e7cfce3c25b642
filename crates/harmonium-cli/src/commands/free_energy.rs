//! `free-energy`: F(v) = −log Σ_h exp(−E(v, h)) of every row.

use super::RowsToFile;
use crate::args::Global;
use crate::model::Model;
use crate::output::CommandOutput;
use crate::stream::Stream;
use anyhow::Result;
use clap::Args;
use harmonium::data::{TableHead, write_table};
use ndarray::Axis;

/// Write the free energy of every row
///
/// In nats: log p(v) = -F(v) - log Z, where `harmonium log-z` prints log Z. If the columns were standardised, also subtract the
/// sum of the logs of their scales, which `harmonium inspect` prints. `harmonium evaluate --per-row` writes log p(v).
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium free-energy model.safetensors data.npy -o energies.npy")]
pub struct FreeEnergy {
    #[command(flatten)]
    io: RowsToFile,
}

impl FreeEnergy {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.io.model)?;
        let mut stream = Stream::open(&model, &self.io.data, &self.io.options, global)?;
        let up = model.lowered.up();
        let mut sum = 0.0;
        let names = ["free_energy".to_string()];
        let table =
            TableHead { columns: 1, rows: stream.rows(), vector: true, names: Some(&names), ..TableHead::default() };
        let rows = write_table(&self.io.output, &table, &mut || {
            let energies = stream.map(1, |v| up.free_energy(v).insert_axis(Axis(1)))?.map(|m| m.result);
            energies.iter().flatten().for_each(|f| sum += f);
            Ok(energies)
        })?;
        let mean = sum / rows as f64;
        Ok(self
            .io
            .report(rows, "free energies")
            .line("mean", format!("{mean:.4} nats"))
            .field("mean_free_energy", mean))
    }
}
