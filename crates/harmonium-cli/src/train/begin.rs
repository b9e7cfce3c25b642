//! Where a run begins: settings completed by what the data are, rows packed, the first model made.

use super::input::{self, Input, Shape};
use super::settings::{Model, SIMILAR, Settings, lookup};
use crate::notes::Notes;
use crate::output::say;
use anyhow::{Result, bail};
use harmonium::data::{Alphabet, Preprocess, find_builtin};
use harmonium::exact::budget;
use harmonium::file::ModelFile;
use harmonium::train::{adopted_model, default_hidden, default_updates};
use harmonium::units::Kind;
use harmonium::{Error, Exact, Rbm, States, TrainConfig, initial_model};
use sha2::{Digest, Sha256};
use toml::Table;

/// Everything a run begins with.
pub struct Begin {
    pub input: Input,
    pub rbm: Rbm<f32>,
    pub preprocess: Preprocess,
    pub notes: Notes,
    pub columns: usize,
    pub digest: String,
}

/// Reads the data and completes the settings; `asked` tells which of them were asked for.
pub fn begin(settings: &mut Settings, asked: &Table, epochs: Option<f64>) -> Result<Begin> {
    if settings.data.source.is_empty() {
        bail!("there is no data: give DATA, a file or builtin:NAME");
    }
    let init = settings.model.init.clone().map(ModelFile::read).transpose()?;
    let letters = init.as_ref().and_then(|file| Notes::read(file).alphabet);
    settings.data.alphabet = settings.data.alphabet.take().or(letters);
    let shape = Shape::of(&settings.data.source, &settings.data.options()?)?;
    let columns = shape.columns;
    let image = input::image(settings, columns, shape.image)?;
    // Sequences of a family are related: nobody who works with them counts them all.
    let related = shape.alphabet.is_some() && settings.data.weights.is_none();
    settings.data.weights = settings.data.weights.take().or(related.then(|| format!("similarity:{SIMILAR}")));
    settings.data.alphabet = settings.data.alphabet.take().or(shape.alphabet);
    match &init {
        Some(file) => take_over(settings, asked, &file.rbm, columns)?,
        None => complete_model(settings, asked, columns)?,
    }
    let (visible, hidden) = settings.model.kinds()?;
    let mut preprocess = match &init {
        Some(file) => file.preprocess.clone(),
        None => input::standardization(settings, &visible)?,
    };
    let input = input::read(settings, &visible, columns, &mut preprocess)?;
    if related {
        let (rows, weight) = (input.train.len(), input.train.weights().iter().map(|w| f64::from(*w)).sum::<f64>());
        say(
            "note",
            &format!(
                "sequences are weighted by similarity:{SIMILAR}, {rows} count as {weight:.1} (--weights none counts all)"
            ),
        );
    }
    complete_training(&mut settings.train, asked, epochs, &input)?;
    let (config, n_hidden) = (&settings.train, settings.model.n_hidden);
    let rbm = match init {
        Some(file) => adopted_model(&file.rbm.cast(), &input.train, config.centering)?,
        None => initial_model(&visible, &hidden, n_hidden, &input.train, config.centering, config.seed)?,
    };
    if lookup(asked, "train.method").is_none() && budget::GRADIENT.allows(Exact::cost(&rbm.lower())) {
        settings.train.method = "exact".into();
    }
    let digest = digest(&input, &rbm);
    let alphabet = settings.data.alphabet.clone().filter(|_| settings.model.visible == "potts");
    let notes = Notes { alphabet, names: shape.names, image };
    Ok(Begin { input, rbm, preprocess, notes, columns, digest })
}

/// The number of updates, now that the rows are counted.
fn complete_training(config: &mut TrainConfig, asked: &Table, epochs: Option<f64>, input: &Input) -> Result<()> {
    let rows = input.train.len();
    if let Some(epochs) = epochs {
        config.updates = (epochs * config.updates_per_epoch(rows) as f64).ceil() as u64;
    } else if lookup(asked, "train.updates").is_none() {
        config.updates = default_updates(rows, config.batch_size);
    }
    config.check(rows, input.valid.as_ref().is_some_and(|v| !v.is_empty()))?;
    Ok(())
}

