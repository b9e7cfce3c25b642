//! From a gradient to a step. **To add an optimiser: write its file, add its line to [`optimizers`].**

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

/// Which optimiser, and its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// A name of [`optimizers`].
    pub name: String,
    /// Part of the last step that is kept (sgd), or of the mean gradient (adam).
    pub momentum: f64,
    /// Look ahead along the last step (sgd).
    pub nesterov: bool,
}

/// An optimiser turns gradients into steps; what it remembers is checkpointed.
pub trait Optimizer<T: Real>: Send {
    /// The step for a gradient, before the learning rate.
    fn direction(&mut self, gradient: Gradient<T>) -> Gradient<T>;

    /// What the next step needs, by name.
    fn state(&self) -> Vec<(&'static str, Gradient<T>)>;

    /// Takes back what [`state`](Optimizer::state) gave after `updates` steps.
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

/// The optimiser a configuration names; `zero` has the machine's shapes.
pub fn new<T: Real>(config: &OptimizerConfig, zero: Gradient<T>) -> Result<Box<dyn Optimizer<T>>> {
    let list = optimizers::<T>();
    match list.iter().find(|e| e.name == config.name) {
        Some(entry) => Ok((entry.make)(config, zero)),
        None => {
            let known = list.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
            Err(Error::Config { key: "optimizer", problem: format!("'{}' is not one of {known}", config.name) })
        }
    }
}
