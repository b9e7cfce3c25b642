//! One run: prepared, taken up from its checkpoint if there is one, trained, judged, and written.

use super::begin::{self, Begin};
use super::directory::{CHECKPOINT, CONFIG, EVENTS, MODEL, RunDir};
use super::ending::{Ending, filled};
use super::log::{self, Log};
use super::page::Page;
use super::settings::{Found, Settings};
use super::watch::Watch;
use super::{Request, config_file, interrupt, shell_word};
use crate::interrupt::Interrupted;
use crate::notes::Notes;
use crate::output::{CommandOutput, one_line, say};
use anyhow::{Context, Result, bail};
use harmonium::data::Preprocess;
use harmonium::events::Reason;
use harmonium::file::ModelFile;
use harmonium::{Dataset, Error, Trainer};
use std::time::Instant;
use toml::Table;

/// A run that is ready.
pub struct Run {
    dir: RunDir,
    settings: Settings,
    config: String,
    /// Held-out rows; the others are the trainer's.
    valid: Option<Dataset<f32>>,
    preprocess: Preprocess,
    notes: Notes,
    trainer: Trainer<f32>,
    /// The update of the checkpoint it goes on from.
    resumed: Option<u64>,
    clock: Instant,
}

impl Run {
    pub fn prepare(mut dir: RunDir, asked: &Table, request: &Request) -> Result<Run> {
        let clock = Instant::now();
        let mut settings = Settings::from_table(asked)?;
        let Begin { input, rbm, preprocess, notes, columns, digest } =
            begin::begin(&mut settings, asked, request.epochs)?;
        let (valid, data) = (input.valid.clone(), Some(begin::digest_of_rows(&input)));
        let mut trainer = Trainer::new(settings.train.clone(), rbm, input.train, input.valid)?;
        trainer.tell_in_units_of(&preprocess);
        let found = Found {
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: trainer.backend_name().into(),
            rows: trainer.data().len() as u64,
            valid_rows: valid.as_ref().map_or(0, |v| v.len()) as u64,
            columns: columns as u64,
            digest,
            data,
        };
        compare(settings.found.as_ref(), &found, request.resume && dir.file(CONFIG).exists())?;
        settings.found = Some(found);
        let resumed = take_up(&dir, &mut trainer)?;
        let config = config_file::text(&settings)?;
        dir.write(CONFIG, config.as_bytes())?;
        dir.keep();
        trainer.checkpoint_to(dir.file(CHECKPOINT), settings.checkpoint_every);
        Ok(Run { dir, settings, config, valid, preprocess, notes, trainer, resumed, clock })
    }

    pub fn run(mut self) -> Result<CommandOutput> {
        interrupt::listen()?;
        let mut watch = Watch::new(Log::open(self.dir.file(EVENTS), self.resumed)?);
        let ended = self.trainer.run(&mut watch);
        watch.clear();
        interrupt::over();
        let update = self.trainer.update();
        if ended.is_err() && update == 0 && self.resumed.is_none() {
            self.dir.undo()?;
        }
        let again = format!("continue with: harmonium train --resume -o {}", shell_word(self.dir.path()));
        let reason = ended.map_err(|e| match e {
            Error::Io { .. } => advised(e.into(), &format!("stopped after update {update}, {again}")),
            other => other.into(),
        })?;
        watch.log.finish().map_err(|e| advised(e, &format!("stopped after update {update}, {again}")))?;
        if reason == Reason::Interrupted {
            return Err(Interrupted(format!("interrupted at update {update}; {again}")).into());
        }
        self.finish().map_err(|e| advised(e, &format!("all {update} updates are done, {again}")))
    }

    /// The report first, the model last: a directory with a model holds everything.
    fn finish(self) -> Result<CommandOutput> {
        let trained = self.trainer.rbm();
        if let Some(text) = trained.offset_warning() {
            say("warning", &text);
        }
        let rbm = trained.folded();
        let events = log::read(&self.dir.file(EVENTS))?;
        let seed = self.settings.train.seed;
        let train = filled(&rbm, self.trainer.data(), seed)?;
        let valid = self.valid.as_ref().map(|v| filled(&rbm, v, seed)).transpose()?;
        let ending = Ending {
            settings: &self.settings,
            config: &self.config,
            events: &events,
            page: Page {
                rbm: &rbm,
                train: Some(&train),
                valid: valid.as_deref(),
                preprocess: &self.preprocess,
                notes: &self.notes,
                seed,
            },
            update: self.trainer.update(),
            seconds: Some(self.clock.elapsed().as_secs_f64()),
            notes: &[],
        };
        let report = ending.tell(self.dir.path())?.write(&self.dir)?;
        let file = ModelFile { preprocess: self.preprocess.clone(), about: self.notes.about(), ..ModelFile::new(&rbm) };
        self.dir.write(MODEL, &file.to_bytes())?;
        Ok(report)
    }
}

/// What went wrong, and what to do.
fn advised(error: anyhow::Error, advice: &str) -> anyhow::Error {
    anyhow::anyhow!("{}; {advice}", one_line(&error))
}

/// Goes on from the checkpoint, if there is one; returns the update it is from.
fn take_up(dir: &RunDir, trainer: &mut Trainer<f32>) -> Result<Option<u64>> {
    let path = dir.file(CHECKPOINT);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    trainer.resume(&bytes).with_context(|| path.display().to_string())?;
    let (done, asked) = (trainer.update(), trainer.config().updates);
    if done > asked {
        bail!("updates: {asked} are asked for, but {done} are done already");
    }
    say("note", &format!("continuing at update {done} of {asked}"));
    Ok(Some(done))
}

/// A run that goes on needs the same rows; a run that is repeated is told if it cannot be the same.
fn compare(recorded: Option<&Found>, found: &Found, must_agree: bool) -> Result<()> {
    let Some(recorded) = recorded else { return Ok(()) };
    let text = match (recorded.digest == found.digest, recorded.kernel == found.kernel) {
        (false, _) => "the data, or the model to begin with, are not those of the configuration".to_string(),
        (_, false) => format!("the kernel is {}, the configuration is from {}", found.kernel, recorded.kernel),
        _ => return Ok(()),
    };
    match must_agree {
        true => bail!("{text}; a run can only go on with what it began with"),
        false => say("note", &format!("{text}: the result will differ")),
    }
    Ok(())
}
