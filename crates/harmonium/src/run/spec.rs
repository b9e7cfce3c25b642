//! What a run is asked to do: data, model, training. The fields are the keys of config.toml.

use super::row_weights::RowWeights;
use crate::backend::{DeviceRef, cpu};
use crate::data::{Alphabet, Binarize, Header, ReadOptions};
use crate::error::{Error, Result};
use crate::events::MOST_COUNT;
use crate::file::image_size;
use crate::layout::Layout;
use crate::schema::Unseen;
use crate::settings;
use crate::start::Start;
use crate::train::{DEFAULT_HIDDEN, TrainConfig};
use crate::units::{Kind, Options};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Updates between checkpoints; the result does not depend on it.
    pub(crate) checkpoint_every: u64,
    /// Made by the demo, which may replace it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) demo: bool,
    /// Where rows come from and what is done to them.
    pub data: DataSpec,
    /// The model.
    pub model: ModelSpec,
    /// The training.
    pub train: TrainConfig,
    /// Facts of the run, which a resumed or repeated run is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// The hardware that computes.
    #[serde(skip, default = "cpu")]
    pub device: DeviceRef,
}

/// Where rows come from and what is done to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the table of settings has a sentence for each
pub struct DataSpec {
    pub source: String,
    pub skip_rows: u64,
    pub header: Header,
    pub columns: Option<String>,
    pub label_column: Option<String>,
    pub column: Vec<String>,
    pub schema: Option<String>,
    pub unseen: Unseen,
    pub alphabet: Option<String>,
    pub weights: Option<String>,
    pub valid: Option<String>,
    pub valid_fraction: Option<f64>,
    pub binarize: String,
    pub standardize: bool,
    pub missing: bool,
    pub(crate) image: Option<String>,
}

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct ModelSpec {
    pub(crate) visible: String,
    pub(crate) coupling: Option<String>,
    pub(crate) states: Option<u64>,
    pub hidden: String,
    pub(crate) hidden_coupling: Option<String>,
    pub(crate) hidden_states: Option<u64>,
    pub n_hidden: usize,
    pub(crate) start: Start,
    pub(crate) init: Option<String>,
}

/// Facts of a run that its settings do not contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Version of the program that started the run.
    pub(crate) version: String,
    /// The backend that computed it.
    pub(crate) kernel: String,
    /// Training rows.
    pub rows: u64,
    /// Held-out rows.
    pub valid_rows: u64,
    /// Columns of the data.
    pub columns: u64,
    /// Digest of the rows, their weights and the first model.
    pub(crate) digest: String,
    /// Digest of the rows and their weights; runs before 0.2 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Keys of settings that nobody asked for and the program chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) chosen: Vec<String>,
}

impl Default for Spec {
    fn default() -> Spec {
        let data = DataSpec {
            source: String::new(),
            skip_rows: 0,
            header: Header::Auto,
            columns: None,
            label_column: None,
            column: Vec::new(),
            schema: None,
            unseen: Unseen::Error,
            alphabet: None,
            weights: None,
            valid: None,
            valid_fraction: None,
            binarize: "auto".into(),
            standardize: false,
            missing: true,
            image: None,
        };
        let model = ModelSpec {
            visible: "bernoulli".into(),
            coupling: None,
            states: None,
            hidden: "bernoulli".into(),
            hidden_coupling: None,
            hidden_states: None,
            n_hidden: DEFAULT_HIDDEN,
            start: Start::Independent,
            init: None,
        };
        Spec {
            checkpoint_every: 1000,
            demo: false,
            data,
            model,
            train: TrainConfig::default(),
            found: None,
            device: cpu(),
        }
    }
}

impl Spec {
    /// The defaults with `asked` over them; a key that does not exist is refused by name.
    pub fn from_table(asked: &Table) -> Result<Spec> {
        let unreadable = |problem: String| Error::Settings { path: None, problem };
        for setting in settings::SETTINGS {
            lookup(asked, setting.key).map_or(Ok(()), |value| setting.check_value(value))?;
        }
        let mut all = Table::try_from(Spec::default()).map_err(|e| unreadable(e.to_string()))?;
        lay_over(&mut all, asked);
        let spec: Spec = serde_path_to_error::deserialize(Value::Table(all)).map_err(|e| {
            let (path, problem) = (e.path().to_string(), e.inner().message().to_string());
            unreadable(if path == "." { problem } else { format!("{path}: {problem}") })
        })?;
        spec.check()?;
        Ok(spec)
    }

    /// The default of a setting as text, if it is a value.
    pub fn default_of(key: &str) -> Option<Value> {
        lookup(&Table::try_from(Spec::default()).ok()?, key).cloned()
    }

