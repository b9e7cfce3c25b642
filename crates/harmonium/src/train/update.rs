//! One update: a batch, the model's statistics, the gradient, a step, and the offsets after it.

use super::{Trainer, shuffled};
use crate::backend::Sweeps;
use crate::error::{Error, Result};
use crate::estimate::{BATCH, Context, Phases};
use crate::lowered::LoweredModel;
use crate::math::{all_finite, dot};
use crate::model::{Gradient, Rbm};
use crate::real::Real;
use crate::rng::Purpose;
use crate::stats::Stats;
use ndarray::{Array1, Array2, ArrayView2};
use std::ops::Range;

/// Difference of mean energies per unit, chains against data, beyond which a model has exploded; sensible ones are of order 1.
const LARGEST_ENERGY: f64 = 1e3;

/// Updates between two looks at the mean energy and at numbers that are not finite, which stay so; a divisor of the
/// updates between snapshots, so that no snapshot is taken of an exploded model, and of those between moves of the offsets,
/// which refuse such numbers.
const CHECK_EVERY: u64 = 10;

/// Updates between two moves of the offsets; a divisor of the updates between snapshots.
const RECENTER_EVERY: u64 = 10;

/// Sweeps that draw the unknown cells of a batch, from what they were when the row was last seen.
const FILL: u64 = 5;

/// Why an update failed: an error, or something seen that a smaller learning rate may mend.
pub(super) enum Trouble {
    Error(Error),
    Seen(String),
}

/// Buffers of an update, kept so that none is allocated twice.
pub(super) struct Work<T> {
    phases: Phases<T>,
    gradient: Gradient<T>,
    weights: Vec<T>,
    running: [Array1<T>; 2],
}

