//! `fit`: the library's training, in memory or in a run directory, and its verdict.

use crate::errors::{exception, name, words};
use crate::front::{Arrays, Listener, asked_table, call, name_arrays};
use crate::model::Model;
use crate::table::{ArrayTable, vector};
use crate::work::{self, Stop, locked};
use harmonium::events::{Event, Flow, Observer};
use harmonium::run::{Conclusion, Drawn, Opened, Remedy, Request, Run, Spec, Verdict};
use harmonium::{Error, settings};
use harmonium_report::{Words, render_run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Mutex;

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
