//! `reconstruct`: one mean-field round trip, v → h̄ = ⟨h | v⟩ → v̄ = ⟨v | h̄⟩.

use super::RowsToFile;
use crate::args::Global;
use crate::model::Model;
use crate::output::CommandOutput;
use crate::stream::{Mapped, Stream};
use anyhow::Result;
use clap::Args;
use harmonium::data::write_table;

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
        let is_code: Vec<bool> = visible.each_site().map(|site| site.columns.len() > 1).collect();
        let codes = is_code.iter().filter(|is| **is).count();
        let (mut wrong, mut squares) = (0.0, 0.0);
        let table = model.notes.visible(visible.sites(), stream.rows());
        let rows = write_table(&self.io.output, &table, &mut || {
            let Some(Mapped { block, result }) = stream.map(columns, |v| down.means(up.means(v).view()))? else {
                return Ok(None);
            };
            let (mut given, mut again) = (block.values, visible.decode(result.view()));
            model.file.preprocess.restore(&mut given);
            model.file.preprocess.restore(&mut again);
            for ((given, again), is_code) in given.columns().into_iter().zip(again.columns()).zip(&is_code) {
                let both = given.iter().zip(again);
                match is_code {
                    true => wrong += both.filter(|(x, y)| x != y).count() as f64,
                    false => squares += both.map(|(x, y)| (x - y).powi(2)).sum::<f64>(),
                }
            }
            Ok(Some(again))
        })?;
        let (of_codes, of_numbers) = (rows as f64 * codes as f64, rows as f64 * (visible.sites() - codes) as f64);
        let (wrong, squares) = (wrong / of_codes, squares / of_numbers);
        let in_words = [
            (codes > 0).then(|| format!("{:.2} % of the codes are wrong", 100.0 * wrong)),
            (of_numbers > 0.0).then(|| format!("{squares:.4} (mean square per cell)")),
        ];
        let report = self.io.report(rows, &format!("{} reconstructed values", visible.sites()));
        let report = in_words.into_iter().flatten().fold(report, |report, text| report.line("error", text));
        Ok(report
            .field("error", if of_numbers > 0.0 { squares } else { wrong })
            .field("wrong", (codes > 0).then_some(wrong)))
    }
}
