//! One update: a batch, the difference of the phases, the gradient, a step, and the offsets after it. Only vectors with a number for
//! each unit, and scalars, cross between here and the learner.

use super::{Trainer, shuffled};
use crate::backend::{Part, Products, SlopeOptions, Step, Sweeps};
use crate::error::{Error, Result};
use crate::estimate::{BATCH, Context, Phases};
use crate::layer::{Layer, Layers};
use crate::lowered::LoweredLayer;
use crate::math::{all_finite, dot};
use crate::model::{Gradient, Rbm};
use crate::optimize::{self, MOMENTS, Optimizer, OptimizerConfig};
use crate::real::Real;
use crate::rng::Purpose;
use crate::stats::LayerMeans;
use ndarray::{Array1, Array2, ArrayView2};
use std::ops::Range;

/// Difference of mean energies per unit, chains against data, beyond which a model has exploded; sensible ones are of order 1.
const LARGEST_ENERGY: f64 = 1e3;

/// Updates between two checks of the mean energy and for numbers that are not finite (they stay that way); a divisor of the
/// updates between snapshots, so that no snapshot is taken of an exploded model, and of those between moves of the offsets,
/// which refuse such numbers.
const CHECK_EVERY: u64 = 10;

/// Updates between two moves of the offsets; a divisor of the updates between snapshots.
const RECENTER_EVERY: u64 = 10;

/// Sweeps that draw the unknown cells of a batch, from what they were when the row was last seen.
const FILL: u64 = 5;

/// Rows of a shard, see [`crate::backend::Phase::shard`]: most batches are one.
pub const SHARD: usize = 1024;

/// Why an update failed: an error, or something seen that a smaller learning rate may mend.
pub(super) enum Trouble {
    Error(Error),
    Seen(String),
}

/// What an update needs of the layers: their gradient and its moments, and buffers, kept so that none is allocated twice.
pub(super) struct Work<T> {
    phases: Phases<T>,
    gradient: [Array2<T>; 2],
    pub optimizer: Box<dyn Optimizer<T>>,
    /// The moments of both layers' gradient.
    moments: [[Array2<T>; 2]; MOMENTS],
    weights: Vec<T>,
    running: [Array1<T>; 2],
}

impl<T: Real> Work<T> {
    pub fn new(layers: &Layers<T>, lowered: [&LoweredLayer<T>; 2], optimizer: &OptimizerConfig) -> Result<Work<T>> {
        let zeros = || layers.both().map(|layer| Array2::zeros(layer.par().dim()));
        Ok(Work {
            phases: Phases::zeros(lowered),
            gradient: zeros(),
            optimizer: optimize::new(optimizer)?,
            moments: std::array::from_fn(|_| zeros()),
            weights: Vec::new(),
            running: offsets(layers),
        })
    }

    /// Turns the gradient into the direction of step `count`.
    fn direction(&mut self, count: u64) {
        let Work { gradient, optimizer, moments: [first, second], .. } = self;
        for ((g, a), b) in gradient.iter_mut().zip(first).zip(second) {
            // They are in standard layout.
            let [g, a, b] = [g, a, b].map(|m| m.as_slice_mut().unwrap_or(&mut []));
            optimizer.direction(count, g, [a, b]);
        }
    }
}

impl<T: Real> Trainer<T> {
    /// One update; on trouble the model may be half changed and must be restored.
    pub(super) fn try_update(&mut self) -> std::result::Result<(), Trouble> {
        if !self.phases().map_err(Trouble::Error)? {
            return Ok(());
        }
        let check = self.is_checked();
        let clip = self.slope(check)?;
        self.work.direction(self.update + 1);
        self.slow_variances();
        let rate = self.learning_rate();
        let [visible, hidden] = &self.work.gradient;
        self.layers.step(T::of(rate), [visible, hidden]);
        self.limit_variances();
        let step = Step { rate, count: self.update + 1, clip, max_norm: self.config.penalty.max_norm };
        let products = self.learner.step(Some(step), self.layers.chart());
        self.lower(products);
        if self.config.centering {
            self.recenter().map_err(Trouble::Error)?;
        }
        let finite = || self.layers.both().iter().all(|layer| layer.par().as_slice().is_some_and(all_finite));
        if check && !(finite() && self.learner.is_finite()) {
            return Err(Trouble::Seen("a parameter was not finite".into()));
        }
        Ok(())
    }

