//! Parallel tempering: every persistent chain is the last rung of a ladder that starts at independent units, and swaps bring
//! states from temperatures where barriers are low (Desjardins, Courville, Bengio, Vincent & Delalleau, *Tempered Markov chain
//! Monte Carlo for training of restricted Boltzmann machines*, 2010; Cho, Raiko & Ilin, *Parallel tempering is efficient for
//! learning restricted Boltzmann machines*, 2010).
//!
//! The independent units have the mean statistics of the data, tracked by running means. From time to time the temperatures
//! move to where swaps would be rejected equally often.

use super::drift::Drift;
use super::{Context, Estimator, EstimatorOptions, Phases};
use crate::backend::{Backend, Slot};
use crate::error::{Error, Result};
use crate::lowered::LoweredLayer;
use crate::real::Real;
use crate::sample::ladder::Ladders;
use crate::stats::LayerMeans;
use ndarray::Array2;

/// The chains at β = 1.
const CHAINS: Slot = 1;
/// The chains of all ladders.
const LADDERS: Slot = 2;
/// Updates between two changes of the temperatures.
const MOVE_EVERY: u64 = 50;
/// The rate of the running means.
const RATE: f64 = 0.01;

struct Pt<T> {
    steps: u64,
    rungs: usize,
    ladders: Ladders<T>,
    /// Running means of T(v) and T(h) over the data; none before the first batch.
    means: Option<[Array2<f64>; 2]>,
    drift: Drift,
}

pub(super) fn make<T: Real>(settings: EstimatorOptions) -> Box<dyn Estimator<T>> {
    let (rungs, steps) = (settings.temperatures.max(2), settings.gibbs_steps);
    let drift = Drift::new(settings.max_drift);
    Box::new(Pt::<T> { steps, rungs, ladders: Ladders::of_rows(LADDERS, &even(rungs), 0), means: None, drift })
}

/// Inverse temperatures from 0 to 1.
fn even(rungs: usize) -> Vec<f64> {
    (0..rungs).map(|k| k as f64 / (rungs - 1) as f64).collect()
}

impl<T: Real> Pt<T> {
    /// Updates the running means with a batch, and fits the first rung to them.
    fn follow(&mut self, backend: &mut dyn Backend<T>, batch: &LayerMeans<T>) {
        let now = || batch.layers().map(|means| means.mapv(T::f64));
        let means = self.means.get_or_insert_with(now);
        means.iter_mut().zip(now()).for_each(|(m, n)| *m += &((n - &*m) * RATE));
        let fit = |layer: &LoweredLayer<T>, means: &Array2<f64>| layer.fitted(means.view(), 1.0 / RATE).mapv(T::of);
        let [visible, hidden] = backend.layers();
        let base = [fit(visible, &means[0]), fit(hidden, &means[1])];
        backend.set_base(base);
    }

    /// Copies the chains at β = 1 to a slot of their own.
    fn show(&self, backend: &mut dyn Backend<T>) {
        let all = backend.get(LADDERS);
        backend.put(CHAINS, &all, Some(&self.ladders.last_rows()));
    }
}

impl<T: Real> Estimator<T> for Pt<T> {
    fn phases(&mut self, mut cx: Context<T>, out: &mut Phases<T>) -> Result<()> {
        cx.data(None, out);
        if self.drift.is_watched() {
            let now = cx.log_marginals(CHAINS);
            self.drift.adapt(&now);
        }
        self.follow(cx.backend(), &out.data);
        let (key, update) = (cx.key, cx.update);
        self.ladders.step(cx.backend(), self.steps, key, update, |_| ());
        self.show(cx.backend());
        cx.model(CHAINS, None, None, out);
        if self.drift.is_watched() {
            let log_p = cx.log_marginals(CHAINS);
            self.drift.remember(log_p);
        }
        if (cx.update + 1).is_multiple_of(MOVE_EVERY) {
            let betas = self.ladders.even_betas(self.rungs);
            self.ladders.move_to(&betas);
        }
        Ok(())
    }

    fn chains(&self) -> Option<Slot> {
        Some(CHAINS)
    }

    fn persistent(&self) -> Option<Slot> {
        Some(LADDERS)
    }

    fn rows(&self, chains: usize) -> usize {
        chains * self.rungs
    }

    fn rate(&self) -> f64 {
        self.drift.rate()
    }

    fn numbers(&self) -> Vec<f64> {
        let means = self.means.iter().flatten().flatten().copied();
        self.ladders.numbers().into_iter().chain(means).chain(self.drift.numbers()).collect()
    }

    fn start(&mut self, backend: &mut dyn Backend<T>, numbers: Option<&[f64]>) -> Result<()> {
        let rows = backend.get(LADDERS).rows();
        let ladders = rows / self.rungs;
        (self.ladders, self.means) = (Ladders::of_rows(LADDERS, &even(self.rungs), ladders), None);
        if let Some(numbers) = numbers {
            let invalid = || Error::Undefined("the checkpoint's ladders are inconsistent".into());
            let own = self.ladders.numbers().len();
            if numbers.len() < own || rows != ladders * self.rungs {
                return Err(invalid());
            }
            let (first, rest) = numbers.split_at(own);
            self.ladders = Ladders::of_numbers(LADDERS, self.rungs, ladders, first).ok_or_else(invalid)?;
            // Without means there is only the factor of the rate.
            let n = mean_count(backend.layers());
            let (first, drift) = rest.split_at(if rest.len() < n { 0 } else { n });
            self.means = means(backend.layers(), first);
            if !self.drift.restore(drift, ladders) {
                return Err(invalid());
            }
        }
        self.show(backend);
        Ok(())
    }
}

/// How many numbers the running means are.
fn mean_count<T: Real>(layers: [&LoweredLayer<T>; 2]) -> usize {
    layers.map(|layer| layer.statistics().0 * layer.columns()).iter().sum()
}

/// Running means from their numbers; none if there are no numbers.
fn means<T: Real>(layers: [&LoweredLayer<T>; 2], numbers: &[f64]) -> Option<[Array2<f64>; 2]> {
    let [v, h] = layers.map(|layer| layer.statistics());
    let (first, rest) = numbers.split_at_checked(v.0 * v.1)?;
    let table = |shape, numbers: &[f64]| Array2::from_shape_vec(shape, numbers.to_vec()).ok();
    Some([table(v, first)?, table(h, rest)?])
}
