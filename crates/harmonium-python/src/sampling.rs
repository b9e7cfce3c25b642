//! Rows drawn from a machine, and unknown cells filled.

use crate::errors::{exception, words};
use crate::machine::{Machine, columns};
use crate::table::Table;
use crate::work;
use harmonium::conditional::{self, Conditional, Fill, Method};
use harmonium::sample::{Drawn, Given, Sampling, Settings, Start};
use ndarray::{Array2, Axis};
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// How rows are drawn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    sampler: String,
    n: u64,
    steps: Option<u64>,
    chains: Option<usize>,
    temperatures: Option<usize>,
    burn_in: u64,
    thin: u64,
    hidden_start: bool,
    means: bool,
    seed: u64,
}

/// What was asked as JSON.
pub fn parsed<'a, T: Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Draws rows in the units of the data, and tells what is known about them. `clamp` is one row, NaN where it is to be drawn.
#[pyfunction]
pub fn sample<'py>(
    py: Python<'py>,
    machine: &Machine,
    asked: &str,
    start: Option<Table>,
    clamp: Option<Table>,
    threads: Option<usize>,
) -> PyResult<(Matrix<'py>, Bound<'py, PyDict>)> {
    let asked: Asked = parsed(asked)?;
    let (rows, drawn) = work::run(py, threads, f64::INFINITY, |stop| {
        let given = match &clamp {
            Some(row) => clamped(machine, row, asked.seed)?,
            None => Given::nothing(&machine.file.rbm.lower()),
        };
        let start = start.map(|table| columns(machine, &table)).transpose()?;
        let start = start.map(|rows| given.free_columns(&rows));
        let begin = match &start {
            Some(rows) => Start::Rows(rows),
            None if asked.hidden_start => Start::Hidden,
            None => Start::Random,
        };
        let settings = Settings {
            sampler: &asked.sampler,
            n: asked.n,
            chains: asked.chains,
            temperatures: asked.temperatures,
            burn_in: asked.burn_in,
            thin: asked.thin,
            start: begin,
            means: asked.means,
            seed: asked.seed,
        };
        let settings = asked.steps.map_or(settings, |steps| settings.with_steps(steps));
        let leave = |_, _| stop.leave();
        let draw = || {
            let mut sampling = Sampling::of(given.machine().clone(), settings, &leave)?;
            let mut all = Array2::zeros((0, machine.file.rbm.visible().sites()));
            while let Some(block) = sampling.block()? {
                // Both have one column per site, so they fit.
                let _ = all.append(Axis(0), given.whole(&machine.file.preprocess, block).view());
            }
            Ok((all, sampling.finish()))
        };
        draw().map_err(exception)
    })?;
    Ok((rows.into_pyarray(py), told(py, &drawn)?))
}

/// The machine of the unknown cells of a row.
fn clamped(machine: &Machine, table: &Table, seed: u64) -> PyResult<Given> {
    let lowered = machine.file.rbm.lower();
    let read = || {
        let rows = table.prepared(lowered.visible(), &machine.file.preprocess, None, seed)?;
        rows.with_missing().read()
    };
    let block = read().map_err(|e| table.exception(e))?;
    match block.and_then(|b| Some((b.columns.row(0).to_vec(), b.raw?.row(0).to_vec(), b.known?))) {
        Some((x, raw, known)) => {
            let bits = (0..known.sites()).map(|i| known.get(0, i)).collect();
            Ok(Given::cells(&lowered, &x, raw, bits))
        }
        None => Err(PyValueError::new_err("clamp has no unknown cells: put NaN where a value is to be drawn")),
    }
}

fn told<'py>(py: Python<'py>, drawn: &Drawn) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("sampler", drawn.sampler)?;
    all.set_item("rows", drawn.rows)?;
    all.set_item("chains", drawn.chains)?;
    all.set_item("r_hat", drawn.r_hat)?;
    all.set_item("ess", drawn.ess)?;
    all.set_item("warnings", drawn.warnings.iter().map(|w| words(w)).collect::<Vec<_>>())?;
    Ok(all)
}

