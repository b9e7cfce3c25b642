//! What is asked for, and the run it opens: a new one, one that is resumed, or a finished one that goes on.

use super::config_file;
use super::directory::{CHECKPOINT, CONFIG, Content, RunDir};
use super::front::{Front, Note, Tables};
use super::length::Length;
use super::spec::{Spec, lookup, put, remove};
use super::training::Run;
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::events::MOST_COUNT;
use crate::settings;
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
            self.note_no_effect(run.spec(), front);
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
        self.note_no_effect(run.spec(), front);
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
