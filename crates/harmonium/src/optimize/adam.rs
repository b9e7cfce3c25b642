//! step = m̂/(√ŝ + ε) with running means m of g and s of g² (Kingma and Ba, *Adam*, 2015).

use super::{MOMENTS, Optimizer, OptimizerConfig};
use crate::real::Real;
use crate::simd::dispatch;

/// Decay of the running mean of g².
const SQUARE_DECAY: f64 = 0.999;
/// Keeps the step finite where the gradient is zero; gradients here are differences of means of order 1.
const EPSILON: f64 = 1e-8;

struct Adam {
    decay: f64,
}

pub(super) fn make<T: Real>(config: &OptimizerConfig) -> Box<dyn Optimizer<T>> {
    Box::new(Adam { decay: config.momentum })
}

dispatch! {
    /// Updates the running means and turns g into the step.
    fn step<T>(g: &mut [T], mean: &mut [T], square: &mut [T], keep: [T; 2], correct: [T; 2]) => step_body;
}

#[inline(always)]
fn step_body<T: Real>(g: &mut [T], mean: &mut [T], square: &mut [T], keep: [T; 2], correct: [T; 2]) {
    let [m, s] = keep;
    for ((g, mean), square) in g.iter_mut().zip(mean).zip(square) {
        *mean = m * *mean + (T::one() - m) * *g;
        *square = s * *square + (T::one() - s) * *g * *g;
        *g = (*mean * correct[0]) / ((*square * correct[1]).sqrt() + T::of(EPSILON));
    }
}

impl<T: Real> Optimizer<T> for Adam {
    fn moments(&self) -> &'static [&'static str] {
        &["mean", "square"]
    }

    fn direction(&self, count: u64, gradient: &mut [T], [mean, square]: [&mut [T]; MOMENTS]) {
        // Bias correction: both means start at zero.
        let t = count.min(1 << 30) as i32;
        let gathered = |decay: f64| T::of((1.0 - decay.powi(t)).recip());
        let decays = [self.decay, SQUARE_DECAY];
        step(gradient, mean, square, decays.map(T::of), decays.map(gathered));
    }
}
