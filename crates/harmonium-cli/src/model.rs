//! A model file that was opened for work: what stands in it, and the machine lowered.

use crate::args::LogZOptions;
use crate::notes::Notes;
use crate::progress::Meter;
use anyhow::Context;
use harmonium::file::ModelFile;
use harmonium::logz::{self, LogZ};
use harmonium::{Natural, Result};
use ndarray::Array2;
use std::path::{Path, PathBuf};

/// A model and where it came from.
pub struct Model {
    pub path: PathBuf,
    pub file: ModelFile,
    pub machine: Natural<f64>,
    pub notes: Notes,
}

impl Model {
    pub fn read(path: &Path) -> Result<Model> {
        let file = ModelFile::read(path)?;
        let (machine, notes) = (file.rbm.lower(), Notes::read(&file));
        Ok(Model { path: path.into(), file, machine, notes })
    }

    /// log Z by the method called `method`, with a progress bar; `rows` of columns help an estimate.
    pub fn log_z(
        &self,
        method: &str,
        options: &LogZOptions,
        rows: Option<&Array2<f64>>,
        seed: u64,
    ) -> anyhow::Result<LogZ> {
        let meter = Meter::new("log Z");
        let LogZOptions { tolerance, chains, temperatures } = *options;
        let settings = logz::Settings { seed, chains, temperatures, tolerance, data: rows, ..Default::default() };
        let log_z = logz::log_z(&self.file.rbm, method, settings, &|done, all| meter.tell(done, Some(all)));
        log_z.with_context(|| self.path.display().to_string())
    }
}
