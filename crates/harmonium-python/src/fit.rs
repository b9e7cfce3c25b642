//! Training: `fit` runs the library's training, and `partial_fit` keeps a trainer between calls.

use crate::errors::{exception, name, words};
use crate::model::{Model, described};
use crate::sampling::parsed;
use crate::table::{ArrayTable, vector};
use crate::work::{self, Stop};
use harmonium::data::{Memory, Preprocess, ReadOptions, Source};
use harmonium::events::{Event, Flow, Observer};
use harmonium::file::{ColumnNotes, ModelFile};
use harmonium::run::{
    Conclusion, Drawn, Front, Length, MEMORY, Note, Opened, Prepared, Reader, Remedy, Request, Run, Spec, Stage,
    Tables, Verdict, complete_method, lookup, prepare, put,
};
use harmonium::schema::Schema;
use harmonium::train::{TrainConfig, adopted_model};
use harmonium::{Dataset, Error, Layout, Result, Trainer, settings};
use harmonium_report::{Words, render_run};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use toml::Table;

/// The names of arrays as a configuration records them.
const X: &str = "memory:X";
const VALIDATION_DATA: &str = "memory:validation_data";
const SAMPLE_WEIGHT: &str = "memory:sample_weight";
/// The name of the model that a fit goes on from.
const PRESENT_MODEL: &str = "memory:model";

/// Arrays that Python gave.
struct Arrays<'a> {
    x: &'a ArrayTable,
    valid: Option<&'a ArrayTable>,
    weights: Option<&'a [f64]>,
    model: Option<&'a ModelFile>,
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
struct Listener<'a> {
    stop: &'a Stop,
    callback: Option<&'a Py<PyAny>>,
    notes: Mutex<Vec<String>>,
    raised: Mutex<Option<PyErr>>,
}

