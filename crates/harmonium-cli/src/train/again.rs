//! A run directory looked at again: the page of a finished run to the byte, that of an unfinished one as far as it got.

use super::begin::{self, Begin};
use super::directory::{CHECKPOINT, CONFIG, EVENTS, MODEL, REPORT, RunDir, SUMMARY};
use super::ending::{Ending, filled};
use super::page::Page;
use super::settings::Settings;
use super::{config_file, input, log, shell_word};
use crate::notes::Notes;
use crate::output::{CommandOutput, one_line, say};
use anyhow::{Context, Result, bail};
use harmonium::Dataset;
use harmonium::events::Event;
use harmonium::file::{ModelFile, atomic};
use harmonium::train::model_of_checkpoint;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use toml::Table;

/// Draws the report of the run in `path` again, there or as one file.
pub fn again(path: &Path, output: Option<&Path>) -> Result<CommandOutput> {
    let dir = RunDir::look(path)?;
    let Recorded { settings, table, config, events, file, update } = Recorded::read(&dir)?;
    let rbm = file.rbm.cast::<f32>().folded();
    let begun = data(&settings, &table);
    let notes = match &begun {
        Ok(_) => Vec::new(),
        Err(e) => vec![format!("Drawn without the data: {}.", one_line(e).trim_end_matches('.'))],
    };
    if let (Some(note), None, true) = (notes.first(), output, dir.file(REPORT).exists()) {
        bail!(
            "{note} {} shows more and is kept; for what can be drawn without the data give -o FILE",
            shell_word(&dir.file(REPORT))
        );
    }
    notes.iter().for_each(|note| say("warning", note));
    let begun = begun.ok();
    let preprocess = begun.as_ref().map_or(&file.preprocess, |b| &b.preprocess);
    let seed = settings.train.seed;
    let whole = |rows: &'_ Dataset<f32>| filled(&rbm, rows, seed).map(Cow::into_owned);
    let train = begun.as_ref().map(|b| whole(&b.input.train)).transpose()?;
    let valid = begun.as_ref().and_then(|b| b.input.valid.as_ref()).map(whole).transpose()?;
    let about = match &begun {
        Some(begun) => begun.notes.clone(),
        None => noted(&settings, &file)?,
    };
    let ending = Ending {
        settings: &settings,
        config: &config,
        events: &events,
        page: Page { rbm: &rbm, train: train.as_ref(), valid: valid.as_ref(), preprocess, notes: &about, seed },
        update,
        seconds: seconds(&dir),
        notes: &notes,
    };
    let told = ending.tell(dir.path())?;
    match output {
        Some(output) => atomic::write(output, |w| w.write_all(told.rendered.html.as_bytes()))?,
        None => told.write_page(&dir)?,
    }
    Ok(told.summary.report(output))
}

/// What stands in a run directory.
struct Recorded {
    settings: Settings,
    table: Table,
    config: String,
    events: Vec<Event>,
    /// The model at the end, or at the last checkpoint, and the updates it has seen.
    file: ModelFile,
    update: u64,
}

impl Recorded {
    fn read(dir: &RunDir) -> Result<Recorded> {
        let path = dir.file(CONFIG);
        let table = config_file::read(&path)?;
        let settings = Settings::from_table(&table).with_context(|| path.display().to_string())?;
        let config = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let log = dir.file(EVENTS);
        let events = if log.exists() { log::read(&log)? } else { Vec::new() };
        let last = events.iter().rev().find_map(|e| match e {
            Event::Finished { update, .. } => Some(*update),
            _ => None,
        });
        let (file, update) = match dir.file(MODEL).exists() {
            true => (ModelFile::read(dir.file(MODEL))?, last.unwrap_or(settings.train.updates)),
            false => checkpoint(dir)?,
        };
        Ok(Recorded { settings, table, config, events, file, update })
    }
}

fn checkpoint(dir: &RunDir) -> Result<(ModelFile, u64)> {
    let path = dir.file(CHECKPOINT);
    if !path.exists() {
        let again = shell_word(dir.path());
        bail!("{again}: has no model yet; continue the run with: harmonium train --resume -o {again}");
    }
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    model_of_checkpoint(&bytes).with_context(|| path.display().to_string())
}

/// The rows that the run has learned from, if they are still what they were.
fn data(settings: &Settings, table: &Table) -> Result<Begin> {
    let begun = begin::begin(&mut settings.clone(), table, None)?;
    match settings.found.as_ref().is_none_or(|found| found.digest == begun.digest) {
        true => Ok(begun),
        false => bail!("{}: these are not the rows that the run has learned from", settings.data.source),
    }
}

/// What is known of the columns without the data.
fn noted(settings: &Settings, file: &ModelFile) -> Result<Notes> {
    let notes = Notes::read(file);
    let image = input::image(settings, file.rbm.visible().sites(), notes.image)?;
    Ok(Notes { image, alphabet: notes.alphabet.or(settings.data.alphabet.clone()), ..notes })
}

/// How long the run took, as it said at its end.
fn seconds(dir: &RunDir) -> Option<f64> {
    let text = std::fs::read_to_string(dir.file(SUMMARY)).ok()?;
    serde_json::from_str::<Value>(&text).ok()?.get("seconds")?.as_f64()
}
