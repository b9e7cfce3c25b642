//! A schema as TOML, to be edited: one `[[column]]` for each column, with what was found in comments.

use super::asked::{Asked, AskedColumn};
use super::kinds::Wish;
use super::{Column, Schema, words};
use crate::error::{Error, Result, count, shown};
use crate::open;
use crate::units::Kind;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use toml::Value;

/// Largest file that is read.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    column: Vec<WrittenColumn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenColumn {
    name: String,
    kind: String,
    #[serde(default)]
    categories: Vec<String>,
}

impl Schema {
    /// The schema as text; `source` is the table it was inferred from.
    pub fn to_toml(&self, source: &str) -> String {
        let kinds: Vec<&str> = Kind::LIST.iter().map(|k| k.0).collect();
        let mut out = format!("# The columns of {}.\n", shown(source));
        let _ = writeln!(out, "# kind is {}, or ignore to leave a column out.", kinds.join(", "));
        out += "# categories are the values of a column in the order of the states; without them the table decides.\n";
        self.columns.iter().for_each(|column| column.write(&mut out));
        out
    }
}

impl Column {
    fn write(&self, out: &mut String) {
        let text = |word: &str| Value::String(word.into()).to_string();
        let missing = (self.facts.missing > 0).then(|| count(self.facts.missing, "missing cell"));
        let label = self.facts.may_be_label.then(|| "may be a label".to_string());
        let facts = [Some(self.facts.values.clone()), missing, Some(self.facts.why.clone()), label];
        let facts: Vec<String> = facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect();
        let comment = if facts.is_empty() { String::new() } else { format!("  # {}", facts.join("; ")) };
        let kind = if self.categories.is_empty() { self.full_kind_text() } else { self.kind_text() };
        let _ = writeln!(out, "\n[[column]]\nname = {}\nkind = {}{comment}", text(&self.name), text(&kind));
        if !self.categories.is_empty() {
            let words: Vec<String> = self.categories.iter().map(|word| text(word)).collect();
            let _ = writeln!(out, "categories = [{}]", words.join(", "));
        }
    }
}

impl Asked {
    /// Reads a schema file: what it says about the columns it names.
    pub fn read(path: &Path) -> Result<Asked> {
        let text = open::text(path, MOST_BYTES)?;
        Asked::from_toml(&text).map_err(|e| Error::Settings { path: Some(path.into()), problem: e.to_string() })
    }

    /// The same for the text of a file.
    pub fn from_toml(text: &str) -> Result<Asked> {
        let written: Written = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count());
            Error::Undefined(format!("is not a valid schema (TOML): line {}: {}", line + 1, shown(e.message())))
        })?;
        if written.column.is_empty() {
            return Err(Error::Undefined("has no [[column]]".into()));
        }
        let (mut asked, mut seen) = (Asked::default(), BTreeSet::new());
        for column in written.column {
            let name = column.name.clone();
            let refuse = |problem: String| Error::Undefined(format!("column '{}': {problem}", shown(&name)));
            if !seen.insert(name.clone()) {
                return Err(refuse("is there twice".into()));
            }
            asked.columns.push(column.read().map_err(|e| refuse(e.to_string()))?);
        }
        Ok(asked)
    }
}

impl WrittenColumn {
    fn read(self) -> Result<AskedColumn> {
        let WrittenColumn { name, kind, categories } = self;
        let refuse = |problem: String| Err(Error::Undefined(problem));
        let kind = Wish::parse(&kind)?;
        if let Some((word, why)) = categories.iter().chain([&name]).find_map(|w| Some((w, words::unusable(w)?))) {
            return refuse(format!("'{}' {why}", shown(word)));
        }
        let mut seen = BTreeSet::new();
        if let Some(word) = categories.iter().find(|word| !seen.insert(*word)) {
            return refuse(format!("the category '{}' is there twice", shown(word)));
        }
        let found = categories.len();
        if let Some(kind) = kind.kind(found.max(2))?.filter(|k| found > 0 && k.unit::<f64>().n_states() != Some(found))
        {
            return refuse(format!(
                "{kind} units cannot have {}",
                count(found as u64, "category").replace("ys", "ies")
            ));
        }
        Ok(AskedColumn { name, kind, categories })
    }
}
