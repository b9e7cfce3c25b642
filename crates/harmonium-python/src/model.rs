//! A trained model in Python: the content of a model file, immutable, and its log Z.

use crate::errors::{exception, sentence};
use crate::table::{ArrayTable, vector};
use crate::work;
use harmonium::Layout;
use harmonium::data::Words;
use harmonium::file::{ModelFile, Precision};
use harmonium::logz::{self, LogZ};
use harmonium::schema::{Column, Facts, Schema};
use harmonium::units::Options;
use ndarray::{Array2, ArrayD, Axis, IxDyn};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A trained model: the content of a model file, which never changes.
#[pyclass(frozen, module = "harmonium._harmonium")]
pub struct Model {
    /// What stands in the file.
    pub file: ModelFile,
    /// log Z by what was asked.
    solved: Mutex<BTreeMap<String, LogZ>>,
}

impl Model {
    /// A model from a file.
    pub fn new(file: ModelFile) -> Model {
        Model { file, solved: Mutex::default() }
    }
}

#[pymethods]
impl Model {
    /// The model of the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Model> {
        ModelFile::from_bytes(bytes).map(Model::new).map_err(exception)
    }

    /// The bytes of its model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.to_bytes())
    }

    /// The model of a model file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Model> {
        ModelFile::read(path).map(Model::new).map_err(exception)
    }

    /// Writes its model file; there is the old one or the new one, never half of either.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        self.file.write(path).map_err(exception)
    }

    /// The model with these metadata and tensors, by their names in a model file.
    #[staticmethod]
    fn from_tensors(
        metadata: BTreeMap<String, String>,
        tensors: BTreeMap<String, PyReadonlyArrayDyn<f64>>,
        single: bool,
    ) -> PyResult<Model> {
        let plain = |(name, array): (String, PyReadonlyArrayDyn<f64>)| {
            let array = array.as_array();
            (name, (array.shape().to_vec(), array.iter().copied().collect()))
        };
        let tensors = tensors.into_iter().map(plain).collect();
        let precision = if single { Precision::F32 } else { Precision::F64 };
        ModelFile::from_tensors(metadata, &tensors, precision).map(Model::new).map_err(exception)
    }

    /// Its tensors, by their names in a model file and in its precision.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, (shape, numbers)) in self.file.tensors() {
            let array = ArrayD::from_shape_vec(IxDyn(&shape), numbers);
            let array = array.map_err(|e| PyValueError::new_err(format!("{name}: {e}")))?;
            match self.file.precision {
                Precision::F32 => all.set_item(name, array.mapv(|x| x as f32).into_pyarray(py))?,
                Precision::F64 => all.set_item(name, array.into_pyarray(py))?,
            }
        }
        Ok(all)
    }

    /// Its metadata, by their names in a model file.
    fn metadata(&self) -> BTreeMap<String, String> {
        self.file.metadata()
    }

    /// Number of visible units.
    fn n_visible(&self) -> usize {
        self.file.rbm.visible().sites()
    }

    /// Number of hidden units.
    fn n_hidden(&self) -> usize {
        self.file.rbm.hidden().sites()
    }

    /// The units of both layers: the name of a kind and its options, or a list of blocks.
    fn units(&self) -> [(String, Options); 2] {
        [self.file.rbm.visible(), self.file.rbm.hidden()].map(|layer| match layer.kind() {
            Some(kind) => (kind.name().into(), kind.options()),
            None => (layer.layout().list(), Options::new()),
        })
    }

    /// What the columns of its data are, as JSON, or none if the data was an array.
    fn schema(&self) -> Option<String> {
        self.file.schema.as_ref().map(|schema| described(schema).to_string())
    }

    /// The columns that are learned; none if the data was an array.
    fn columns(&self) -> Vec<LearnedColumn> {
        let of = |schema: &Schema| schema.kept().zip(schema.words()).map(learned).collect();
        self.file.schema.as_ref().map(of).unwrap_or_default()
    }

    /// Whether the visible units have finitely many states, so that rows have probabilities and not densities.
    fn is_finite(&self) -> bool {
        self.file.rbm.visible().layout().is_finite()
    }

    /// The same distribution with other offsets; those not given stay.
    fn recentered(
        &self,
        visible: Option<PyReadonlyArray1<f64>>,
        hidden: Option<PyReadonlyArray1<f64>>,
    ) -> PyResult<Model> {
        let mut file = self.file.clone();
        let alpha = vector(visible).unwrap_or_else(|| file.rbm.visible().offset().to_owned());
        let beta = vector(hidden).unwrap_or_else(|| file.rbm.hidden().offset().to_owned());
        file.rbm.recenter(alpha.view(), beta.view()).map_err(exception)?;
        Ok(Model::new(file))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    fn __eq__(&self, other: &Bound<PyAny>) -> bool {
        other.cast::<Model>().is_ok_and(|other| other.get().file == self.file)
    }
}

