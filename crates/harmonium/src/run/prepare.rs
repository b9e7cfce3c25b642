//! Where a run starts: settings completed from the data, rows packed, the first model made.

use super::columns::{self, AUTO};
use super::defaults::{Chooser, EXACT_UPDATES};
use super::front::{Front, Note, Tables};
use super::input::{self, Input, Reader};
use super::length::Length;
use super::row_weights::SIMILAR;
use super::spec::{ModelSpec, Spec, lookup};
use crate::data::{Alphabet, Preprocess, find_builtin};
use crate::error::{Error, Result};
use crate::exact::{Exact, budget};
use crate::factor_analysis::default_factors;
use crate::file::{ColumnNotes, ModelFile};
use crate::layout::Layout;
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::schema::Schema;
use crate::start::Start;
use crate::states::States;
use crate::train::{TrainConfig, adopted_model, default_hidden, factor_model, initial_model, ladder_model, no_factors};
use crate::units::{Kind, Options};
use sha2::{Digest, Sha256};
use std::path::Path;
use toml::Table;

/// Columns up to which two-valued hidden units are so few that the gradient is exact, and their number.
const MOST_NARROW: usize = 64;
const NARROW_HIDDEN: usize = 16;
/// Columns up to which continuous data with missing cells get Gaussian hidden units. Their conditional means are those of a regression,
/// which tables of measurements need most: breast_cancer's missing cells are off by 0.39 standard deviations, with binary units 0.61.
/// Wide tables of numbers are often images, whose cells binary units fill better.
const MOST_MEASUREMENTS: usize = 32;
/// Rate and rows with the exact gradient of a model of continuous columns: without noise large steps do no harm.
const EXACT_RATE: f64 = 0.03;
const MOST_ROWS: usize = 2000;
/// Measurements without a better held-out likelihood after which such a run has arrived.
const EXACT_PATIENCE: u64 = 20;

/// Everything a run starts with.
pub struct Prepared {
    /// The packed rows.
    pub input: Input,
    /// The first model.
    pub rbm: Rbm<f32>,
    /// What was done to the data.
    pub preprocess: Preprocess,
    /// What the columns of the data are, if they are described one by one.
    pub schema: Option<Schema>,
    /// Names of columns, letters of states, size of images.
    pub notes: ColumnNotes,
    /// Columns of the data.
    pub columns: usize,
    /// Digest of the rows, their weights and the first model.
    pub(crate) digest: String,
}

