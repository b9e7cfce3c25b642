//! A training run from what was typed to a run directory: settings, rows, updates, report, model.

mod again;
mod begin;
pub mod compare;
mod config_file;
mod directory;
mod ending;
mod input;
mod interrupt;
mod log;
pub mod options;
mod outcome;
mod page;
mod run;
pub mod settings;
mod summary;
mod watch;

pub use again::again;

use crate::output::{CommandOutput, say};
use anyhow::{Context, Result, bail};
use directory::{CONFIG, Content, MODEL, RunDir};
use options::{Typed, TypedList};
use run::Run;
use settings::{Settings, lookup, put};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

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
pub fn run(request: &Request) -> Result<CommandOutput> {
    let asked = request.asked()?;
    let (mut dir, content) = RunDir::open(&request.output)?;
    let shown = request.output.display();
    match content {
        Content::Finished if request.resume => return summary::finished(&dir),
        _ if request.demo => make_room(&dir, content)?,
        Content::Finished => bail!(
            "{shown}: holds a finished run, which is not overwritten; choose another directory, \
             or go on from its model with --init {}",
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
        _ => {
            let run = Run::prepare(dir, &asked, request)?;
            let typed = |key: &str| request.typed.0.iter().any(|t| t.key == key);
            if typed("train.lr") && !typed("train.schedule") {
                say(
                    "note",
                    "--lr without --schedule stays as it is; --schedule cosine lets it fall to 0, as without --lr",
                );
            }
            run.run()
        }
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
        // Whoever changes a setting does not expect the same run.
        if self.typed.0.iter().any(|t| t.key != "checkpoint_every") {
            asked.remove("found");
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

/// A path as it can be typed into a shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:+,=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
