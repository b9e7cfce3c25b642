//! Functions of rows: hidden means, reconstructions, free energies, pseudo-likelihoods, gradients.

use crate::errors::exception;
use crate::model::Model;
use crate::table::ArrayTable;
use crate::work::{self, Stop};
use harmonium::conditional::{self, Conditional};
use harmonium::data::Block;
use harmonium::measure;
use harmonium::{Exact, LoweredModel};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

type Matrix<'py> = Bound<'py, PyArray2<f64>>;
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// Products of all rows with the weights.
fn work_of(model: &Model, table: &ArrayTable) -> f64 {
    table.rows() as f64 * model.file.rbm.weights().len() as f64
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
        let rows = table.prepared(lowered.visible(), &model.file.preprocess, None, seed)?;
        let mut rows = rows.with_missing(missing);
        while let Some(block) = rows.read()? {
            stop.leave();
            f(&lowered, block)?;
        }
        Ok(())
    };
    read().map_err(|e| table.exception(e))
}

/// Rows of `f` of every row.
fn mapped(
    model: &Model,
    table: &ArrayTable,
    seed: u64,
    stop: &Stop,
    width: usize,
    f: impl Fn(&LoweredModel<f64>, ArrayView2<f64>) -> Array2<f64> + Sync,
) -> PyResult<Array2<f64>> {
    let mut out = Array2::zeros((table.rows(), width));
    let mut done = 0;
    each(model, table, false, seed, stop, |lowered, block| {
        let part = block.map(width, |x| f(lowered, x))?;
        out.slice_axis_mut(Axis(0), (done..done + part.nrows()).into()).assign(&part);
        done += part.nrows();
        Ok(())
    })?;
    Ok(out)
}

/// ⟨h | v⟩ of every row, one entry per hidden column.
#[pyfunction]
pub fn means<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let width = model.file.rbm.hidden().columns();
    let out = work::run(py, threads, work_of(model, &table), |stop| {
        mapped(model, &table, seed, stop, width, |m, x| m.up().means(x))
    })?;
    Ok(out.into_pyarray(py))
}

/// Visible → hidden means → visible means, in the units of the data.
#[pyfunction]
pub fn reconstructions<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let width = model.file.rbm.visible().sites();
    let out = work::run(py, threads, work_of(model, &table), |stop| {
        let mut out = mapped(model, &table, seed, stop, width, |m, x| {
            m.visible().decode(m.down().means(m.up().means(x).view()).view())
        })?;
        model.file.preprocess.restore(&mut out);
        Ok(out)
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
    let (kind, preprocess) = (model.file.rbm.visible().kind(), &model.file.preprocess);
    let [energies, errors, jacobians] =
        work::run(py, threads, if missing { f64::INFINITY } else { work_of(model, &table) }, |stop| {
            let settings = conditional::ConditionalOptions { seed, ..Default::default() };
            let mut ask = Conditional::new(&model.file.rbm, settings).map_err(exception)?;
            let [mut energies, mut errors, mut jacobians] = [Vec::new(), Vec::new(), Vec::new()];
            each(model, &table, missing, seed, stop, |lowered, block| {
                let rows = block.values.nrows();
                jacobians.extend(preprocess.log_jacobians(kind, rows, block.known.as_ref()));
                let Some(known) = &block.known else {
                    let part = block.map(1, |x| lowered.up().free_energy(x).insert_axis(Axis(1)))?;
                    energies.extend(part);
                    errors.extend(std::iter::repeat_n(0.0, rows));
                    return Ok(());
                };
                let scores = ask.scores(block.columns.view(), known, block.first)?;
                energies.extend(scores.rows.iter().map(|s| -s.value));
                errors.extend(scores.rows.iter().map(|s| s.std_err));
                Ok(())
            })?;
            Ok([energies, errors, jacobians])
        })?;
    Ok((energies.into_pyarray(py), errors.into_pyarray(py), jacobians.into_pyarray(py)))
}

/// Σ_i log p(v_i | all other v) of every row, exactly.
#[pyfunction]
pub fn pseudo_log_likelihoods<'py>(
    py: Python<'py>,
    model: &Model,
    table: ArrayTable,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Vector<'py>> {
    let jacobian = model.file.preprocess.log_jacobian(model.file.rbm.visible().kind());
    let out = work::run(py, threads, work_of(model, &table) * model.file.rbm.visible().columns() as f64, |stop| {
        let mut all = Vec::new();
        each(model, &table, false, seed, stop, |lowered, block| {
            let none = || harmonium::Error::Undefined("pseudo-likelihoods need finite or gaussian units".into());
            let part = measure::pseudo_log_likelihood(lowered, block.columns.view()).ok_or_else(none)?;
            all.extend(part.iter().map(|p| p + jacobian));
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
        for (field, row) in layer.kind().unit::<f64>().fields().iter().zip(rows.rows()) {
            all.set_item(format!("{side}.{}", field.name), row.to_owned().into_pyarray(py))?;
        }
    }
    Ok(all)
}
