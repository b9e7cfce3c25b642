//! The command as the front end of a run: notes on stderr, progress bars for long work.

use super::columns;
use super::summary::counted;
use crate::advice;
use crate::output::{one_line, say};
use crate::progress::Meter;
use harmonium::Advice;
use harmonium::data::Binarize;
use harmonium::run::{Difference, Front, Note, Stage};
use harmonium::settings;
use harmonium::train::TrainConfig;
use std::sync::{Mutex, PoisonError};

/// Prints notes and shows one bar at a time.
#[derive(Default)]
pub struct Terminal {
    meter: Mutex<Option<(Stage, Meter)>>,
}

impl Terminal {
    /// Takes the bar away.
    pub fn clear(&self) {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Front for Terminal {
    fn note(&self, note: &Note) {
        let (kind, text) = words(note);
        match self.meter.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some((_, meter)) => meter.suspend(|| say(kind, &text)),
            None => say(kind, &text),
        }
    }

    fn progress(&self, stage: Stage, done: u64, all: Option<u64>) {
        // Another thread shows the bar: it need not be shown twice.
        let Ok(mut shown) = self.meter.try_lock() else { return };
        if shown.as_ref().is_none_or(|(of, _)| *of != stage) {
            *shown = Some((stage, Meter::new(name(stage))));
        }
        if let Some((_, meter)) = shown.as_ref() {
            meter.tell(done, all);
        }
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Rows => "rows",
        Stage::Similarity => "similar rows",
        Stage::LogZ => "log Z",
        Stage::MissingCells => "missing cells",
    }
}

/// The option of a setting.
fn option(key: &str) -> String {
    settings::find(key).and_then(|s| s.flag).map_or_else(|| key.into(), |flag| format!("--{flag}"))
}

/// The kind of a note and its text.
fn words(note: &Note) -> (&'static str, String) {
    let text = match note {
        Note::Reading { path, text } => format!("{}: {text}", path.display()),
        Note::Schema { path, schema } => columns::in_words(path, schema),
        Note::Binarized { path, rule } => {
            format!("{} has values between 0 and 1; they were binarised by {rule} (see --binarize)", path.display())
        }
        Note::Weighted { rows, weight, .. } => format!(
            "similar sequences are down-weighted: {rows} sequences have an effective number of {weight:.0} \
             (turn off: --weights none)"
        ),
        Note::Sequences { letters, name, states } => {
            let name = name.map_or(String::new(), |name| format!(" ({name})"));
            format!("the rows are sequences over {letters}{name}: the visible units are potts with {states} states")
        }
        Note::GaussianHidden => "the columns are real-valued and cells are missing: the hidden units are Gaussian, which is factor analysis \
                                 (for binary ones: --hidden bernoulli)"
            .into(),
        Note::NoEffect { key, because } => {
            let with = |(key, value): &(&str, Option<String>)| match value {
                Some(value) => format!("with {} {value}", option(key)),
                None => format!("without {}", option(key)),
            };
            let because: Vec<String> = because.iter().map(with).collect();
            format!("{} has no effect {}", option(key), because.join(" and "))
        }
        Note::Chosen { n_hidden, config, held_out } => chosen(*n_hidden, config, *held_out),
        Note::NothingToLearn { binarize } => {
            let (by, advice): (String, &[Advice]) = match binarize {
                Some(rule @ Binarize::Threshold(_)) => {
                    (format!(" after binarisation by {rule}"), &[Advice::OtherThreshold])
                }
                _ => (String::new(), &[]),
            };
            let problem = format!("all columns are constant{by}, so there is nothing to learn");
            return ("warning", advice::sentence(&problem, advice));
        }
        Note::ConstantRate => {
            "--lr was given without --schedule, so the rate stays constant (the default is a cosine decay)".into()
        }
        Note::Resumed { update, updates } => format!("continuing at update {update} of {updates}"),
        Note::Differs(Difference::Data) => {
            "the data or the initial model differ from those of the configuration, so the result will differ".into()
        }
        Note::Differs(Difference::Kernel { found, recorded }) => {
            format!("the backend is {found}, but the configuration was made on {recorded}, so the result will differ")
        }
        Note::LargeOffsets(text) => return ("warning", text.clone()),
        Note::WithoutData(why) => return ("warning", format!("the report is drawn without the data: {why}")),
        _ => String::new(),
    };
    ("note", text)
}

/// The error of a run with its advice, where `Resume` becomes the whole command.
pub fn with_command(error: harmonium::Error, command: &str) -> anyhow::Error {
    let advice: Vec<_> = error.advice().iter().copied().filter(|a| *a != harmonium::Advice::Resume).collect();
    if advice.len() == error.advice().len() {
        return error.into();
    }
    let problem = one_line(&anyhow::anyhow!("{}", error.plain()));
    let rest = if advice.is_empty() { String::new() } else { format!("; or {}", advice::words(&advice)) };
    anyhow::anyhow!("{problem}; continue with: {command}{rest}")
}

/// A number in at most three digits.
fn short(x: f64) -> String {
    format!("{x:.2e}").parse::<f64>().unwrap_or(x).to_string()
}

/// What was chosen by the data, in one line.
fn chosen(n_hidden: usize, config: &TrainConfig, held_out: usize) -> String {
    let method = match config.method.as_str() {
        "pt" => format!("pt ({} at {} temperatures)", counted(config.chains as u64, "chain"), config.temperatures),
        "exact" => "exact gradient".into(),
        // Its chains start at the rows of a batch.
        "cd" => format!("cd ({})", counted(config.gibbs_steps, "sweep")),
        other => {
            format!("{other} ({}, {})", counted(config.chains as u64, "chain"), counted(config.gibbs_steps, "sweep"))
        }
    };
    let mut parts = vec![
        counted(n_hidden as u64, "hidden unit"),
        method,
        format!("learning rate {}", short(config.lr)),
        counted(config.updates, "update"),
    ];
    if config.penalty.l2 > 0.0 {
        parts.push(format!("weight decay {}", short(config.penalty.l2)));
    }
    parts.push(match held_out {
        0 => "no rows held out".into(),
        n => format!("{} held out", counted(n as u64, "row")),
    });
    format!("settings: {}", parts.join(", "))
}
