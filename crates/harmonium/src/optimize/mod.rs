//! Optimisers: from a gradient to a step. **To add an optimiser: write its file, add its line to [`optimizers`].**
//!
//! An optimiser treats all numbers alike and keeps its moments beside them, so that weights on other hardware need not come back for
//! a step.

mod adam;
mod schedule;
mod sgd;

pub use schedule::Schedule;

use crate::error::{Error, Result};
use crate::real::Real;
use ndarray::ArrayViewMut2;
use serde::{Deserialize, Serialize};

/// The optimiser and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// A name of [`optimizers`].
    pub name: String,
    /// Momentum (sgd), or the decay rate of the mean gradient (adam).
    pub momentum: f64,
    /// Whether to use Nesterov momentum (sgd).
    pub nesterov: bool,
}

/// Running moments of a gradient that an optimiser has at most.
pub(crate) const MOMENTS: usize = 2;

/// An optimiser turns gradients into steps. All that it remembers are moments with as many numbers as the gradient.
pub(crate) trait Optimizer<T: Real>: Send + Sync {
    /// The names of its moments, which start at zero and are part of a checkpoint.
    fn moments(&self) -> &'static [&'static str];

    /// Turns numbers of the gradient into those of step `count`, from 1, before the learning rate. Moments that it does not have are
    /// empty.
    fn direction(&self, count: u64, gradient: &mut [T], moments: [&mut [T]; MOMENTS]);
}

/// Name, description and maker of an optimiser.
pub struct Entry<T> {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    make: fn(&OptimizerConfig) -> Box<dyn Optimizer<T>>,
}

/// The list.
pub fn optimizers<T: Real>() -> [Entry<T>; 2] {
    [
        Entry { name: "sgd", about: "gradient ascent with momentum", make: sgd::make },
        Entry { name: "adam", about: "steps scaled by running moments of the gradient", make: adam::make },
    ]
}

/// The optimiser of a configuration.
pub(crate) fn new<T: Real>(config: &OptimizerConfig) -> Result<Box<dyn Optimizer<T>>> {
    let list = optimizers::<T>();
    match list.iter().find(|e| e.name == config.name) {
        Some(entry) => Ok((entry.make)(config)),
        None => {
            let known = list.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
            Err(Error::Config { key: "optimizer", problem: format!("'{}' is not one of {known}", config.name) })
        }
    }
}

/// Rescales columns whose norm exceeds `longest`.
pub(crate) fn limit_norms<T: Real>(mut weights: ArrayViewMut2<T>, longest: f64) {
    for mut column in weights.columns_mut() {
        let norm = column.iter().map(|w| w.f64().powi(2)).sum::<f64>().sqrt();
        if norm > longest {
            column.mapv_inplace(|w| w * T::of(longest / norm));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps for the gradients 1, 2, 4, by hand.
    fn steps(name: &str, momentum: f64, nesterov: bool) -> Vec<f64> {
        let optimizer = new::<f64>(&OptimizerConfig { name: name.into(), momentum, nesterov }).unwrap();
        let (mut first, mut second) = ([0.0], [0.0]);
        let mut step = |count: u64, g: f64| {
            let mut g = [g];
            optimizer.direction(count, &mut g, [&mut first, &mut second]);
            g[0]
        };
        vec![step(1, 1.0), step(2, 2.0), step(3, 4.0)]
    }

    #[test]
    fn steps_are_those_of_the_formulas() {
        assert_eq!(steps("sgd", 0.0, false), [1.0, 2.0, 4.0]);
        assert_eq!(steps("sgd", 0.5, false), [1.0, 2.5, 5.25]);
        assert_eq!(steps("sgd", 0.5, true), [1.5, 3.25, 6.625]);
        // m̂/√ŝ with m = 0.9m + 0.1g, s = 0.999s + 0.001g², both divided by the weight gathered.
        let (mut m, mut s) = (0.0, 0.0);
        for (t, (step, g)) in steps("adam", 0.9, false).into_iter().zip([1.0, 2.0, 4.0f64]).enumerate() {
            (m, s) = (0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g);
            let n = t as i32 + 1;
            let want = m / (1.0 - 0.9f64.powi(n)) / (s / (1.0 - 0.999f64.powi(n))).sqrt();
            assert!((step - want).abs() < 1e-7, "{step} against {want}");
        }
        assert!(new::<f64>(&OptimizerConfig { name: "magic".into(), momentum: 0.0, nesterov: false }).is_err());
    }

    #[test]
    fn long_columns_are_shortened_to_the_limit() {
        let mut weights = ndarray::arr2(&[[3.0, 0.0], [4.0, -0.5]]);
        limit_norms(weights.view_mut(), 2.5);
        let want = ndarray::arr2(&[[1.5, 0.0], [2.0, -0.5]]);
        assert!((&weights - &want).iter().all(|d: &f64| d.abs() < 1e-15), "{weights}");
    }
}
