//! What a command prints: one JSON object, or a title and labelled lines. Everything else goes to stderr.

use crate::advice;
use anyhow::{Context, Result};
use harmonium::error::{system_reason, with_subject};
use harmonium::settings::{self, Setting};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The answer of a command.
pub struct CommandOutput {
    title: String,
    lines: Vec<(String, String)>,
    json: Map<String, Value>,
}

impl CommandOutput {
    pub fn new(title: String) -> CommandOutput {
        CommandOutput { title, lines: Vec::new(), json: Map::new() }
    }

    /// Adds a field of the JSON object. Numbers that are not finite become null.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> CommandOutput {
        self.json.insert(name.into(), value.into());
        self
    }

    /// Adds all fields of another object.
    pub fn fields(mut self, fields: Map<String, Value>) -> CommandOutput {
        self.json.extend(fields);
        self
    }

    /// Adds a line for people.
    pub fn line(mut self, label: &str, text: impl Into<String>) -> CommandOutput {
        self.lines.push((label.into(), text.into()));
        self
    }

    /// Adds a line if there is a text for it.
    pub fn maybe(self, label: &str, text: Option<String>) -> CommandOutput {
        match text {
            Some(text) => self.line(label, text),
            None => self,
        }
    }

    /// Prints to stdout. A reader that has gone away (`| head`) is not a failure.
    pub fn print(self, json: bool) -> Result<()> {
        let text = if json { Value::Object(self.json).to_string() + "\n" } else { self.text() };
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).context("writing to stdout"),
            _ => Ok(()),
        }
    }

    fn text(mut self) -> String {
        let explained = self.title.contains(harmonium_report::PLUS_MINUS_MEANS);
        let last = self.lines.iter().rposition(|line| line.1.contains(PLUS_MINUS));
        if let Some(last) = last.filter(|_| !explained) {
            // Lines with one label belong together.
            let apart = self.lines[last..].iter().position(|line| line.0 != self.lines[last].0);
            let place = apart.map_or(self.lines.len(), |after| last + after);
            self.lines.insert(place, (PLUS_MINUS.into(), harmonium_report::PLUS_MINUS_MEANS.into()));
        }
        let width = self.lines.iter().map(|l| l.0.chars().count()).max().unwrap_or(0);
        let mut text = self.title + "\n";
        for (label, line) in self.lines {
            let _ = writeln!(text, "  {label:width$}  {line}");
        }
        text
    }
}

/// Before the error of a number.
const PLUS_MINUS: &str = "±";

static QUIET: AtomicBool = AtomicBool::new(false);

/// With `--quiet`, only warnings and errors go to stderr.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether `--quiet` was given.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints one line on stderr, `kind: text`. A closed stderr is not a failure.
pub fn say(kind: &str, text: &str) {
    if !quiet() || ["warning", "error"].contains(&kind) {
        let _ = writeln!(std::io::stderr().lock(), "{kind}: {text}");
    }
}

/// A number with its standard error, in as many digits as the error allows; four decimals if there is no error.
pub fn with_error(value: f64, error: f64) -> String {
    if !(error > 0.0 && error.is_finite()) {
        return format!("{value:.4}");
    }
    // Two digits of the error.
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$} ± {error:.decimals$}")
}

/// How this program was started, as words to begin a command with that works as printed.
pub fn program() -> String {
    let argv0 = std::env::args().next().unwrap_or_default();
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    started_as(&argv0, package == env!("CARGO_PKG_NAME"), cfg!(debug_assertions))
}

/// `cargo run` sets the package's name; a program that is not in the search path is called by its path.
fn started_as(argv0: &str, by_cargo: bool, debug: bool) -> String {
    if by_cargo {
        return if debug { "cargo run --" } else { "cargo run --release --" }.into();
    }
    if argv0.contains(['/', '\\']) { shell_word(argv0) } else { "harmonium".into() }
}

/// A word as it can be typed into a shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:+,=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The option of a setting as it is typed; keys of config.toml that have no option, and variables, stay as they are.
fn option(key: &str) -> String {
    match (settings::find(key), key) {
        (Some(Setting { flag: Some("DATA"), .. }), _) => "DATA".into(),
        (Some(Setting { flag: Some(flag), .. }), _) => format!("--{flag}"),
        (Some(_), "train.seed") => "--seed".into(),
        (None, "n") => "-n".into(),
        (None, _) if key.starts_with(|c: char| c.is_lowercase()) => format!("--{key}"),
        _ => key.into(),
    }
}

/// An error of the library, with the name of the option where it is about a setting.
fn shown(error: &harmonium::Error) -> String {
    match error.plain() {
        harmonium::Error::Config { key, problem } => with_subject(option(key), problem),
        _ => error.to_string(),
    }
}

/// The chain of causes on one line; a cause that the text before it already contains is left out.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut worded = false;
    // An option is wrong whatever the file is that it was to be used with.
    let about_option = |e: &(dyn std::error::Error + 'static)| {
        e.downcast_ref::<harmonium::Error>().is_some_and(|e| matches!(e.plain(), harmonium::Error::Config { .. }))
    };
    let files = error.chain().position(about_option).unwrap_or(0);
    for cause in error.chain().skip(files) {
        let system = cause.downcast_ref::<std::io::Error>();
        let own = cause.downcast_ref().map_or_else(|| cause.to_string(), shown);
        let words = system.map_or(own, system_reason);
        if text.is_empty() {
            text = words;
        } else if !(text.contains(&words) || worded && system.is_some()) {
            let _ = write!(text, ": {words}");
        }
        // The library's errors contain the system's reason in their own words.
        worded = cause.is::<harmonium::Error>();
    }
    let advice = error.chain().filter_map(|e| e.downcast_ref::<harmonium::Error>()).flat_map(|e| e.advice());
    advice::sentence(&text, &advice.copied().collect::<Vec<_>>()).replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_run_next_begin_as_this_one_did() {
        for (argv0, by_cargo, debug, words) in [
            ("target/release/harmonium", true, false, "cargo run --release --"),
            ("/home/me/target/debug/harmonium", true, true, "cargo run --"),
            ("target/release/harmonium", false, false, "target/release/harmonium"),
            ("/home/me/my tools/harmonium", false, false, "'/home/me/my tools/harmonium'"),
            ("harmonium", false, false, "harmonium"),
            ("", false, false, "harmonium"),
        ] {
            assert_eq!(started_as(argv0, by_cargo, debug), words, "{argv0}");
        }
    }

    #[test]
    fn plus_minus_is_explained_after_the_lines_that_have_it() {
        let lines = [("log Z", "1 ± 2"), ("check", "3 ± 4"), ("check", "5"), ("time", "6")];
        let output = lines.iter().fold(CommandOutput::new("x".into()), |out, line| out.line(line.0, line.1));
        let labels: Vec<String> = output.text().lines().skip(1).map(|l| l[2..7].trim().into()).collect();
        assert_eq!(labels, ["log Z", "check", "check", "±", "time"]);
    }

    #[test]
    fn numbers_have_as_many_digits_as_their_error_allows() {
        assert_eq!(with_error(-78.93214, 1.6696), "-78.9 ± 1.7");
        assert_eq!(with_error(-16.69312, 0.0123), "-16.693 ± 0.012");
        assert_eq!(with_error(1234.5, 98.7), "1234 ± 99");
        assert_eq!(with_error(-16.69312, 0.0), "-16.6931");
        assert_eq!(with_error(2.0, f64::NAN), "2.0000");
    }

    #[test]
    fn words_for_a_shell_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("run-1/model.safetensors"), "run-1/model.safetensors");
        assert_eq!(shell_word("my run"), "'my run'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
