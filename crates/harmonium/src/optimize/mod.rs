//! Optimisers: from a gradient to a step. **To add an optimiser: write its file, add its line to [`optimizers`].**

mod adam;
mod penalty;
mod schedule;
mod sgd;

pub use penalty::Penalty;
pub use schedule::Schedule;

use crate::error::{Error, Result};
use crate::model::Gradient;
use crate::real::Real;
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

/// An optimiser turns gradients into steps; its state is part of a checkpoint.
pub(crate) trait Optimizer<T: Real>: Send {
    /// Turns a gradient into the step, before the learning rate.
    fn direction(&mut self, gradient: &mut Gradient<T>);

    /// Its state, by name.
    fn state(&self) -> Vec<(&'static str, Gradient<T>)>;

    /// Restores what [`state`](Optimizer::state) returned after `updates` steps.
    fn restore(&mut self, updates: u64, state: Vec<Gradient<T>>);
}

/// Name, description and maker of an optimiser.
pub struct Entry<T> {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    make: fn(&OptimizerConfig, Gradient<T>) -> Box<dyn Optimizer<T>>,
}

/// The list.
pub fn optimizers<T: Real>() -> [Entry<T>; 2] {
    [
        Entry { name: "sgd", about: "gradient ascent with momentum", make: sgd::make },
        Entry { name: "adam", about: "steps scaled by running moments of the gradient", make: adam::make },
    ]
}

/// The optimiser of a configuration; `zero` has the shapes of the model.
pub(crate) fn new<T: Real>(config: &OptimizerConfig, zero: Gradient<T>) -> Result<Box<dyn Optimizer<T>>> {
    let list = optimizers::<T>();
    match list.iter().find(|e| e.name == config.name) {
        Some(entry) => Ok((entry.make)(config, zero)),
        None => {
            let known = list.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
            Err(Error::Config { key: "optimizer", problem: format!("'{}' is not one of {known}", config.name) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn all(x: f64) -> Gradient<f64> {
        let m = || Array2::from_elem((1, 1), x);
        Gradient { visible: m(), hidden: m(), weights: m() }
    }

    /// Steps for the gradients 1, 2, 4, by hand.
    fn steps(name: &str, momentum: f64, nesterov: bool) -> Vec<f64> {
        let config = OptimizerConfig { name: name.into(), momentum, nesterov };
        let mut optimizer = new(&config, all(0.0)).unwrap();
        let mut step = |g: f64| {
            let mut g = all(g);
            optimizer.direction(&mut g);
            g.weights[[0, 0]]
        };
        [1.0, 2.0, 4.0].map(&mut step).into()
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
        assert!(new(&OptimizerConfig { name: "magic".into(), momentum: 0.0, nesterov: false }, all(0.0)).is_err());
    }
}
