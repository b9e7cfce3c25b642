//! A model file that was opened for work: what stands in it, and the model lowered.

use crate::args::LogZArgs;
use crate::progress::Meter;
use anyhow::Context;
use harmonium::file::{ColumnNotes, ModelFile};
use harmonium::logz::{self, LogZ};
use harmonium::{LoweredModel, Result};
use ndarray::Array2;
use std::path::{Path, PathBuf};

/// A model and where it came from.
pub struct Model {
    pub path: PathBuf,
    pub file: ModelFile,
    pub lowered: LoweredModel<f64>,
    pub notes: ColumnNotes,
}

impl Model {
    pub fn read(path: &Path) -> Result<Model> {
        let file = ModelFile::read(path)?;
        let (lowered, notes) = (file.rbm.lower(), ColumnNotes::read(&file));
        Ok(Model { path: path.into(), file, lowered, notes })
    }

    /// log Z by the method called `method`, with a progress bar; `rows` of columns help an estimate.
    pub fn log_z(
        &self,
        method: &str,
        options: &LogZArgs,
        rows: Option<&Array2<f64>>,
        seed: u64,
    ) -> anyhow::Result<LogZ> {
        let meter = Meter::new("log Z");
        let LogZArgs { tolerance, chains, temperatures } = *options;
        let settings = logz::LogZOptions { seed, chains, temperatures, tolerance, data: rows, ..Default::default() };
        let log_z = logz::log_z(&self.file.rbm, method, settings, &|done, all| meter.tell(done, Some(all)));
        log_z.with_context(|| self.path.display().to_string())
    }
}
