//! Sampling rows from a model, and filling missing cells.

use crate::errors::{exception, sentence};
use crate::model::{Model, columns};
use crate::table::ArrayTable;
use crate::work::{self, Stop};
use harmonium::Bits;
use harmonium::backend::cpu;
use harmonium::conditional::{self, Conditional, ConditionalOptions, Fill, Filled, Method};
use harmonium::data::Block;
use harmonium::sample::{Clamped, Drawn, SampleOptions, Sampling, Start};
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
struct DrawArgs {
    sampler: String,
    n: u64,
    steps: Option<u64>,
    chains: Option<usize>,
    temperatures: Option<usize>,
    burn_in: u64,
    thin: u64,
    hidden_start: bool,
    means: bool,
    temperature: f64,
    by_chain: bool,
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
    model: &Model,
    asked: &str,
    start: Option<ArrayTable>,
    clamp: Option<ArrayTable>,
    threads: Option<usize>,
) -> PyResult<(Matrix<'py>, Bound<'py, PyDict>)> {
    let asked: DrawArgs = parsed(asked)?;
    let (rows, drawn) = work::run(py, threads, f64::INFINITY, |stop| {
        let given = match &clamp {
            Some(row) => clamped(model, row, asked.seed)?,
            None => Clamped::nothing(&model.file.rbm.lower()),
        };
        let start = start.map(|table| columns(model, &table)).transpose()?;
        let start = start.map(|rows| given.free_columns(&rows));
        let begin = match &start {
            Some(rows) => Start::Rows(rows),
            None if asked.hidden_start => Start::Hidden,
            None => Start::Random,
        };
        let settings = SampleOptions {
            sampler: &asked.sampler,
            n: asked.n,
            chains: asked.chains,
            temperatures: asked.temperatures,
            burn_in: asked.burn_in,
            thin: asked.thin,
            steps: None,
            start: begin,
            means: asked.means,
            temperature: asked.temperature,
            seed: asked.seed,
            device: cpu(),
        };
        let settings = asked.steps.map_or(settings, |steps| settings.with_steps(steps));
        let leave = |_, _| stop.leave();
        if asked.by_chain {
            same_for_every_chain(asked.n, settings.n_chains() as u64)?;
        }
        let draw = || {
            let mut sampling = Sampling::of(given.lowered().clone(), settings, &leave)?.all_at_once()?;
            let mut all = Array2::zeros((0, model.file.rbm.visible().sites()));
            while let Some(block) = sampling.block()? {
                // Both have one column per site, so they fit.
                let _ = all.append(Axis(0), given.whole(&model.file.preprocess, block).view());
            }
            Ok((all, sampling.finish()))
        };
        draw().map_err(exception)
    })?;
    Ok((rows.into_pyarray(py), as_dict(py, &drawn)?))
}

/// Refuses a number of rows of which chains cannot have equally many.
fn same_for_every_chain(n: u64, chains: u64) -> PyResult<()> {
    if n.is_multiple_of(chains) {
        return Ok(());
    }
    let fitting = n.div_ceil(chains).saturating_mul(chains);
    let problem = format!(
        "n is {n}, but by_chain needs as many rows from each of {chains} chains; use n={fitting}, or set n_chains"
    );
    Err(PyValueError::new_err(problem))
}

/// The model of the unknown cells of a row.
fn clamped(model: &Model, table: &ArrayTable, seed: u64) -> PyResult<Clamped> {
    let lowered = model.file.rbm.lower();
    let read = || {
        let rows = table.prepared(&model.file, lowered.visible(), seed)?;
        let Some(block) = rows.with_missing(true).read()? else { return Ok(None) };
        let x = block.columns()?.row(0).to_vec();
        Ok(block.raw.zip(block.known).map(|(raw, known)| (x, raw.row(0).to_vec(), known)))
    };
    match read().map_err(|e| table.exception(e))? {
        Some((x, raw, known)) => {
            let bits = (0..known.sites()).map(|i| known.get(0, i)).collect();
            Ok(Clamped::cells(&lowered, &x, raw, bits))
        }
        None => Err(PyValueError::new_err("clamp has no unknown cells: put NaN where a value is to be drawn")),
    }
}

fn as_dict<'py>(py: Python<'py>, drawn: &Drawn) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("sampler", drawn.sampler)?;
    all.set_item("rows", drawn.rows)?;
    all.set_item("chains", drawn.chains)?;
    all.set_item("r_hat", drawn.r_hat)?;
    all.set_item("ess", drawn.ess)?;
    all.set_item("warnings", drawn.warnings.iter().map(|w| sentence(&w.problem, &w.advice)).collect::<Vec<_>>())?;
    Ok(all)
}

/// How cells are filled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FillArgs {
    fill: String,
    method: String,
    chains: usize,
    burn_in: u64,
    steps: u64,
    interval: Option<f64>,
    probabilities: bool,
    seed: u64,
}