    /// Refuses what can be refused before any data is read.
    fn check(&self) -> Result<()> {
        let data = &self.data;
        let counts = self.found.iter().flat_map(|found| [found.rows, found.valid_rows, found.columns]);
        if let Some(n) = counts.into_iter().find(|n| *n > MOST_COUNT) {
            return Err(Error::Settings { path: None, problem: format!("found: no data has {n} rows or columns") });
        }
        if data.valid.is_some() && data.valid_fraction.is_some() {
            let problem = "cannot be used together with a file of held-out rows".into();
            return Err(Error::Config { key: "data.valid_fraction", problem });
        }
        data.binarize()?;
        data.asked_columns()?;
        data.letters()?;
        data.weights()?;
        data.image()?;
        // Training is checked once more with the real number of rows; a wrong setting should not wait for the data.
        self.train.check(1, data.valid.is_some() || data.valid_fraction != Some(0.0))
    }
}

impl DataSpec {
    /// The binarisation asked for; none for `auto`.
    pub fn binarize(&self) -> Result<Option<Binarize>> {
        if self.binarize == "auto" {
            return Ok(None);
        }
        let problem = |_| format!("'{}' is not auto, none, threshold, threshold:NUMBER or sample", self.binarize);
        Binarize::parse(&self.binarize)
            .map(Some)
            .map_err(|e| Error::Config { key: "data.binarize", problem: problem(e) })
    }

    /// The weights of its rows.
    pub fn weights(&self) -> Result<RowWeights> {
        let asked = self.weights.as_deref().map_or(Ok(RowWeights::None), RowWeights::parse);
        asked.map_err(|problem| Error::Config { key: "data.weights", problem })
    }

    /// The letters of the codes, if they are set.
    pub(crate) fn letters(&self) -> Result<Option<Alphabet>> {
        let alphabet = self.alphabet.as_deref().map(Alphabet::new).transpose();
        alphabet.map_err(|problem| Error::Config { key: "data.alphabet", problem })
    }

    /// Height and width of the rows, if they are set.
    pub(crate) fn image(&self) -> Result<Option<(usize, usize)>> {
        let Some(text) = &self.image else { return Ok(None) };
        let problem = || format!("'{text}' is not HEIGHTxWIDTH, such as 28x28");
        image_size(text).map(Some).ok_or_else(|| Error::Config { key: "data.image", problem: problem() })
    }

    /// How its tables are read.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            skip_rows: self.skip_rows,
            header: self.header,
            columns: self.columns.clone(),
            label_column: self.label_column.clone(),
            alphabet: self.alphabet.clone(),
            missing: self.missing,
        }
    }
}

impl ModelSpec {
    /// The visible units of data with so many columns, and the hidden units.
    pub(crate) fn layouts(&self, columns: usize) -> Result<[Layout; 2]> {
        let (visible, hidden) = self.kinds()?;
        let layout = |key: &'static str, text: &str, kind: Option<Kind>, sites: usize| match kind {
            Some(kind) => Ok(Layout::new(kind, sites)),
            None => Layout::parse(text).map_err(|e| Error::Config { key, problem: e.to_string() }),
        };
        let visible = layout("model.visible", &self.visible, visible, columns)?;
        let hidden = layout("model.hidden", &self.hidden, hidden, self.n_hidden)?;
        let wrong = |key: &'static str, found: usize, expected: String| {
            Err(Error::Config { key, problem: format!("lists {found} units, but {expected}") })
        };
        if visible.sites() != columns {
            return wrong("model.visible", visible.sites(), format!("the data has {columns} columns"));
        }
        if hidden.sites() != self.n_hidden {
            return wrong("model.hidden", hidden.sites(), format!("n_hidden is {}", self.n_hidden));
        }
        Ok([visible, hidden])
    }

    /// The visible units of data with so many columns.
    pub(crate) fn visible_layout(&self, columns: usize) -> Result<Layout> {
        let n_hidden = self.listed_hidden().unwrap_or(self.n_hidden);
        ModelSpec { n_hidden, ..self.clone() }.layouts(columns).map(|[visible, _]| visible)
    }

    /// Columns of both layers for data with so many; a number of units that no layer can have is no obstacle.
    pub(crate) fn columns(&self, columns: usize) -> Result<[f64; 2]> {
        let (visible, hidden) = self.kinds()?;
        let count = |kind: Option<Kind>, text: &str, sites: usize| match kind {
            Some(kind) => Ok(kind.unit::<f32>().width() as f64 * sites as f64),
            None => Layout::parse(text).map(|layout| layout.columns() as f64),
        };
        Ok([count(visible, &self.visible, columns)?, count(hidden, &self.hidden, self.n_hidden)?])
    }

    /// The number of hidden units that a list of blocks has.
    pub(crate) fn listed_hidden(&self) -> Option<usize> {
        Layout::is_list(&self.hidden).then(|| Layout::parse(&self.hidden).ok()).flatten().map(|layout| layout.sites())
    }

    /// The visible and the hidden kind; none where blocks are listed.
    pub(crate) fn kinds(&self) -> Result<(Option<Kind>, Option<Kind>)> {
        let visible = Units {
            keys: ["model.visible", "model.coupling", "model.states"],
            name: &self.visible,
            options: [("coupling", self.coupling.clone()), ("states", self.states.map(|q| q.to_string()))],
        };
        let hidden = Units {
            keys: ["model.hidden", "model.hidden_coupling", "model.hidden_states"],
            name: &self.hidden,
            options: [
                ("coupling", self.hidden_coupling.clone()),
                ("states", self.hidden_states.map(|q| q.to_string())),
            ],
        };
        Ok((visible.kind()?, hidden.kind()?))
    }

    /// Sets the visible units and their options.
    pub(crate) fn set_visible(&mut self, visible: &Layout) {
        (self.visible, self.coupling, self.states) = named(visible);
    }

    /// Sets the hidden units and their options.
    pub(crate) fn set_hidden(&mut self, hidden: &Layout) {
        (self.hidden, self.hidden_coupling, self.hidden_states) = named(hidden);
    }
}

