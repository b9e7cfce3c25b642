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
    fn direction(&mut self, gradient: &mut Gradient<T>) {
        let (mu, nesterov) = (self.momentum, self.nesterov);
        if mu == T::zero() {
            return;
        }
        gradient.zip(&mut self.velocity, |g, v| {
            for (g, v) in g.iter_mut().zip(v) {
                *v = mu * *v + *g;
                *g = if nesterov { *g + mu * *v } else { *v };
            }
        });
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