/// The model that was not asked for: built-in data know their units, codes their number of states.
fn complete_model(settings: &mut Settings, asked: &Table, columns: usize) -> Result<()> {
    let (data, model) = (&settings.data, &mut settings.model);
    let has = |key| lookup(asked, key).is_some();
    if let Some(found) = find_builtin(&data.source).filter(|_| !has("model.visible")) {
        model.visible = found?.0.visible.into();
    }
    if let Some(alphabet) = data.letters()?.filter(|_| !has("model.visible") || model.visible == "potts") {
        complete_for_letters(model, &alphabet, has("model.visible"))?;
    }
    // Options that say nothing about a Potts layer fail to make it, so that only there the data is looked through.
    if model.visible == "potts" && model.states.is_none() {
        let found = input::look(&data.source, &data.options()?)?;
        model.states = Some((found.largest.max(0.0) as u64).saturating_add(1).max(2));
    }
    let (visible, hidden) = model.kinds()?;
    if !has("model.n_hidden") {
        model.n_hidden = default_hidden(columns, visible.unit::<f32>().n_states().is_none());
    }
    model.set_kinds(&visible, &hidden);
    Ok(())
}

/// Sequences are codes: Potts units with a state for every letter.
fn complete_for_letters(model: &mut Model, alphabet: &Alphabet, asked: bool) -> Result<()> {
    let (letters, states) = (alphabet.letters(), alphabet.letters().len() as u64);
    if let Some(q) = model.states.filter(|q| *q != states) {
        bail!("states: is {q}, but the alphabet {letters} has {states} letters");
    }
    (model.visible, model.states) = ("potts".into(), Some(states));
    if !asked {
        let name = alphabet.name().map_or(String::new(), |name| format!(", {name}"));
        say(
            "note",
            &format!("the rows are sequences over {letters}{name}: visible units are potts with {states} states"),
        );
    }
    Ok(())
}

/// The model of `--init` as settings; what was asked for besides must be what it is.
fn take_over(settings: &mut Settings, asked: &Table, rbm: &Rbm<f64>, columns: usize) -> Result<()> {
    let (model, expected) = (&mut settings.model, rbm.visible().sites());
    if columns != expected {
        let problem = Error::Columns { expected, found: columns }.to_string();
        return Err(Error::Data { path: settings.data.source.clone().into(), problem }.into());
    }
    model.set_kinds(rbm.visible().kind(), rbm.hidden().kind());
    model.n_hidden = rbm.hidden().sites();
    let found = Table::try_from(&*model)?;
    for (key, value) in lookup(asked, "model").and_then(|m| m.as_table()).into_iter().flatten() {
        if found.get(key) != Some(value) {
            let is = found.get(key).map_or("none".to_string(), ToString::to_string);
            bail!("model.{key}: is {value}, but the model of init has {is}");
        }
    }
    Ok(())
}

/// SHA-256 of all rows, their weights and the first model: two runs with equal digests and settings are the same run.
fn digest(input: &Input, rbm: &Rbm<f32>) -> String {
    let mut hash = hash(input);
    hash.update(ModelFile::new(rbm).to_bytes());
    in_hex(hash)
}

/// SHA-256 of all rows and their weights: likelihoods of runs with equal ones can be compared.
pub fn digest_of_rows(input: &Input) -> String {
    in_hex(hash(input))
}

fn hash(input: &Input) -> Sha256 {
    let mut hash = Sha256::new();
    for part in [Some(&input.train), input.valid.as_ref()].into_iter().flatten() {
        hash.update((part.len() as u64).to_le_bytes());
        match part.states() {
            States::Bits(b) => b.words().iter().for_each(|w| hash.update(w.to_le_bytes())),
            States::Codes(c) => c.iter().for_each(|c| hash.update(c.to_le_bytes())),
            States::Real(x) => x.iter().for_each(|x| hash.update(x.to_le_bytes())),
        }
        part.weights().iter().for_each(|w| hash.update(w.to_le_bytes()));
        part.known().iter().flat_map(|k| k.words()).for_each(|w| hash.update(w.to_le_bytes()));
    }
    hash
}

fn in_hex(hash: Sha256) -> String {
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

/// Words for a pair of layers: `64 bernoulli × 20 bernoulli`.
pub fn model_in_words(rbm: &Rbm<f32>) -> String {
    let layer = |l: &harmonium::Layer<f32>| format!("{} {}", l.sites(), l.kind() as &Kind);
    format!("{} × {}", layer(rbm.visible()), layer(rbm.hidden()))
}
