//! One run: opened, resumed from its checkpoint if there is one, trained, judged, written.

use super::conclude::{Conclusion, Facts, all_alike};
use super::config_file;
use super::defaults::Chooser;
use super::directory::{CHECKPOINT, CONFIG, Content, EVENTS, MODEL, REPORT, RunDir, SUMMARY};
use super::front::{Difference, Front, Note, Tables};
use super::log::{self, Log};
use super::prepare::{Prepared, digest_of_rows, prepare};
use super::spec::{Found, Spec, lookup, put, remove};
use crate::advice::Advice;
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::{Error, Result, number};
use crate::events::{Event, Flow, MOST_COUNT, Observer, Reason};
use crate::file::{ColumnNotes, ModelFile};
use crate::settings;
use crate::train::{TrainConfig, Trainer};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::path::PathBuf;
use toml::{Table, Value};

/// Weight of the sparsity penalty if only its target is given: a few times weaker than the likelihood's own gradient.
const SPARSITY_COST: f64 = 0.1;

/// What is asked for.
pub struct Request<'a> {
    /// The settings that were asked for, by their keys.
    pub asked: Table,
    /// How long to train, if not by a number of updates.
    pub length: Option<Length>,
    /// A configuration to start from.
    pub config: Option<PathBuf>,
    /// The run directory; none keeps everything in memory.
    pub output: Option<PathBuf>,
    /// Whether to continue the run in the directory.
    pub resume: bool,
    /// Made by the demo, which may replace what it made before.
    pub demo: bool,
    /// Where tables are opened.
    pub tables: &'a dyn Tables,
}

/// How long to train, where that is not a number of updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Passes through the data, which become updates once the rows are counted.
    Epochs(f64),
    /// Seconds, which become updates once some have been timed.
    Seconds(f64),
}

impl Length {
    /// The settings that are lengths; they are no keys of config.toml.
    pub const KEYS: [&'static str; 2] = ["epochs", "time"];

    /// The length that a setting asks for; none if the setting is no length.
    pub fn of(key: &str, value: f64) -> Option<Length> {
        match key {
            "epochs" => Some(Length::Epochs(value)),
            "time" => Some(Length::Seconds(value)),
            _ => None,
        }
    }

    fn check(self) -> Result<()> {
        let (key, value) = match self {
            Length::Epochs(epochs) => ("epochs", epochs),
            Length::Seconds(seconds) => ("time", seconds),
        };
        settings::find(key).map_or(Ok(()), |setting| setting.check(value))?;
        if value > MOST_COUNT as f64 {
            let problem = format!("is {}, but must be at most {MOST_COUNT}", number(value));
            return Err(Error::Config { key, problem });
        }
        Ok(())
    }
}

/// What opening a run gives.
pub enum Opened {
    /// A run that is ready to train.
    Ready(Box<Run>),
    /// A finished run that there is nothing left to do for.
    Finished(RunDir),
}

impl Request<'_> {
    /// Opens the run: new, resumed, or extended.
    pub fn open(&self, front: &dyn Front) -> Result<Opened> {
        let asked = self.asked()?;
        let Some(output) = &self.output else {
            let run = Run::prepare(None, &asked, self, front, None)?;
            self.note_no_effect(&run.spec, front);
            return Ok(Opened::Ready(Box::new(run)));
        };
        let (mut dir, content) = RunDir::open(output)?;
        let refused = |problem: &str, advice: &[Advice]| {
            Err(Error::Directory { path: output.clone(), problem: problem.into() }.advise(advice))
        };
        if self.resume && content != Content::Nothing && !dir.file(CONFIG).exists() {
            dir.keep();
            return refused(&format!("is not a run directory: it has no {CONFIG}"), &[Advice::OtherDirectory]);
        }
        match content {
            _ if self.demo => make_room(&dir, content)?,
            Content::Finished if self.resume => {
                dir.keep();
                return self.extend(dir, &asked, front);
            }
            Content::Finished => {
                return refused(
                    "already holds a finished run",
                    &[Advice::OtherDirectory, Advice::StartFromModel, Advice::Extend],
                );
            }
            Content::Nothing if self.resume && lookup(&asked, "data.source").is_none() => {
                return refused("holds no run to resume", &[]);
            }
            Content::Unfinished if !self.resume => {
                return refused("holds an unfinished run", &[Advice::Resume, Advice::OtherDirectory]);
            }
            _ => (),
        }
        if content == Content::Unfinished && self.resume {
            dir.keep();
            let asked = self.resumed(&asked, &dir)?;
            return Ok(Opened::Ready(Box::new(Run::prepare(Some(dir), &asked, self, front, None)?)));
        }
        let run = Run::prepare(Some(dir), &asked, self, front, None)?;
        self.note_no_effect(&run.spec, front);
        if lookup(&self.asked, "train.lr").is_some() && lookup(&self.asked, "train.schedule").is_none() {
            front.note(&Note::ConstantRate);
        }
        Ok(Opened::Ready(Box::new(run)))
    }

