//! config.toml: the settings of a run as text, complete, with a comment for every key.

use super::length::Length;
use super::spec::{Spec, lookup, put};
use crate::error::{Error, Result};
use crate::open;
use crate::settings;
use std::fmt::Write as _;
use std::path::Path;
use toml::{Table, Value};

/// Largest configuration that is read: hundreds of times what one needs.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// What versions before 0.2 called the section `model`.
const OLD_MODEL: &str = "machine";

const HEAD: &str = "\
# All settings of a training run of harmonium. `harmonium train` with this file as its configuration and a new output directory
# repeats the run, bit for bit on the same backend (`kernel` below); options on the command line override the file.
";

/// Keys that are no settings, and what they are.
const FACTS: &[(&str, &str)] = &[
    ("demo", "`harmonium demo` made this directory and will replace it"),
    ("found.version", "version of the program that started the run"),
    ("found.kernel", "the backend that computed it"),
    ("found.rows", "training rows"),
    ("found.valid_rows", "held-out rows"),
    ("found.columns", "columns of the data"),
    ("found.digest", "digest of the rows, their weights and the initial model"),
    ("found.data", "digest of the rows and their weights"),
    ("found.chosen", "settings that nobody asked for and the program chose"),
];

/// The comment of a key.
fn comment(key: &str) -> Option<&'static str> {
    let setting = settings::find(key).map(|s| s.about);
    setting.or_else(|| FACTS.iter().find(|f| f.0 == key).map(|f| f.1))
}

/// Every key that may stand in the file.
fn keys() -> impl Iterator<Item = &'static str> {
    settings::SETTINGS.iter().map(|s| s.key).filter(|k| !Length::KEYS.contains(k)).chain(FACTS.iter().map(|f| f.0))
}

/// The text of config.toml.
pub fn text(spec: &Spec) -> Result<String> {
    let table = Table::try_from(spec).map_err(|e| Error::Settings { path: None, problem: e.to_string() })?;
    let mut out = HEAD.to_string();
    section(&mut out, "", &table);
    Ok(out)
}

/// Writes the plain keys of a table, then its tables; a setting without a value is shown as a comment.
fn section(out: &mut String, prefix: &str, table: &Table) {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for (key, value) in table.iter().filter(|(_, v)| !v.is_table()) {
        lines.push((format!("{key} = {value}"), comment(&format!("{prefix}{key}")).unwrap_or_default()));
    }
    let missing = |key: &&'static str| {
        key.strip_prefix(prefix).is_some_and(|name| !name.contains('.') && !table.contains_key(name) && name != "demo")
    };
    for key in keys().filter(missing) {
        lines.push((format!("# {} =", &key[prefix.len()..]), comment(key).unwrap_or_default()));
    }
    let width = lines.iter().map(|l| l.0.chars().count()).filter(|w| *w <= 40).max().unwrap_or(0);
    for (line, comment) in lines {
        let comment = if comment.is_empty() { String::new() } else { format!("  # {comment}") };
        let _ = writeln!(out, "{}", format!("{line:width$}{comment}").trim_end());
    }
    for (key, value) in table {
        if let Value::Table(below) = value {
            let remark = if key == "found" { "  # recorded by the program; not settings" } else { "" };
            let _ = writeln!(out, "\n[{prefix}{key}]{remark}");
            section(out, &format!("{prefix}{key}."), below);
        }
    }
}

/// Reads a configuration as a table; its keys are checked when it becomes a [`Spec`].
pub fn read(path: &Path) -> Result<Table> {
    let refused = |problem| Error::Settings { path: Some(path.into()), problem };
    let text = open::text(path, MOST_BYTES)?;
    let parsed = text.parse::<Table>().map_err(|e| {
        let line = e.span().map_or(String::new(), |s| format!("line {}: ", text[..s.start].matches('\n').count() + 1));
        refused(format!("is not a valid configuration file (TOML): {line}{}", e.message()))
    })?;
    let name = |key: String| if key == OLD_MODEL { "model".into() } else { key };
    let mut table: Table = parsed.into_iter().map(|(key, value)| (name(key), value)).collect();
    if table.contains_key("found") {
        complete(&mut table);
    }
    Ok(table)
}

/// What a run recorded is complete, so that no new default applies: settings that its version did not have get what it did.
fn complete(table: &mut Table) {
    let mut before: Vec<(&str, Value)> = vec![("model.start", "independent".into()), ("train.keep", "last".into())];
    if lookup(table, "data.valid").is_none() {
        before.push(("data.valid_fraction", 0.0.into()));
    }
    for (key, value) in before {
        if lookup(table, key).is_none() {
            put(table, key, value);
        }
    }
}

/// Every plain value of a table with its key, such as `train.optimizer.name`.
pub fn flatten(table: &Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(below) => all.extend(flatten(below).into_iter().map(|(k, v)| (format!("{key}.{k}"), v))),
            _ => all.push((key.clone(), value.clone())),
        }
    }
    all
}

/// Whether the value at `key` is `value`; 1 and 1.0 are the same number.
pub(crate) fn agrees(table: &Table, key: &str, value: &Value) -> bool {
    let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
    match lookup(table, key) {
        Some(found) => found == value || number(found).is_some_and(|x| number(value) == Some(x)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_the_text_gives_the_settings_back() {
        let mut spec = Spec::default();
        spec.data.columns = Some("1-4,\"a # b\"".into());
        spec.train.lr = 1.0 / 3.0;
        spec.train.penalty.max_norm = Some(1e-7);
        let text = text(&spec).unwrap();
        assert_eq!(Spec::from_table(&text.parse().unwrap()).unwrap(), spec, "{text}");
    }

    #[test]
    fn every_key_has_a_comment_and_every_row_of_the_table_is_a_key() {
        let text = text(&Spec::default()).unwrap();
        let mut lines = text.lines().skip(HEAD.lines().count()).filter(|l| l.contains(" ="));
        assert!(lines.all(|l| l.contains("  # ")), "{text}");
        for key in keys() {
            let mut table = Table::new();
            put(&mut table, key, Value::Integer(1));
            let refused = Spec::from_table(&table).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(!refused.contains("unknown field"), "{key}: {refused}");
        }
    }

    #[test]
    fn a_configuration_of_an_earlier_version_means_what_it_meant() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[machine]\nvisible = \"spin\"\nn_hidden = 7\n").unwrap();
        let spec = Spec::from_table(&read(&path).unwrap()).unwrap();
        assert_eq!((spec.model.visible.as_str(), spec.model.n_hidden), ("spin", 7));
        // What a run recorded was complete, so that no new default applies; what somebody wrote was not.
        let start = |text: &str| {
            std::fs::write(&path, text).unwrap();
            lookup(&read(&path).unwrap(), "model.start").cloned()
        };
        assert_eq!(start("[model]\nn_hidden = 7\n[found]\nrows = 9\n"), Some("independent".into()));
        assert_eq!(start("[model]\nn_hidden = 7\n"), None);
    }
}
