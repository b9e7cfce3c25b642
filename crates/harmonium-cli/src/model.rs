//! A model file that was opened for work: what stands in it, and the machine lowered.

use crate::progress::Meter;
use anyhow::Context;
use harmonium::file::ModelFile;
use harmonium::logz::{self, LogZ};
use harmonium::{Natural, Result};
use std::path::{Path, PathBuf};

/// A model and where it came from.
pub struct Model {
    pub path: PathBuf,
    pub file: ModelFile,
    pub machine: Natural<f64>,
}

impl Model {
    pub fn read(path: &Path) -> Result<Model> {
        let file = ModelFile::read(path)?;
        let machine = file.rbm.lower();
        Ok(Model { path: path.into(), file, machine })
    }

    /// log Z by the method called `method`, with a progress bar.
    pub fn log_z(&self, method: &str) -> anyhow::Result<LogZ> {
        let meter = Meter::new("log Z");
        let log_z = logz::log_z(&self.file.rbm, method, &|done, all| meter.tell(done, Some(all)));
        log_z.with_context(|| self.path.display().to_string())
    }
}
