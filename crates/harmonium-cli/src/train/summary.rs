//! What `train` and `report` print: the verdict, the facts, and the next commands.

use crate::advice;
use crate::output::{self, CommandOutput, program};
use harmonium::Advice;
use harmonium::error::count;
use harmonium::events::{Event, Reason};
use harmonium::run::{CONFIG, Conclusion, MODEL, REPORT, Remedy, RunDir};
use harmonium::settings;
use harmonium_report::{Words, facts};
use std::path::Path;

/// Seconds of a longer estimate of log Z: at least, and per second of training.
const LONG: f64 = 60.0;
const LONGER: f64 = 4.0;

/// The lines about a judged run; the page may stand elsewhere than in the directory.
pub fn lines(run: &Conclusion, words: &Words, page: Option<&Path>) -> CommandOutput {
    let dir = run.facts.directory.clone().unwrap_or_default();
    let page = page.map_or(dir.join(REPORT), Path::to_path_buf);
    let out = CommandOutput::new(title(run)).line("verdict", words.headline.clone());
    let why = words.finding.clone().filter(|_| words.advice.is_some());
    let out = out.maybe("", why).maybe("", words.advice.clone());
    // A minus that other programs read as one.
    let facts = facts(run, &|list| advice(run, &program(), list))
        .into_iter()
        .map(|(label, text)| (label, text.replace('−', "-")));
    let out = facts.fold(out, |out, (label, text)| out.line(&label, text));
    let finished = run.reason != Reason::Interrupted;
    let out = out
        .maybe("model", finished.then(|| shell_word(&dir.join(MODEL))))
        .line("report", format!("{} (open it in a browser)", shell_word(&page)));
    next(run, &dir).into_iter().enumerate().fold(out, |out, (k, line)| {
        let label = if k == 0 { "try" } else { "" };
        out.line(label, format!("{} {line}", program()))
    })
}

fn title(run: &Conclusion) -> String {
    let source = &run.facts.spec.data.source;
    let rows = run.facts.train.as_ref().map_or("the rows".into(), |rows| counted(rows.len() as u64, "row"));
    let updates = counted(run.facts.update, "update");
    let seconds = run.facts.seconds.map_or(String::new(), |s| format!(" in {s:.1} s"));
    let end = match run.reason {
        Reason::EarlyStop => format!(", stopped early; kept the model after update {}", kept(run)),
        Reason::Time => format!(" of {}, when the time was over", thousands(run.facts.spec.train.updates)),
        Reason::Interrupted => format!(" of {}", thousands(run.facts.spec.train.updates)),
        Reason::Done if run.kept < run.facts.update => format!("; kept the model after update {}", kept(run)),
        Reason::Done => String::new(),
    };
    format!("Trained on {rows} of {source}: {updates}{seconds}{end}")
}

/// The update whose model was kept, and why.
fn kept(run: &Conclusion) -> String {
    let update = thousands(run.kept);
    let best = run.facts.events.iter().rev().find_map(|e| match e {
        Event::Finished { kept_by, .. } => kept_by.map(|by| by.valid_log_likelihood),
        _ => None,
    });
    let last = run.facts.events.iter().rev().find_map(|e| match e {
        Event::Progress(p) => p.valid.as_ref().map(|v| v.log_likelihood),
        _ => None,
    });
    match best.zip(last.flatten()) {
        Some((best, last)) => {
            // As many decimals as show a difference.
            let decimals = (-(best - last).abs().log10().floor()).clamp(2.0, 5.0) as usize;
            format!("{update}, the best on held-out rows ({best:.decimals$}; the last one had {last:.decimals$})")
        }
        None => format!("{update}, the best on held-out rows"),
    }
}