/// A learned column: its name, the values of its units, the words that stand for them (none if its cells are numbers), the names of
/// its states, and the columns that its unit has in the layer.
type LearnedColumn = (String, Vec<f64>, Vec<String>, Vec<String>, usize);

fn learned((column, Words { values, words }): (&Column, Words)) -> LearnedColumn {
    let width = column.kind().map_or(0, |kind| kind.unit::<f64>().width());
    (column.name.clone(), values, words, column.categories.clone(), width)
}

/// The columns of a schema: names, kinds, categories, and what was found where it was inferred.
pub fn described(schema: &Schema) -> Value {
    let column = |c: &Column| {
        let Facts { missing, values, why, may_be_label, .. } = &c.facts;
        // A schema from a file knows no table.
        let missing = (!why.is_empty()).then_some(*missing);
        json!({"name": c.name, "kind": c.kind_text(), "categories": c.categories, "missing": missing, "values": values,
               "why": why, "may_be_label": may_be_label})
    };
    schema.columns.iter().map(column).collect()
}

/// The blocks of a layer that text describes: kinds, numbers of units, options.
#[pyfunction]
pub fn blocks(text: &str) -> PyResult<Vec<(String, usize, Options)>> {
    let layout = Layout::parse(text).map_err(exception)?;
    Ok(layout.blocks().iter().map(|b| (b.kind().name().into(), b.sites().len(), b.kind().options())).collect())
}

/// log Z of a model, computed once for every question.
#[pyfunction]
#[pyo3(signature = (model, method, tolerance, chains, temperatures, budget, time, seed, data, threads))]
#[allow(clippy::too_many_arguments)] // As Python asks it, all by name.
pub fn log_z<'py>(
    py: Python<'py>,
    model: &Model,
    method: &str,
    tolerance: f64,
    chains: Option<usize>,
    temperatures: Option<usize>,
    budget: Option<f64>,
    time: Option<f64>,
    seed: u64,
    data: Option<ArrayTable>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked = format!("{method} {tolerance} {chains:?} {temperatures:?} {budget:?} {time:?} {seed}");
    let known = || model.solved.lock().unwrap_or_else(PoisonError::into_inner);
    let before = if data.is_none() { known().get(&asked).cloned() } else { None };
    let found = match before {
        Some(found) => found,
        None => work::run(py, threads, f64::INFINITY, |stop| {
            let rows = data.map(|table| columns(model, &table)).transpose()?;
            let budget = budget.unwrap_or(if time.is_some() { f64::INFINITY } else { logz::BUDGET });
            let settings = logz::LogZOptions {
                seed,
                chains,
                temperatures,
                tolerance,
                budget,
                time,
                data: rows.as_ref(),
                ..Default::default()
            };
            logz::log_z(&model.file.rbm, method, settings, &|_, _| stop.leave()).map_err(exception)
        })?,
    };
    known().insert(asked, found.clone());
    as_dict(py, &found)
}

/// All rows of a table as rows of columns.
pub fn columns(model: &Model, table: &ArrayTable) -> PyResult<Array2<f64>> {
    let (lowered, file) = (model.file.rbm.lower(), &model.file);
    let side = lowered.visible();
    let mut all = Array2::zeros((0, side.columns()));
    let mut read = || {
        let mut rows = table.prepared(file, side, 0)?;
        while let Some(block) = rows.read()? {
            // Both have the columns of the layer, so they fit.
            let _ = all.append(Axis(0), block.columns()?.view());
        }
        Ok(())
    };
    read().map_err(|e| table.exception(e))?;
    Ok(all)
}

fn as_dict<'py>(py: Python<'py>, found: &LogZ) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, number) in
        [("value", found.value), ("std_err", found.std_err), ("lower", found.lower), ("upper", found.upper)]
    {
        all.set_item(name, number)?;
    }
    all.set_item("ess", found.ess)?;
    for (name, text) in [
        ("method", found.method),
        ("verdict", found.verdict.name()),
        ("how", found.how.as_str()),
        ("advice", sentence(&found.reason, &found.advice).as_str()),
    ] {
        all.set_item(name, text)?;
    }
    let evidence = found.evidence.iter().map(|e| {
        let one = PyDict::new(py);
        one.set_item("name", e.name)?;
        one.set_item("holds", e.holds)?;
        one.set_item("value", e.value)?;
        one.set_item("limit", e.limit)?;
        one.set_item("words", &e.words)?;
        Ok(one)
    });
    all.set_item("evidence", evidence.collect::<PyResult<Vec<_>>>()?)?;
    all.set_item("work", found.work)?;
    Ok(all)
}
