//! The average of the parameters over the last part of a run: the noise of single updates cancels, so that at any time it fits
//! better than the model of the last update (Polyak & Juditsky, *Acceleration of stochastic approximation by averaging*, 1992).
//!
//! With α_k = 1/(1 + f(k − 1)) for the k-th model, models weigh as k^(1/f − 1): about the last part f of all counts, however
//! long the run is (Shamir & Zhang, *Stochastic gradient descent for non-smooth optimization*, 2013).

use crate::backend::{Backend, Cpu};
use crate::error::Result;
use crate::model::{Layer, Rbm};
use crate::real::Real;
use ndarray::Zip;

/// Updates between two models that are averaged: a divisor of those between snapshots, and a multiple of those between moves of
/// the offsets.
pub(super) const AVERAGE_EVERY: u64 = 10;

/// The average, and a backend that measures it: that of the run goes on with the model of the last update.
pub(super) struct Average<T: Real> {
    pub rbm: Rbm<T>,
    pub backend: Box<dyn Backend<T>>,
    part: f64,
}

impl<T: Real> Average<T> {
    /// Of a run that starts with this model, over so large a part of its updates.
    pub fn new(rbm: &Rbm<T>, part: f64) -> Result<Average<T>> {
        Ok(Average { rbm: rbm.clone(), backend: Box::new(Cpu::new(rbm.lower())?), part })
    }

    /// Takes in the model after so many updates.
    pub fn add(&mut self, rbm: &Rbm<T>, update: u64) {
        let k = (update / AVERAGE_EVERY).max(1) as f64;
        let rate = T::of(1.0 / (1.0 + self.part * (k - 1.0)));
        let (visible, hidden, weights) = self.rbm.parts_mut();
        let towards = |mean: &mut T, new: &T| *mean = *mean + rate * (*new - *mean);
        for (mean, new) in [(visible, rbm.visible()), (hidden, rbm.hidden())] {
            let (_, par, offset) = Layer::parts_mut(mean);
            par.zip_mut_with(&new.par(), towards);
            offset.zip_mut_with(&new.offset(), towards);
        }
        Zip::from(weights).and(&rbm.weights()).for_each(towards);
    }

    /// Sets the backend to the average.
    pub fn show(&mut self) {
        self.backend.follow(&mut self.rbm, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;
    use ndarray::array;

    /// Models weigh as k^(1/f − 1): with f = ½ as their number.
    #[test]
    fn later_models_weigh_more_by_a_power_of_their_number() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let model = |w: f64| {
            let layers = [Layer::new(kind.clone(), 1), Layer::new(kind.clone(), 1)];
            let [visible, hidden] = layers;
            Rbm::<f64>::from_parts(visible, hidden, array![[w]]).unwrap()
        };
        let values = [3.0, -1.0, 4.0, 1.5];
        let mut average = Average::new(&model(100.0), 0.5).unwrap();
        values.iter().zip(1..).for_each(|(w, k)| average.add(&model(*w), k * AVERAGE_EVERY));
        let want = values.iter().zip([1.0, 2.0, 3.0, 4.0]).map(|(v, k)| v * k).sum::<f64>() / 10.0;
        assert!((average.rbm.weights()[[0, 0]] - want).abs() < 1e-12);
    }
}
