//! One run: prepared, continued from its checkpoint if there is one, trained, judged, written.

use super::conclude::{Conclusion, Facts, all_alike};
use super::config_file;
use super::defaults::Chooser;
use super::directory::{CHECKPOINT, CONFIG, EVENTS, MODEL, RunDir};
use super::drawn::Drawn;
use super::front::{Difference, Front, Note};
use super::length::Length;
use super::log::{self, Log};
use super::prepare::{Prepared, digest_of_rows, prepare};
use super::request::Request;
use super::spec::{Found, Spec, lookup};
use crate::advice::Advice;
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::events::{Event, Flow, Observer, Reason};
use crate::file::{ColumnNotes, ModelFile};
use crate::schema::Schema;
use crate::train::{TrainConfig, Trainer};
use std::borrow::Cow;
use toml::Table;

/// A run that is ready, or over.
pub struct Run {
    dir: Option<RunDir>,
    spec: Spec,
    config: String,
    /// Held-out rows; the others are the trainer's.
    valid: Option<Dataset<f32>>,
    preprocess: Preprocess,
    schema: Option<Schema>,
    notes: ColumnNotes,
    trainer: Trainer<f32>,
    /// The update of the checkpoint it continues from.
    resumed: Option<u64>,
    /// Events of a run without a directory.
    events: Vec<Event>,
    /// Seconds spent on training, those before the last checkpoint included.
    seconds: f64,
}

impl Run {
    /// `finished` is the number of updates of a finished run that goes on.
    pub(super) fn prepare(
        dir: Option<RunDir>,
        asked: &Table,
        request: &Request,
        front: &dyn Front,
        finished: Option<u64>,
    ) -> Result<Run> {
        let mut spec = Spec::from_table(asked)?;
        let Prepared { input, rbm, preprocess, schema, notes, columns, digest } =
            prepare(&mut spec, asked, request.length, request.tables, front)?;
        let (valid, data) = (input.valid.clone(), Some(digest_of_rows(&input)));
        let fresh = dir.as_ref().is_none_or(|d| !d.file(CONFIG).exists());
        let train = match request.length {
            Some(Length::Seconds(limit)) if fresh => {
                // Most updates cost more than those of a quick start.
                let config = TrainConfig { quick_start: 0, ..spec.train.clone() };
                let mut trial = Trainer::on(spec.device, config, rbm.clone(), input.train, input.valid.clone())?;
                spec.train.updates = trial.updates_within(limit)?;
                Chooser::new(asked).quick_start(&mut spec, &rbm);
                trial.into_data()
            }
            _ => input.train,
        };
        let mut trainer = Trainer::on(spec.device, spec.train.clone(), rbm, train, input.valid)?;
        if fresh {
            Chooser::new(asked).report(&spec, valid.as_ref().map_or(0, Dataset::len), front);
            if all_alike(trainer.rbm().lower().visible(), trainer.data()) {
                front.note(&Note::NothingToLearn { binarize: preprocess.binarize });
            }
        }
        if let Some(Length::Seconds(limit)) = request.length {
            trainer.end_after(limit);
        }
        trainer.report_in_units_of(&preprocess);
        let found = Found {
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: trainer.backend_name().into(),
            rows: trainer.data().len() as u64,
            valid_rows: valid.as_ref().map_or(0, |v| v.len()) as u64,
            columns: columns as u64,
            digest,
            data,
            chosen: spec.found.as_ref().map_or_else(|| chosen(asked), |found| found.chosen.clone()),
        };
        let has_config = dir.as_ref().is_some_and(|d| d.file(CONFIG).exists());
        compare(spec.found.as_ref(), &found, request.resume && has_config, front)?;
        spec.found = Some(found);
        let config = config_file::text(&spec)?;
        let mut run = Run {
            dir,
            spec,
            config,
            valid,
            preprocess,
            schema,
            notes,
            trainer,
            resumed: None,
            events: Vec::new(),
            seconds: 0.0,
        };
        if let Some(dir) = &mut run.dir {
            run.resumed = continue_from(dir, &mut run.trainer, front)?;
            // The model goes first: beside the new number of updates, the old model would be the result of all of them.
            finished.map_or(Ok(()), |updates| dir.reopen(updates))?;
            dir.write(CONFIG, run.config.as_bytes())?;
            dir.keep();
            run.trainer.checkpoint_to(dir.file(CHECKPOINT), run.spec.checkpoint_every);
        }
        Ok(run)
    }

    /// Trains until the end, or until the observer stops it.
    pub fn train(&mut self, observer: &mut dyn Observer) -> Result<Reason> {
        let log = match &self.dir {
            Some(dir) => Some(Log::open(dir.file(EVENTS), self.resumed)?),
            None => None,
        };
        let mut watch = Watch { log, events: Vec::new(), observer };
        let ended = self.trainer.run(&mut watch);
        let Watch { log, events, .. } = watch;
        self.events = events;
        self.seconds = self.trainer.seconds();
        let nothing_left = ended.is_err() && self.trainer.update() == 0 && self.resumed.is_none();
        if nothing_left {
            self.dir.as_mut().map_or(Ok(()), RunDir::undo)?;
        }
        let stopped = |e: Error| match e {
            Error::Io { .. } if !nothing_left => e.advise(&[Advice::Resume]),
            other => other,
        };
        let reason = ended.map_err(stopped)?;
        if reason == Reason::Time && self.spec.train.stop_at.is_none() {
            self.record_end()?;
        }
        log.map_or(Ok(()), Log::finish).map_err(stopped)?;
        Ok(reason)
    }

