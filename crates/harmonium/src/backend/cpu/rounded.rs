//! A model whose weights are integers of 16 bits times a step, for the intermediate steps of annealing.
//!
//! Annealing may pass through any distributions between its base and the model, if its log weights include the last step from
//! them to the model. Registers hold twice as many integers of 16 bits as numbers of 32, tables of them are half as large, and sums
//! of [`RUN`] of them are exact.

use crate::lowered::LoweredModel;
use crate::real::Real;
use ndarray::ArrayView2;

/// Integers that are summed before they become numbers: the fewer, the smaller is the step.
pub const RUN: usize = 200;
/// Number of weights from which on a product takes long enough to justify another set of panels.
const LEAST: usize = 4096;
/// Largest variance of the roundings' sum if all units were on. Log weights of annealing vary by about 1.
const VARIANCE: f64 = 0.2;

/// The model with rounded weights, and their step; none if that is not worthwhile or too far from the model.
pub fn rounded<T: Real>(lowered: &LoweredModel<T>) -> Option<(LoweredModel<T>, T)> {
    let weights = lowered.weights();
    if weights.len() < LEAST {
        return None;
    }
    // Leaves room for half a step of each rounding.
    let step = T::of(largest_sum(weights) / (f64::from(i16::MAX) - 0.5 * RUN as f64 - 1.0));
    // A rounding is uniform within a step.
    let variance = weights.len() as f64 * step.f64() * step.f64() / 12.0;
    if !step.is_normal() || variance > VARIANCE {
        return None;
    }
    let mut lowered = lowered.clone();
    lowered.parts_mut().2.mapv_inplace(|w| step * T::of_short(nearest(w / step)));
    Some((lowered, step))
}

/// The nearest integer to a number that has 16 bits, as those have whose sums do.
pub fn nearest<T: Real>(x: T) -> i16 {
    (x + T::of(0.5).copysign(x)).to_i16().unwrap_or(0)
}

