//! A training run from what was typed to a run directory: settings, rows, updates, report, model.

mod begin;
mod config_file;
mod directory;
mod input;
mod interrupt;
mod log;
pub mod options;
mod outcome;
mod page;
mod settings;
mod summary;
mod watch;

use crate::report::{Report, say};
use anyhow::{Context, Result, bail};
use begin::Begin;
use directory::{CHECKPOINT, CONFIG, Content, EVENTS, MODEL, RunDir};
use harmonium::data::Preprocess;
use harmonium::events::{Event, Reason};
use harmonium::file::ModelFile;
use harmonium::{Dataset, Trainer};
use log::Log;
use options::{Typed, TypedList};
use outcome::Judge;
use page::Page;
use settings::{Found, Settings, lookup, put};
use std::path::{Path, PathBuf};
use std::time::Instant;
use summary::Summary;
use toml::{Table, Value};
use watch::Watch;

/// Pull to the activity of --sparsity unless asked otherwise: a few times weaker than the likelihood's own gradient.
const SPARSITY_COST: f64 = 0.1;

/// What is asked for.
pub struct Request {
    /// The options that were typed.
    pub typed: TypedList,
    /// `--epochs`, which becomes a number of updates once the rows are counted.
    pub epochs: Option<f64>,
    pub config: Option<PathBuf>,
    pub output: PathBuf,
    pub resume: bool,
    /// Made by the demo, which may replace what it has made before.
    pub demo: bool,
}

/// Does what is asked for, from the beginning or from a checkpoint.
pub fn run(request: &Request) -> Result<Report> {
    let asked = request.asked()?;
    let (mut dir, content) = RunDir::open(&request.output)?;
    let shown = request.output.display();
    match content {
        Content::Finished if request.resume => return summary::finished(&dir),
        _ if request.demo => make_room(&dir, content)?,
        Content::Finished => bail!(
            "{shown}: holds a finished run, which is not overwritten; choose another directory, \
             or go on from its machine with --init {}",
            dir.file(MODEL).display()
        ),
        Content::Unfinished if !request.resume => {
            bail!("{shown}: holds an unfinished run; continue it with --resume, or choose another directory")
        }
        _ => (),
    }
    match content {
        Content::Unfinished if request.resume => {
            dir.keep();
            let recorded = config_file::read(&dir.file(CONFIG))?;
            let asked = request.taken_up(&asked, recorded).with_context(|| dir.file(CONFIG).display().to_string())?;
            Run::prepare(dir, &asked, request)?.run()
        }
        _ => Run::prepare(dir, &asked, request)?.run(),
    }
}

/// The demo replaces what it has made before, and nothing else.
fn make_room(dir: &RunDir, content: Content) -> Result<()> {
    if content == Content::Nothing {
        return Ok(());
    }
    let marked = config_file::read(&dir.file(CONFIG)).ok().and_then(|t| t.get("demo").and_then(Value::as_bool));
    match marked == Some(true) {
        true => dir.clear(),
        false => bail!("{}: is not from an earlier demo and is left alone; move it away", dir.path().display()),
    }
}

impl Request {
    /// The configuration that was named, with what was typed laid over it.
    fn asked(&self) -> Result<Table> {
        let mut asked = match &self.config {
            Some(path) => {
                let mut table = config_file::read(path)?;
                Settings::from_table(&table).with_context(|| path.display().to_string())?;
                table.remove("demo");
                table
            }
            None => Table::new(),
        };
        for Typed { key, value, .. } in &self.typed.0 {
            put(&mut asked, key, value.clone());
        }
        if self.demo {
            put(&mut asked, "demo", true.into());
        }
        // Whoever chooses a rate means that rate, not the beginning of a schedule for another one; and whoever names an
        // activity wants some pull to it.
        imply(&mut asked, "train.lr", "train.schedule", "constant".into());
        imply(&mut asked, "train.penalty.sparsity", "train.penalty.sparsity_cost", SPARSITY_COST.into());
        Settings::from_table(&asked)?;
        Ok(asked)
    }

    /// The recorded configuration, if what is asked for now agrees with it; only the number of updates may change.
    fn taken_up(&self, asked: &Table, mut recorded: Table) -> Result<Table> {
        for (key, value) in config_file::flatten(asked) {
            let free = key == "train.updates" || key == "demo" || key.starts_with("found.");
            if !free && !config_file::agrees(&recorded, &key, &value) {
                let has = lookup(&recorded, &key).map_or("not set".into(), |v| format!("is {v}"));
                let flag = self.typed.0.iter().find(|t| t.key == key).map_or(key.as_str(), |t| t.flag);
                bail!("{key} {has}, but {flag} now asks for {value}; a run goes on as it began");
            }
        }
        if let Some(updates) = lookup(asked, "train.updates") {
            put(&mut recorded, "train.updates", updates.clone());
        }
        Settings::from_table(&recorded)?;
        Ok(recorded)
    }
}

/// Sets `then` if `when` was asked for and `then` was not.
fn imply(asked: &mut Table, when: &str, then: &str, value: Value) {
    if lookup(asked, when).is_some() && lookup(asked, then).is_none() {
        put(asked, then, value);
    }
}

/// A run that is ready.
struct Run {
    dir: RunDir,
    settings: Settings,
    config: String,
    /// Held-out rows; the others are the trainer's.
    valid: Option<Dataset<f32>>,
    preprocess: Preprocess,
    image: Option<(usize, usize)>,
    trainer: Trainer<f32>,
    clock: Instant,
}