/// Reads the data and completes the settings; `asked` holds those that were asked for.
pub fn prepare(
    spec: &mut Spec,
    asked: &Table,
    length: Option<Length>,
    tables: &dyn Tables,
    front: &dyn Front,
) -> Result<Prepared> {
    let mut reader = Reader::new(tables, front);
    if spec.data.source.is_empty() {
        let problem = "is missing: name a data file, or builtin:NAME".into();
        return Err(Error::Config { key: "data.source", problem });
    }
    let init = spec.model.init.as_deref().map(|name| tables.model(name)).transpose()?;
    let letters = init.as_ref().and_then(|file| ColumnNotes::read(file).alphabet);
    spec.data.alphabet = spec.data.alphabet.take().or(letters);
    (reader.schema, reader.unseen) = (columns::schema(spec, asked, init.as_ref(), &reader)?, spec.data.unseen);
    let shape = reader.shape(&spec.data.source, &spec.data.options())?;
    let columns = shape.columns;
    let image = input::image(spec, columns, shape.image)?;
    // Columns with names and kinds of their own are no image, unless somebody knows better.
    let image = image.filter(|_| reader.schema.is_none() || spec.data.image.is_some());
    if let Some(schema) = reader.schema.as_ref().filter(|_| init.is_none()) {
        spec.data.schema.get_or_insert_with(|| AUTO.into());
        // A run that is continued or judged again has printed it before.
        if spec.found.is_none() {
            front.note(&Note::Schema { path: Path::new(&spec.data.source).into(), schema: schema.clone() });
        }
    }
    // Sequences of a family are related: nobody who works with them counts them all.
    let related = shape.alphabet.is_some() && spec.data.weights.is_none();
    spec.data.weights = spec.data.weights.take().or(related.then(|| format!("similarity:{SIMILAR}")));
    spec.data.alphabet = spec.data.alphabet.take().or(shape.alphabet);
    match &init {
        Some(file) => take_over(spec, asked, &file.rbm, columns)?,
        None => complete_model(spec, asked, &reader)?,
    }
    check_memory(spec, columns)?;
    let visible = spec.model.visible_layout(columns)?;
    if lookup(asked, "data.standardize").is_none() {
        spec.data.standardize = init.is_none() && !visible.is_finite();
    }
    let mut preprocess = match &init {
        Some(file) => file.preprocess.clone(),
        None => reader.standardization(spec, &visible)?,
    };
    let mut input = reader.read(spec, &visible, &mut preprocess)?;
    let chooser = Chooser::new(asked);
    if let Some(part) = chooser.held_out(spec, input.train.len()) {
        spec.data.valid_fraction = Some(part);
        let (train, valid) = input.train.split(part, spec.train.seed)?;
        input = Input { train, valid: Some(valid) };
    }
    if related {
        let weight = input.train.weights().iter().map(|w| f64::from(*w)).sum::<f64>();
        front.note(&Note::Weighted { identity: SIMILAR, rows: input.train.len(), weight });
    }
    if init.is_none() {
        complete_start(&mut spec.model, asked, &visible, &input, front)?;
    }
    let layouts = spec.model.layouts(columns)?;
    let rbm = match init {
        Some(file) => adopted_model(spec.device, &file.rbm.cast(), &input.train, spec.train.centering)?,
        None => first_model(spec, layouts, &input)?,
    };
    complete_method(&mut spec.train, asked, &rbm);
    let has_valid = input.has_valid();
    chooser.learning(&mut spec.train, &rbm, &input.train, has_valid);
    let at_factors = spec.model.start == Start::Factors && complete_learning(&mut spec.train, asked, &rbm, &input);
    if !at_factors || length.is_some() {
        spec.train.updates = chooser.updates(&spec.train, length, &rbm.lower(), input.train.len());
    }
    chooser.quick_start(spec, &rbm);
    spec.train.check(input.train.len(), has_valid)?;
    let digest = digest(&input, &rbm);
    let alphabet = spec.data.alphabet.clone().filter(|_| spec.model.visible == "potts");
    let notes = ColumnNotes { alphabet, names: shape.names, image, words: reader.schema.as_ref().map(Schema::words) };
    Ok(Prepared { input, rbm, preprocess, schema: reader.schema, notes, columns, digest })
}

/// The first model of a run.
fn first_model(spec: &Spec, [visible, hidden]: [Layout; 2], input: &Input) -> Result<Rbm<f32>> {
    let (config, n_hidden, train) = (&spec.train, spec.model.n_hidden, &input.train);
    match (spec.model.start, visible.kind().zip(hidden.kind())) {
        (Start::Factors, Some((v, h))) if hidden.is_quadratic() => {
            factor_model(v, h, n_hidden, train, config.centering)
        }
        (Start::Factors, Some((v, h))) => {
            ladder_model(spec.device, v, h, n_hidden, train, config.centering, config.seed)
        }
        _ => initial_model(&visible, &hidden, train, config.centering, config.seed),
    }
}

/// Refuses a model and chains that do not fit in memory.
fn check_memory(spec: &Spec, columns: usize) -> Result<()> {
    let [v, h] = spec.model.columns(columns)?;
    spec.train.check_memory([v, h], spec.model.n_hidden)
}

