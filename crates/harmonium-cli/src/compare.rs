//! Runs side by side: what they learned from, what they are, and how well they fit. Runs on different rows are marked.

use crate::output::CommandOutput;
use anyhow::Result;
use harmonium::atomic;
use harmonium::error::count;
use harmonium::events::{Event, Progress};
use harmonium::open;
use harmonium::run::{Found, Recorded, RunDir, SUMMARY, Spec};
use harmonium_report::{Compared, Comparison, PLUS_MINUS_MEANS, with_error};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Pictures that are shown side by side, if the runs have drawn them.
const PICTURES: &[&str] = &["samples", "filters", "density", "hidden-means", "weights"];
/// What the errors come from.
const ERRORS: &str = "from the finite number of rows, and from log Z if it is estimated";
/// Largest file that is read: a summary has some kilobytes, a picture some hundred.
const MOST_BYTES: u64 = 1 << 24;

const HEADER: &[&str] =
    &["run", "data", "model", "method", "updates", "seconds", "log likelihood", "held out", "verdict"];

/// A run as its directory tells it.
struct Run {
    name: String,
    dir: RunDir,
    settings: Spec,
    events: Vec<Event>,
    /// What it said at its end.
    summary: Option<Map<String, Value>>,
}

/// Compares the runs in `dirs`; `output` gets the page.
pub fn compare(dirs: &[PathBuf], output: Option<&Path>) -> Result<CommandOutput> {
    let runs: Vec<Run> = dirs.iter().map(|d| Run::read(d)).collect::<Result<_>>()?;
    let data = letters(&runs);
    let comparable = data.windows(2).all(|pair| pair[0] == pair[1]);
    let table: Vec<Vec<String>> = runs.iter().zip(&data).map(|(run, data)| run.row(data)).collect();
    let notes = notes(&runs, &data);
    if let Some(output) = output {
        let page = harmonium_report::compare(&Comparison {
            title: format!("{} runs", runs.len()),
            notes: notes.clone(),
            header: HEADER,
            table: &table,
            runs: runs.iter().zip(&data).map(|(run, data)| run.compared(data, comparable)).collect(),
        });
        atomic::write(output, |w| w.write_all(page.html.as_bytes()))?;
    }
    let lines = aligned(&table);
    let report = lines.into_iter().fold(CommandOutput::new(notes.join("\n")), |r, (name, line)| r.line(&name, line));
    let report = report.maybe("page", output.map(|o| format!("{} (open it in a browser)", o.display())));
    let each: Vec<Value> = runs.iter().zip(&data).map(|(run, data)| run.json(data)).collect();
    Ok(report
        .field("runs", each)
        .field("comparable", comparable)
        .field("report", output.map(|o| o.display().to_string())))
}

impl Run {
    fn read(path: &Path) -> Result<Run> {
        let Recorded { dir, spec: settings, events, .. } = Recorded::read(path)?;
        let summary = bytes(&dir.file(SUMMARY)).and_then(|b| serde_json::from_slice(&b).ok());
        Ok(Run { name: path.display().to_string(), dir, settings, events, summary })
    }

    /// What tells these rows from others: their digest, or as much as an older run has written down.
    fn rows(&self) -> String {
        let of = |f: &Found| f.data.clone().unwrap_or_else(|| format!("{} {} {}", f.rows, f.valid_rows, f.columns));
        format!("{} {}", self.settings.data.source, self.settings.found.as_ref().map_or(String::new(), of))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.summary.as_ref()?.get(name)?.as_f64()
    }

    fn word(&self, name: &str) -> Option<&str> {
        self.summary.as_ref()?.get(name)?.as_str()
    }

    /// The last measurement that has a likelihood.
    fn last(&self) -> Option<&Progress> {
        self.events.iter().rev().find_map(|e| match e {
            Event::Progress(p) if p.train.log_likelihood.is_some() => Some(p),
            _ => None,
        })
    }

    fn updates(&self) -> Option<u64> {
        let progress = || {
            self.events.iter().rev().find_map(|e| match e {
                Event::Progress(p) => Some(p.update),
                _ => None,
            })
        };
        self.summary.as_ref().and_then(|s| s.get("updates")?.as_u64()).or_else(progress)
    }

    /// Log likelihood of training and of held-out rows, each with its standard error, and whether it is final: of all rows, at
    /// the end.
    fn likelihoods(&self) -> ([Option<(f64, f64)>; 2], bool) {
        if self.summary.is_some() {
            let with_error =
                |name: &str| Some((self.number(name)?, self.number(&format!("{name}_std_err")).unwrap_or(0.0)));
            return (["log_likelihood", "valid_log_likelihood"].map(with_error), true);
        }
        let Some(last) = self.last() else { return ([None, None], false) };
        let error = last.train.log_likelihood_std_err.unwrap_or(0.0);
        let valid = last.valid.as_ref().and_then(|v| v.log_likelihood);
        ([last.train.log_likelihood, valid].map(|l| l.map(|l| (l, error))), false)
    }

