//! The mass of sets of basins. Annealed log weights whose chains end in a set average to its mass, from any base: so two bases
//! that share nothing give two estimates of one number, and the parts of a sum are never counted twice.

use super::super::weights::Estimate;
use crate::averages::median;
use crate::math::log_sum_exp;

/// Log weights of annealed chains, log Z of the base included, and the mode where each chain ended.
pub struct Run {
    pub weights: Vec<f64>,
    pub ends: Vec<Option<usize>>,
}

impl Run {
    /// The log mass of the basins that `inside` accepts.
    pub fn mass(&self, inside: impl Fn(Option<usize>) -> bool) -> Estimate {
        let kept: Vec<f64> = self.weights.iter().zip(&self.ends).filter(|(_, end)| inside(**end)).map(|w| *w.0).collect();
        mean_of_part(&kept, self.weights.len())
    }
}

/// log of (Σ eʷ)/n over the `kept` of n chains: those that ended elsewhere have weight 0. The error is the larger of that of the
/// mean, and that of normal log weights with the observed spread above the median, as in [`log_mean_exp`](super::super::log_mean_exp),
/// with the error of the number of kept chains.
pub fn mean_of_part(kept: &[f64], n: usize) -> Estimate {
    if kept.is_empty() {
        return Estimate { value: f64::NEG_INFINITY, std_err: f64::INFINITY, ess: 0.0 };
    }
    let (k, all) = (kept.len() as f64, n as f64);
    let sum = log_sum_exp(kept.iter().copied());
    let ess = (2.0 * sum - log_sum_exp(kept.iter().map(|w| 2.0 * w))).exp();
    let middle = median(kept);
    let above: Vec<f64> = kept.iter().filter(|w| **w > middle).map(|w| (w - middle).powi(2)).collect();
    let s2 = above.iter().sum::<f64>() / above.len().max(1) as f64;
    let by_weights = (1.0 / ess - 1.0 / all).max(0.0);
    let by_normal = (s2 + 0.5 * s2 * s2) / k + 1.0 / k - 1.0 / all;
    Estimate { value: sum - all.ln(), std_err: by_weights.max(by_normal).sqrt(), ess }
}

/// Smallest error that one estimate is given when it is averaged with others: an estimate that misses part of a set may look more
/// precise than one that has it all.
const LEAST_ERROR: f64 = 0.02;
/// Estimates that differ by more than this many errors are not averaged.
const ERRORS: f64 = 3.0;

/// One mass from several estimates of it.
#[derive(Clone, Copy, Debug)]
pub struct Combined {
    pub value: f64,
    pub std_err: f64,
    /// How many estimates agree with it, with errors that make that worth something.
    pub agree: usize,
    /// The most significant difference of an estimate that was left out, in nats.
    pub against: f64,
}

/// Combines estimates of one mass. They err by missing mass, so the largest that its error supports counts, with those that
/// agree with it.
pub fn combine(estimates: &[Estimate]) -> Combined {
    let seen = || estimates.iter().filter(|e| e.value > f64::NEG_INFINITY);
    let sure = |e: &Estimate| e.value - ERRORS * e.std_err;
    let Some(best) = seen().max_by(|a, b| sure(a).total_cmp(&sure(b))) else {
        return Combined { value: f64::NEG_INFINITY, std_err: f64::INFINITY, agree: 0, against: 0.0 };
    };
    let error = |e: &Estimate| e.std_err.hypot(LEAST_ERROR);
    let (mut sum, mut weight, mut agree, mut against) = (0.0, 0.0, 0, 0.0f64);
    for e in seen() {
        let by = (best.value - e.value).abs();
        if by <= ERRORS * error(e).hypot(error(best)) {
            sum += e.value / error(e).powi(2);
            weight += 1.0 / error(e).powi(2);
            agree += usize::from(e.std_err < 0.35);
        } else {
            against = against.max(by);
        }
    }
    let least = seen().map(|e| e.std_err).fold(f64::INFINITY, f64::min);
    Combined { value: sum / weight, std_err: weight.powf(-0.5).max(0.7 * least), agree, against }
}