impl Run {
    fn prepare(mut dir: RunDir, asked: &Table, request: &Request) -> Result<Run> {
        let clock = Instant::now();
        let mut settings = Settings::from_table(asked)?;
        let Begin { input, rbm, preprocess, image, columns, digest } =
            begin::begin(&mut settings, asked, request.epochs)?;
        let valid = input.valid.clone();
        let mut trainer = Trainer::new(settings.train.clone(), rbm, input.train, input.valid)?;
        let found = Found {
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: trainer.backend_name().into(),
            rows: trainer.data().len() as u64,
            valid_rows: valid.as_ref().map_or(0, |v| v.len()) as u64,
            columns: columns as u64,
            digest,
        };
        compare(settings.found.as_ref(), &found, request.resume && dir.file(CONFIG).exists())?;
        settings.found = Some(found);
        let config = config_file::text(&settings)?;
        dir.write(CONFIG, config.as_bytes())?;
        dir.keep();
        trainer.checkpoint_to(dir.file(CHECKPOINT), settings.checkpoint_every);
        Ok(Run { dir, settings, config, valid, preprocess, image, trainer, clock })
    }

    fn run(mut self) -> Result<Report> {
        let checkpoint = self.dir.file(CHECKPOINT);
        let resumed = match checkpoint.exists() {
            true => {
                let bytes = std::fs::read(&checkpoint).with_context(|| checkpoint.display().to_string())?;
                self.trainer.resume(&bytes).with_context(|| checkpoint.display().to_string())?;
                say("note", &format!("continuing at update {}", self.trainer.update()));
                Some(self.trainer.update())
            }
            false => None,
        };
        interrupt::listen()?;
        let mut watch = Watch::new(Log::open(self.dir.file(EVENTS), resumed)?);
        let ended = self.trainer.run(&mut watch);
        watch.clear();
        interrupt::over();
        let update = self.trainer.update();
        if ended.is_err() && update == 0 && resumed.is_none() {
            self.dir.undo()?;
        }
        let again = format!("continue with: harmonium train --resume -o {}", shell_word(self.dir.path()));
        let reason = ended.with_context(|| match (checkpoint.exists(), update) {
            (true, _) => format!("stopped after update {update}, the last checkpoint is whole; {again}"),
            (false, 0) => "training did not begin".into(),
            (false, _) => format!("stopped after update {update}"),
        })?;
        watch.log.finish().with_context(|| format!("stopped after update {update}; {again}"))?;
        if reason == Reason::Interrupted {
            bail!("interrupted at update {update}; {again}");
        }
        self.finish(reason)
    }

    /// The report first, the model last: a directory with a model holds everything.
    fn finish(self, reason: Reason) -> Result<Report> {
        let trained = self.trainer.rbm();
        if let Some(text) = trained.offset_warning() {
            say("warning", &text);
        }
        let rbm = trained.folded();
        let exact = if self.settings.train.likelihood { outcome::solve(&rbm)? } else { None };
        let (train, valid) = (self.trainer.data(), self.valid.as_ref());
        let judge = Judge::new(&rbm, &self.preprocess, train, exact.as_ref())?;
        let events = log::read(&self.dir.file(EVENTS))?;
        let summary = Summary {
            dir: self.dir.path(),
            settings: &self.settings,
            rbm: &rbm,
            update: self.trainer.update(),
            kept: kept(&events).unwrap_or(self.trainer.update()),
            reason,
            seconds: self.clock.elapsed().as_secs_f64(),
            fit: judge.fit(train),
            valid: valid.map(|v| judge.fit(v)),
            exact: exact.as_ref().map(|e| e.method()),
        };
        let page = Page {
            rbm: &rbm,
            train,
            chains: self.trainer.chains(),
            exact: exact.as_ref(),
            preprocess: &self.preprocess,
            image: self.image,
            seed: self.settings.train.seed,
            first_sweep: self.trainer.update() * self.settings.train.gibbs_steps,
        };
        page.write(&self.dir, &self.settings.data.source, summary.facts(), &self.config, &events)?;
        let file = ModelFile { preprocess: self.preprocess.clone(), ..ModelFile::new(&rbm) };
        self.dir.write(MODEL, &file.to_bytes())?;
        Ok(summary.report())
    }
}

/// The update whose machine was kept, as the log has it.
fn kept(events: &[Event]) -> Option<u64> {
    events.iter().rev().find_map(|e| match e {
        Event::Finished { kept, .. } => Some(*kept),
        _ => None,
    })
}

/// A run that goes on needs the same rows; a run that is repeated is told if it cannot be the same.
fn compare(recorded: Option<&Found>, found: &Found, must_agree: bool) -> Result<()> {
    let Some(recorded) = recorded else { return Ok(()) };
    let text = match (recorded.digest == found.digest, recorded.kernel == found.kernel) {
        (false, _) => "the data, or the machine to begin with, are not those of the configuration".to_string(),
        (_, false) => format!("the kernel is {}, the configuration is from {}", found.kernel, recorded.kernel),
        _ => return Ok(()),
    };
    match must_agree {
        true => bail!("{text}; a run can only go on with what it began with"),
        false => say("note", &format!("{text}: the result will differ")),
    }
    Ok(())
}

/// A path as it can be typed into a shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:+,=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