    /// Records the update at which the time was over, so that the configuration repeats the run.
    fn record_end(&mut self) -> Result<()> {
        self.spec.train.stop_at = Some(self.trainer.update());
        self.config = config_file::text(&self.spec)?;
        self.dir.as_ref().map_or(Ok(()), |dir| dir.write(CONFIG, self.config.as_bytes()))
    }

    /// Judges the trained model, without its likelihood if that takes long: see [`Conclusion::complete`].
    pub fn conclude(&self, front: &dyn Front) -> Result<Conclusion<'_>> {
        if let Some(text) = self.trainer.rbm().offset_warning() {
            front.note(&Note::LargeOffsets(text));
        }
        let events = match &self.dir {
            Some(dir) => Cow::Owned(log::read(&dir.file(EVENTS))?),
            None => Cow::Borrowed(&self.events[..]),
        };
        let facts = Facts {
            spec: &self.spec,
            config: Cow::Borrowed(&self.config),
            events,
            rbm: self.trainer.rbm().folded(),
            train: Some(Cow::Borrowed(self.trainer.data())),
            valid: self.valid.as_ref().map(Cow::Borrowed),
            preprocess: &self.preprocess,
            notes: &self.notes,
            update: self.trainer.update(),
            seconds: Some(self.seconds),
            directory: self.dir.as_ref().map(|d| d.path().into()),
            without_data: None,
        };
        facts.conclude(front)
    }

    /// Writes what the run ended with: the report first, the model last, so that a directory with a model holds everything.
    /// It may be written twice: before the likelihood is estimated, and after.
    pub fn write(&self, conclusion: &Conclusion, drawn: &Drawn) -> Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let unfinished = |e: Error| e.advise(&[Advice::Resume]);
        drawn.write(dir, conclusion).map_err(unfinished)?;
        dir.write(MODEL, &self.model().to_bytes()).map_err(unfinished)
    }

    /// Lets others continue in the run directory; nothing is written any more.
    pub fn release(&mut self) {
        if let Some(dir) = &mut self.dir {
            dir.unlock();
        }
    }

    /// The trained model as it stands in its file.
    pub fn model(&self) -> ModelFile {
        let rbm = self.trainer.rbm().folded();
        let (preprocess, schema) = (self.preprocess.clone(), self.schema.clone());
        ModelFile { preprocess, schema, about: self.notes.about(), ..ModelFile::new(&rbm) }
    }

    /// The settings, completed.
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The trainer.
    pub fn trainer(&self) -> &Trainer<f32> {
        &self.trainer
    }
}

/// Hands events to the log and to the front end's observer.
struct Watch<'a> {
    log: Option<Log>,
    events: Vec<Event>,
    observer: &'a mut dyn Observer,
}

impl Observer for Watch<'_> {
    fn on(&mut self, event: &Event) -> Flow {
        let logged = match &mut self.log {
            Some(log) => log.write(event),
            None => {
                self.events.push(event.clone());
                true
            }
        };
        let flow = self.observer.on(event);
        if logged { flow } else { Flow::Stop }
    }

    fn poll(&mut self) -> Flow {
        self.observer.poll()
    }
}

/// Continues from the checkpoint, if there is one; returns its update.
fn continue_from(dir: &RunDir, trainer: &mut Trainer<f32>, front: &dyn Front) -> Result<Option<u64>> {
    let Some(bytes) = dir.checkpoint()? else { return Ok(None) };
    trainer.resume(&bytes).map_err(|e| e.in_file(&dir.file(CHECKPOINT)))?;
    let (update, updates) = (trainer.update(), trainer.config().updates);
    if update > updates {
        let problem = format!("is {updates}, but this run has already done {update}");
        return Err(Error::Config { key: "train.updates", problem });
    }
    front.note(&Note::Resumed { update, updates });
    Ok(Some(update))
}

/// A resumed run needs the same rows; a repeated one gets a note if it cannot be the same.
fn compare(recorded: Option<&Found>, found: &Found, must_agree: bool, front: &dyn Front) -> Result<()> {
    let Some(recorded) = recorded else { return Ok(()) };
    let difference = if recorded.digest != found.digest {
        Difference::Data
    } else if recorded.kernel != found.kernel {
        Difference::Kernel { found: found.kernel.clone(), recorded: recorded.kernel.clone() }
    } else {
        return Ok(());
    };
    if !must_agree {
        front.note(&Note::Differs(difference));
        return Ok(());
    }
    let problem = match difference {
        Difference::Data => "the data or the initial model have changed since the run started".to_string(),
        Difference::Kernel { found, recorded } => {
            format!("the run was started on the backend {recorded}, but this is {found}")
        }
    };
    Err(Error::Settings {
        path: None,
        problem: format!("{problem}; a run can only continue with what it started with"),
    })
}

/// The settings that a verdict could give advice about, but nobody asked for.
fn chosen(asked: &Table) -> Vec<String> {
    let open = ["model.n_hidden", "train.lr"].into_iter().filter(|key| lookup(asked, key).is_none());
    open.map(String::from).collect()
}
