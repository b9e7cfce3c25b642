//! `partial_fit`: a trainer that is kept between calls and given its rows batch by batch.

use crate::errors::exception;
use crate::front::{Arrays, Listener, X, asked_table, call, name_arrays};
use crate::model::Model;
use crate::table::{ArrayTable, vector};
use crate::work::{self, locked};
use harmonium::data::Preprocess;
use harmonium::file::{ColumnNotes, ModelFile};
use harmonium::run::{Front, Prepared, Reader, Spec, complete_method, lookup, prepare, put};
use harmonium::schema::Schema;
use harmonium::train::{TrainConfig, adopted_model};
use harmonium::{Dataset, Layout, Result, Trainer};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Mutex;
use toml::Table;

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
