//! What a command says: one JSON object, or a title and labelled lines; everything else goes to stderr.

use crate::advice;
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

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

    /// Adds a line if there is something to say.
    pub fn maybe(self, label: &str, text: Option<String>) -> CommandOutput {
        match text {
            Some(text) => self.line(label, text),
            None => self,
        }
    }

    /// The JSON object.
    pub fn json(&self) -> Value {
        Value::Object(self.json.clone())
    }

    /// Prints to stdout. A reader that has gone away (`| head`) is no failure.
    pub fn print(self, json: bool) -> Result<()> {
        let text = if json { Value::Object(self.json).to_string() + "\n" } else { self.text() };
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).context("writing to stdout"),
            _ => Ok(()),
        }
    }

    fn text(self) -> String {
        let width = self.lines.iter().map(|l| l.0.chars().count()).max().unwrap_or(0);
        let mut text = self.title + "\n";
        for (label, line) in self.lines {
            let _ = writeln!(text, "  {label:width$}  {line}");
        }
        text
    }
}

/// One line on stderr, `kind: text`. A closed stderr is nobody to tell.
pub fn say(kind: &str, text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{kind}: {text}");
}

/// The chain of causes on one line, without repetitions, and the library's advice on what to do.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if text.is_empty() {
            text = words;
        } else if !text.contains(&words) {
            let _ = write!(text, ": {words}");
        }
        // A message of the library has its cause in it already.
        if cause.is::<harmonium::Error>() {
            break;
        }
    }
    let advice = error.chain().filter_map(|e| e.downcast_ref::<harmonium::Error>()).flat_map(|e| e.advice());
    advice::sentence(&text, &advice.copied().collect::<Vec<_>>()).replace(['\n', '\r'], " ")
}
