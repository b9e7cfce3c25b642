//! `train` and `report`: the library's run with options, a progress bar, Ctrl-C and words.

mod columns;
mod front;
pub mod options;
mod summary;
mod watch;

use crate::interrupt::{self, Interrupted};
use crate::output::{CommandOutput, program, shell_word};
use anyhow::{Result, bail};
use front::{Terminal, with_command};
use harmonium::Advice;
use harmonium::events::Reason;
use harmonium::run::{Conclusion, Drawn, Files, MODEL, Opened, REPORT, Recorded, Request, Run, RunDir, lookup};
use harmonium_report::{Rendered, Words, render_run};
use options::SettingArgs;
use serde_json::Map;
use std::path::{Path, PathBuf};
use watch::Watch;

/// What is asked for.
pub struct TrainRequest {
    pub settings: SettingArgs,
    pub config: Option<PathBuf>,
    pub output: PathBuf,
    pub resume: bool,
    /// Made by the demo, which may replace what it made before.
    pub demo: bool,
}

/// Does what is asked for, from the beginning or from a checkpoint.
pub fn run(asked: TrainRequest) -> Result<CommandOutput> {
    let TrainRequest { settings: SettingArgs { asked, length }, config, output, resume, demo } = asked;
    let (terminal, command) = (Terminal::default(), resume_command(&output));
    let updates = lookup(&asked, "train.updates").and_then(toml::Value::as_integer);
    let request = Request { asked, length, config, output: Some(output), resume, demo, tables: &Files };
    let opened = request.open(&terminal).map_err(|e| with_command(e, &command))?;
    terminal.clear();
    match opened {
        // Ended while its likelihood was estimated.
        Opened::Finished(dir) if !dir.is_judged() => report(dir.path(), None, None),
        Opened::Finished(dir) => Ok(summary::finished(&dir, updates)),
        Opened::Ready(run) => train(*run, &terminal, &command),
    }
}

fn train(mut run: Run, terminal: &Terminal, command: &str) -> Result<CommandOutput> {
    interrupt::listen(command);
    let mut watch = Watch::default();
    let ended = run.train(&mut watch);
    watch.clear();
    interrupt::stop_listening();
    let update = run.trainer().update();
    if ended.map_err(|e| with_command(e, command))? == Reason::Interrupted {
        return Err(Interrupted(format!("interrupted at update {update}; continue with: {command}")).into());
    }
    let failed = |e| with_command(e, command);
    let mut conclusion = run.conclude(terminal).map_err(failed)?;
    if conclusion.is_pending() {
        // The model and a first report are safe before an estimate that may take long.
        run.write(&conclusion, &draw(&conclusion, None).0).map_err(failed)?;
        let judge = judging_interrupted(&conclusion);
        if interrupt::requested() {
            return Err(Interrupted(judge).into());
        }
        interrupt::set_message(judge);
        conclusion = conclusion.complete(None, terminal).map_err(failed)?;
    }
    terminal.clear();
    let (drawn, answer) = draw(&conclusion, None);
    run.write(&conclusion, &drawn).map_err(failed)?;
    Ok(answer)
}

/// What an interrupt during the final estimate leaves, and how to go on.
fn judging_interrupted(conclusion: &Conclusion) -> String {
    let command = summary::remedy(conclusion, &program()).unwrap_or_default();
    format!("interrupted while estimating the likelihood; the model is trained and saved; to judge it: {command}")
}

/// The page of a run and what is printed about it; the page may stand elsewhere than in the directory.
fn draw(conclusion: &Conclusion, page: Option<&Path>) -> (Drawn, CommandOutput) {
    // The page does not depend on how the program was started.
    let (shown, printed) = (summary::remedy(conclusion, "harmonium"), summary::remedy(conclusion, &program()));
    let advice = |list: &[Advice]| summary::advice(conclusion, "harmonium", list);
    let Rendered { html, pictures } = render_run(conclusion, &advice, shown.as_deref());
    let in_words = |program: &str, command: Option<&str>| {
        let advice = |list: &[Advice]| summary::advice(conclusion, program, list);
        Words::new(&conclusion.verdict, conclusion.log_z.as_ref(), &advice, command)
    };
    let words = in_words("harmonium", shown.as_deref());
    let answer = summary::lines(conclusion, &in_words(&program(), printed.as_deref()), page);
    let dir = conclusion.facts.directory.clone().unwrap_or_default();
    let mut fields = Map::new();
    fields.insert("summary".into(), words.text().into());
    fields.insert("model".into(), dir.join(MODEL).display().to_string().into());
    fields.insert("report".into(), page.map_or(dir.join(REPORT), Path::to_path_buf).display().to_string().into());
    let answer = answer.fields(conclusion.fields()).fields(fields.clone());
    (Drawn { html, files: pictures.into_iter().map(|p| (p.name, p.bytes)).collect(), fields }, answer)
}

/// Judges the run in `path` once more and draws its report, there or as one file; log Z may take `time` seconds.
pub fn report(path: &Path, output: Option<&Path>, time: Option<f64>) -> Result<CommandOutput> {
    let recorded = Recorded::read(path)?;
    let terminal = Terminal::default();
    let command = resume_command(path);
    let answer = recorded.conclude(&Files, &terminal, time, |conclusion| {
        terminal.clear();
        let (drawn, answer) = draw(conclusion, output);
        let kept = conclusion.facts.without_data.is_some() && output.is_none() && recorded.dir.file(REPORT).exists();
        if !kept {
            write_page(&recorded.dir, conclusion, &drawn, output)?;
        }
        Ok((answer, kept))
    });
    let (answer, kept) = answer.map_err(|e| with_command(e, &command))?;
    if kept {
        let page = shell_word(&recorded.dir.file(REPORT).display().to_string());
        bail!(
            "{page} shows more than can be drawn without the data, so it was kept; to draw what is left into another file, give -o FILE"
        );
    }
    Ok(answer)
}

fn write_page(dir: &RunDir, run: &Conclusion, drawn: &Drawn, output: Option<&Path>) -> harmonium::Result<()> {
    if let Some(output) = output {
        return harmonium::atomic::write(output, |w| w.write_all(drawn.html.as_bytes()));
    }
    // Only a finished run has a summary.
    if run.reason != Reason::Interrupted && run.facts.without_data.is_none() {
        return drawn.write(dir, run);
    }
    drawn.files.iter().try_for_each(|(name, bytes)| dir.write(name, bytes))?;
    dir.write(REPORT, drawn.html.as_bytes())
}

/// The command that continues a run, as it can be typed.
fn resume_command(dir: &Path) -> String {
    format!("{} train --resume -o {}", program(), shell_word(&dir.display().to_string()))
}
