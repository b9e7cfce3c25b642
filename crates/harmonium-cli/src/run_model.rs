//! A run directory in the place of a model file: its model, or that of its checkpoint, and the rows it learned from.

use crate::args::{DataOptions, parse_binarize};
use crate::notes::Notes;
use crate::output::{program, say, shell_word};
use crate::train::settings::{Data, image_size};
use anyhow::{Context, Result, bail};
use harmonium::data::Preprocess;
use harmonium::file::ModelFile;
use harmonium::train::model_of_checkpoint;
use serde::Deserialize;
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const MODEL: &str = "model.safetensors";
const CHECKPOINT: &str = "checkpoint.safetensors";

/// What is needed of a run's configuration.
#[derive(Deserialize)]
pub struct RunConfig {
    pub data: Data,
    #[serde(alias = "machine")]
    model: InitialModel,
}

#[derive(Deserialize)]
struct InitialModel {
    init: Option<PathBuf>,
}

impl RunConfig {
    pub fn read(dir: &Path) -> Result<RunConfig> {
        let path = dir.join(CONFIG);
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(&path).with_context(shown)?;
        toml::from_str(&text).with_context(shown)
    }

    /// What is done to the rows before the model sees them. The checkpoint does not have it.
    fn preprocess(&self, dir: &Path) -> Result<Preprocess> {
        let binarize = parse_binarize(&self.data.binarize).map_err(anyhow::Error::msg)?.0;
        let own = match &self.model.init {
            Some(init) => ModelFile::read(init)?.preprocess,
            None if self.data.standardize => {
                bail!("{} is unfinished, and standardises its data; finish it with: {}", dir.display(), resume(dir))
            }
            None => Preprocess::default(),
        };
        Ok(Preprocess { binarize: binarize.or(own.binarize), ..own })
    }
}

/// Whether this is a run directory.
pub fn is_run(path: &Path) -> bool {
    path.join(CONFIG).is_file()
}

/// Reads the model of a run directory; returns the file it is in.
pub fn read(dir: &Path) -> Result<(PathBuf, ModelFile)> {
    let (shown, model, checkpoint) = (dir.display(), dir.join(MODEL), dir.join(CHECKPOINT));
    if model.exists() {
        say("note", &format!("{shown} is a run directory; using {}", model.display()));
        let file = ModelFile::read(&model)?;
        return Ok((model, file));
    }
    if !is_run(dir) {
        bail!("{shown} is a directory without {MODEL}");
    }
    if !checkpoint.exists() {
        bail!("{shown} has no model yet; continue the run with: {}", resume(dir));
    }
    let config = RunConfig::read(dir)?;
    let bytes = std::fs::read(&checkpoint).with_context(|| checkpoint.display().to_string())?;
    let (file, update) = model_of_checkpoint(&bytes).with_context(|| checkpoint.display().to_string())?;
    let (alphabet, image) = (config.data.alphabet.clone(), config.data.image.as_deref().and_then(image_size));
    let about = Notes { alphabet, image, names: None }.about();
    let file = ModelFile { rbm: file.rbm.folded(), preprocess: config.preprocess(dir)?, about, ..file };
    say("note", &format!("{shown} is an unfinished run; using its checkpoint at update {update}"));
    Ok((checkpoint, file))
}

/// The rows that a run learned from: DATA, and the options to read it with; what was typed comes first.
pub fn own_rows(dir: &Path, typed: &DataOptions) -> Result<(Data, DataOptions)> {
    let data = RunConfig::read(dir)?.data;
    let own = data.options()?;
    let options = DataOptions {
        binarize: typed.binarize.or(own.binarize),
        skip_rows: typed.skip_rows.or(own.skip_rows),
        columns: typed.columns.clone().or(own.columns),
        label_column: typed.label_column.clone().or(own.label_column),
        alphabet: own.alphabet,
        missing: typed.missing || own.missing,
    };
    Ok((data, options))
}

fn resume(dir: &Path) -> String {
    format!("{} train --resume -o {}", program(), shell_word(&dir.display().to_string()))
}