/// Where learning begins, and with how many hidden units, now that the rows are read. Ladders of two-valued units pay where the
/// gradient is exact.
fn complete_start(
    model: &mut ModelSpec,
    asked: &Table,
    visible: &Layout,
    input: &Input,
    front: &dyn Front,
) -> Result<()> {
    let columns = input.train.states().sites();
    let complete = input.train.known().is_none();
    if !complete && suits_gaussian_hidden(model, asked, visible) {
        model.set_hidden(&Layout::new(Kind::new("gaussian", &Options::new())?, 1));
        front.note(&Note::GaussianHidden);
    }
    let free = lookup(asked, "model.n_hidden").is_none() && model.listed_hidden().is_none();
    if free {
        model.n_hidden = default_hidden(columns, input.train.len(), visible.is_quadratic());
    }
    let [_, hidden] = model.layouts(columns)?;
    let quadratic = hidden.is_quadratic();
    let two_valued = hidden.two_values::<f32>().is_some();
    let obstacle = no_factors(visible)
        .or((!quadratic && !two_valued).then(|| format!("the hidden units are {hidden}, not Gaussian or binary")));
    let possible = obstacle.is_none();
    if possible && complete && two_valued && columns <= MOST_NARROW && free {
        model.n_hidden = NARROW_HIDDEN;
    }
    let [_, hidden] = model.layouts(columns)?;
    let is_best = quadratic || complete && budget::GRADIENT_GAUSSIAN.allows(Exact::cost_of([visible, &hidden]));
    let wanted = lookup(asked, "model.start").map(|_| model.start);
    if let Some(obstacle) = obstacle.filter(|_| wanted == Some(Start::Factors)) {
        let problem = format!("cannot be factors: {obstacle}");
        return Err(Error::Config { key: "model.start", problem });
    }
    model.start = wanted.unwrap_or(if possible && is_best { Start::Factors } else { Start::Independent });
    if model.start == Start::Factors && quadratic && free {
        model.n_hidden = default_factors(visible, &input.train, input.valid.as_ref());
    }
    Ok(())
}

/// Whether continuous columns with missing cells get Gaussian hidden units: nothing was asked for that speaks against a fit by
/// factor analysis.
fn suits_gaussian_hidden(model: &ModelSpec, asked: &Table, visible: &Layout) -> bool {
    let open = ["model.hidden", "train.method"].iter().all(|key| lookup(asked, key).is_none());
    let start = lookup(asked, "model.start").is_none() || model.start == Start::Factors;
    open && start && visible.sites() <= MOST_MEASUREMENTS && no_factors(visible).is_none()
}

/// Chooses the method, now that the model is known.
pub fn complete_method(config: &mut TrainConfig, asked: &Table, rbm: &Rbm<f32>) {
    let lowered = rbm.lower();
    let gaussian = [lowered.visible(), lowered.hidden()].iter().any(|layer| layer.is_quadratic());
    let budget = if gaussian { budget::GRADIENT_GAUSSIAN } else { budget::GRADIENT };
    if lookup(asked, "train.method").is_none() && budget.allows(Exact::cost(&lowered)) {
        config.method = "exact".into();
    }
}

/// Rate, batches and length for a run that starts at the factors of its columns. With Gaussian hidden units that is the maximum of
/// the likelihood: no updates, and if some are asked for, steps that stay where the model exists. With an exact gradient all
/// rows make a batch, steps can be large, and few are needed. Whether anything was chosen.
fn complete_learning(config: &mut TrainConfig, asked: &Table, rbm: &Rbm<f32>, input: &Input) -> bool {
    let has = |key| lookup(asked, key).is_some();
    let gaussian = rbm.hidden().layout().is_quadratic() && rbm.visible().layout().is_quadratic();
    if !gaussian && config.method != "exact" {
        return false;
    }
    if !has("train.lr") {
        config.lr = if gaussian { config.lr * room(&rbm.cast().lower()) } else { EXACT_RATE };
    }
    if !has("train.batch_size") {
        config.batch_size = input.train.len().clamp(1, MOST_ROWS);
    }
    if !has("train.updates") {
        config.updates = if gaussian { 0 } else { EXACT_UPDATES };
        if !gaussian && input.has_valid() && !has("train.early_stop") {
            config.early_stop = Some(EXACT_PATIENCE);
        }
    }
    true
}

/// Part of the hidden precisions that is left when the visible units are summed out; at 0 a Gaussian model ceases to exist.
fn room(lowered: &LoweredModel<f64>) -> f64 {
    let variances = lowered.visible().eta().row(1).mapv(|e| -0.5 / e);
    let precisions = lowered.hidden().eta().row(1).mapv(|e| -2.0 * e);
    let squares = lowered.weights().mapv(|w| w * w);
    let left = 1.0 - variances.dot(&squares) / precisions;
    left.fold(1.0, |a: f64, b| a.min(*b)).max(0.0) + f64::from(f32::EPSILON)
}