    /// The gradient of both layers and, in the learner, of the weights; returns the factor that shortens it, if it is too long.
    fn slope(&mut self, check: bool) -> std::result::Result<Option<f64>, Trouble> {
        let penalty = &self.config.penalty;
        let reported = (self.update + 1).is_multiple_of(self.config.report_every);
        let slope = self.learner.slope(SlopeOptions {
            l1: penalty.l1,
            l2: penalty.l2,
            virials: self.config.variance_rate != 0.0,
            energy: check,
            norm: reported || penalty.clip.is_some(),
        });
        let Work { phases: Phases { difference, data }, gradient: [visible, hidden], .. } = &mut self.work;
        if check {
            let energy = mean_energy(&self.layers, difference, slope.energy);
            if energy.is_nan() || energy.abs() > LARGEST_ENERGY {
                let far = format!("the mean energies of model and data differ by {:.1e} nats per unit", energy.abs());
                return Err(Trouble::Seen(far));
            }
        }
        let none = Array1::zeros(self.layers.visible.columns());
        let times = |x: &Array1<f64>| self.learner.products(x, &none).0;
        self.layers.gradient(difference, &slope.virials, times, [&mut *visible, &mut *hidden]);
        penalty.pull(data.hidden.row(0), hidden.row_mut(0));
        if !reported && penalty.clip.is_none() {
            return Ok(None);
        }
        let square = |m: &Array2<T>| m.as_slice().map_or(0.0, |m| dot(m, m));
        let norm = (slope.square + square(visible) + square(hidden)).sqrt();
        let clip = penalty.clipping(norm);
        for m in [visible, hidden] {
            clip.iter().for_each(|factor| m.mapv_inplace(|x| x * T::of(*factor)));
        }
        self.gradient_norm = norm * clip.unwrap_or(1.0);
        Ok(clip)
    }

    /// Gives the learner the layers as they are, lowered.
    fn lower(&mut self, products: Option<Products>) {
        let ([visible, hidden], constant) = self.layers.lower(products);
        self.learner.set_layers([visible.view(), hidden.view()], constant);
    }

    /// Makes this the model of the run.
    pub(super) fn set_model(&mut self, rbm: &Rbm<T>) {
        self.layers = rbm.layers().clone();
        self.learner.write(Part::Weights, rbm.weights().to_owned());
        let products = self.learner.step(None, self.layers.chart());
        self.lower(products);
    }

    /// The model after the last update.
    pub(super) fn last_model(&self) -> Rbm<T> {
        Rbm::assembled(self.layers.clone(), self.learner.read(Part::Weights))
    }

    /// The moments of the optimiser, by name.
    pub(super) fn moments(&self) -> Vec<Gradient<T>> {
        let each = |k: usize| {
            let [visible, hidden] = self.work.moments[k].clone();
            Gradient { visible, hidden, weights: self.learner.read(Part::Moment(k)) }
        };
        (0..self.work.optimizer.moments().len()).map(each).collect()
    }

    /// Restores the moments.
    pub(super) fn set_moments(&mut self, moments: Vec<Gradient<T>>) {
        for (k, Gradient { visible, hidden, weights }) in moments.into_iter().take(MOMENTS).enumerate() {
            self.work.moments[k] = [visible, hidden];
            self.learner.write(Part::Moment(k), weights);
        }
    }

    /// Whether this update is checked for divergence: every few, and before anyone sees the model.
    fn is_checked(&self) -> bool {
        let done = self.update + 1;
        done.is_multiple_of(CHECK_EVERY) || done.is_multiple_of(self.config.report_every) || done == self.config.updates
    }

    /// Statistics of the batch and of the model; whether there are any, for a batch may have no weight.
    fn phases(&mut self) -> Result<bool> {
        let batch = self.batch();
        let rows = &self.permutation.1[batch];
        let backend = self.learner.backend_mut();
        backend.put(BATCH, self.data.states(), Some(rows));
        let known = self.data.known().map(|known| known.select(rows));
        if let Some(known) = known.as_ref().filter(|k| !self.estimator.sums_over(backend.layers(), k)) {
            let key = self.key.of(Purpose::Missing);
            backend.clamp(BATCH, Some(known));
            backend.gibbs(BATCH, Sweeps { steps: FILL, key, first: self.update * FILL, beta: None });
            backend.clamp(BATCH, None);
            self.data.fill(rows, &backend.get(BATCH));
        }
        let Work { phases, weights, .. } = &mut self.work;
        weights.clear();
        if !self.data.uniform() {
            weights.extend(rows.iter().map(|r| self.data.weights()[*r]));
            if weights.iter().all(|w| *w == T::zero()) {
                return Ok(false);
            }
        }
        let cx = Context {
            learner: self.learner.as_mut(),
            weights: (!self.data.uniform()).then_some(&weights[..]),
            known: known.as_ref(),
            key: self.key,
            update: self.update,
            shard: SHARD,
        };
        self.estimator.phases(cx, phases)?;
        Ok(true)
    }