/// The largest sum of the positive, or of the negative, numbers of a run of a row or of a column.
fn largest_sum<T: Real>(w: ArrayView2<T>) -> f64 {
    let mut largest = 0f64;
    for w in [w, w.reversed_axes()] {
        for rows in w.axis_chunks_iter(ndarray::Axis(0), RUN) {
            let mut sums = vec![[0f64; 2]; rows.ncols()];
            for row in rows.rows() {
                for (sum, w) in sums.iter_mut().zip(row) {
                    let w = w.f64();
                    sum[usize::from(w < 0.0)] += w.abs();
                }
            }
            largest = sums.iter().flatten().fold(largest, |a, b| a.max(*b));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Chains, cpu, cpu::Cpu, cpu::Level};
    use crate::bits::Bits;
    use crate::rng::{Key, normal};
    use crate::states::States;
    use crate::units::Kind;
    use crate::{Layer, Rbm};
    use ndarray::Array2;

    /// A model of some kinds with weights that are x³ of normal x: a few are large.
    fn lowered(kinds: [&str; 2], n: usize, m: usize, size: f64) -> LoweredModel<f32> {
        let number = |i: usize| normal(Key::root(4).uniforms::<f64>(i as u64, 0));
        let layer = |name: &str, sites: usize| {
            let kind = Kind::new(name, &Default::default()).unwrap();
            let plain = Layer::<f32>::new(kind.clone(), sites);
            let par = Array2::from_shape_fn(plain.par().dim(), |(_, i)| 0.5 * number(n * m + i) as f32);
            Layer::from_parts(kind, par, plain.offset().to_owned()).unwrap()
        };
        let weights = Array2::from_shape_fn((n, m), |(i, j)| (size * number(i * m + j).powi(3)) as f32);
        Rbm::from_parts(layer(kinds[0], n), layer(kinds[1], m), weights).unwrap().lower()
    }

    /// Every rounding is within half a step, and no sum of a run can leave 16 bits, in either direction.
    #[test]
    fn sums_of_a_run_have_sixteen_bits() {
        for (n, m) in [(700, 12), (12, 700), (90, 91), (401, 33)] {
            let lowered = lowered(["bernoulli", "bernoulli"], n, m, 0.02);
            let (short, step) = rounded(&lowered).unwrap();
            let step = f64::from(step);
            let q = short.weights().mapv(|w| f64::from(w) / step);
            for (q, w) in q.iter().zip(lowered.weights()) {
                assert!((q - q.round()).abs() < 1e-3 && (q - f64::from(*w) / step).abs() < 0.501);
            }
            let mut largest = 0f64;
            for (q, sign) in [q.view(), q.t()].into_iter().flat_map(|q| [(q, 1.0), (q, -1.0)]) {
                for run in q.axis_chunks_iter(ndarray::Axis(0), RUN) {
                    let sums = run.mapv(|q| (sign * q.round()).max(0.0)).sum_axis(ndarray::Axis(0));
                    largest = sums.iter().fold(largest, |a, b| a.max(*b));
                }
            }
            assert!((32_000.0..=32_767.0).contains(&largest), "{largest}");
        }
        let small = lowered(["bernoulli", "bernoulli"], 60, 60, 0.02);
        let strong = lowered(["bernoulli", "bernoulli"], 401, 33, 20.0);
        assert!(rounded(&small).is_none() && rounded(&strong).is_none());
    }

    /// While weights are rounded log marginals are those of the rounded model, whatever the product: lists or tables of
    /// integers; afterwards those of the model. They differ by far more than the tolerance.
    #[test]
    fn a_rounded_backend_is_the_rounded_model() {
        for kinds in [["bernoulli", "bernoulli"], ["spin", "bernoulli"], ["bernoulli", "spin"], ["spin", "spin"]] {
            let lowered = lowered(kinds, 230, 61, 0.5);
            let (short, _) = rounded(&lowered).unwrap();
            let [exact, near] = [&lowered, &short].map(|m| m.cast::<f64>());
            for (density, level) in
                [0.02, 0.5].into_iter().flat_map(|d| Level::available().into_iter().map(move |l| (d, l)))
            {
                let mut rows = Bits::new(230);
                for r in 0..40 {
                    rows.push((0..230).map(|i| Key::root(r).uniforms::<f64>(i, 1)[0] < density));
                }
                let rows = States::Bits(rows);
                let x = rows.columns(lowered.visible(), 0, 40).mapv(f64::from);
                let mut cpu = Cpu::with_level(lowered.clone(), level);
                cpu.put(0, &rows, None);
                for (on, want) in [(true, &near), (false, &exact)] {
                    cpu.round(on);
                    assert_eq!(cpu.is_rounded, on);
                    let found = cpu.marginals(0, &[None], None);
                    let want = want.up().free_energy(x.view());
                    for (found, want) in found.iter().zip(&want) {
                        assert!((found + want).abs() < 1e-3, "{kinds:?} {density} {on}: {found} {want}");
                    }
                }
                let apart = exact.up().free_energy(x.view()) - near.up().free_energy(x.view());
                assert!(apart.iter().any(|x| x.abs() > 1e-2), "{kinds:?}: {apart}");
            }
        }
    }

    /// Annealing over three temperatures goes from the model at the first to the rounded one at the second, and after a sweep
    /// there to the model at the third: log weights are two differences of free energies, of models in double precision. Up
    /// and down use the same distributions, as Bennett's estimate requires.
    #[test]
    fn annealing_counts_the_steps_to_the_rounded_model_and_back() {
        let lowered = lowered(["bernoulli", "spin"], 230, 61, 0.5);
        let (short, _) = rounded(&lowered).unwrap();
        let (base, key) = (lowered.flat(), Key::root(7));
        let log_p = |lowered: &LoweredModel<f32>, beta: f64, states: &States<f32>| {
            let x = states.columns(lowered.visible(), 0, states.rows()).mapv(f64::from);
            let lowered = lowered.cast::<f64>();
            -lowered.tempered(&lowered.flat(), beta).up().free_energy(x.view())
        };
        let backend = cpu().backend(lowered.clone()).unwrap();
        let mut path = crate::sample::path::Path::between(base, backend, 2, &|_| ());
        for betas in [[0.0, 0.6, 1.0], [1.0, 0.7, 0.0]] {
            path.start(0, 30, key);
            let mut states = Vec::new();
            let found = path.anneal(0, &betas, key, |path, _, _| states.push(path.backend.get(0)));
            let there = log_p(&short, betas[1], &states[0]) - log_p(&lowered, betas[0], &states[0]);
            let back = log_p(&lowered, betas[2], &states[1]) - log_p(&short, betas[1], &states[1]);
            let rounding = log_p(&short, betas[1], &states[1]) - log_p(&lowered, betas[1], &states[1]);
            assert!(rounding.iter().any(|x| x.abs() > 1e-2), "{rounding}");
            for (found, want) in found.iter().zip(there + back) {
                assert!((found - want).abs() < 1e-3, "{betas:?}: {found} {want}");
            }
        }
    }
}
