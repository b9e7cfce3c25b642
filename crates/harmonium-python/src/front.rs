//! What a run of the library needs from Python: its arrays and frames as tables, somebody to inform, what was asked for.

use crate::errors::name;
use crate::model::described;
use crate::sampling::parsed;
use crate::table::ArrayTable;
use crate::work::Stop;
use harmonium::data::{Memory, ReadOptions, Source};
use harmonium::events::Event;
use harmonium::file::ModelFile;
use harmonium::run::{Front, Length, MEMORY, Note, Stage, Tables, put};
use harmonium::schema::Schema;
use harmonium::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError};
use toml::Table;

/// The names of arrays as a configuration records them.
pub const X: &str = "memory:X";
const VALIDATION_DATA: &str = "memory:validation_data";
const SAMPLE_WEIGHT: &str = "memory:sample_weight";
/// The name of the model that a fit goes on from.
const PRESENT_MODEL: &str = "memory:model";

/// Arrays that Python gave.
pub struct Arrays<'a> {
    pub x: &'a ArrayTable,
    pub valid: Option<&'a ArrayTable>,
    pub weights: Option<&'a [f64]>,
    pub model: Option<&'a ModelFile>,
}

impl Tables for Arrays<'_> {
    fn open(&self, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
        match (name, self.valid, self.weights) {
            (X, _, _) => Ok(self.x.source()),
            (VALIDATION_DATA, Some(valid), _) => Ok(valid.source()),
            (SAMPLE_WEIGHT, _, Some(weights)) => {
                let column = ndarray::Array1::from(weights.to_vec()).insert_axis(ndarray::Axis(1));
                Ok(Box::new(Memory::new(column, None)))
            }
            _ if name.starts_with(MEMORY) => {
                Err(Error::Data { path: name.into(), problem: "this array was not given".into() })
            }
            _ => harmonium::run::Files.open(name, options),
        }
    }

    fn model(&self, name: &str) -> Result<ModelFile> {
        match self.model {
            Some(file) if name == PRESENT_MODEL => Ok(file.clone()),
            _ => harmonium::run::Files.model(name),
        }
    }
}

/// Collects notes as text, hands the columns of a table on, and leaves the work if it is to stop.
pub struct Listener<'a> {
    stop: &'a Stop,
    callback: Option<&'a Py<PyAny>>,
    notes: Mutex<Vec<String>>,
    raised: Mutex<Option<PyErr>>,
}

impl<'a> Listener<'a> {
    pub fn new(stop: &'a Stop) -> Listener<'a> {
        Listener { stop, callback: None, notes: Mutex::default(), raised: Mutex::default() }
    }

    pub fn with_callback(self, callback: &'a Py<PyAny>) -> Listener<'a> {
        Listener { callback: Some(callback), ..self }
    }

    /// Hands the columns of a table to Python.
    fn columns(&self, schema: &Schema) {
        let event = json!({"event": "schema", "columns": described(schema)}).to_string();
        let told = self.callback.map(|callback| Python::attach(|py| callback.call1(py, (event,))));
        if let Some(Err(raised)) = told {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        }
    }

    /// What Python raised when it was informed.
    pub fn raised(&self) -> PyResult<()> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    pub fn notes(self) -> Vec<String> {
        self.notes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front for Listener<'_> {
    fn note(&self, note: &Note) {
        let text = match note {
            Note::Binarized { rule, .. } => format!(
                "X has values between 0 and 1: they were binarised by {rule}. Set binarize='{rule}' to accept this, or \
                 binarize='none' to treat them as probabilities."
            ),
            Note::NoEffect { key, because } => {
                let with = |(key, value): &(&str, Option<String>)| match value {
                    Some(value) => format!("with {}='{value}'", name(key)),
                    None => format!("without {}", name(key)),
                };
                let because: Vec<String> = because.iter().map(with).collect();
                format!("{} has no effect {}", name(key), because.join(" and "))
            }
            Note::Schema { schema, .. } => return self.columns(schema),
            Note::NothingToLearn { .. } => "all columns of X are constant, so there is nothing to learn".into(),
            Note::LargeOffsets(text) => text.clone(),
            _ => return,
        };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn progress(&self, _: Stage, _: u64, _: Option<u64>) {
        self.stop.leave();
    }
}

/// The settings that were asked for, by their keys, as a table.
pub fn asked_table(json: &str) -> PyResult<(Table, Option<Length>)> {
    let asked: Map<String, Value> = parsed(json)?;
    let (mut table, mut length) = (Table::new(), None);
    for (key, value) in asked {
        if Length::KEYS.contains(&key.as_str()) {
            length = value.as_f64().and_then(|x| Length::of(&key, x));
            continue;
        }
        let value = toml::Value::try_from(&value).map_err(|e| PyValueError::new_err(format!("{key}: {e}")))?;
        put(&mut table, &key, value);
    }
    Ok((table, length))
}

/// Names the arrays in the settings.
pub fn name_arrays(table: &mut Table, valid: bool, weights: bool, model: bool) {
    put(table, "data.source", X.into());
    if valid {
        put(table, "data.valid", VALIDATION_DATA.into());
    }
    if weights {
        put(table, "data.weights", SAMPLE_WEIGHT.into());
    }
    if model {
        put(table, "model.init", PRESENT_MODEL.into());
    }
}

/// Hands an event to a function of Python's as JSON; whether it answers that the run should stop.
pub fn call(callback: &Py<PyAny>, event: &Event) -> PyResult<bool> {
    let text = serde_json::to_string(event).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Python::attach(|py| callback.call1(py, (text,))?.is_truthy(py))
}