    fn model(&self) -> String {
        let started = self.events.iter().find_map(|e| match e {
            Event::Started { visible, hidden, n_visible, n_hidden, .. } => {
                Some(format!("{n_visible} {visible} × {n_hidden} {hidden}"))
            }
            _ => None,
        });
        started.unwrap_or_else(|| format!("{} {}", self.settings.model.n_hidden, self.settings.model.hidden))
    }

    fn method(&self) -> String {
        let train = &self.settings.train;
        match train.method.as_str() {
            "exact" => "exact".into(),
            method => format!("{method}, {}", count(train.gibbs_steps, "sweep")),
        }
    }

    fn verdict(&self) -> String {
        self.word("outcome").unwrap_or("unfinished").replace(['_', '-'], " ")
    }

    fn row(&self, data: &str) -> Vec<String> {
        let ([train, valid], last) = self.likelihoods();
        let shown = |l: Option<(f64, f64)>| match l {
            // A minus that other programs read as one.
            Some((value, error)) => with_error(value, error).replace('−', "-") + if last { "" } else { " *" },
            None => "–".into(),
        };
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        vec![
            self.name.clone(),
            data.into(),
            self.model(),
            self.method(),
            or_none(self.updates().map(|u| u.to_string())),
            or_none(self.number("seconds").map(|s| format!("{s:.1}"))),
            shown(train),
            shown(valid),
            self.verdict(),
        ]
    }

    fn json(&self, data: &str) -> Value {
        let ([train, valid], last) = self.likelihoods();
        let part = |l: Option<(f64, f64)>, error: bool| l.map(|l| if error { l.1 } else { l.0 });
        json!({
            "run": self.name,
            "data": self.settings.data.source,
            "rows_group": data,
            "model": self.model(),
            "method": self.settings.train.method,
            "gibbs_steps": self.settings.train.gibbs_steps,
            "updates": self.updates(),
            "seconds": self.number("seconds"),
            "log_likelihood": part(train, false),
            "log_likelihood_std_err": part(train, true),
            "valid_log_likelihood": part(valid, false),
            "valid_log_likelihood_std_err": part(valid, true),
            "final": last,
            "outcome": self.word("outcome").unwrap_or("unfinished"),
            "summary": self.word("summary"),
        })
    }

    /// With the letter of its rows, where other runs have others.
    fn compared(&self, data: &str, alone: bool) -> Compared<'_> {
        let name = if alone { self.name.clone() } else { format!("{data}: {}", self.name) };
        let picture = |name: &&str| Some((name.replace('-', " "), bytes(&self.dir.file(&format!("{name}.png")))?));
        Compared { name, events: &self.events, pictures: PICTURES.iter().filter_map(picture).collect() }
    }
}

/// The bytes of a file that is there and not too large.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    open::bytes(path, MOST_BYTES).ok()
}

/// A letter for every set of rows, the same for runs on the same rows.
fn letters(runs: &[Run]) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let letter = |k: usize| match k {
        0..26 => char::from(b'A' + k as u8).to_string(),
        _ => format!("#{}", k + 1),
    };
    let mut each = Vec::new();
    for run in runs {
        let rows = run.rows();
        let place = seen.iter().position(|s| *s == rows).unwrap_or(seen.len());
        if place == seen.len() {
            seen.push(rows);
        }
        each.push(letter(place));
    }
    each
}

/// What the letters mean, and what cannot be compared.
fn notes(runs: &[Run], data: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (k, (run, letter)) in runs.iter().zip(data).enumerate() {
        if !data[..k].contains(letter) {
            let found = run.settings.found.as_ref();
            let held_out = match found.map_or(0, |f| f.valid_rows) {
                0 => String::new(),
                n => format!(", {n} held out"),
            };
            let rows = found.map_or(String::new(), |f| format!(", {} rows of {} columns{held_out}", f.rows, f.columns));
            notes.push(format!("{letter}: {}{rows}.", run.settings.data.source));
        }
    }
    if notes.len() > 1 {
        let same = "compare likelihoods only between runs with the same letter in the column `data`";
        notes.push(format!("These runs used different data: {same}."));
    }
    notes.push(format!("Log likelihoods are in nats per row, ± {PLUS_MINUS_MEANS} ({ERRORS})."));
    if runs.iter().any(|r| !r.likelihoods().1) {
        notes.push("* as last measured during the run, on at most 1000 of its rows: the run is not finished.".into());
    }
    notes
}

/// The table as lines of equal columns; the first column is the label.
fn aligned(table: &[Vec<String>]) -> Vec<(String, String)> {
    let header: Vec<String> = HEADER.iter().map(ToString::to_string).collect();
    let all: Vec<&Vec<String>> = [&header].into_iter().chain(table).collect();
    let width = |c: usize| all.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let line = |row: &Vec<String>| {
        let cells = (1..row.len()).map(|c| format!("{:w$}", row[c], w = width(c)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    all.iter().map(|row| (row[0].clone(), line(row))).collect()
}
