//! A first model of real-valued columns with two-valued hidden units: each factor of the columns is a ladder of units.
//!
//! The units of a ladder have the same weights δΛ_j and staggered biases: with s of its U units on, the mean of v is
//! μ + Λ_j δ(s − U/2), and the biases give s the probability π_s of the nearest level under z ∼ N(0, 1). A ladder leaves the part v
//! of the variance of z, which the noise of the columns takes over.

use super::adopted_model;
use super::init::{FIRST_VARIANCE, FIRST_WEIGHTS};
use crate::backend::DeviceRef;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::factor_analysis::{Covariance, FactorAnalysis};
use crate::layer::Layer;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose, normal};
use crate::units::Kind;
use ndarray::{Array1, Array2};

/// Smallest part of a column's variance that its noise begins with.
const LEAST_NOISE: f64 = 1e-3;
/// Rounds in which factors, ladders and noise settle.
const ROUNDS: usize = 20;

/// Levels at equal distances for a standard normal number, the number of units being one less.
struct Ladder {
    step: f64,
    /// Mean square distance to the nearest level.
    left: f64,
    /// Probability that each level is the nearest.
    levels: Vec<f64>,
}

impl Ladder {
    /// The levels with the smallest mean square distance.
    fn new(units: usize) -> Ladder {
        let steps = (1..=200).map(|k| 0.01 * f64::from(k));
        let all = steps.map(|step| Ladder::with_step(units, step));
        all.fold(
            Ladder { step: 0.0, left: f64::INFINITY, levels: Vec::new() },
            |a, b| if b.left < a.left { b } else { a },
        )
    }

    fn with_step(units: usize, step: f64) -> Ladder {
        let (mut left, mut levels, mut total) = (0.0, vec![0.0; units + 1], 0.0);
        for k in -600..=600 {
            let z = 0.01 * f64::from(k);
            let weight = (-0.5 * z * z).exp();
            let middle = 0.5 * units as f64;
            let nearest = (z / step + middle).round().clamp(0.0, units as f64);
            left += weight * (z - step * (nearest - middle)).powi(2);
            levels[nearest as usize] += weight;
            total += weight;
        }
        // A level that no number of the table is nearest to still needs a finite bias.
        let levels = levels.into_iter().map(|p: f64| (p / total).max(1e-12)).collect();
        Ladder { step, left: left / total, levels }
    }
}

/// Gives every unit to the factor whose density gains most by it: ½ log (1 + vd) less with v of one unit more.
fn allocate(units: usize, signal: &[f64], ladders: &[Ladder]) -> Vec<usize> {
    let mut counts = vec![0; signal.len()];
    let left = |d: f64, n: usize| (1.0 + ladders[n].left * d).ln();
    for _ in 0..units {
        let gain = |j: usize| left(signal[j], counts[j]) - left(signal[j], counts[j] + 1);
        let best = (0..signal.len()).fold(0, |a, b| if gain(b) > gain(a) { b } else { a });
        counts[best] += 1;
    }
    counts
}

/// A model whose hidden units are ladders along the factors of the columns.
pub(crate) fn ladder_model<T: Real>(
    device: DeviceRef,
    visible: &Kind,
    hidden: &Kind,
    n_hidden: usize,
    data: &Dataset<T>,
    centred: bool,
    seed: u64,
) -> Result<Rbm<T>> {
    let plain: Rbm<T> = Rbm::new(visible.clone(), data.states().sites(), hidden.clone(), n_hidden)?;
    let columns = Covariance::of(plain.lower().visible(), data);
    let n = columns.mean.len();
    let ladders: Vec<Ladder> = (0..=n_hidden).map(Ladder::new).collect();
    let variances = columns.covariance.diag().to_owned();
    let mut noise = &variances * FIRST_VARIANCE;
    let mut counts = Vec::new();
    let mut found = FactorAnalysis::at_noise(&columns, noise.clone(), n_hidden);
    for _ in 0..ROUNDS {
        let signal: Vec<f64> = found.ratios.iter().map(|e| e - 1.0).collect();
        counts = allocate(if signal.is_empty() { 0 } else { n_hidden }, &signal, &ladders);
        let loadings = found.loadings();
        let explained = |i: usize| -> f64 {
            loadings.row(i).iter().zip(&counts).map(|(l, u)| (1.0 - ladders[*u].left) * l * l).sum()
        };
        noise = Array1::from_shape_fn(n, |i| {
            (variances[i] - explained(i)).clamp(LEAST_NOISE * variances[i], FIRST_VARIANCE * variances[i])
        });
        found = FactorAnalysis::at_noise(&columns, noise.clone(), n_hidden);
    }
    counts.resize(found.ratios.len(), 0);
    let rbm = model(visible, hidden, n_hidden, &found, &counts, &ladders, seed)?;
    adopted_model(device, &rbm, data, centred)
}

/// The model of some ladders, both layers measured from their middle.
fn model<T: Real>(
    visible: &Kind,
    hidden: &Kind,
    n_hidden: usize,
    found: &FactorAnalysis,
    counts: &[usize],
    ladders: &[Ladder],
    seed: u64,
) -> Result<Rbm<T>> {
    let (n, loadings) = (found.mean.len(), found.loadings());
    let mut par = Array2::zeros((2, n));
    par.row_mut(1).assign(&found.noise.mapv(|x| T::of(x.ln())));
    let visible = Layer::from_parts(visible.clone(), par, found.mean.mapv(T::of))?;
    let [low, high] = two_values(hidden);
    let (mut bias, mut direction) = (Array2::zeros((1, n_hidden)), Array2::zeros((n, n_hidden)));
    let mut unit = 0;
    for (j, &units) in counts.iter().enumerate() {
        let (ladder, signal) = (&ladders[units], found.ratios[j] - 1.0);
        for u in 1..=units.min(n_hidden - unit) {
            let odds = (ladder.levels[u] / ladder.levels[u - 1]).ln();
            // ½δ²d[(u − U/2)² − (u − 1 − U/2)²], which the units' common weights add to the odds of level u.
            let curvature = 0.5 * ladder.step.powi(2) * signal * (2.0 * u as f64 - 1.0 - units as f64);
            bias[[0, unit]] = T::of((odds - curvature) / (high - low));
            direction.column_mut(unit).assign(&(&loadings.column(j) * (ladder.step / (high - low))));
            unit += 1;
        }
    }
    let hidden = Layer::from_parts(hidden.clone(), bias, Array1::from_elem(n_hidden, T::of(0.5 * (low + high))))?;
    let s_v = visible.widen().natural().1;
    let key = Key::root(seed).of(Purpose::Init);
    let weight = |(i, j): (usize, usize)| {
        let chance = FIRST_WEIGHTS * found.noise[i].sqrt() * normal::<f64>(key.uniforms(i as u64, j as u32));
        T::of((direction[[i, j]] + chance) * s_v[i] / found.noise[i])
    };
    Rbm::from_parts(visible, hidden, Array2::from_shape_fn((n, n_hidden), weight))
}

/// The two values of a unit.
fn two_values(kind: &Kind) -> [f64; 2] {
    [0, 1].map(|state| {
        let mut x = [0.0];
        kind.unit::<f64>().state(state, &mut x);
        x[0]
    })
}
