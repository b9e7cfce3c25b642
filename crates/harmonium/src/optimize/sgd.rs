//! velocity ← μ·velocity + g; step = velocity, or g + μ·velocity (Nesterov).

use super::{MOMENTS, Optimizer, OptimizerConfig};
use crate::real::Real;

struct Sgd<T> {
    momentum: T,
    nesterov: bool,
}

pub(super) fn make<T: Real>(config: &OptimizerConfig) -> Box<dyn Optimizer<T>> {
    Box::new(Sgd { momentum: T::of(config.momentum), nesterov: config.nesterov })
}

impl<T: Real> Optimizer<T> for Sgd<T> {
    fn moments(&self) -> &'static [&'static str] {
        if self.momentum == T::zero() { &[] } else { &["velocity"] }
    }

    fn direction(&self, _: u64, gradient: &mut [T], [velocity, _]: [&mut [T]; MOMENTS]) {
        let (mu, nesterov) = (self.momentum, self.nesterov);
        if mu == T::zero() {
            return;
        }
        for (g, v) in gradient.iter_mut().zip(velocity) {
            *v = mu * *v + *g;
            *g = if nesterov { *g + mu * *v } else { *v };
        }
    }
}