/// A kind's name with its coupling and number of states, or a list of blocks.
fn named(layout: &Layout) -> (String, Option<String>, Option<u64>) {
    let Some(kind) = layout.kind() else { return (layout.list(), None, None) };
    let get = |name: &str| kind.options().remove(name);
    (kind.name().into(), get("coupling"), get("states").and_then(|q| q.parse().ok()))
}

/// The units of one layer: their kind's name and its options, with their keys.
struct Units<'a> {
    keys: [&'static str; 3],
    name: &'a str,
    options: [(&'static str, Option<String>); 2],
}

impl Units<'_> {
    /// The kind, or none for a list of blocks; an option that is missing or belongs to other units is named by its key.
    fn kind(&self) -> Result<Option<Kind>> {
        if Layout::is_list(self.name) {
            return match self.keys[1..].iter().zip(&self.options).find(|(_, (_, value))| value.is_some()) {
                Some((key, (name, _))) => {
                    let problem = format!("is for layers of one kind; in a list of blocks write KIND({name}=…)");
                    Err(Error::Config { key, problem })
                }
                None => Ok(None),
            };
        }
        let given = |without: &str| -> Options {
            let some = self.options.iter().filter(|(name, _)| *name != without);
            some.filter_map(|(name, value)| Some((name.to_string(), value.clone()?))).collect()
        };
        Kind::new(self.name, &given("")).map(Some).map_err(|error| {
            let fits = |name: &str| Kind::new(self.name, &given(name)).is_ok();
            for (key, (name, value)) in self.keys[1..].iter().zip(&self.options) {
                match value {
                    Some(value) if fits(name) => return self.not_for(key, name, value),
                    // Whatever its value would be.
                    None if Kind::new(self.name, &[(name.to_string(), "2".to_string())].into()).is_ok() => {
                        return Error::Config { key, problem: format!("is missing; {} units need it", self.name) };
                    }
                    _ => (),
                }
            }
            Error::Config { key: self.keys[0], problem: error.to_string() }
        })
    }

    /// The error for an option of other units.
    fn not_for(&self, key: &'static str, name: &str, value: &str) -> Error {
        let options: Options = [(name.to_string(), value.to_string())].into();
        let kinds: Vec<&str> = Kind::LIST.iter().map(|k| k.0).filter(|k| Kind::new(k, &options).is_ok()).collect();
        let layer = self.keys[0].trim_start_matches("model.");
        let problem = format!("is for {} units, but the {layer} units are {}", kinds.join(" and "), self.name);
        Error::Config { key, problem }
    }
}

/// Puts every value of `upper` into `lower`, table by table.
fn lay_over(lower: &mut Table, upper: &Table) {
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

/// Removes the value at `a.b.c`.
pub fn remove(table: &mut Table, key: &str) {
    match key.split_once('.') {
        None => {
            table.remove(key);
        }
        Some((first, rest)) => {
            if let Some(Value::Table(below)) = table.get_mut(first) {
                remove(below, rest);
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
            let refused = Spec::from_table(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{key}`")), "{refused}");
        }
        let refused = Spec::from_table(&"[train]\nlr = 'much'".parse().unwrap()).unwrap_err().to_string();
        assert_eq!(refused, "lr is 'much', but must be a number above 0");
        let refused = Spec::from_table(&"[model]\nn_hidden = -1".parse().unwrap()).unwrap_err().to_string();
        assert_eq!(refused, "n_hidden is -1, but must be 1 to 16777216");
    }

    #[test]
    fn every_number_of_the_table_is_checked_whatever_it_came_from() {
        use crate::run::Length;
        use crate::settings::{SETTINGS, Takes};
        for setting in SETTINGS.iter().filter(|s| !Length::KEYS.contains(&s.key)) {
            let bad = match setting.takes {
                Takes::Whole(least, _) | Takes::WholeOr(least, ..) => Value::Integer(least - 1),
                Takes::Number(_) => Value::Float(f64::INFINITY),
                Takes::Choice(_) | Takes::Units(_) => Value::String("nonsense".into()),
                _ => continue,
            };
            let mut table = Table::new();
            put(&mut table, setting.key, bad.clone());
            if setting.key == "train.early_stop" {
                put(&mut table, "data.valid", "x".into());
            }
            let spec = Spec::from_table(&table);
            let refused = spec.and_then(|s| s.model.kinds()).err().unwrap_or_else(|| panic!("{} {bad}", setting.key));
            assert!(refused.to_string().contains(setting.name()), "{}: {refused}", setting.key);
        }
    }
}
