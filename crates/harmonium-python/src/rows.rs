//! Functions of rows: hidden means, reconstructions, free energies, pseudo-likelihoods, gradients.

use crate::errors::exception;
use crate::model::Model;
use crate::table::ArrayTable;
use crate::work::{self, Stop};
use harmonium::conditional::{self, Conditional};
use harmonium::data::Block;
use harmonium::measure;
use harmonium::{Exact, LoweredModel};
use ndarray::{Array1, Array2, Axis, concatenate};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

type Matrix<'py> = Bound<'py, PyArray2<f64>>;
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// Products of all rows with the weights.
fn work_of(model: &Model, table: &ArrayTable) -> f64 {
    table.rows() as f64 * model.file.rbm.weights().len() as f64
}

/// Products of rows that may have unknown cells, which take nobody knows how many.
fn products_with(missing: bool, products: f64) -> f64 {
    if missing { f64::INFINITY } else { products }
}

/// Gives `f` every block of a table, prepared for the model.
fn each(
    model: &Model,
    table: &ArrayTable,
    missing: bool,
    seed: u64,
    stop: &Stop,
    mut f: impl FnMut(&LoweredModel<f64>, Block) -> harmonium::Result<()>,
) -> PyResult<()> {
    let lowered = model.file.rbm.lower();
    let mut read = || {
        let rows = table.prepared(&model.file, lowered.visible(), seed)?;
        let mut rows = rows.with_missing(missing);
        while let Some(block) = rows.read()? {
            stop.leave();
            f(&lowered, block)?;
        }
        Ok(())
    };
    read().map_err(|e| table.exception(e))
}

/// Rows of `f` of the hidden means of every row; those of rows with unknown cells are given their known ones.
fn mapped(
    model: &Model,
    table: &ArrayTable,
    missing: bool,
    seed: u64,
    stop: &Stop,
    width: usize,
    f: impl Fn(&LoweredModel<f64>, Array2<f64>) -> Array2<f64> + Sync,
) -> PyResult<Array2<f64>> {
    let mut out = Array2::zeros((table.rows(), width));
    let mut done = 0;
    let settings = conditional::ConditionalOptions { seed, ..Default::default() };
    let mut ask = None;
    each(model, table, missing, seed, stop, |lowered, block| {
        let part = match &block.known {
            None => block.map(width, |x| f(lowered, lowered.up().means(x)))?,
            Some(known) => {
                let made = ask.take().map_or_else(|| Conditional::new(&model.file.rbm, settings), Ok)?;
                f(lowered, ask.insert(made).hidden_means(block.columns()?.view(), known, block.first)?)
            }
        };
        out.slice_axis_mut(Axis(0), (done..done + part.nrows()).into()).assign(&part);
        done += part.nrows();
        Ok(())
    })?;
    Ok(out)
}

/// ⟨h | v⟩ of every row, one entry per hidden column; of known cells, if some are missing.
#[pyfunction]
pub fn means<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    missing: bool,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let width = model.file.rbm.hidden().columns();
    let out = work::run(py, threads, products_with(missing, work_of(model, &table)), |stop| {
        mapped(model, &table, missing, seed, stop, width, |_, h| h)
    })?;
    Ok(out.into_pyarray(py))
}

/// Visible → hidden means → visible means, in the units of the data.
#[pyfunction]
pub fn reconstructions<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    missing: bool,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let width = model.file.rbm.visible().sites();
    let out = work::run(py, threads, products_with(missing, work_of(model, &table)), |stop| {
        let mut out = mapped(model, &table, missing, seed, stop, width, |m, h| {
            m.visible().decode(m.down().means(h.view()).view())
        })?;
        model.file.preprocess.restore(&mut out);
        Ok(out)
    })?;
    Ok(out.into_pyarray(py))
}

/// Visible means given hidden values, in the units of the data: one number per unit, or with `states` one per state of each
/// categorical unit.
#[pyfunction]
pub fn visible_means<'py>(
    py: Python<'py>,
    model: &Model,
    hidden: PyReadonlyArray2<f64>,
    states: bool,
    threads: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let (rbm, hidden) = (&model.file.rbm, hidden.as_array());
    let products = (hidden.nrows() * rbm.weights().len()) as f64;
    let out = work::run(py, threads, products, |_| {
        let (lowered, preprocess) = (rbm.lower(), &model.file.preprocess);
        let mut columns = lowered.down().means(hidden);
        if states {
            preprocess.restore_columns(&mut columns, lowered.visible());
            return Ok(columns);
        }
        let mut values = lowered.visible().decode(columns.view());
        preprocess.restore(&mut values);
        Ok(values)
    })?;
    Ok(out.into_pyarray(py))
}

