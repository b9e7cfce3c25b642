//! config.toml: a run's settings as text, complete, every key explained; reading it back gives the same settings.

use super::settings::{Settings, lookup};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::path::Path;
use toml::{Table, Value};

/// Largest configuration that is read: thousands of times what one needs.
const MOST_BYTES: u64 = 1 << 24;

/// What versions before 0.2 called the section `model`.
const OLD_MODEL: &str = "machine";

const HEAD: &str = "\
# A training run of harmonium. To repeat it, to the bit on the same kernel:
#   harmonium train --config config.toml -o DIRECTORY
# Options that are typed beside --config win over what stands here.
";

/// Every key with what it means, in the order they stand; a key that is not set is shown as a comment.
const MEANINGS: &[(&str, &str)] = &[
    ("checkpoint_every", "updates between checkpoints; the result does not depend on it"),
    ("demo", "made by `harmonium demo`, which replaces it when it is run again"),
    ("data.source", "a file, or builtin:NAME"),
    ("data.skip_rows", "lines of a text file to skip"),
    ("data.columns", "columns of a text or Parquet file to take, such as \"1-4,7\""),
    ("data.label_column", "column of a text or Parquet file to leave out"),
    ("data.alphabet", "letters of the codes of sequences, in their order"),
    ("data.weights", "file with the weight of every row, similarity:PART or none"),
    ("data.valid", "file with held-out rows"),
    ("data.valid_fraction", "part of the rows that is held out, chosen by train.seed"),
    ("data.binarize", "auto, none, threshold:T or sample"),
    ("data.missing", "whether cells that are empty or no numbers are unknown"),
    ("data.standardize", "whether columns get mean 0 and standard deviation 1"),
    ("data.image", "rows are images of this height and width, such as \"28x28\""),
    ("model.visible", "visible units"),
    ("model.coupling", "how Gaussian visible units couple"),
    ("model.states", "states of Potts visible units"),
    ("model.hidden", "hidden units"),
    ("model.hidden_coupling", "how Gaussian hidden units couple"),
    ("model.hidden_states", "states of Potts hidden units"),
    ("model.n_hidden", "number of hidden units"),
    ("model.init", "model file to begin with"),
    ("train.seed", "of everything random"),
    ("train.method", "estimator of the model's side of the gradient"),
    ("train.gibbs_steps", "Gibbs sweeps per update"),
    ("train.chains", "number of persistent chains"),
    ("train.temperatures", "temperatures of every chain's ladder, for method pt"),
    ("train.batch_size", "rows per update"),
    ("train.updates", "updates in all"),
    ("train.lr", "learning rate: multiplies the gradient of the mean log likelihood"),
    ("train.schedule", "how it falls: constant, step, cosine, inverse"),
    ("train.variance_rate", "factor of the learning rate for log-variances"),
    ("train.centering", "whether offsets follow the means"),
    ("train.offset_rate", "how fast: the part of the difference taken each update"),
    ("train.early_stop", "stop after so many measurements without improvement on the held-out rows"),
    ("train.report_every", "updates between measurements"),
    ("train.likelihood", "whether the likelihood is measured"),
    ("train.optimizer.name", "sgd or adam"),
    ("train.optimizer.momentum", "part of the last step (sgd) or of the mean gradient (adam) that is kept"),
    ("train.optimizer.nesterov", "look ahead along the last step (sgd)"),
    ("train.penalty.l1", "weight of the sum of |W|"),
    ("train.penalty.l2", "weight of half the sum of W^2"),
    ("train.penalty.max_norm", "largest length of a hidden unit's weight vector"),
    ("train.penalty.sparsity", "mean activity that hidden units are pulled to"),
    ("train.penalty.sparsity_cost", "how strongly"),
    ("train.penalty.clip", "longest gradient; longer ones are shortened to it"),
    ("found.version", "of the program that began the run"),
    ("found.kernel", "where the arithmetic happened"),
    ("found.rows", "rows that were learned from"),
    ("found.valid_rows", "held-out rows"),
    ("found.columns", "columns of the data"),
    ("found.digest", "of the rows, their weights and the model that learning began with"),
    ("found.data", "of the rows and their weights alone"),
];

