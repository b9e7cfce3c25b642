//! A run directory in place of a model file: its model, or that of its checkpoint, and the rows it was trained on.

use crate::args::{DataOptions, parse_binarize};
use crate::output::{program, say, shell_word};
use anyhow::{Result, bail};
use harmonium::Schema;
use harmonium::data::Preprocess;
use harmonium::file::{ColumnNotes, ModelFile};
use harmonium::run::{CHECKPOINT, CONFIG, DataSpec, Files, MODEL, Recorded};
use std::path::{Path, PathBuf};

/// Whether this is a run directory.
pub fn is_run(path: &Path) -> bool {
    path.join(CONFIG).is_file()
}

/// Reads the model of a run directory; returns the file it is in.
pub fn read(dir: &Path) -> Result<(PathBuf, ModelFile)> {
    let (shown, model) = (dir.display(), dir.join(MODEL));
    if model.exists() {
        say("note", &format!("{shown} is a run directory; using {}", model.display()));
        let file = ModelFile::read(&model)?;
        return Ok((model, file));
    }
    if !is_run(dir) {
        bail!("{shown} is a directory without {MODEL}");
    }
    let recorded = Recorded::read(dir)?;
    if !dir.join(CHECKPOINT).exists() {
        bail!("{shown} has no model yet; continue the run with: {}", resume(dir));
    }
    let (file, update) = recorded.model()?;
    let (preprocess, schema, notes) = preparation(&recorded, &file)?;
    say("note", &format!("{shown} is an unfinished run; using its checkpoint at update {update}"));
    let file = ModelFile { rbm: file.rbm.folded(), preprocess, schema, about: notes.about(), ..file };
    Ok((dir.join(CHECKPOINT), file))
}

/// What is done to the rows before the model sees them, which a checkpoint does not store: it is found again from the data.
fn preparation(recorded: &Recorded, file: &ModelFile) -> Result<(Preprocess, Option<Schema>, ColumnNotes)> {
    let dir = recorded.dir.path();
    match recorded.rows(&Files, &()) {
        Ok(prepared) => Ok((prepared.preprocess, prepared.schema, prepared.notes)),
        Err(_) if recorded.spec.data.standardize => {
            bail!("{} standardises its data, which cannot be read; finish it with: {}", dir.display(), resume(dir))
        }
        Err(_) if recorded.spec.data.schema.is_some() => {
            bail!(
                "{} describes the columns of its data, which cannot be read; finish it with: {}",
                dir.display(),
                resume(dir)
            )
        }
        Err(_) => {
            let binarize = recorded.spec.data.binarize()?;
            Ok((Preprocess { binarize, ..Preprocess::default() }, None, ColumnNotes::read(file)))
        }
    }
}

/// The rows that a run was trained on: DATA, and the options to read it with; what was typed comes first.
pub fn own_rows(dir: &Path, typed: &DataOptions) -> Result<(DataSpec, DataOptions)> {
    let data = Recorded::read(dir)?.spec.data;
    let options = DataOptions {
        binarize: typed.binarize.or(parse_binarize(&data.binarize).ok()),
        skip_rows: typed.skip_rows.or(Some(data.skip_rows)),
        header: typed.header.or(Some(data.header)),
        unseen: typed.unseen.or(Some(data.unseen)),
        schema: None,
        columns: typed.columns.clone().or(data.columns.clone()),
        label_column: typed.label_column.clone().or(data.label_column.clone()),
        alphabet: data.alphabet.clone(),
        missing: typed.missing && data.missing,
    };
    Ok((data, options))
}

fn resume(dir: &Path) -> String {
    format!("{} train --resume -o {}", program(), shell_word(&dir.display().to_string()))
}
