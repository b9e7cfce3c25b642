//! MODEL opened for work: a model file or a run directory.

use crate::args::LogZArgs;
use crate::output::with_error;
use crate::progress::Meter;
use crate::run_model;
use anyhow::{Context, Result};
use harmonium::LoweredModel;
use harmonium::file::{ColumnNotes, ModelFile};
use harmonium::logz::{self, LogZ};
use ndarray::Array2;
use std::path::{Path, PathBuf};

/// What MODEL can be, for help.
pub const MODEL_HELP: &str = "Model file (.safetensors) or run directory";

/// A model and where it came from.
pub struct Model {
    /// The file; of a run directory, the one that was used.
    pub path: PathBuf,
    pub file: ModelFile,
    pub lowered: LoweredModel<f64>,
    pub notes: ColumnNotes,
}

impl Model {
    pub fn read(path: &Path) -> Result<Model> {
        let (path, file) =
            if path.is_dir() { run_model::read(path)? } else { (path.to_path_buf(), ModelFile::read(path)?) };
        let (lowered, notes) = (file.rbm.lower(), ColumnNotes::read(&file));
        Ok(Model { path, file, lowered, notes })
    }

    /// log Z by the method called `method`, with a progress bar; `rows` of columns help an estimate.
    pub fn log_z(&self, method: &str, options: &LogZArgs, rows: Option<&Array2<f64>>, seed: u64) -> Result<LogZ> {
        let meter = Meter::new("log Z");
        let LogZArgs { tolerance, chains, temperatures, time, work } = *options;
        let on_round = |value: f64, std_err: f64| meter.so_far(with_error(value, std_err));
        let settings = logz::LogZOptions {
            seed,
            chains,
            temperatures,
            tolerance,
            time,
            // A time that was asked for replaces the default budget.
            budget: work.unwrap_or(if time.is_some() { f64::INFINITY } else { logz::BUDGET }),
            data: rows,
            on_round: Some(&on_round),
            ..Default::default()
        };
        let log_z = logz::log_z(&self.file.rbm, method, settings, &|done, all| meter.tell(done, Some(all)));
        log_z.with_context(|| self.path.display().to_string())
    }
}