    /// The learning rate of this update.
    pub(super) fn learning_rate(&self) -> f64 {
        let t = self.update as f64 / self.config.updates.max(1) as f64;
        self.config.lr * self.config.schedule.factor(t) * self.rate_factor * self.estimator.rate()
    }

    /// The part of the permutation that this update takes: epochs are permutations of all rows, the last batch of an
    /// epoch may be smaller.
    fn batch(&mut self) -> Range<usize> {
        let per_epoch = self.config.updates_per_epoch(self.data.len());
        let (epoch, within) = (self.update / per_epoch, (self.update % per_epoch) as usize);
        if self.permutation.0 != epoch {
            self.permutation = (epoch, shuffled(self.data.len(), self.key.of(Purpose::Shuffle).step(epoch)));
        }
        let first = within * self.config.batch_size;
        first..(first + self.config.batch_size).min(self.data.len())
    }

    /// Log-variances learn more slowly: their gradient is a difference of squares and the noisiest of all.
    fn slow_variances(&mut self) {
        let factor = T::of(self.config.variance_rate);
        for (layer, rows) in self.layers.both().into_iter().zip(&mut self.work.gradient) {
            for (_, row, _) in layer.layout().fields().iter().filter(|(field, ..)| field.name == "log_variance") {
                rows.row_mut(*row).mapv_inplace(|x| x * factor);
            }
        }
    }

    /// Visible log-variances stay in a range around those of the data.
    fn limit_variances(&mut self) {
        let Some((low, high)) = &self.limits else { return };
        let (_, par, _) = self.layers.visible.parts_mut();
        for (i, z) in par.row_mut(1).iter_mut().enumerate() {
            *z = z.max(low[i]).min(high[i]);
        }
    }

    /// Running means follow those of the batches, and now and then the offsets are moved to them: each move costs some passes over the
    /// weights. At a snapshot both are the same, so the offsets are the whole state.
    fn recenter(&mut self) -> Result<()> {
        let rate = self.config.offset_rate;
        let LayerMeans { visible, hidden, .. } = &self.work.phases.data;
        for (running, means) in self.work.running.iter_mut().zip([visible, hidden]) {
            running.zip_mut_with(&means.row(0), |r, m| *r = T::of(r.f64() + rate * (m.f64() - r.f64())));
        }
        if (self.update + 1).is_multiple_of(RECENTER_EVERY) {
            let [alpha, beta] = &self.work.running;
            self.layers.recenter([alpha.view(), beta.view()], |x, y| self.learner.products(x, y))?;
            let products = self.learner.set_origins(self.layers.origins());
            self.lower(products);
        }
        Ok(())
    }

    /// The running means, if they are not the offsets.
    pub(super) fn running_means(&self) -> Option<[Array1<T>; 2]> {
        Some(self.work.running.clone()).filter(|running| *running != offsets(&self.layers))
    }

    /// Sets the running means; none sets them to the offsets.
    pub(super) fn set_running_means(&mut self, running: Option<[Array1<T>; 2]>) {
        self.work.running = running.unwrap_or_else(|| offsets(&self.layers));
    }
}

fn offsets<T: Real>(layers: &Layers<T>) -> [Array1<T>; 2] {
    layers.both().map(|layer: &Layer<T>| layer.offset().to_owned())
}

/// ⟨E⟩ of the model less that of the data per unit, from ⟨·⟩_data − ⟨·⟩_model and W̃·⟨vhᵀ⟩, measured from the origins: with the
/// layers' own η, ⟨η,T⟩ + W̃·⟨vhᵀ⟩.
fn mean_energy<T: Real>(layers: &Layers<T>, difference: &LayerMeans<T>, coupled: f64) -> f64 {
    let dot = |a: ArrayView2<T>, b: &Array2<T>| match (a.as_slice(), b.as_slice()) {
        (Some(a), Some(b)) => dot(a, b),
        _ => f64::NAN,
    };
    let own = layers.both().into_iter().zip(difference.layers());
    let sum: f64 = own.map(|(layer, means)| dot(layer.natural().0.view(), means)).sum();
    (sum + coupled) / (layers.visible.columns() + layers.hidden.columns()) as f64
}