/// Advice about a run in words; `program` is how its commands start.
pub fn advice(run: &Conclusion, program: &str, list: &[Advice]) -> String {
    let longer = run.facts.directory.as_deref().map(|dir| {
        // The estimate had as long as training took.
        let seconds = (LONGER * run.facts.seconds.unwrap_or(0.0)).max(LONG).ceil();
        format!("{program} report {} --time {seconds}", shell_word(dir))
    });
    advice::words_with(list, longer.as_deref())
}

/// The remedy of the verdict as a command, which starts with `program`.
pub fn remedy(run: &Conclusion, program: &str) -> Option<String> {
    let dir = run.facts.directory.as_deref()?;
    let shown = shell_word(dir);
    Some(match run.verdict.remedy.as_ref()? {
        Remedy::Measure => format!("{program} report {shown}"),
        Remedy::Continue { updates } => format!("{program} train --resume -o {shown} --updates {updates}"),
        Remedy::Retrain(changed) => {
            let option = |(key, value): &(&str, toml::Value)| {
                let flag = settings::find(key).and_then(|s| s.flag).unwrap_or(key);
                let text = value.as_str().map_or_else(|| value.to_string(), String::from);
                format!(" --{flag} {}", output::shell_word(&text))
            };
            let other = output::shell_word(&format!("{}-2", dir.display()));
            let options: String = changed.iter().map(option).collect();
            format!("{program} train --config {} -o {other}{options}", shell_word(&dir.join(CONFIG)))
        }
        _ => return None,
    })
}

/// 12345 as 12,345.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(",")
}

/// "1 row", "1,438 rows".
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// Commands that work as they stand, without the name of the program.
fn next(run: &Conclusion, dir: &Path) -> Vec<String> {
    let (model, data) = (shell_word(dir), data_words(run));
    // Words need a format that has words.
    let table = if run.facts.notes.words.is_some() { "csv" } else { "npy" };
    if run.reason == Reason::Interrupted {
        return vec![format!("train --resume -o {model}")];
    }
    if has_missing(run) {
        return vec![format!("evaluate {model} {data}"), format!("impute {model} {data} -o filled.{table}")];
    }
    vec![
        format!("sample {model} -n 100 -o samples.{table}"),
        format!("evaluate {model} {data}"),
        format!("transform {model} {data} -o hidden.npy"),
    ]
}

/// Whether cells of the training rows are missing.
fn has_missing(run: &Conclusion) -> bool {
    run.facts.train.as_ref().is_some_and(|rows| rows.known().is_some())
}

/// DATA and the options that read it.
fn data_words(run: &Conclusion) -> String {
    let data = &run.facts.spec.data;
    let mut words = shell_word(Path::new(&data.source));
    if data.skip_rows > 0 {
        words += &format!(" --skip-rows {}", data.skip_rows);
    }
    for (flag, value) in [("--columns", &data.columns), ("--label-column", &data.label_column)] {
        words += &value.as_ref().map_or(String::new(), |v| format!(" {flag} {}", shell_word(Path::new(v))));
    }
    words
}

/// What `--resume` prints about a finished run; `asked` is the number of updates that was asked for.
pub fn finished(dir: &RunDir, asked: Option<i64>) -> CommandOutput {
    let updates = harmonium::run::Recorded::read(dir.path()).ok().map(|r| r.spec.train.updates);
    let (shown, more) = (shell_word(dir.path()), updates.unwrap_or(0).saturating_mul(2));
    let done = updates.map_or("its updates".into(), |n| count(n, "update"));
    let text = match asked {
        Some(asked) => format!("this run is finished and already has {done}, so --updates {asked} changes nothing"),
        None => format!("this run is finished with {done}; nothing was changed"),
    };
    CommandOutput::new(format!("{}: {text}", dir.path().display()))
        .line("train longer", format!("{} train --resume -o {shown} --updates {more}", program()))
        .field("updates", updates)
        .field("model", dir.file(MODEL).display().to_string())
        .field("finished", true)
}

/// A path as it can be typed into a shell.
fn shell_word(path: &Path) -> String {
    output::shell_word(&path.display().to_string())
}
