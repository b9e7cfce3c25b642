//! Training: rows packed, the first model made, a run that tells its events to a Python function.

use crate::errors::exception;
use crate::model::Model;
use crate::sampling::parsed;
use crate::table::{ArrayTable, vector};
use crate::work::{self, Stop};
use harmonium::data::{Binarize, Preprocess};
use harmonium::events::{Event, Flow, Observer};
use harmonium::file::ModelFile;
use harmonium::train::{adopted_model, default_updates};
use harmonium::units::{Kind, Options};
use harmonium::{Dataset, Rbm, Result, TrainConfig, Trainer, initial_model};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What is asked for; what is not has the library's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FitArgs {
    visible: String,
    visible_options: Options,
    hidden: String,
    hidden_options: Options,
    n_hidden: usize,
    binarize: Option<String>,
    missing: bool,
    epochs: Option<f64>,
    valid_fraction: f64,
    /// Settings of [`TrainConfig`] by their names.
    train: Map<String, Value>,
    /// One more update with all rows as its batch, in place of a run.
    one_update: bool,
}

impl FitArgs {
    /// The settings of the run, complete.
    fn config(&self) -> PyResult<TrainConfig> {
        let failed = |e: serde_json::Error| PyValueError::new_err(e.to_string());
        let mut all = serde_json::to_value(TrainConfig::default()).map_err(failed)?;
        if let Value::Object(all) = &mut all {
            for (key, value) in &self.train {
                match (all.get_mut(key), value) {
                    (Some(Value::Object(inner)), Value::Object(value)) => inner.extend(value.clone()),
                    _ => _ = all.insert(key.clone(), value.clone()),
                }
            }
        }
        serde_json::from_value(all).map_err(failed)
    }

    fn kinds(&self, table: &ArrayTable) -> Result<(Kind, Kind)> {
        let mut options = self.visible_options.clone();
        if self.visible == "potts" && !options.contains_key("states") {
            options.insert("states".into(), states(table)?.to_string());
        }
        Ok((Kind::new(&self.visible, &options)?, Kind::new(&self.hidden, &self.hidden_options)?))
    }
}

/// The number of states that codes from 0 on have.
fn states(table: &ArrayTable) -> Result<u64> {
    let (mut source, mut largest) = (table.source(), 0.0f64);
    while let Some(block) = source.read(4096)? {
        largest = block.iter().fold(largest, |a, b| a.max(*b));
    }
    Ok((largest as u64).saturating_add(1).max(2))
}

/// Rows packed for the units, and the binarisation that they have brought about.
fn packed(
    table: &ArrayTable,
    visible: &Kind,
    asked: &FitArgs,
    preprocess: &Preprocess,
    seed: u64,
    stop: &Stop,
) -> Result<(Dataset<f32>, Option<Binarize>)> {
    let any: Rbm<f64> = Rbm::new(visible.clone(), table.columns(), Kind::new("bernoulli", &Options::new())?, 1)?;
    let (wide, narrow) = (any.lower(), any.cast::<f32>().lower());
    let binarize = asked.binarize.as_deref().map(Binarize::parse).transpose()?;
    let rows = table.prepared(wide.visible(), preprocess, binarize, seed)?;
    let mut rows = rows.with_missing(asked.missing);
    let mut data = Dataset::new(narrow.visible());
    while let Some(block) = rows.read()? {
        stop.leave();
        data.push_block(narrow.visible(), &block)?;
    }
    Ok((data, binarize.or(preprocess.binarize).or(rows.decided_by_data())))
}