/// Completes a model from the data: built-in data know their units, codes their number of states.
fn complete_model(spec: &mut Spec, asked: &Table, reader: &Reader) -> Result<()> {
    let (data, model) = (&spec.data, &mut spec.model);
    let has = |key| lookup(asked, key).is_some();
    if let Some(schema) = &reader.schema {
        model.set_visible(&schema.layout());
        return complete_hidden(model, asked);
    }
    if let Some(found) = find_builtin(&data.source).filter(|_| !has("model.visible")) {
        model.visible = found?.0.visible.into();
    }
    if let Some(alphabet) = data.letters()?.filter(|_| !has("model.visible") || model.visible == "potts") {
        complete_for_letters(model, &alphabet, has("model.visible"), reader.front)?;
    }
    // Only Potts units need the number of states, so only for them the data is read once more.
    if model.visible == "potts" && model.states.is_none() {
        let found = reader.survey(&data.source, &data.options())?;
        model.states = Some((found.largest.max(0.0) as u64).saturating_add(1).max(2));
    }
    complete_hidden(model, asked)
}

/// Completes the units of a model whose visible units are known by name.
fn complete_hidden(model: &mut ModelSpec, asked: &Table) -> Result<()> {
    if let Some(n) = model.listed_hidden() {
        if lookup(asked, "model.n_hidden").is_some() && model.n_hidden != n {
            let problem = format!("lists {n} units, but n_hidden is {}", model.n_hidden);
            return Err(Error::Config { key: "model.hidden", problem });
        }
        model.n_hidden = n;
    }
    let (visible, hidden) = model.kinds()?;
    visible.into_iter().for_each(|kind| model.set_visible(&Layout::new(kind, 1)));
    hidden.into_iter().for_each(|kind| model.set_hidden(&Layout::new(kind, 1)));
    Ok(())
}

/// Sequences are codes: Potts units with a state for every letter.
fn complete_for_letters(model: &mut ModelSpec, alphabet: &Alphabet, asked: bool, front: &dyn Front) -> Result<()> {
    let (letters, states) = (alphabet.letters(), alphabet.letters().len() as u64);
    if let Some(q) = model.states.filter(|q| *q != states) {
        let problem = format!("is {q}, but the alphabet {letters} has {states} letters");
        return Err(Error::Config { key: "model.states", problem });
    }
    (model.visible, model.states) = ("potts".into(), Some(states));
    if !asked {
        front.note(&Note::Sequences { letters: letters.into(), name: alphabet.name(), states });
    }
    Ok(())
}

/// Settings from the model to start from; what was asked for besides must agree with it.
fn take_over(spec: &mut Spec, asked: &Table, rbm: &Rbm<f64>, columns: usize) -> Result<()> {
    let (model, expected) = (&mut spec.model, rbm.visible().sites());
    if columns != expected {
        return Err(Error::Columns { expected, found: columns }.in_file(spec.data.source.as_ref()));
    }
    model.set_visible(rbm.visible().layout());
    model.set_hidden(rbm.hidden().layout());
    model.n_hidden = rbm.hidden().sites();
    let found = Table::try_from(&*model).map_err(|e| Error::Settings { path: None, problem: e.to_string() })?;
    for (key, value) in lookup(asked, "model").and_then(|m| m.as_table()).into_iter().flatten() {
        if found.get(key) != Some(value) {
            let is = found.get(key).map_or("none".to_string(), ToString::to_string);
            let problem = format!("model.{key} is {value}, but the model to start from has {is}");
            return Err(Error::Settings { path: None, problem });
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
        for states in part.states().parts() {
            match states {
                States::Bits(b) => b.words().iter().for_each(|w| hash.update(w.to_le_bytes())),
                States::Codes(c) => c.iter().for_each(|c| hash.update(c.to_le_bytes())),
                States::Real(x) => x.iter().for_each(|x| hash.update(x.to_le_bytes())),
                States::Blocks(_) => {}
            }
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