/// The text of config.toml.
pub fn text(settings: &Settings) -> Result<String> {
    let mut out = HEAD.to_string();
    section(&mut out, "", &Table::try_from(settings)?);
    Ok(out)
}

/// Writes the plain keys of a table, then its tables.
fn section(out: &mut String, prefix: &str, table: &Table) {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for (key, value) in table.iter().filter(|(_, v)| !v.is_table()) {
        let meaning = MEANINGS.iter().find(|m| m.0 == format!("{prefix}{key}")).map_or("", |m| m.1);
        lines.push((format!("{key} = {value}"), meaning));
    }
    let own = |path: &&(&'static str, &'static str)| {
        path.0.strip_prefix(prefix).is_some_and(|key| !key.contains('.') && !table.contains_key(key) && key != "demo")
    };
    for (path, meaning) in MEANINGS.iter().filter(own) {
        lines.push((format!("# {} =", &path[prefix.len()..]), meaning));
    }
    let width = lines.iter().map(|l| l.0.chars().count()).filter(|w| *w <= 40).max().unwrap_or(0);
    for (line, meaning) in lines {
        let _ = match meaning.is_empty() {
            true => writeln!(out, "{line}"),
            false => writeln!(out, "{line:width$}  # {meaning}"),
        };
    }
    for (key, value) in table {
        if let Value::Table(below) = value {
            let _ = writeln!(out, "\n[{prefix}{key}]");
            section(out, &format!("{prefix}{key}."), below);
        }
    }
}

/// Reads a configuration as a table; whether its keys exist is seen when it becomes settings.
pub fn read(path: &Path) -> Result<Table> {
    let shown = || path.display().to_string();
    let size = std::fs::metadata(path).with_context(shown)?.len();
    if size > MOST_BYTES {
        bail!("{}: {size} bytes is too much for a configuration", shown());
    }
    let text = std::fs::read_to_string(path).with_context(shown)?;
    let parsed = text.parse::<Table>().map_err(|e| {
        let line = e.span().map_or(String::new(), |s| format!("line {}: ", text[..s.start].matches('\n').count() + 1));
        anyhow::anyhow!("{}: {line}{}", shown(), e.message())
    })?;
    Ok(parsed.into_iter().map(|(key, value)| (if key == OLD_MODEL { "model".into() } else { key }, value)).collect())
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
pub fn agrees(table: &Table, key: &str, value: &Value) -> bool {
    let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
    match lookup(table, key) {
        Some(found) => found == value || number(found).is_some_and(|x| number(value) == Some(x)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::put;
    use super::*;

    #[test]
    fn reading_the_text_gives_the_settings_back() {
        let mut settings = Settings::default();
        settings.data.columns = Some("1-4,\"a # b\"".into());
        settings.train.lr = 1.0 / 3.0;
        settings.train.penalty.max_norm = Some(1e-7);
        let text = text(&settings).unwrap();
        assert_eq!(Settings::from_table(&text.parse().unwrap()).unwrap(), settings, "{text}");
    }

    #[test]
    fn every_key_is_explained_and_every_explanation_has_a_key() {
        let text = text(&Settings::default()).unwrap();
        let mut lines = text.lines().skip(HEAD.lines().count()).filter(|l| l.contains(" ="));
        assert!(lines.all(|l| l.contains("  # ")), "{text}");
        for (key, _) in MEANINGS {
            let mut table = Table::new();
            put(&mut table, key, Value::Integer(1));
            let refused = Settings::from_table(&table).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(!refused.contains("unknown field"), "{key}: {refused}");
        }
    }
}