/// Trains a model: from the beginning, or on from `init` and the checkpoint of its run.
///
/// Returns the model with its offsets folded, the checkpoint, and whether the rows were binarised unasked.
#[pyfunction]
#[pyo3(signature = (table, asked, weights, init, checkpoint, tell, threads))]
#[allow(clippy::too_many_arguments)] // As Python asks it, all by name.
pub fn fit<'py>(
    py: Python<'py>,
    table: ArrayTable,
    asked: &str,
    weights: Option<PyReadonlyArray1<f64>>,
    init: Option<&Model>,
    checkpoint: Option<&[u8]>,
    tell: Py<PyAny>,
    threads: Option<usize>,
) -> PyResult<(Model, Bound<'py, PyBytes>, Option<String>)> {
    let asked: FitArgs = parsed(asked)?;
    let (config, weights) = (asked.config()?, vector(weights));
    // An update passes a few times over the batch and the chains.
    let rows = (table.rows() + config.chains) as f64;
    let products =
        if asked.one_update { 6.0 * rows * (table.columns() * asked.n_hidden) as f64 } else { f64::INFINITY };
    let (model, state, rule) = work::run(py, threads, products, |stop| {
        let begun = begin(&table, &asked, config, weights.as_ref().and_then(|w| w.as_slice()), init, stop);
        let (mut trainer, preprocess) = begun.map_err(|e| table.exception(e))?;
        if let Some(bytes) = checkpoint {
            trainer.resume(bytes).map_err(exception)?;
        }
        let updates_left = if asked.one_update { 1 } else { u64::MAX };
        let mut watch = Watch { stop, tell: &tell, raised: None, updates_left };
        let ended = trainer.run(&mut watch);
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        ended.map_err(exception)?;
        let asked_for = asked.binarize.is_some() || init.is_some_and(|m| m.file.preprocess.binarize.is_some());
        let rule = preprocess.binarize.filter(|_| !asked_for).map(|b| b.to_string());
        let file = ModelFile { preprocess, ..ModelFile::new(&trainer.rbm().folded()) };
        Ok((Model::new(file), trainer.checkpoint(), rule))
    })?;
    Ok((model, PyBytes::new(py, &state), rule))
}

/// A run before its first update.
fn begin(
    table: &ArrayTable,
    asked: &FitArgs,
    mut config: TrainConfig,
    weights: Option<&[f64]>,
    init: Option<&Model>,
    stop: &Stop,
) -> Result<(Trainer<f32>, Preprocess)> {
    let (visible, hidden) = match init {
        Some(m) => (m.file.rbm.visible().kind().clone(), m.file.rbm.hidden().kind().clone()),
        None => asked.kinds(table)?,
    };
    let mut preprocess = init.map_or_else(Preprocess::default, |m| m.file.preprocess.clone());
    let (mut data, binarize) = packed(table, &visible, asked, &preprocess, config.seed, stop)?;
    preprocess.binarize = binarize;
    if let Some(weights) = weights {
        data.set_weights(weights)?;
    }
    let (train, valid) = match asked.valid_fraction > 0.0 {
        true => data.split(asked.valid_fraction, config.seed).map(|(a, b)| (a, Some(b)))?,
        false => (data, None),
    };
    if asked.one_update {
        config.batch_size = train.len();
    } else if let Some(epochs) = asked.epochs {
        config.updates = (epochs * config.updates_per_epoch(train.len()) as f64).ceil() as u64;
    } else if !asked.train.contains_key("updates") {
        config.updates = default_updates(train.len(), config.batch_size);
    }
    config.check(train.len(), valid.is_some())?;
    let rbm = match init {
        Some(m) => adopted_model(&m.file.rbm.cast(), &train, config.centering)?,
        None => initial_model(&visible, &hidden, asked.n_hidden, &train, config.centering, config.seed)?,
    };
    Ok((Trainer::new(config, rbm, train, valid)?, preprocess))
}

/// Tells events to Python as JSON; stops if the function returns true or raises.
struct Watch<'a> {
    stop: &'a Stop,
    tell: &'a Py<PyAny>,
    raised: Option<PyErr>,
    updates_left: u64,
}

impl Watch<'_> {
    fn told(&self, event: &Event) -> PyResult<bool> {
        let text = serde_json::to_string(event).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Python::attach(|py| self.tell.call1(py, (text,))?.is_truthy(py))
    }
}

impl Observer for Watch<'_> {
    fn on(&mut self, event: &Event) -> Flow {
        match self.told(event) {
            Ok(false) => Flow::Continue,
            Ok(true) => Flow::Stop,
            Err(raised) => {
                self.raised = self.raised.take().or(Some(raised));
                Flow::Stop
            }
        }
    }

    fn poll(&mut self) -> Flow {
        if self.stop.asked() || self.raised.is_some() || self.updates_left == 0 {
            return Flow::Stop;
        }
        self.updates_left -= 1;
        Flow::Continue
    }
}
