//! velocity ← μ·velocity + g; step = velocity, or g + μ·velocity (Nesterov).

use super::{Optimizer, OptimizerConfig};
use crate::model::Gradient;
use crate::real::Real;

struct Sgd<T> {
    momentum: T,
    nesterov: bool,
    velocity: Gradient<T>,
}

pub(super) fn make<T: Real>(config: &OptimizerConfig, zero: Gradient<T>) -> Box<dyn Optimizer<T>> {
    Box::new(Sgd { momentum: T::of(config.momentum), nesterov: config.nesterov, velocity: zero })
}

impl<T: Real> Optimizer<T> for Sgd<T> {
    fn direction(&mut self, gradient: Gradient<T>) -> Gradient<T> {
        if self.momentum == T::zero() {
            return gradient;
        }
        let mu = self.momentum;
        self.velocity.zip(&gradient, |v, g| *v = mu * *v + g);
        if !self.nesterov {
            return self.velocity.clone();
        }
        let mut step = gradient;
        step.zip(&self.velocity, |g, v| *g += mu * v);
        step
    }

    fn state(&self) -> Vec<(&'static str, Gradient<T>)> {
        if self.momentum == T::zero() { Vec::new() } else { vec![("velocity", self.velocity.clone())] }
    }

    fn restore(&mut self, _: u64, state: Vec<Gradient<T>>) {
        if let Some(velocity) = state.into_iter().next() {
            self.velocity = velocity;
        }
    }
}
