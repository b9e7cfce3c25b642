//! log(Z₁/Z₀) from paths in both directions by Bennett's acceptance ratio (*Efficient estimation of free energy differences from
//! Monte Carlo data*, 1976), which is optimal also for paths out of equilibrium (Shirts et al. 2003).

use super::weights::Estimate;
use crate::math::logistic;

/// c with Σ_forward σ(w − c − M) = Σ_backward σ(c − w + M), M = log(n_forward/n_backward): both w are log weights of a path
/// from 0 to 1, the first drawn from 0, the second drawn from 1. `ess` is the overlap: the number of forward paths that could as
/// well have come from the other direction.
pub fn bennett(forward: &[f64], backward: &[f64]) -> Estimate {
    let (n, k) = (forward.len() as f64, backward.len() as f64);
    let m = (n / k).ln();
    let up = |c: f64| forward.iter().map(move |w| logistic(w - c - m));
    let down = |c: f64| backward.iter().map(move |w| logistic(c - w + m));
    let all = || forward.iter().chain(backward).copied();
    let (mut low, mut high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    (low, high) = (low - m.abs() - 1.0, high + m.abs() + 1.0);
    // The difference decreases from n to −k: Newton's steps, or half of the interval where they leave it.
    let mut value = 0.5 * (low + high);
    for _ in 0..80 {
        let (mut difference, mut slope) = (0.0, 0.0);
        up(value).for_each(|f| (difference, slope) = (difference + f, slope + f * (1.0 - f)));
        down(value).for_each(|f| (difference, slope) = (difference - f, slope + f * (1.0 - f)));
        if difference > 0.0 {
            low = value
        } else {
            high = value
        }
        let (next, last) = (value + difference / slope, value);
        value = if next > low && next < high { next } else { 0.5 * (low + high) };
        if (value - last).abs() <= 1e-13 * (1.0 + value.abs()) {
            break;
        }
    }
    // (⟨f²⟩/⟨f⟩² − 1)/n for each direction.
    let part = |f: Vec<f64>, n: f64| {
        let (mean, square) = (f.iter().sum::<f64>() / n, f.iter().map(|f| f * f).sum::<f64>() / n);
        (square / (mean * mean) - 1.0).max(0.0) / n
    };
    let ess = up(value).sum::<f64>();
    let variance = part(up(value).collect(), n) + part(down(value).collect(), k);
    Estimate { value, std_err: if variance.is_finite() { variance.sqrt() } else { f64::INFINITY }, ess }
}

/// The balance σ(w − c) − σ(c − w′) of a pair of a forward and a backward log weight, whose sum over pairs Bennett's c makes 0, and
/// how fast it falls with c.
pub fn slopes(forward: f64, backward: f64, c: f64) -> (f64, f64) {
    let (up, down) = (logistic(forward - c), logistic(c - backward));
    (up - down, up * (1.0 - up) + down * (1.0 - down))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Key, normal};

    /// Normal work: forward w ∼ N(c − s²/2, s²) goes with backward w ∼ N(c + s²/2, s²). 300 trials, s = 2: two errors
    /// cover c in at least 92 %, with fewer backward than forward paths.
    #[test]
    fn two_errors_cover_the_truth_for_normal_work() {
        let (c, s) = (-40.0, 2.0);
        let covered = (0..300).filter(|t| {
            let draw = |purpose: u64, n: u64, mean: f64| -> Vec<f64> {
                let key = Key::root(*t).step(purpose);
                (0..n).map(|i| mean + s * normal::<f64>(key.uniforms(i, 0))).collect()
            };
            let found = bennett(&draw(0, 200, c - 0.5 * s * s), &draw(1, 60, c + 0.5 * s * s));
            (found.value - c).abs() <= 2.0 * found.std_err
        });
        let covered = covered.count();
        assert!((276..300).contains(&covered), "{covered} of 300");
    }
}