impl<'a> Listener<'a> {
    fn new(stop: &'a Stop) -> Listener<'a> {
        Listener { stop, callback: None, notes: Mutex::default(), raised: Mutex::default() }
    }

    fn with_callback(self, callback: &'a Py<PyAny>) -> Listener<'a> {
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
    fn raised(&self) -> PyResult<()> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn notes(self) -> Vec<String> {
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
fn asked_table(json: &str) -> PyResult<(Table, Option<Length>)> {
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
fn name_arrays(table: &mut Table, valid: bool, weights: bool, model: bool) {
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

/// A run that has ended: its verdict and its report on request.
#[pyclass(frozen, module = "harmonium._harmonium")]
pub struct FittedRun {
    run: Mutex<Box<Run>>,
}

/// The remedy of a verdict as arguments of the estimator.
fn example(verdict: &Verdict) -> Option<String> {
    match verdict.remedy.as_ref()? {
        Remedy::Continue { updates } => Some(format!("RBM(..., updates={updates})")),
        Remedy::Retrain(settings) => {
            let argument =
                |(key, value): &(&str, toml::Value)| format!("{}={}", name(key), value.to_string().replace('"', "'"));
            Some(format!("RBM(..., {})", settings.iter().map(argument).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    }
}

fn drawn(conclusion: &Conclusion) -> Drawn {
    let example = example(&conclusion.verdict);
    let rendered = render_run(conclusion, &words, example.as_deref());
    let mut fields = Map::new();
    let text = Words::new(&conclusion.verdict, conclusion.log_z.as_ref(), &words, example.as_deref()).text();
    fields.insert("summary".into(), text.into());
    let files = rendered.pictures.into_iter().map(|p| (p.name, p.bytes)).collect();
    Drawn { html: rendered.html, files, fields }
}

/// The verdict, the numbers of the run and its words as JSON.
fn judged(conclusion: &Conclusion) -> String {
    let example = example(&conclusion.verdict);
    let said = Words::new(&conclusion.verdict, conclusion.log_z.as_ref(), &words, example.as_deref());
    let mut fields = conclusion.fields();
    fields.insert("headline".into(), said.headline.clone().into());
    fields.insert("sentences".into(), said.sentences.clone().into());
    fields.insert("advice".into(), said.advice.clone().map_or(Value::Null, Value::from));
    fields.insert("summary".into(), said.text().into());
    Value::Object(fields).to_string()
}

#[pymethods]
impl FittedRun {
    /// The verdict as JSON, and the report's page.
    fn conclude(&self, py: Python, threads: Option<usize>) -> PyResult<(String, String)> {
        let mut run = locked(py, &self.run);
        let run = &mut *run;
        work::run(py, threads, f64::INFINITY, move |stop| {
            let front = Listener::new(stop);
            let conclusion = run.conclude(&front).and_then(|first| first.complete(None, &front)).map_err(exception)?;
            Ok((judged(&conclusion), drawn(&conclusion).html))
        })
    }
}

/// What a call of fit returns: the model, its updates, the run, notes, with a directory the verdict and the page, and what
/// interrupted the run.
type Fitted = (Model, u64, FittedRun, Vec<String>, Option<(String, String)>, Option<PyErr>);

/// Trains a model, in memory or in a run directory; `present` is the model to go on from.
#[pyfunction]
#[pyo3(signature = (table, asked, weights, valid, present, output, resume, callback, threads))]
#[allow(clippy::too_many_arguments)] // as Python asks it, all by name
pub fn fit(
    py: Python,
    table: ArrayTable,
    asked: &str,
    weights: Option<PyReadonlyArray1<f64>>,
    valid: Option<ArrayTable>,
    present: Option<&Model>,
    output: Option<PathBuf>,
    resume: bool,
    callback: Py<PyAny>,
    threads: Option<usize>,
) -> PyResult<Fitted> {
    let ((mut asked, length), weights) = (asked_table(asked)?, vector(weights));
    name_arrays(&mut asked, valid.is_some(), weights.is_some(), present.is_some());
    let (fitted, raised) = work::run_to_stop(py, threads, f64::INFINITY, |stop| {
        let weights = weights.as_ref().and_then(|w| w.as_slice());
        let arrays = Arrays { x: &table, valid: valid.as_ref(), weights, model: present.map(|m| &m.file) };
        let front = Listener::new(stop).with_callback(&callback);
        let has_directory = output.is_some();
        let request = Request { asked, length, config: None, output, resume, demo: false, tables: &arrays };
        let failed = |e: Error| table.exception(e);
        let opened = request.open(&front).map_err(failed)?;
        front.raised()?;
        let mut run = match opened {
            Opened::Ready(run) => run,
            Opened::Finished(dir) => {
                let problem = "this run is finished; ask for more updates to extend it".into();
                return Err(exception(Error::Directory { path: dir.path().into(), problem }));
            }
        };
        let mut watch = Watch { stop, callback: &callback, stopped: false, raised: None };
        let ended = run.train(&mut watch);
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        let reason = ended.map_err(failed)?;
        let done = has_directory && reason != harmonium::events::Reason::Interrupted;
        let concluded = if done {
            let first = run.conclude(&front).map_err(failed)?;
            if first.is_pending() {
                run.write(&first, &drawn(&first)).map_err(failed)?;
            }
            let conclusion = first.complete(None, &front).map_err(failed)?;
            let page = drawn(&conclusion);
            run.write(&conclusion, &page).map_err(failed)?;
            Some((judged(&conclusion), page.html))
        } else {
            None
        };
        run.release();
        Ok((run, front.notes(), concluded))
    })?;
    let (run, notes, concluded) = fitted;
    let (model, updates) = (Model::new(run.model()), run.trainer().update());
    Ok((model, updates, FittedRun { run: Mutex::new(run) }, notes, concluded, raised))
}

/// Hands events to Python as JSON; stops if the function returns true for any of them, or raises.
struct Watch<'a> {
    stop: &'a Stop,
    callback: &'a Py<PyAny>,
    stopped: bool,
    raised: Option<PyErr>,
}

fn call(callback: &Py<PyAny>, event: &Event) -> PyResult<bool> {
    let text = serde_json::to_string(event).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Python::attach(|py| callback.call1(py, (text,))?.is_truthy(py))
}

impl Observer for Watch<'_> {
    fn on(&mut self, event: &Event) -> Flow {
        match call(self.callback, event) {
            Ok(stop) => self.stopped |= stop,
            Err(raised) => self.raised = self.raised.take().or(Some(raised)),
        }
        self.poll()
    }

    fn poll(&mut self) -> Flow {
        if self.stop.asked() || self.stopped || self.raised.is_some() { Flow::Stop } else { Flow::Continue }
    }
}

/// Waits for a lock without the interpreter's lock, which its holder may need. It is taken by the thread that asks, never inside the
/// pool: a thread of the pool that waits for others may take up a second job, and would wait for itself.
fn locked<'a, T>(py: Python, lock: &'a Mutex<T>) -> MutexGuard<'a, T> {
    lock.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// A trainer that is given its rows batch by batch.
#[pyclass(frozen, name = "Trainer", module = "harmonium._harmonium")]
pub struct BatchTrainer {
    inner: Mutex<Batches>,
}

struct Batches {
    trainer: Trainer<f32>,
    layout: Layout,
    preprocess: Preprocess,
    schema: Option<Schema>,
    notes: ColumnNotes,
    spec: Spec,
}

impl Batches {
    /// The rows of a table, packed and weighted.
    fn pack(&self, arrays: &Arrays, front: &dyn Front) -> Result<Dataset<f32>> {
        let reader = Reader::new(arrays, front).with_schema(self.schema.clone(), self.spec.data.unseen);
        let (options, seed) = (self.spec.data.options(), self.spec.train.seed);
        let (mut rows, _) = reader.pack(&self.layout, X, &options, &self.preprocess, seed)?;
        arrays.weights.map_or(Ok(()), |w| rows.set_weights(w))?;
        Ok(rows)
    }
}

/// A trainer for batches like the first: a new model, or `init` trained further.
fn batches(arrays: &Arrays, asked: &Table, init: Option<&Model>, front: &dyn Front) -> Result<Batches> {
    // A batch shows too little of the columns to be measured by it, or to start at its maximum.
    let mut asked = asked.clone();
    let fixed: [(&str, toml::Value); 5] = [
        ("data.standardize", false.into()),
        ("data.valid_fraction", 0.0.into()),
        ("model.start", "independent".into()),
        ("train.lr", TrainConfig::default().lr.into()),
        ("train.penalty.l2", 0.0.into()),
    ];
    for (key, value) in fixed {
        if lookup(&asked, key).is_none() {
            put(&mut asked, key, value);
        }
    }
    let asked = &asked;
    let mut spec = Spec::from_table(asked)?;
    let Some(init) = init else {
        let prepared = prepare(&mut spec, asked, None, arrays, front)?;
        // Ladders of chains would cost ten times the update.
        if lookup(asked, "train.method").is_none() && spec.train.method == "pt" {
            spec.train.method = TrainConfig::default().method;
        }
        let Prepared { input, rbm, preprocess, schema, notes, .. } = prepared;
        let layout = rbm.visible().layout().clone();
        let trainer = Trainer::on(spec.device, spec.train.clone(), rbm, input.train, None)?;
        return Ok(Batches { trainer, layout, preprocess, schema, notes, spec });
    };
    let (rbm, mut preprocess) = (init.file.rbm.cast::<f32>(), init.file.preprocess.clone());
    let layout = rbm.visible().layout().clone();
    let schema = init.file.schema.clone();
    let reader = Reader::new(arrays, front).with_schema(schema.clone(), spec.data.unseen);
    preprocess.binarize = spec.data.binarize()?.or(preprocess.binarize);
    let (rows, decided) = reader.pack(&layout, X, &spec.data.options(), &preprocess, spec.train.seed)?;
    preprocess.binarize = preprocess.binarize.or(decided);
    let first = adopted_model(spec.device, &rbm, &rows, spec.train.centering)?;
    complete_method(&mut spec.train, asked, &first);
    let trainer = Trainer::on(spec.device, spec.train.clone(), first, rows, None)?;
    Ok(Batches { trainer, layout, preprocess, schema, notes: ColumnNotes::read(&init.file), spec })
}

#[pymethods]
impl BatchTrainer {
    /// A trainer for batches like the first, from a checkpoint if there is one; and its notes.
    #[staticmethod]
    #[pyo3(signature = (table, asked, init, checkpoint, threads))]
    fn start(
        py: Python,
        table: ArrayTable,
        asked: &str,
        init: Option<&Model>,
        checkpoint: Option<&[u8]>,
        threads: Option<usize>,
    ) -> PyResult<(BatchTrainer, Vec<String>)> {
        let (mut asked, _) = asked_table(asked)?;
        name_arrays(&mut asked, false, false, false);
        work::run(py, threads, f64::INFINITY, |stop| {
            let front = Listener::new(stop);
            let arrays = Arrays { x: &table, valid: None, weights: None, model: None };
            let mut all = batches(&arrays, &asked, init, &front).map_err(|e| table.exception(e))?;
            if let Some(bytes) = checkpoint {
                all.trainer.resume(bytes).map_err(exception)?;
            }
            Ok((BatchTrainer { inner: Mutex::new(all) }, front.notes()))
        })
    }

    /// Makes one update with all rows of a table as its batch.
    fn step(
        &self,
        py: Python,
        table: ArrayTable,
        weights: Option<PyReadonlyArray1<f64>>,
        callback: Py<PyAny>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let weights = vector(weights);
        let mut all = locked(py, &self.inner);
        // An update passes a few times over the batch and the chains.
        let rows = (table.rows() + all.spec.train.chains) as f64;
        let products = 6.0 * rows * all.trainer.rbm().weights().len() as f64;
        let all = &mut *all;
        let event = work::run(py, threads, products, |stop| {
            let front = Listener::new(stop);
            let weights = weights.as_ref().and_then(|w| w.as_slice());
            let arrays = Arrays { x: &table, valid: None, weights, model: None };
            let rows = all.pack(&arrays, &front).map_err(|e| table.exception(e))?;
            all.trainer.step_on(rows).map_err(exception)
        })?;
        event.map_or(Ok(()), |event| call(&callback, &event).map(|_| ()))
    }

    /// The model as it is now, offsets folded.
    fn model(&self, py: Python) -> Model {
        let all = locked(py, &self.inner);
        let rbm = all.trainer.rbm().folded();
        let (preprocess, schema, about) = (all.preprocess.clone(), all.schema.clone(), all.notes.about());
        Model::new(ModelFile { preprocess, schema, about, ..ModelFile::new(&rbm) })
    }

    /// The bytes of a checkpoint.
    fn checkpoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &locked(py, &self.inner).trainer.checkpoint())
    }
}

/// The library's table of settings as JSON.
#[pyfunction]
pub fn setting_table() -> String {
    let row = |s: &settings::Setting| {
        let choices: Vec<&str> = match s.takes {
            settings::Takes::Choice(list) | settings::Takes::Units(list) => list().iter().map(|c| c.0).collect(),
            _ => Vec::new(),
        };
        let default = Spec::default_of(s.key).and_then(|v| serde_json::to_value(v).ok()).unwrap_or(Value::Null);
        let (takes, least, most) = match s.takes {
            settings::Takes::Text(_) => ("text", 0, 0),
            settings::Takes::Texts(_) => ("texts", 0, 0),
            settings::Takes::Choice(_) => ("choice", 0, 0),
            settings::Takes::Units(_) => ("units", 0, 0),
            settings::Takes::Whole(least, most) | settings::Takes::WholeOr(least, most, _) => ("whole", least, most),
            settings::Takes::Number(_) => ("number", 0, 0),
            _ => ("switch", 0, 0),
        };
        json!({"key": s.key, "python": s.python, "about": s.about, "usual": s.usual, "default": default, "choices": choices,
               "takes": takes, "least": least, "most": most})
    };
    Value::Array(settings::SETTINGS.iter().map(row).collect()).to_string()
}