impl<T: Real> Work<T> {
    pub fn new(rbm: &Rbm<T>, lowered: &LoweredModel<T>) -> Work<T> {
        Work {
            phases: Phases::zeros(lowered),
            gradient: Gradient::zeros(rbm),
            weights: Vec::new(),
            running: offsets(rbm),
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
        let Work { phases: Phases { difference, data }, gradient, .. } = &mut self.work;
        if check {
            let energy = mean_energy(&self.rbm, self.backend.lowered(), difference);
            if energy.is_nan() || energy.abs() > LARGEST_ENERGY {
                let far = format!("the mean energies of model and data differ by {:.1e} nats per unit", energy.abs());
                return Err(Trouble::Seen(far));
            }
        }
        let variances = self.config.variance_rate != 0.0;
        self.rbm.gradient_into(self.backend.lowered(), difference, variances, gradient);
        self.config.penalty.apply(&self.rbm, data[1].row(0), gradient);
        if (self.update + 1).is_multiple_of(self.config.report_every) {
            self.gradient_norm = gradient.norm();
        }
        self.optimizer.direction(gradient);
        self.slow_variances();
        let rate = T::of(self.learning_rate());
        let Work { gradient, .. } = &self.work;
        // Weights step while they are lowered, unless something needs them in between.
        let apart = self.config.penalty.max_norm.is_some();
        match apart {
            true => self.rbm.step(rate, gradient),
            false => self.rbm.step_layers(rate, gradient),
        }
        self.config.penalty.project(&mut self.rbm);
        self.limit_variances();
        self.backend.follow(&mut self.rbm, (!apart).then_some((rate, &self.work.gradient.weights)));
        if self.config.centering && self.recenter().map_err(Trouble::Error)? {
            self.backend.follow(&mut self.rbm, None);
        }
        let all = [self.rbm.weights(), self.rbm.visible().par(), self.rbm.hidden().par()];
        if check && !all.iter().all(|m| m.as_slice().is_some_and(all_finite)) {
            return Err(Trouble::Seen("a parameter was not finite".into()));
        }
        Ok(())
    }

    /// Whether this update looks for trouble: now and then, and before anyone sees the model.
    fn is_checked(&self) -> bool {
        let done = self.update + 1;
        done.is_multiple_of(CHECK_EVERY) || done.is_multiple_of(self.config.report_every) || done == self.config.updates
    }

    /// Statistics of the batch and of the model; whether there are any, for a batch may have no weight.
    fn phases(&mut self) -> Result<bool> {
        let batch = self.batch();
        let rows = &self.permutation.1[batch];
        self.backend.put(BATCH, self.data.states(), Some(rows));
        let known = self.data.known().map(|known| known.select(rows));
        if let Some(known) = known.as_ref().filter(|k| !self.estimator.sums_over(self.backend.lowered(), k)) {
            let key = self.key.of(Purpose::Missing);
            self.backend.clamp(BATCH, Some(known));
            self.backend.gibbs(BATCH, Sweeps { steps: FILL, key, first: self.update * FILL, beta: None });
            self.backend.clamp(BATCH, None);
            self.data.fill(rows, &self.backend.get(BATCH));
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
            rbm: &self.rbm,
            backend: self.backend.as_mut(),
            weights: (!self.data.uniform()).then_some(&weights[..]),
            known: known.as_ref(),
            key: self.key,
            update: self.update,
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
        let step = &mut self.work.gradient;
        let factor = T::of(self.config.variance_rate);
        for (layer, rows) in [(self.rbm.visible(), &mut step.visible), (self.rbm.hidden(), &mut step.hidden)] {
            let fields = layer.kind().unit::<T>().fields();
            for (_, mut row) in fields.iter().zip(rows.rows_mut()).filter(|(f, _)| f.name == "log_variance") {
                row.mapv_inplace(|x| x * factor);
            }
        }
    }

    /// Visible log-variances stay in a range around those of the data.
    fn limit_variances(&mut self) {
        let Some((low, high)) = &self.limits else { return };
        let (visible, _, _) = self.rbm.parts_mut();
        let (_, par, _) = visible.parts_mut();
        for (i, z) in par.row_mut(1).iter_mut().enumerate() {
            *z = z.max(low[i]).min(high[i]);
        }
    }

    /// Running means follow those of the batches, and now and then the offsets are moved to them, and the result says so: each move costs
    /// some passes over the weights. At a snapshot both are the same, so the offsets are the whole state.
    fn recenter(&mut self) -> Result<bool> {
        let rate = self.config.offset_rate;
        for (running, means) in self.work.running.iter_mut().zip(&self.work.phases.data) {
            running.zip_mut_with(&means.row(0), |r, m| *r = T::of(r.f64() + rate * (m.f64() - r.f64())));
        }
        let moves = (self.update + 1).is_multiple_of(RECENTER_EVERY);
        if moves {
            let [alpha, beta] = &self.work.running;
            self.rbm.recenter(alpha.view(), beta.view())?;
        }
        Ok(moves)
    }

    /// The running means, if they are not the offsets.
    pub(super) fn running_means(&self) -> Option<[Array1<T>; 2]> {
        Some(self.work.running.clone()).filter(|running| *running != offsets(&self.rbm))
    }

    /// Sets the running means; none sets them to the offsets.
    pub(super) fn set_running_means(&mut self, running: Option<[Array1<T>; 2]>) {
        self.work.running = running.unwrap_or_else(|| offsets(&self.rbm));
    }
}

fn offsets<T: Real>(rbm: &Rbm<T>) -> [Array1<T>; 2] {
    [rbm.visible(), rbm.hidden()].map(|layer| layer.offset().to_owned())
}

/// ⟨E⟩ of the model less that of the data per unit, from ⟨·⟩_data − ⟨·⟩_model, measured from the origins: with the layers' own η,
/// ⟨η,T⟩ + W̃·⟨vhᵀ⟩.
fn mean_energy<T: Real>(rbm: &Rbm<T>, lowered: &LoweredModel<T>, difference: &Stats<T>) -> f64 {
    let dot = |a: ArrayView2<T>, b: &Array2<T>| match (a.as_slice(), b.as_slice()) {
        (Some(a), Some(b)) => dot(a, b),
        _ => f64::NAN,
    };
    let sum = dot(rbm.visible().natural().0.view(), &difference.visible)
        + dot(rbm.hidden().natural().0.view(), &difference.hidden)
        + dot(lowered.weights(), &difference.cross);
    sum / (lowered.visible().columns() + lowered.hidden().columns()) as f64
}
