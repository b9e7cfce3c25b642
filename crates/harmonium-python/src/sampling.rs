//! Sampling rows from a model, and filling missing cells.

use crate::errors::{exception, sentence};
use crate::model::{Model, columns};
use crate::table::ArrayTable;
use crate::work;
use harmonium::backend::cpu;
use harmonium::conditional::{self, Conditional, Fill, Method};
use harmonium::data::{Block, PreparedRows, Preprocess};
use harmonium::sample::{Clamped, Drawn, SampleOptions, Sampling, Start};
use harmonium::{Bits, LoweredModel};
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
struct Filling {
    fill: String,
    method: String,
    chains: usize,
    burn_in: u64,
    steps: u64,
    interval: Option<f64>,
    seed: u64,
}

/// Values, Monte Carlo errors, low ends, high ends and spreads of rows; the last three only if intervals are asked for.
type Parts = [Array2<f64>; 5];

/// A model that fills cells.
struct Imputer<'a> {
    ask: Conditional,
    model: &'a LoweredModel<f64>,
    preprocess: &'a Preprocess,
    fill: Fill,
}

impl Imputer<'_> {
    /// Fills all rows, and hands them on some at a time.
    fn each(&mut self, mut rows: PreparedRows, mut f: impl FnMut(Parts)) -> harmonium::Result<()> {
        while let Some(block) = rows.read()? {
            let numbers: Vec<usize> = (0..block.values.nrows()).collect();
            for some in numbers.chunks(self.ask.rows_at_once()) {
                f(self.some(&block, some)?);
            }
        }
        Ok(())
    }

    fn some(&mut self, block: &Block, rows: &[usize]) -> harmonium::Result<Parts> {
        let (x, sites) = (block.select(rows).columns()?, self.model.visible().sites());
        let mut known = Bits::new(sites);
        for &r in rows {
            known.push((0..sites).map(|i| block.known.as_ref().is_none_or(|k| k.get(r, i))));
        }
        let mut filled = self.ask.fill(x.view(), &known, block.first + rows[0] as u64)?;
        filled.choose(self.fill, self.model.visible());
        let raw = block.raw.as_ref().unwrap_or(&block.values).select(Axis(0), rows);
        filled.restore(self.preprocess, raw.view(), &known);
        let [low, high] = filled.interval.unwrap_or_default();
        Ok([filled.values, filled.std_err, low, high, filled.spread.unwrap_or_default()])
    }
}

/// Rows with their NaN cells filled, and the Monte Carlo errors; if intervals are asked for, also their ends and the spreads.
#[pyfunction]
pub fn impute<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    asked: &str,
    threads: Option<usize>,
) -> PyResult<Vec<Matrix<'py>>> {
    let asked: Filling = parsed(asked)?;
    let fill = Fill::parse(&asked.fill).map_err(exception)?;
    let method = Method::parse(&asked.method).map_err(exception)?;
    let interval = asked.interval.or((fill == Fill::Draw).then_some(0.5));
    let Filling { chains, burn_in, steps, seed, .. } = asked;
    let settings = conditional::ConditionalOptions { method, chains, burn_in, steps, interval, seed, device: cpu() };
    let wanted = if asked.interval.is_some() { 5 } else { 2 };
    let parts = work::run(py, threads, f64::INFINITY, |stop| {
        let (lowered, preprocess) = (model.file.rbm.lower(), &model.file.preprocess);
        let mut all = vec![Array2::zeros((0, lowered.visible().sites())); wanted];
        let mut fill_all = || {
            let ask = Conditional::new(&model.file.rbm, settings)?;
            let rows = table.prepared(&model.file, lowered.visible(), seed)?.with_missing(true);
            Imputer { ask, model: &lowered, preprocess, fill }.each(rows, |parts| {
                stop.leave();
                // All have one column per site, so they fit.
                all.iter_mut().zip(parts).for_each(|(all, part)| _ = all.append(Axis(0), part.view()));
            })
        };
        fill_all().map_err(|e| table.exception(e))?;
        Ok(all)
    })?;
    Ok(parts.into_iter().map(|p| p.into_pyarray(py)).collect())
}