    /// Reports settings that were asked for, are not the default, and change nothing in this run.
    fn note_no_effect(&self, spec: &Spec, front: &dyn Front) {
        let Ok(all) = Table::try_from(spec) else { return };
        for setting in settings::SETTINGS.iter().filter(|s| !s.only_with.is_empty()) {
            let asked = lookup(&self.asked, setting.key);
            if asked.is_none() || asked == Spec::default_of(setting.key).as_ref() {
                continue;
            }
            let value = |key| lookup(&all, key).map(|v| v.as_str().map_or_else(|| v.to_string(), String::from));
            let found: Vec<_> = setting.only_with.iter().map(|(key, _)| (*key, value(key))).collect();
            let holds = |((_, values), (_, found)): (&settings::OnlyWith, &(&str, Option<String>))| {
                found.as_deref().is_some_and(|found| values.is_empty() || values.contains(&found))
            };
            if !setting.only_with.iter().zip(&found).any(holds) {
                front.note(&Note::NoEffect { key: setting.key, because: found });
            }
        }
    }

    /// Continues a finished run if more updates are asked for than it has done.
    fn extend(&self, dir: RunDir, asked: &Table, front: &dyn Front) -> Result<Opened> {
        let mut recorded = self.resumed(asked, &dir)?;
        let before = Spec::from_table(&config_file::read(&dir.file(CONFIG))?)?;
        let (done, rows) =
            (before.train.stop_at.unwrap_or(before.train.updates), before.found.as_ref().map_or(0, |f| f.rows));
        let per_epoch = before.train.updates_per_epoch(rows as usize) as f64;
        let wanted = match self.length {
            Some(Length::Epochs(epochs)) => ((epochs * per_epoch).ceil() as u64).min(MOST_COUNT),
            // As many as fit at the speed of the run so far.
            Some(Length::Seconds(limit)) => dir
                .seconds()
                .filter(|s| *s > 0.0)
                .map_or(done, |spent| ((done as f64 * limit / spent) as u64).min(MOST_COUNT)),
            None => lookup(&recorded, "train.updates").and_then(Value::as_integer).map_or(done, |n| n.max(0) as u64),
        };
        if wanted <= done {
            return Ok(Opened::Finished(dir));
        }
        if !dir.file(CHECKPOINT).exists() {
            let problem = "this finished run has no checkpoint to continue from".into();
            return Err(Error::Directory { path: dir.path().into(), problem }.advise(&[Advice::StartFromModel]));
        }
        put(&mut recorded, "train.updates", (wanted as i64).into());
        remove(&mut recorded, "train.stop_at");
        Ok(Opened::Ready(Box::new(Run::prepare(Some(dir), &recorded, self, front, Some(done))?)))
    }

    /// The configuration that was named, with what was asked for over it.
    fn asked(&self) -> Result<Table> {
        let mut asked = match &self.config {
            Some(path) => {
                let mut table = config_file::read(path)?;
                Spec::from_table(&table).map_err(|e| e.in_file(path))?;
                table.remove("demo");
                table
            }
            None => Table::new(),
        };
        let settings = config_file::flatten(&self.asked);
        // Whoever changes a setting does not expect the same run.
        if settings.iter().any(|(key, _)| key != "checkpoint_every") {
            asked.remove("found");
        }
        for (key, value) in settings {
            put(&mut asked, &key, value);
        }
        if self.demo {
            put(&mut asked, "demo", true.into());
        }
        let spec = Spec::from_table(&asked)?;
        if let Some(alphabet) = spec.data.letters()?.filter(|_| lookup(&self.asked, "data.alphabet").is_some()) {
            put(&mut asked, "data.alphabet", alphabet.letters().into());
        }
        // A given rate means that rate, not the start of a schedule made for another one; a given activity means some pull to it.
        imply(&mut asked, "train.lr", "train.schedule", "constant".into());
        imply(&mut asked, "train.penalty.sparsity", "train.penalty.sparsity_cost", SPARSITY_COST.into());
        self.length.map_or(Ok(()), Length::check)?;
        Spec::from_table(&asked)?;
        Ok(asked)
    }