/// How cells are filled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filling {
    fill: String,
    method: String,
    chains: usize,
    burn_in: u64,
    steps: u64,
    interval: Option<f64>,
    seed: u64,
}

/// The entry called `name` of a list of names.
fn find<T: Copy>(what: &str, name: &str, list: &[(&'static str, T)]) -> PyResult<T> {
    let known = || list.iter().map(|l| l.0).collect::<Vec<_>>().join(", ");
    let found = list.iter().find(|l| l.0 == name).map(|l| l.1);
    found.ok_or_else(|| PyValueError::new_err(format!("{what}: '{name}' is not one of {}", known())))
}

/// Rows with their NaN cells filled; if intervals are asked for, also their ends and the spreads; and the Monte Carlo errors.
#[pyfunction]
pub fn impute<'py>(
    py: Python<'py>,
    machine: &Machine,
    table: Table,
    asked: &str,
    threads: Option<usize>,
) -> PyResult<Vec<Matrix<'py>>> {
    let asked: Filling = parsed(asked)?;
    let (fill, method) = (find("fill", &asked.fill, &Fill::LIST)?, find("method", &asked.method, &Method::LIST)?);
    let interval = asked.interval.or((fill == Fill::Draw).then_some(0.5));
    let Filling { chains, burn_in, steps, seed, .. } = asked;
    let settings = conditional::Settings { method, chains, burn_in, steps, interval, seed };
    let parts = work::run(py, threads, f64::INFINITY, |stop| {
        let (lowered, preprocess) = (machine.file.rbm.lower(), &machine.file.preprocess);
        let mut parts = vec![Array2::zeros((0, table.columns())); if asked.interval.is_some() { 5 } else { 2 }];
        let mut read = || {
            let mut ask = Conditional::new(&machine.file.rbm, settings)?;
            let mut rows = table.prepared(lowered.visible(), preprocess, None, seed)?.with_missing();
            while let Some(block) = rows.read()? {
                let raw = block.raw.as_ref().unwrap_or(&block.values);
                let Some(known) = &block.known else {
                    (0..parts.len()).for_each(|k| {
                        let whole = if k == 1 || k == 4 { Array2::zeros(raw.dim()) } else { raw.clone() };
                        let _ = parts[k].append(Axis(0), whole.view());
                    });
                    continue;
                };
                let step = ask.rows_at_once();
                for from in (0..raw.nrows()).step_by(step) {
                    stop.leave();
                    let some: Vec<usize> = (from..(from + step).min(raw.nrows())).collect();
                    let known = known.select(&some);
                    let x = block.columns.select(Axis(0), &some);
                    let mut filled = ask.fill(x.view(), &known, block.first + from as u64)?;
                    filled.choose(fill, lowered.visible().unit());
                    filled.restore(preprocess);
                    let [low, high] = filled.interval.unwrap_or_default();
                    let spread = filled.spread.unwrap_or_default();
                    for (k, part) in [filled.values, filled.std_err, low, high, spread].into_iter().enumerate() {
                        let Some(all) = parts.get_mut(k) else { break };
                        let mut part = part;
                        if k != 1 && k != 4 {
                            // Known cells are what they were, to the bit.
                            let cells = part.indexed_iter_mut().filter(|((r, i), _)| known.get(*r, *i));
                            cells.for_each(|((r, i), cell)| *cell = raw[[from + r, i]]);
                        }
                        // All have one column per site, so they fit.
                        let _ = all.append(Axis(0), part.view());
                    }
                }
            }
            Ok(())
        };
        read().map_err(|e| table.exception(e))?;
        Ok(parts)
    })?;
    Ok(parts.into_iter().map(|p| p.into_pyarray(py)).collect())
}
