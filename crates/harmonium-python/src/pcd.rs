//! The update of scikit-learn's BernoulliRBM: θ ← θ + (lr/n)(Σ_batch − Σ_chains), for a batch of n rows and persistent chains.
//!
//! Unlike the library's `pcd` it divides both phases by the batch size and takes rows in order. The library's backend
//! computes the sums.

use crate::errors::exception;
use crate::table::ArrayTable;
use crate::work;
use harmonium::backend::{Backend, Cpu, Slot, Sweeps};
use harmonium::rng::Key;
use harmonium::units::{Kind, Options};
use harmonium::{Gradient, Layer, Rbm, Real, States, Stats, Take};
use ndarray::{Array1, Array2, Axis};
use numpy::{Element, IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const BATCH: Slot = 0;
const CHAINS: Slot = 1;

/// Learning as scikit-learn's BernoulliRBM does it, an epoch at a time.
#[pyclass(module = "harmonium._harmonium")]
pub struct Pcd(Precise);

enum Precise {
    Single(Learner<f32>),
    Double(Learner<f64>),
}

/// Does the same with either precision.
macro_rules! either {
    ($pcd:expr, $learner:ident => $result:expr) => {
        match $pcd {
            Precise::Single($learner) => $result,
            Precise::Double($learner) => $result,
        }
    };
}

#[pymethods]
impl Pcd {
    /// From components (hidden × visible), biases, the hidden states of the chains, and rows.
    #[new]
    #[allow(clippy::too_many_arguments)] // As Python asks it.
    fn new(
        py: Python,
        table: ArrayTable,
        components: PyReadonlyArray2<f64>,
        hidden: PyReadonlyArray1<f64>,
        visible: PyReadonlyArray1<f64>,
        chains: PyReadonlyArray2<f64>,
        single: bool,
        batch: usize,
        rate: f64,
        seed: u64,
    ) -> PyResult<Pcd> {
        let weights = components.as_array().t().to_owned();
        let (b, a, h) = (hidden.to_owned_array(), visible.to_owned_array(), chains.to_owned_array());
        let begin = Begin { weights, visible: a, hidden: b, chains: h, batch, rate, seed };
        let made = work::run(py, None, 0.0, |_| {
            let made = match single {
                true => Learner::new(begin, &table).map(Precise::Single),
                false => Learner::new(begin, &table).map(Precise::Double),
            };
            made.map_err(|e| table.exception(e))
        });
        made.map(Pcd)
    }

    /// Takes every row once, in their order.
    fn epoch(&mut self, py: Python) -> PyResult<()> {
        let products = either!(&self.0, l => l.products());
        work::run(py, None, products, |stop| {
            either!(&mut self.0, l => l.epoch(&|| stop.leave()));
            Ok(())
        })
    }

    /// What was learned, and the chains.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        either!(&self.0, l => l.arrays(py))
    }
}

/// What learning begins with.
struct Begin {
    weights: Array2<f64>,
    visible: Array1<f64>,
    hidden: Array1<f64>,
    chains: Array2<f64>,
    batch: usize,
    rate: f64,
    seed: u64,
}

struct Learner<T: Real> {
    rbm: Rbm<T>,
    backend: Cpu<T>,
    rows: States<T>,
    batch: usize,
    rate: f64,
    key: Key,
    sweep: u64,
    difference: Stats<T>,
    gradient: Gradient<T>,
}

impl<T: Real + Element> Learner<T> {
    fn new(begin: Begin, table: &ArrayTable) -> harmonium::Result<Learner<T>> {
        let kind = Kind::new("bernoulli", &Options::new())?;
        let layer = |bias: Array1<f64>| {
            let zero = Array1::zeros(bias.len());
            Layer::from_parts(kind.clone(), bias.mapv(T::of).insert_axis(Axis(0)), zero)
        };
        let rbm = Rbm::from_parts(layer(begin.visible)?, layer(begin.hidden)?, begin.weights.mapv(T::of))?;
        let model = rbm.lower();
        // Any finite number goes, as in scikit-learn: rows are taken as they are, without the units' domain.
        let (side, mut source) = (model.visible(), table.source());
        let mut rows = States::new(side.unit(), side.sites());
        while let Some(block) = source.read(4096)? {
            rows.push(side, block.mapv(T::of).view());
        }
        let hidden = States::of(model.hidden(), begin.chains.mapv(T::of).view());
        let nothing = States::of(side, Array2::zeros((hidden.rows(), side.columns())).view());
        let (difference, gradient) = (Stats::zeros(&model), Gradient::zeros(&rbm));
        let mut backend = Cpu::new(model)?;
        backend.put(CHAINS, &nothing, None);
        backend.put_hidden(CHAINS, &hidden);
        let (batch, rate, key) = (begin.batch, begin.rate, Key::root(begin.seed));
        Ok(Learner { rbm, backend, rows, batch, rate, key, sweep: 0, difference, gradient })
    }

    /// Products that an epoch is, about: five passes over a batch and as many chains.
    fn products(&self) -> f64 {
        let rows = self.rows.rows().max(self.batch) as f64;
        5.0 * rows * self.rbm.weights().len() as f64
    }

    fn epoch(&mut self, leave: &dyn Fn()) {
        let n = self.rows.rows();
        for first in (0..n).step_by(self.batch) {
            leave();
            let which: Vec<usize> = (first..(first + self.batch).min(n)).collect();
            self.update(&which);
        }
    }

    fn update(&mut self, which: &[usize]) {
        let Learner { backend, difference, gradient, .. } = self;
        backend.put(BATCH, &self.rows, Some(which));
        backend.stats(BATCH, None, None, Take::SumsFirst, difference);
        backend.gibbs(CHAINS, Sweeps { steps: 1, key: self.key, first: self.sweep, beta: None });
        self.sweep += 1;
        backend.stats(CHAINS, None, Some((self.key, self.sweep)), Take::LessSums, difference);
        self.rbm.gradient_into(backend.lowered(), difference, false, gradient);
        let rate = T::of(self.rate / which.len() as f64);
        self.rbm.step_layers(rate, gradient);
        backend.follow(&mut self.rbm, Some((rate, &gradient.weights)));
    }

    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        let side = self.backend.lowered().hidden();
        all.set_item("components", self.rbm.weights().t().to_owned().into_pyarray(py))?;
        all.set_item("intercept_hidden", self.rbm.hidden().par().row(0).to_owned().into_pyarray(py))?;
        all.set_item("intercept_visible", self.rbm.visible().par().row(0).to_owned().into_pyarray(py))?;
        let chains = self
            .backend
            .hidden(CHAINS)
            .ok_or_else(|| exception(harmonium::Error::Undefined("the chains have no hidden states".into())))?;
        all.set_item("h_samples", chains.values(side).into_pyarray(py))?;
        Ok(all)
    }
}