    /// The recorded configuration, if what is asked for now agrees with it; only the number of updates may change.
    fn resumed(&self, asked: &Table, dir: &RunDir) -> Result<Table> {
        let path = dir.file(CONFIG);
        let mut recorded = config_file::read(&path)?;
        for (key, value) in config_file::flatten(asked) {
            let free = key == "train.updates" || key == "demo" || key.starts_with("found.");
            if !free && !config_file::agrees(&recorded, &key, &value) {
                let has = lookup(&recorded, &key).map_or("not set".into(), |v| format!("{v}"));
                let problem =
                    format!("is {has} in this run, but {value} was asked for; a resumed run keeps its settings");
                let key = settings::find(&key).map_or("config", |s| s.key);
                return Err(Error::Config { key, problem });
            }
        }
        if let Some(updates) = lookup(asked, "train.updates") {
            put(&mut recorded, "train.updates", updates.clone());
        }
        Spec::from_table(&recorded).map_err(|e| e.in_file(&path))?;
        Ok(recorded)
    }
}

/// The settings that a verdict could give advice about, but nobody asked for.
fn chosen(asked: &Table) -> Vec<String> {
    let open = ["model.n_hidden", "train.lr"].into_iter().filter(|key| lookup(asked, key).is_none());
    open.map(String::from).collect()
}

/// The demo replaces what it made before, and nothing else.
fn make_room(dir: &RunDir, content: Content) -> Result<()> {
    if content == Content::Nothing {
        return Ok(());
    }
    let marked = config_file::read(&dir.file(CONFIG)).ok().and_then(|t| t.get("demo").and_then(Value::as_bool));
    if marked == Some(true) {
        return dir.clear();
    }
    let problem = "was not made by the demo, so it is left as it is; move or rename it".into();
    Err(Error::Directory { path: dir.path().into(), problem })
}

/// Sets `then` if `when` was asked for and `then` was not.
fn imply(asked: &mut Table, when: &str, then: &str, value: Value) {
    if lookup(asked, when).is_some() && lookup(asked, then).is_none() {
        put(asked, then, value);
    }
}

/// A run that is ready, or over.
pub struct Run {
    dir: Option<RunDir>,
    spec: Spec,
    config: String,
    /// Held-out rows; the others are the trainer's.
    valid: Option<Dataset<f32>>,
    preprocess: Preprocess,
    notes: ColumnNotes,
    trainer: Trainer<f32>,
    /// The update of the checkpoint it continues from.
    resumed: Option<u64>,
    /// Events of a run without a directory.
    events: Vec<Event>,
    /// Seconds spent on training, those before the last checkpoint included.
    seconds: f64,
}

/// A page about a run and the files beside it, made by whoever draws.
pub struct Drawn {
    /// The page.
    pub html: String,
    /// Other files: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// More fields of summary.json.
    pub fields: Map<String, Json>,
}

impl Drawn {
    /// Writes the report and the summary of a run into its directory.
    pub fn write(&self, dir: &RunDir, conclusion: &Conclusion) -> Result<()> {
        self.files.iter().try_for_each(|(name, bytes)| dir.write(name, bytes))?;
        dir.write(REPORT, self.html.as_bytes())?;
        let mut fields = conclusion.fields();
        fields.extend(self.fields.clone());
        dir.write(SUMMARY, (Json::Object(fields).to_string() + "\n").as_bytes())
    }
}

impl Run {
    /// `finished` is the number of updates of a finished run that goes on.
    fn prepare(
        dir: Option<RunDir>,
        asked: &Table,
        request: &Request,
        front: &dyn Front,
        finished: Option<u64>,
    ) -> Result<Run> {
        let mut spec = Spec::from_table(asked)?;
        let Prepared { input, rbm, preprocess, notes, columns, digest } =
            prepare(&mut spec, asked, request.length, request.tables, front)?;
        let (valid, data) = (input.valid.clone(), Some(digest_of_rows(&input)));
        let fresh = dir.as_ref().is_none_or(|d| !d.file(CONFIG).exists());
        let train = match request.length {
            Some(Length::Seconds(limit)) if fresh => {
                // Most updates cost more than those of a quick start.
                let config = TrainConfig { quick_start: 0, ..spec.train.clone() };
                let mut trial = Trainer::new(config, rbm.clone(), input.train, input.valid.clone())?;
                spec.train.updates = trial.updates_within(limit)?;
                Chooser::new(asked).quick_start(&mut spec, &rbm);
                trial.into_data()
            }
            _ => input.train,
        };
        let mut trainer = Trainer::new(spec.train.clone(), rbm, train, input.valid)?;
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
        ModelFile { preprocess: self.preprocess.clone(), about: self.notes.about(), ..ModelFile::new(&rbm) }
    }

    /// The settings, completed.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The trainer.
    pub fn trainer(&self) -> &Trainer<f32> {
        &self.trainer
    }

    /// What was done to the data.
    pub fn preprocess(&self) -> &Preprocess {
        &self.preprocess
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
