//! What a run is: data, model, training. These are the keys of config.toml.

use crate::args::{BinarizeArg, DataOptions, parse_binarize};
use anyhow::{Context, Result, bail};
use harmonium::TrainConfig;
use harmonium::data::Alphabet;
use harmonium::train::DEFAULT_HIDDEN;
use harmonium::units::{Kind, Options};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Updates between checkpoints; the result does not depend on it.
    pub checkpoint_every: u64,
    /// Made by `harmonium demo`, which may replace it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    pub data: Data,
    pub model: Model,
    pub train: TrainConfig,
    /// What was found on the way, compared when the run is taken up or repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

/// Where the rows come from and what is done to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    pub source: String,
    pub skip_rows: u64,
    pub columns: Option<String>,
    pub label_column: Option<String>,
    pub alphabet: Option<String>,
    pub weights: Option<String>,
    pub valid: Option<String>,
    pub valid_fraction: Option<f64>,
    pub binarize: String,
    pub standardize: bool,
    pub missing: bool,
    pub image: Option<String>,
}

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub visible: String,
    pub coupling: Option<String>,
    pub states: Option<u64>,
    pub hidden: String,
    pub hidden_coupling: Option<String>,
    pub hidden_states: Option<u64>,
    pub n_hidden: usize,
    pub init: Option<String>,
}

/// Facts of a run that its settings do not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    pub version: String,
    pub kernel: String,
    pub rows: u64,
    pub valid_rows: u64,
    pub columns: u64,
    pub digest: String,
    /// Digest of the rows alone; runs before 0.2 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let data = Data {
            source: String::new(),
            skip_rows: 0,
            columns: None,
            label_column: None,
            alphabet: None,
            weights: None,
            valid: None,
            valid_fraction: None,
            binarize: "auto".into(),
            standardize: false,
            missing: false,
            image: None,
        };
        let model = Model {
            visible: "bernoulli".into(),
            coupling: None,
            states: None,
            hidden: "bernoulli".into(),
            hidden_coupling: None,
            hidden_states: None,
            n_hidden: DEFAULT_HIDDEN,
            init: None,
        };
        Settings { checkpoint_every: 1000, demo: false, data, model, train: TrainConfig::default(), found: None }
    }
}

impl Settings {
    /// The defaults with `asked` laid over them; a key that does not exist is refused by name.
    pub fn from_table(asked: &Table) -> Result<Settings> {
        let mut all = Table::try_from(Settings::default())?;
        lay_over(&mut all, asked);
        let settings: Settings = serde_path_to_error::deserialize(Value::Table(all)).map_err(|e| {
            let (path, problem) = (e.path().to_string(), e.inner().message().to_string());
            anyhow::anyhow!(if path == "." { problem } else { format!("{path}: {problem}") })
        })?;
        settings.check()?;
        Ok(settings)
    }

    /// Refuses what can be refused before any data is read.
    fn check(&self) -> Result<()> {
        if let Some(f) = self.data.valid_fraction.filter(|f| !(*f > 0.0 && *f < 1.0)) {
            bail!("valid-fraction: is {f}, but must be above 0 and below 1");
        }
        if self.data.valid.is_some() && self.data.valid_fraction.is_some() {
            bail!("valid-fraction: cannot stand beside valid, which names the held-out rows");
        }
        if self.model.n_hidden == 0 {
            bail!("n-hidden: is 0, but must be at least 1");
        }
        if let Some(p) = self.train.penalty.sparsity.filter(|p| !p.is_finite()) {
            bail!("sparsity: is {p}, but must be a number");
        }
        self.data.binarize()?;
        self.data.letters()?;
        self.data.weights()?;
        self.image()?;
        // Settings are checked once more with the real number of rows; here a wrong one costs nobody any waiting.
        self.train.check(1, self.data.valid.is_some() || self.data.valid_fraction.is_some())?;
        Ok(())
    }

    /// Height and width of the rows, if it is set.
    pub fn image(&self) -> Result<Option<(usize, usize)>> {
        let Some(text) = &self.data.image else { return Ok(None) };
        Ok(Some(image_size(text).with_context(|| format!("image: '{text}' is not HEIGHTxWIDTH, such as 28x28"))?))
    }
}