impl FillArgs {
    fn options(&self, fill: Fill) -> PyResult<ConditionalOptions> {
        let method = Method::parse(&self.method).map_err(exception)?;
        let interval = self.interval.or((fill == Fill::Draw).then_some(0.5));
        let FillArgs { chains, burn_in, steps, seed, .. } = *self;
        Ok(ConditionalOptions { method, chains, burn_in, steps, interval, seed, device: cpu() })
    }

    /// Values and Monte Carlo errors; if they are asked for, low ends, high ends and spreads; probabilities of states.
    fn parts(&self, filled: Filled, means: Array2<f64>) -> Vec<Array2<f64>> {
        let [low, high] = filled.interval.unwrap_or_default();
        let mut parts = vec![filled.values, filled.std_err];
        if self.interval.is_some() {
            parts.extend([low, high, filled.spread.unwrap_or_default()]);
        }
        parts.extend(self.probabilities.then_some(means));
        parts
    }
}

/// Some rows that are filled at once.
struct Rows {
    x: Array2<f64>,
    known: Bits,
    raw: Array2<f64>,
    first: u64,
}

impl Rows {
    fn of(block: &Block, rows: &[usize], sites: usize) -> harmonium::Result<Rows> {
        let mut known = Bits::new(sites);
        for &r in rows {
            known.push((0..sites).map(|i| block.known.as_ref().is_none_or(|k| k.get(r, i))));
        }
        let raw = block.raw.as_ref().unwrap_or(&block.values).select(Axis(0), rows);
        Ok(Rows { x: block.select(rows).columns()?, known, raw, first: block.first + rows[0] as u64 })
    }
}

/// Gives `f` all rows of a table, as many at a time as it can fill, and appends what it returns.
fn each(
    model: &Model,
    table: &ArrayTable,
    options: ConditionalOptions,
    stop: &Stop,
    mut f: impl FnMut(&mut Conditional, Rows) -> harmonium::Result<Vec<Array2<f64>>>,
) -> PyResult<Vec<Array2<f64>>> {
    let lowered = model.file.rbm.lower();
    let mut all: Vec<Array2<f64>> = Vec::new();
    let mut read = || {
        let mut ask = Conditional::new(&model.file.rbm, options)?;
        let mut rows = table.prepared(&model.file, lowered.visible(), options.seed)?.with_missing(true);
        while let Some(block) = rows.read()? {
            let numbers: Vec<usize> = (0..block.values.nrows()).collect();
            for some in numbers.chunks(ask.rows_at_once()) {
                stop.leave();
                let parts = f(&mut ask, Rows::of(&block, some, lowered.visible().sites())?)?;
                all.resize_with(parts.len(), || Array2::zeros((0, 0)));
                for (all, part) in all.iter_mut().zip(parts) {
                    if all.is_empty() {
                        *all = part;
                    } else {
                        // Parts have the columns of those before them, so they fit.
                        let _ = all.append(Axis(0), part.view());
                    }
                }
            }
        }
        Ok(())
    };
    read().map_err(|e| table.exception(e))?;
    Ok(all)
}

/// Rows with their missing cells filled, and the Monte Carlo errors; if they are asked for, ends of intervals and spreads, and the
/// probabilities of states.
#[pyfunction]
pub fn impute<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    asked: &str,
    threads: Option<usize>,
) -> PyResult<Vec<Matrix<'py>>> {
    let asked: FillArgs = parsed(asked)?;
    let fill = Fill::parse(&asked.fill).map_err(exception)?;
    let options = asked.options(fill)?;
    let parts = work::run(py, threads, f64::INFINITY, |stop| {
        let (lowered, preprocess) = (model.file.rbm.lower(), &model.file.preprocess);
        each(model, &table, options, stop, |ask, rows| {
            let mut filled = ask.fill(rows.x.view(), &rows.known, rows.first)?;
            filled.choose(fill, lowered.visible());
            filled.restore(preprocess, rows.raw.view(), &rows.known);
            let mut means = std::mem::take(&mut filled.means);
            preprocess.restore_columns(&mut means, lowered.visible());
            Ok(asked.parts(filled, means))
        })
    })?;
    Ok(parts.into_iter().map(|p| p.into_pyarray(py)).collect())
}

/// Tables in which every missing cell is a draw given the known cells of its row, independently of the other tables.
#[pyfunction]
pub fn complete<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    asked: &str,
    draws: usize,
    threads: Option<usize>,
) -> PyResult<Vec<Matrix<'py>>> {
    let asked: FillArgs = parsed(asked)?;
    let options = asked.options(Fill::Mean)?;
    conditional::check_size(draws, table.rows(), model.file.rbm.visible().sites()).map_err(exception)?;
    let tables = work::run(py, threads, f64::INFINITY, |stop| {
        each(model, &table, options, stop, |ask, rows| {
            let mut tables = ask.complete(rows.x.view(), &rows.known, rows.first, draws)?;
            for table in &mut tables {
                conditional::restore(table, &model.file.preprocess, rows.raw.view(), &rows.known);
            }
            Ok(tables)
        })
    })?;
    Ok(tables.into_iter().map(|t| t.into_pyarray(py)).collect())
}
