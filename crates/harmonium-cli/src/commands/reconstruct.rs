//! `reconstruct`: one mean-field round trip, v → h̄ = ⟨h | v⟩ → v̄ = ⟨v | h̄⟩.

use super::RowsToFile;
use crate::args::Global;
use crate::model::Model;
use crate::output::CommandOutput;
use crate::stream::{Mapped, Stream};
use anyhow::Result;
use clap::Args;
use harmonium::data::write_table;
use ndarray::{Array2, Zip};

/// Write the reconstruction of every row
///
/// From visible units to hidden means and back, in the units of the data. For a Potts unit, its most probable code is
/// written.
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium reconstruct model.safetensors data.npy -o again.npy")]
pub struct Reconstruct {
    #[command(flatten)]
    io: RowsToFile,
}

impl Reconstruct {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.io.model)?;
        let mut stream = Stream::open(&model, &self.io.data, &self.io.options, global)?;
        let (visible, columns) = (model.lowered.visible(), model.lowered.visible().columns());
        let (up, down) = (model.lowered.up(), model.lowered.down());
        let categorical = visible.unit().width() > 1;
        let mut sum = 0.0;
        let table = model.notes.visible(visible.sites(), stream.rows());
        let rows = write_table(&self.io.output, &table, &mut || {
            let Some(Mapped { block, result }) = stream.map(columns, |v| down.means(up.means(v).view()))? else {
                return Ok(None);
            };
            let (mut given, mut again) = (block.values, visible.decode(result.view()));
            model.file.preprocess.restore(&mut given);
            model.file.preprocess.restore(&mut again);
            sum += total_error(&given, &again, categorical);
            Ok(Some(again))
        })?;
        let error = sum / (rows as f64 * visible.sites() as f64);
        let in_words = if categorical {
            format!("{:.2} % of the codes are wrong", 100.0 * error)
        } else {
            format!("{error:.4} (mean square per cell)")
        };
        let report = self.io.report(rows, &format!("{} reconstructed values", visible.sites()));
        Ok(report.line("error", in_words).field("error", error))
    }
}

/// Σ (x − y)²; for codes, the number that differ.
fn total_error(x: &Array2<f64>, y: &Array2<f64>, categorical: bool) -> f64 {
    Zip::from(x)
        .and(y)
        .fold(0.0, |sum, x, y| sum + if categorical { f64::from(u8::from(x != y)) } else { (x - y).powi(2) })
}
