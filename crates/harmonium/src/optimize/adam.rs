//! step = m̂/(√ŝ + ε) with running means m of g and s of g² (Kingma and Ba, *Adam*, 2015).

use super::{Optimizer, OptimizerConfig};
use crate::model::Gradient;
use crate::real::Real;

/// Decay of the running mean of g².
const SQUARE_DECAY: f64 = 0.999;
/// Keeps the step finite where the gradient has been zero: gradients here are differences of means of order 1.
const EPSILON: f64 = 1e-8;

struct Adam<T> {
    decay: f64,
    updates: u64,
    mean: Gradient<T>,
    square: Gradient<T>,
}

pub(super) fn make<T: Real>(config: &OptimizerConfig, zero: Gradient<T>) -> Box<dyn Optimizer<T>> {
    Box::new(Adam { decay: config.momentum, updates: 0, mean: zero.clone(), square: zero })
}

impl<T: Real> Optimizer<T> for Adam<T> {
    fn direction(&mut self, gradient: &mut Gradient<T>) {
        self.updates += 1;
        let (m, s, one) = (T::of(self.decay), T::of(SQUARE_DECAY), T::one());
        // Both means start at zero and are divided by the weight they have gathered.
        let t = self.updates.min(1 << 30) as i32;
        let (m_hat, s_hat) = (T::of(1.0 - self.decay.powi(t)), T::of(1.0 - SQUARE_DECAY.powi(t)));
        gradient.zip3(&mut self.mean, &mut self.square, |g, mean, square| {
            *mean = m * *mean + (one - m) * *g;
            *square = s * *square + (one - s) * *g * *g;
            *g = (*mean / m_hat) / ((*square / s_hat).sqrt() + T::of(EPSILON));
        });
    }

    fn state(&self) -> Vec<(&'static str, Gradient<T>)> {
        vec![("mean", self.mean.clone()), ("square", self.square.clone())]
    }

    fn restore(&mut self, updates: u64, state: Vec<Gradient<T>>) {
        self.updates = updates;
        let mut state = state.into_iter();
        if let (Some(mean), Some(square)) = (state.next(), state.next()) {
            (self.mean, self.square) = (mean, square);
        }
    }
}
