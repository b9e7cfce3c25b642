//! The gradient is the derivative of the exact mean log likelihood, for every pair of layers, plain and centred.

use crate::common::{
    Numbers, all_pairs, derivative, direction, flat, mean_log_likelihood, pairs, random_rows, small_rbm,
};
use harmonium::{Exact, Rbm, Stats};
use ndarray::{Array1, Axis};

#[test]
fn the_exact_gradient_equals_extrapolated_differences_for_every_pair() {
    let mut worst: f64 = 0.0;
    for (seed, v, h) in all_pairs("the_exact_gradient_equals_extrapolated_differences_for_every_pair") {
        for centred in [false, true] {
            let rbm = small_rbm(&v, &h, centred, seed);
            let mut r = Numbers::new(1000 + seed);
            let rows = random_rows(rbm.visible(), 4, &mut r);
            let weights = Array1::from_shape_fn(4, |_| 0.2 + r.uniform());
            let gradient = Exact::new(&rbm).unwrap().gradient(rows.view(), weights.view()).unwrap();
            let all = flat(&gradient);
            let largest = all.iter().fold(0f64, |m, g| m.max(g.abs()));
            for (i, g) in all.iter().enumerate() {
                let step = direction(&gradient, i);
                let moved = |t: f64| {
                    let mut rbm = rbm.clone();
                    rbm.step(t, &step);
                    mean_log_likelihood(&rbm, rows.view(), &weights)
                };
                let error = (g - derivative(moved, 0.02)).abs() / largest;
                worst = worst.max(error);
                assert!(error <= 1e-8, "{v} with {h}, centred {centred}, parameter {i}: {g}, off by {error:e}");
            }
        }
    }
    println!("worst error, relative to the largest component: {worst:.1e}");
}

/// ∂log Z/∂θ is the model's side of the same pullback: with data statistics zero only −∂log Z is left. Constants in
/// the energy cancel between the phases, so only parameters without one are compared: weights of a plain model.
#[test]
fn the_model_phase_alone_is_the_derivative_of_log_z() {
    for (seed, v, h) in pairs("the_model_phase_alone_is_the_derivative_of_log_z") {
        let rbm = small_rbm(&v, &h, false, 77 + seed);
        let exact = Exact::new(&rbm).unwrap();
        let model = exact.stats();
        let nothing = Stats { weight: 1.0, ..Stats::zeros(exact.lowered()) };
        let gradient = rbm.gradient(exact.lowered(), &model.minus(&nothing));
        let is_reference =
            |b: &harmonium::layout::Block| b.unit::<f64>().origin() == harmonium::units::Origin::Reference;
        if rbm.visible().layout().blocks().iter().any(is_reference) {
            continue;
        }
        let skipped = gradient.visible.len() + gradient.hidden.len();
        for i in 0..gradient.weights.len() {
            let log_z = |t: f64| {
                let mut rbm = rbm.clone();
                rbm.step(t, &direction(&gradient, skipped + i));
                Exact::new(&rbm).unwrap().log_z()
            };
            let g = gradient.weights.as_slice().unwrap()[i];
            crate::common::close(g, derivative(log_z, 4e-3), 1e-9, &format!("{v} with {h}"));
        }
    }
}

/// Row weights count rows: weight 2 is the row twice; statistics of parts add up to those of the whole.
#[test]
fn statistics_add_and_row_weights_count() {
    for (seed, v, h) in pairs("statistics_add_and_row_weights_count") {
        let rbm = small_rbm(&v, &h, true, 300 + seed);
        let lowered = rbm.lower();
        let rows = random_rows(rbm.visible(), 3, &mut Numbers::new(seed));
        let x = lowered.visible().encode(rows.view(), 1).unwrap();
        let weighted = lowered.up().stats(x.view(), ndarray::aview1(&[2.0, 1.0, 0.0]));
        let twice = x.select(Axis(0), &[0, 1, 0]);
        let mut parts = Stats::zeros(&lowered);
        for row in twice.rows() {
            parts.add(&lowered.up().stats(row.insert_axis(Axis(0)), ndarray::aview1(&[1.0])));
        }
        assert_eq!(weighted.weight, 3.0);
        let same = |a: &ndarray::Array2<f64>, b: &ndarray::Array2<f64>| {
            a.iter().zip(b).for_each(|(a, b)| crate::common::close(*a, *b, 1e-13, &format!("{v} with {h}")));
        };
        same(&weighted.visible, &parts.visible);
        same(&weighted.hidden, &parts.hidden);
        same(&weighted.cross, &parts.cross);
    }
}

/// In single precision everything agrees with double precision to single-precision rounding.
#[test]
fn single_precision_agrees_with_double() {
    for (seed, v, h) in pairs("single_precision_agrees_with_double") {
        let rbm = small_rbm(&v, &h, true, 500 + seed);
        let (single, rounded): (Rbm<f32>, Rbm<f64>) = (rbm.cast(), rbm.cast::<f32>().cast());
        let (a, b) = (single.lower(), rounded.lower());
        let rows = random_rows(rbm.visible(), 5, &mut Numbers::new(seed)).mapv(|x| x as f32);
        let x = a.visible().encode(rows.view(), 1).unwrap();
        let y = x.mapv(f64::from);
        for (p, q) in a.up().free_energy(x.view()).iter().zip(b.up().free_energy(y.view())) {
            crate::common::close(*p, q, 2e-5, &format!("{v} with {h}"));
        }
        let ones = Array1::ones(5);
        let weights32 = Array1::<f32>::ones(5);
        let difference = a
            .up()
            .stats(x.view(), weights32.view())
            .minus(&a.up().stats(x.view(), ndarray::aview1(&[1.0, 0.0, 0.0, 0.0, 0.0])));
        let want = b
            .up()
            .stats(y.view(), ones.view())
            .minus(&b.up().stats(y.view(), ndarray::aview1(&[1.0, 0.0, 0.0, 0.0, 0.0])));
        let (g, w) = (single.gradient(&a, &difference), rounded.gradient(&b, &want));
        for (p, q) in g.weights.iter().chain(&g.visible).chain(&g.hidden).zip(flat_order(&w)) {
            crate::common::close(f64::from(*p), q, 1e-4, &format!("{v} with {h}"));
        }
    }
    fn flat_order(g: &harmonium::Gradient<f64>) -> Vec<f64> {
        g.weights.iter().chain(&g.visible).chain(&g.hidden).copied().collect()
    }
}
