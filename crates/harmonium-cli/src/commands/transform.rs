//! `transform`: the hidden means h̄ = ⟨h | v⟩ of every row.

use super::RowsToFile;
use crate::args::Global;
use crate::model::Model;
use crate::output::CommandOutput;
use crate::stream::Stream;
use anyhow::Result;
use clap::Args;
use harmonium::data::{TableHead, write_table};

/// Write the hidden means of every row
///
/// One column per hidden unit; for Potts units, one per state, its probability.
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium transform model.safetensors data.npy -o hidden.npy")]
pub struct Transform {
    #[command(flatten)]
    io: RowsToFile,
}

impl Transform {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.io.model)?;
        let mut stream = Stream::open(&model, &self.io.data, &self.io.options, global)?;
        let (rows, columns) = (stream.rows(), model.lowered.hidden().columns());
        let up = model.lowered.up();
        let names: Vec<String> = (1..=columns).map(|j| format!("h{j}")).collect();
        let table = TableHead { columns, rows, names: Some(&names), ..TableHead::default() };
        let rows =
            write_table(&self.io.output, &table, &mut || Ok(stream.map(columns, |v| up.means(v))?.map(|m| m.result)))?;
        Ok(self.io.report(rows, &format!("{columns} hidden means")).field("columns", columns))
    }
}
