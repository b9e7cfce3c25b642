//! One update: a batch, the model's statistics, the gradient, a step, and the offsets after it.

use super::{Trainer, shuffled};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::estimate::Context;
use crate::model::Gradient;
use crate::natural::Natural;
use crate::real::Real;
use crate::rng::Purpose;
use crate::stats::Stats;
use ndarray::{Array1, Array2};

/// Mean energy per unit beyond which a machine has exploded; energies of sensible machines are of order 1 per unit.
const LARGEST_ENERGY: f64 = 1e3;

/// Why an update failed: an error, or something seen that a smaller learning rate may mend.
pub(super) enum Trouble {
    Error(Error),
    Seen(String),
}

impl<T: Real> Trainer<T> {
    /// One update; on trouble the machine may be half changed and must be restored.
    pub(super) fn step(&mut self) -> std::result::Result<(), Trouble> {
        let batch = self.batch();
        let data = self.backend.stats(batch.states(), batch.weights());
        if data.weight == 0.0 {
            return Ok(());
        }
        let cx = Context {
            rbm: &self.rbm,
            backend: self.backend.as_mut(),
            batch: &batch,
            key: self.key,
            update: self.update,
        };
        let model = self.estimator.model_stats(cx).map_err(Trouble::Error)?;
        let energy = mean_energy(self.backend.machine(), &model);
        if energy.is_nan() || energy.abs() > LARGEST_ENERGY {
            return Err(Trouble::Seen(format!("the mean energy of the chains was {energy:.3e} per unit")));
        }
        let mut gradient = self.rbm.gradient(self.backend.machine(), &data.minus(&model));
        self.config.penalty.apply(&self.rbm, &data, &mut gradient);
        self.gradient_norm = gradient.norm();
        if !self.gradient_norm.is_finite() {
            return Err(Trouble::Seen("the gradient was not finite".into()));
        }
        let mut step = self.optimizer.direction(gradient);
        self.slow_variances(&mut step);
        self.rbm.step(T::of(self.learning_rate()), &step);
        self.config.penalty.project(&mut self.rbm);
        self.limit_variances();
        if self.config.centering {
            self.recenter(&data).map_err(Trouble::Error)?;
        }
        let all = [self.rbm.weights(), self.rbm.visible().par(), self.rbm.hidden().par()];
        if !all.iter().flatten().all(|x| x.is_finite()) {
            return Err(Trouble::Seen("a parameter was not finite".into()));
        }
        self.backend.update(self.rbm.lower());
        Ok(())
    }

    /// The learning rate of this update.
    pub(super) fn learning_rate(&self) -> f64 {
        let t = self.update as f64 / self.config.updates.max(1) as f64;
        self.config.lr * self.config.schedule.factor(t) * self.rate_factor
    }

    /// The rows of this update: epochs are permutations of all rows, the last batch of an epoch may be smaller.
    fn batch(&mut self) -> Dataset<T> {
        let per_epoch = self.config.updates_per_epoch(self.data.len());
        let (epoch, within) = (self.update / per_epoch, (self.update % per_epoch) as usize);
        if self.permutation.0 != epoch {
            self.permutation = (epoch, shuffled(self.data.len(), self.key.of(Purpose::Shuffle).step(epoch)));
        }
        let first = within * self.config.batch_size;
        let last = (first + self.config.batch_size).min(self.data.len());
        self.data.select(&self.permutation.1[first..last])
    }

    /// Log-variances learn more slowly: their gradient is a difference of squares and the noisiest of all.
    fn slow_variances(&self, step: &mut Gradient<T>) {
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

    /// Offsets follow the means of the batch.
    fn recenter(&mut self, data: &Stats<T>) -> Result<()> {
        let (rate, n) = (self.config.offset_rate, data.weight);
        let follow = |offset: ndarray::ArrayView1<T>, sums: &Array2<T>| -> Array1<T> {
            let moved = offset.iter().zip(sums.row(0)).map(|(o, s)| o.f64() + rate * (s.f64() / n - o.f64()));
            moved.map(T::of).collect()
        };
        let alpha = follow(self.rbm.visible().offset(), &data.visible);
        let beta = follow(self.rbm.hidden().offset(), &data.hidden);
        self.rbm.recenter(alpha.view(), beta.view())
    }
}

/// ⟨E⟩ per unit, from the statistics: constant − ⟨η,T⟩ − W̃·⟨vhᵀ⟩.
fn mean_energy<T: Real>(machine: &Natural<T>, stats: &Stats<T>) -> f64 {
    let dot = |a: ndarray::ArrayView2<T>, b: &Array2<T>| a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum::<f64>();
    let sum = dot(machine.visible().eta(), &stats.visible)
        + dot(machine.hidden().eta(), &stats.hidden)
        + dot(machine.weights(), &stats.cross);
    (machine.constant() - sum / stats.weight) / (machine.visible().columns() + machine.hidden().columns()) as f64
}