/// `28x28` as (28, 28).
pub fn image_size(text: &str) -> Option<(usize, usize)> {
    let (h, w) = text.split_once(['x', 'X', '×'])?;
    Some((h.parse().ok()?, w.parse().ok()?)).filter(|(h, w)| *h > 0 && *w > 0)
}

impl Data {
    fn binarize(&self) -> Result<BinarizeArg> {
        parse_binarize(&self.binarize).map_err(|e| anyhow::anyhow!("binarize: {e}, found '{}'", self.binarize))
    }

    /// The weights of its rows.
    pub fn weights(&self) -> Result<Weights> {
        let asked = self.weights.as_deref().map_or(Ok(Weights::None), Weights::parse);
        asked.map_err(|problem| anyhow::anyhow!("weights: {problem}"))
    }

    /// The letters that the codes stand for, if that is set.
    pub fn letters(&self) -> Result<Option<Alphabet>> {
        let alphabet = self.alphabet.as_deref().map(Alphabet::new).transpose();
        alphabet.map_err(|problem| anyhow::anyhow!("alphabet: {problem}"))
    }

    /// How its tables are read.
    pub fn options(&self) -> Result<DataOptions> {
        Ok(DataOptions {
            binarize: Some(self.binarize()?),
            skip_rows: Some(self.skip_rows),
            columns: self.columns.clone(),
            label_column: self.label_column.clone(),
            alphabet: self.alphabet.clone(),
            missing: self.missing,
        })
    }
}

/// Weights of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Every row counts once.
    None,
    /// A row counts as one with all that have this part of their sites equal.
    Similarity(f64),
    /// A file has one number per row.
    File(String),
}

/// Identity from which sequences are relatives, unless asked otherwise.
pub const SIMILAR: f64 = 0.8;

impl Weights {
    pub fn parse(text: &str) -> Result<Weights, String> {
        let identity = match text.split_once(':') {
            None if text == "similarity" => SIMILAR,
            Some(("similarity", number)) => number.parse().unwrap_or(f64::NAN),
            _ if text == "none" => return Ok(Weights::None),
            _ => return Ok(Weights::File(text.into())),
        };
        match identity > 0.0 && identity <= 1.0 {
            true => Ok(Weights::Similarity(identity)),
            false => Err(format!(
                "'{text}' should end with a part of the sites above 0 and at most 1, such as similarity:0.8"
            )),
        }
    }
}

impl Model {
    /// The visible and the hidden kind.
    pub fn kinds(&self) -> Result<(Kind, Kind)> {
        let options = |coupling: &Option<String>, states: Option<u64>| -> Options {
            let coupling = coupling.clone().map(|c| ("coupling".to_string(), c));
            coupling.into_iter().chain(states.map(|q| ("states".to_string(), q.to_string()))).collect()
        };
        let visible = Kind::new(&self.visible, &options(&self.coupling, self.states)).context("visible")?;
        let hidden = Kind::new(&self.hidden, &options(&self.hidden_coupling, self.hidden_states)).context("hidden")?;
        Ok((visible, hidden))
    }

    /// Writes down what a kind is.
    pub fn set_kinds(&mut self, visible: &Kind, hidden: &Kind) {
        let get = |kind: &Kind, name: &str| kind.options().remove(name);
        let states = |kind: &Kind| get(kind, "states").and_then(|q| q.parse().ok());
        (self.visible, self.hidden) = (visible.name().into(), hidden.name().into());
        (self.coupling, self.hidden_coupling) = (get(visible, "coupling"), get(hidden, "coupling"));
        (self.states, self.hidden_states) = (states(visible), states(hidden));
    }
}

/// Puts every value of `upper` into `lower`, table by table.
pub fn lay_over(lower: &mut Table, upper: &Table) {
    for (key, value) in upper {
        match (lower.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            _ => {
                lower.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The value at `a.b.c`.
pub fn lookup<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((first, rest)) => lookup(table.get(first)?.as_table()?, rest),
    }
}

/// Puts a value at `a.b.c`.
pub fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.into(), value);
        }
        Some((first, rest)) => {
            let below = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(below) = below {
                put(below, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_refused_by_name() {
        for (text, key) in [("speed = 1", "speed"), ("[train]\nrate = 1", "rate"), ("[train.penalty]\nl3 = 1", "l3")] {
            let refused = Settings::from_table(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{key}`")), "{refused}");
        }
        let refused = Settings::from_table(&"[train]\nlr = 'much'".parse().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("train.lr"), "{refused}");
    }
}
