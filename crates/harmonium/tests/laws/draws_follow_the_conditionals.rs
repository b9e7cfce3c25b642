//! Draws are right, seen without statistics: a discrete draw is a step function of its uniform, so its steps are
//! bisected; a normal draw is a smooth function of two uniforms, so its moments are integrated.

use crate::common::{Numbers, close, kinds, random_layer};
use harmonium::rng::{Key, normal};
use harmonium::units::Kind;
use ndarray::Array2;

/// η and an input of one random site.
fn site(kind: &Kind, seed: u64, spread: f64) -> (Array2<f64>, Vec<f64>) {
    let mut r = Numbers::new(seed);
    let layer = random_layer(kind, 1, false, &mut r);
    let unit = kind.unit::<f64>();
    let mut eta = Array2::zeros((unit.n_stats(), unit.width()));
    unit.natural(layer.par(), layer.offset(), eta.view_mut(), &mut vec![0.0; unit.width()]);
    (eta, (0..unit.width()).map(|_| spread * r.normal()).collect())
}

/// As u grows every state comes once, in an interval as long as its probability.
#[test]
fn a_discrete_draw_steps_at_the_cumulative_probabilities() {
    for kind in kinds() {
        let unit = kind.unit::<f64>();
        let Some(q) = unit.n_states() else { continue };
        for seed in 0..20 {
            let (eta, input) = site(&kind, seed, if seed < 10 { 1.0 } else { 4.0 });
            let draw = |u: f64| {
                let mut x = vec![0.0; unit.width()];
                unit.sample(eta.view(), &input, &[u, 0.5][..unit.n_uniforms()], &mut x);
                x
            };
            let log_norm = unit.log_norm(eta.view(), &input);
            let p = |x: &[f64]| {
                let mut t = Array2::zeros(eta.dim());
                unit.stats(x, t.view_mut());
                ((&eta * &t).sum() + x.iter().zip(&input).map(|(x, i)| x * i).sum::<f64>() - log_norm).exp()
            };
            // Whatever the order: from the end of one interval, the next state starts, and its end is bisected.
            let (mut from, mut seen) = (0.0, Vec::new());
            while seen.len() < q && from < 1.0 - 1e-9 {
                let x = draw(from + 1e-12);
                let (mut lo, mut hi) = (from, 1.0);
                for _ in 0..60 {
                    let mid = 0.5 * (lo + hi);
                    if mid <= from + 1e-12 || draw(mid) == x { lo = mid } else { hi = mid }
                }
                close(lo - from, p(&x), 1e-11, &format!("{kind} {x:?}"));
                assert!(!seen.contains(&x), "{kind}: a state has one interval");
                seen.push(x);
                from = lo;
            }
            assert!(from > 1.0 - 1e-9, "{kind}: the intervals fill (0, 1)");
        }
    }
}

/// Moments of the normal draw over both uniforms, by the midpoint rule on 4000² cells. The integrand has a logarithmic
/// singularity at u₀ = 0, which limits the rule to about 1e-3; a wrong factor would show as 0.1 or more. The angle's
/// integral is exact to rounding, so the odd moments are.
#[test]
fn a_normal_draw_has_the_moments_of_a_normal() {
    let n = 4000;
    let cell = |k: usize| (k as f64 + 0.5) / n as f64;
    let mut moments = [0.0; 5];
    for i in 0..n {
        for j in 0..n {
            let z: f64 = normal([cell(i), cell(j)]);
            for (p, m) in moments.iter_mut().enumerate() {
                *m += z.powi(p as i32) / (n * n) as f64;
            }
        }
    }
    for (m, want, tolerance) in [(1, 0.0, 1e-9), (2, 1.0, 1e-3), (3, 0.0, 1e-9), (4, 3.0, 1e-2)] {
        assert!((moments[m] - want).abs() < tolerance, "moment {m}: {}", moments[m]);
    }
}

/// A continuous unit's draw is mean + standard deviation × normal: exact, no statistics.
#[test]
fn a_continuous_draw_scales_the_normal_by_its_moments() {
    for kind in kinds() {
        let unit = kind.unit::<f64>();
        if !unit.quadratic() {
            continue;
        }
        let (eta, input) = site(&kind, 5, 1.0);
        let mut t = Array2::zeros(eta.dim());
        unit.mean_stats(eta.view(), &input, t.view_mut());
        let (mean, variance) = (t[[0, 0]], t[[1, 0]] - t[[0, 0]].powi(2));
        let mut r = Numbers::new(6);
        for _ in 0..100 {
            let u = [r.uniform(), r.uniform()];
            let mut x = [0.0];
            unit.sample(eta.view(), &input, &u, &mut x);
            close(x[0], mean + variance.sqrt() * normal(u), 1e-12, &kind.to_string());
        }
    }
}

/// Extreme fields and the extreme uniforms still give a state of the unit, in both number types.
#[test]
fn draws_never_leave_the_range() {
    fn check<T: harmonium::Real>(kind: &Kind) {
        let unit = kind.unit::<T>();
        let ends = [T::uniform([0, 0]), T::uniform([u32::MAX, u32::MAX])];
        for field in [-1e4, -700.0, -1e-30, 0.0, 1e-30, 700.0, 1e4] {
            let mut eta = Array2::from_elem((unit.n_stats(), unit.width()), T::of(0.0));
            eta[[0, 0]] = T::of(field);
            if unit.quadratic() {
                eta.row_mut(1).fill(T::of(-0.5));
            }
            for u in ends {
                let mut x = vec![T::zero(); unit.width()];
                unit.sample(eta.view(), &vec![T::zero(); unit.width()], &[u, u][..unit.n_uniforms()], &mut x);
                let value = unit.decode(&x);
                assert!(unit.encode(value, &mut x), "{kind} drew {value} at field {field}");
            }
        }
    }
    for kind in kinds() {
        check::<f32>(&kind);
        check::<f64>(&kind);
    }
}

/// The crate `rand_philox` is an implementation we did not write.
#[test]
fn philox_agrees_with_another_implementation() {
    for seed in [0u64, 1, 0x0123_4567_89ab_cdef] {
        let key = [seed as u32, (seed >> 32) as u32];
        for counter in 0..64u32 {
            let chain = u64::from(counter) << 20;
            let theirs = rand_philox::philox4x32_10([counter, chain as u32, (chain >> 32) as u32, 0], key);
            assert_eq!(Key::root(seed).words(chain, counter), theirs, "seed {seed}, counter {counter}");
        }
    }
}