/// F(v) of every row (of known cells: −log of the sum over the others), its standard error, and what the units of the data
/// add to the log density.
#[pyfunction]
pub fn free_energies<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    missing: bool,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(Vector<'py>, Vector<'py>, Vector<'py>)> {
    let (layout, preprocess) = (model.file.rbm.visible().layout(), &model.file.preprocess);
    let [energies, errors, jacobians] =
        work::run(py, threads, products_with(missing, work_of(model, &table)), |stop| {
            let settings = conditional::ConditionalOptions { seed, ..Default::default() };
            let mut ask = Conditional::new(&model.file.rbm, settings).map_err(exception)?;
            let [mut energies, mut errors, mut jacobians] = [Vec::new(), Vec::new(), Vec::new()];
            each(model, &table, missing, seed, stop, |lowered, block| {
                let rows = block.values.nrows();
                jacobians.extend(preprocess.log_jacobians(layout, rows, block.known.as_ref()));
                let Some(known) = &block.known else {
                    let part = block.map(1, |x| lowered.up().free_energy(x).insert_axis(Axis(1)))?;
                    energies.extend(part);
                    errors.extend(std::iter::repeat_n(0.0, rows));
                    return Ok(());
                };
                let scores = ask.scores(block.columns()?.view(), known, block.first)?;
                energies.extend(scores.rows.iter().map(|s| -s.value));
                errors.extend(scores.rows.iter().map(|s| s.std_err));
                Ok(())
            })?;
            Ok([energies, errors, jacobians])
        })?;
    Ok((energies.into_pyarray(py), errors.into_pyarray(py), jacobians.into_pyarray(py)))
}

/// Σ_i log p(v_i | all other v) of every row, exactly; over known cells, if some are missing.
#[pyfunction]
pub fn pseudo_log_likelihoods<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    missing: bool,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Vector<'py>> {
    let (layout, preprocess) = (model.file.rbm.visible().layout(), &model.file.preprocess);
    let products = work_of(model, &table) * model.file.rbm.visible().columns() as f64;
    let out = work::run(py, threads, products_with(missing, products), |stop| {
        let mut all = Vec::new();
        each(model, &table, missing, seed, stop, |lowered, block| {
            let none = || harmonium::Error::Undefined("pseudo-likelihoods need finite or gaussian units".into());
            let x = block.columns()?;
            let x = x.view();
            let part = match &block.known {
                None => measure::pseudo_log_likelihood(lowered, x).ok_or_else(none)?,
                Some(known) => conditional::pseudo_log_likelihoods(lowered, x, known, block.first)?,
            };
            let jacobians = preprocess.log_jacobians(layout, x.nrows(), block.known.as_ref());
            all.extend(part.iter().zip(jacobians).map(|(p, jacobian)| p + jacobian));
            Ok(())
        })?;
        Ok(all)
    })?;
    Ok(out.into_pyarray(py))
}

/// The exact gradient of the weighted mean log likelihood, by the names of the tensors.
#[pyfunction]
pub fn gradient<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    weights: Option<PyReadonlyArray1<f64>>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let weights = crate::table::vector(weights).unwrap_or_else(|| Array1::ones(table.rows()));
    let gradient = work::run(py, threads, f64::INFINITY, |stop| {
        let mut blocks = Vec::new();
        each(model, &table, false, seed, stop, |_, block| {
            blocks.push(block.values);
            Ok(())
        })?;
        let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
        let rows = concatenate(Axis(0), &views).map_err(|e| PyValueError::new_err(format!("X: {e}")))?;
        let exact = Exact::with_progress(&model.file.rbm, &|_, _| stop.leave()).map_err(exception)?;
        exact.gradient(rows.view(), weights.view()).map_err(exception)
    })?;
    let all = PyDict::new(py);
    all.set_item("weights", gradient.weights.into_pyarray(py))?;
    let rbm = &model.file.rbm;
    for (side, layer, rows) in [("visible", rbm.visible(), gradient.visible), ("hidden", rbm.hidden(), gradient.hidden)]
    {
        for (field, row, _) in layer.layout().fields() {
            all.set_item(format!("{side}.{}", field.name), rows.row(row).to_owned().into_pyarray(py))?;
        }
    }
    Ok(all)
}
