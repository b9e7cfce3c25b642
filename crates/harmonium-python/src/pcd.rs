//! The update of scikit-learn's BernoulliRBM: θ ← θ + (lr/n)(Σ_batch − Σ_chains), for a batch of n rows and persistent chains.
//!
//! Unlike the library's `pcd` it divides both phases by the batch size and takes rows in order. The library's backend
//! computes the sums.

use crate::errors::exception;
use crate::table::ArrayTable;
use crate::work;
use harmonium::backend::{Chart, Learner, Part, Phase, Side, SlopeOptions, Slot, Start, Step, Sweeps, cpu};
use harmonium::optimize::OptimizerConfig;
use harmonium::rng::Key;
use harmonium::units::{Kind, Options};
use harmonium::{Layer, LayerMeans, Rbm, Real, States};
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
    Single(Learning<f32>),
    Double(Learning<f64>),
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
                true => Learning::new(begin, &table).map(Precise::Single),
                false => Learning::new(begin, &table).map(Precise::Double),
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

struct Learning<T: Real> {
    learner: Box<dyn Learner<T>>,
    /// The biases, visible and hidden; the learner has the weights.
    biases: [Array2<T>; 2],
    chart: Chart,
    rows: States<T>,
    batch: usize,
    rate: f64,
    key: Key,
    sweep: u64,
    /// Number of chains.
    chains: usize,
    /// The difference of both layers' sums.
    difference: LayerMeans<T>,
}

impl<T: Real + Element> Learning<T> {
    fn new(begin: Begin, table: &ArrayTable) -> harmonium::Result<Learning<T>> {
        if begin.chains.nrows() == 0 || begin.batch == 0 {
            return Err(harmonium::Error::Undefined(
                "there must be chains and rows of a batch, but there are none".into(),
            ));
        }
        let kind = Kind::new("bernoulli", &Options::new())?;
        let layer = |bias: Array1<f64>| {
            let zero = Array1::zeros(bias.len());
            Layer::from_parts(kind.clone(), bias.mapv(T::of).insert_axis(Axis(0)), zero)
        };
        let rbm = Rbm::from_parts(layer(begin.visible)?, layer(begin.hidden)?, begin.weights.mapv(T::of))?;
        let model = rbm.lower();
        // Any finite number goes, as in scikit-learn: rows are taken as they are, without the units' domain.
        let (side, mut source) = (model.visible(), table.source());
        let mut rows = States::new(side);
        while let Some(block) = source.read(4096)? {
            rows.push(side, block.mapv(T::of).view());
        }
        let hidden = States::of(model.hidden(), begin.chains.mapv(T::of).view());
        let nothing = States::of(side, Array2::zeros((hidden.rows(), side.columns())).view());
        let plain = OptimizerConfig { name: "sgd".into(), momentum: 0.0, nesterov: false };
        let start = Start::new(&rbm, plain);
        let chart = start.chart.clone();
        let mut learner = cpu().learner(start)?;
        learner.backend_mut().put(CHAINS, &nothing, None);
        learner.backend_mut().put_hidden(CHAINS, &hidden);
        let (batch, rate, key) = (begin.batch, begin.rate, Key::root(begin.seed));
        let biases = [rbm.visible(), rbm.hidden()].map(|layer| layer.par().to_owned());
        let difference = LayerMeans::zeros(model.layers());
        Ok(Learning { learner, biases, chart, rows, batch, rate, key, sweep: 0, chains: hidden.rows(), difference })
    }

    /// Products that an epoch is, about: five passes over a batch and as many chains.
    fn products(&self) -> f64 {
        let rows = self.rows.rows().max(self.batch) as f64;
        5.0 * rows * (self.biases[0].len() * self.biases[1].len()) as f64
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
        let Learning { learner, difference, biases, key, sweep, .. } = self;
        let sums = |side, slot, rows: usize, draw| {
            // One shard, whose order of rows is that of a single sum.
            Phase { side, slot, weights: None, times: rows as f64, shard: rows, draw }
        };
        learner.backend_mut().put(BATCH, &self.rows, Some(which));
        learner.accumulate(&sums(Side::Data, BATCH, which.len(), None), difference);
        learner.backend_mut().gibbs(CHAINS, Sweeps { steps: 1, key: *key, first: *sweep, beta: None });
        *sweep += 1;
        learner.accumulate(&sums(Side::Model, CHAINS, self.chains, Some((*key, *sweep))), difference);
        learner.slope(SlopeOptions::default());
        let rate = self.rate / which.len() as f64;
        for (biases, means) in biases.iter_mut().zip(difference.layers()) {
            biases.scaled_add(T::of(rate), means);
        }
        learner.step(Some(Step { rate, count: 1, clip: None, max_norm: None }), self.chart.clone());
        let [visible, hidden] = biases;
        learner.set_layers([visible.view(), hidden.view()], 0.0);
    }

    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        let [visible, hidden] = &self.biases;
        let weights = self.learner.read(Part::Weights);
        all.set_item("components", weights.reversed_axes().into_pyarray(py))?;
        all.set_item("intercept_hidden", hidden.row(0).to_owned().into_pyarray(py))?;
        all.set_item("intercept_visible", visible.row(0).to_owned().into_pyarray(py))?;
        let backend = self.learner.backend();
        let side = backend.layers()[1];
        let chains = backend
            .hidden(CHAINS)
            .ok_or_else(|| exception(harmonium::Error::Undefined("the chains have no hidden states".into())))?;
        all.set_item("h_samples", chains.values(side).into_pyarray(py))?;
        Ok(all)
    }
}
