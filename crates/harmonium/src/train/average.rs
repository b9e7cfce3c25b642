//! The average of the parameters over the last part of a run: the noise of single updates cancels, so that at any time it fits
//! better than the model of the last update (Polyak & Juditsky, *Acceleration of stochastic approximation by averaging*, 1992).
//!
//! With α_k = 1/(1 + f(k − 1)) for the k-th model, models weigh as k^(1/f − 1): about the last part f of all counts, however
//! long the run is (Shamir & Zhang, *Stochastic gradient descent for non-smooth optimization*, 2013).

use crate::backend::{Backend, DeviceRef, Learner, Part};
use crate::error::Result;
use crate::layer::Layers;
use crate::lowered::LoweredModel;
use crate::model::Rbm;
use crate::real::Real;

/// Updates between two models that are averaged: a divisor of those between snapshots, and a multiple of those between moves of
/// the offsets.
pub(super) const AVERAGE_EVERY: u64 = 10;

/// The average of the layers; the learner has that of the weights. And a backend that measures both: that of the run goes on with
/// the model of the last update.
pub(super) struct Average<T: Real> {
    pub layers: Layers<T>,
    pub backend: Box<dyn Backend<T>>,
    part: f64,
}

impl<T: Real> Average<T> {
    /// Of a run that starts with this model, over so large a part of its updates.
    pub fn new(device: DeviceRef, layers: &Layers<T>, model: LoweredModel<T>, part: f64) -> Result<Average<T>> {
        Ok(Average { layers: layers.clone(), backend: device.backend(model)?, part })
    }

    /// Takes in the model after so many updates.
    pub fn add(&mut self, layers: &Layers<T>, learner: &mut dyn Learner<T>, update: u64) {
        let k = (update / AVERAGE_EVERY).max(1) as f64;
        let rate = 1.0 / (1.0 + self.part * (k - 1.0));
        let towards = |mean: &mut T, new: &T| *mean = *mean + T::of(rate) * (*new - *mean);
        for (mean, new) in self.layers.both_mut().into_iter().zip(layers.both()) {
            let (_, par, offset) = mean.parts_mut();
            par.zip_mut_with(&new.par(), towards);
            offset.zip_mut_with(&new.offset(), towards);
        }
        learner.average(rate);
    }

    /// The average.
    pub fn rbm(&self, learner: &dyn Learner<T>) -> Rbm<T> {
        Rbm::assembled(self.layers.clone(), learner.read(Part::Average))
    }

    /// Sets the backend to the average.
    pub fn show(&mut self, learner: &dyn Learner<T>) {
        self.backend.load(&self.rbm(learner).lower());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Solo, Start, cpu};
    use crate::layer::Layer;
    use crate::optimize::OptimizerConfig;
    use crate::units::Kind;
    use ndarray::array;
    use std::sync::Arc;

    /// Models weigh as k^(1/f − 1): with f = ½ as their number.
    #[test]
    fn later_models_weigh_more_by_a_power_of_their_number() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let layer = || Layer::<f64>::new(kind.clone(), 1);
        let rbm = Rbm::from_parts(layer(), layer(), array![[100.0]]).unwrap();
        let (layers, model) = (rbm.layers().clone(), rbm.lower());
        let mut average = Average::new(cpu(), &layers, model.clone(), 0.5).unwrap();
        let optimizer = OptimizerConfig { name: "sgd".into(), momentum: 0.0, nesterov: false };
        let (weights, chart, comm) = (rbm.weights().to_owned(), layers.chart(), Arc::new(Solo));
        let start = Start { model, weights, chart, optimizer, average: true, comm };
        let mut learner = cpu().learner(start).unwrap();
        let values = [3.0, -1.0, 4.0, 1.5];
        for (w, k) in values.iter().zip(1..) {
            learner.write(Part::Weights, array![[*w]]);
            average.add(&layers, learner.as_mut(), k * AVERAGE_EVERY);
        }
        let want = values.iter().zip([1.0, 2.0, 3.0, 4.0]).map(|(v, k)| v * k).sum::<f64>() / 10.0;
        assert!((average.rbm(learner.as_ref()).weights()[[0, 0]] - want).abs() < 1e-12);
    }
}
