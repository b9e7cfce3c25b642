//! Corro, *Lab Exercise 2: Restricted Boltzmann Machine*: Cho's machine; its x, z, b, c are v, h, a, b here.

use super::{Hand, add, dot, erratum, states};
use std::array::from_fn;

type Machine = Hand<2, 3>;

const ROWS: [[f64; 2]; 3] = [[0.4, -1.1], [-0.9, 0.3], [1.7, 0.8]];

fn machine() -> Machine {
    Machine { z: [0.6, -0.5], ..Machine::new(Some("cho")) }
}

/// Printed twice in §2: −(x₁−b₁)² = −x₁² − b₁² + b₁x₁. Its last form, −(x₁−a−b₁)² + a² + 2ab₁, is right again.
#[test]
fn the_square_has_twice_the_mixed_term() {
    let m = machine();
    let (b, s2) = (m.a[0], m.variance()[0]);
    let a = m.w[0][0] + m.w[0][2];
    let x = ROWS.map(|v| v[0]);
    let truth = x.map(|x| a * x / s2 - (x - b).powi(2) / (2.0 * s2));
    let form = |factor: f64| x.map(|x| (2.0 * a * x - x * x - b * b + factor * b * x) / (2.0 * s2));
    erratum("Corro §2, square", &truth, &form(1.0), &form(2.0));
    super::confirmed(
        "Corro §2, completed square",
        &truth,
        &x.map(|x| (-(x - a - b).powi(2) + a * a + 2.0 * a * b) / (2.0 * s2)),
    );
}

/// "A Gaussian with … standard deviation σ₁²": the variance of x₁ given z, integrated from the energy, is σ₁².
#[test]
fn the_second_argument_of_the_normal_is_the_variance() {
    let m = machine();
    let (s2, h) = (m.variance()[0], [1.0, 0.0, 1.0]);
    let input = m.down(h)[0];
    let step = 0.4 * s2.sqrt();
    let moment = |power: i32| {
        let x = |k: i32| m.a[0] + input + step * f64::from(k);
        let weight = |x: f64| (-(x - m.a[0]).powi(2) / (2.0 * s2) + x / s2 * input).exp();
        (-40..=40).map(|k| x(k).powi(power) * weight(x(k)) * step).sum::<f64>()
    };
    let mean = moment(1) / moment(0);
    let truth = moment(2) / moment(0) - mean * mean;
    erratum("Corro §2, variance", &[truth], &[s2 * s2], &[s2]);
}

/// §3 prints three denominators with Π(c_j z′_j + Σ x′_i W_ij z′_j/σ_i²) where the numerators have Π exp(…).
#[test]
fn the_denominators_of_the_marginal_keep_their_exponentials() {
    let m = machine();
    let s2 = m.variance();
    let argument = |x: [f64; 2]| add(m.b, m.up(from_fn(|i| x[i] / s2[i])));
    let gauss = |x: [f64; 2]| (0..2).map(|i| -(x[i] - m.a[i]).powi(2) / (2.0 * s2[i])).sum::<f64>().exp();
    let exponentials = |x| states().map(|z| dot(&argument(x), &z).exp()).sum::<f64>();
    let bare = |x| states::<3>().map(|z| (0..3).map(|j| argument(x)[j] * z[j]).product::<f64>()).sum::<f64>();
    let step = s2.map(|s2| 0.4 * s2.sqrt());
    let node = |k: i32, i: usize| m.a[i] + step[i] * f64::from(k);
    let integral = |f: &dyn Fn([f64; 2]) -> f64| {
        let nodes = (-35..=35).flat_map(|k| (-35..=35).map(move |l| [node(k, 0), node(l, 1)]));
        nodes.map(|x| gauss(x) * f(x) * step[0] * step[1]).sum::<f64>()
    };
    let p = |denominator: f64| ROWS.map(|x| gauss(x) * exponentials(x) / denominator);
    let truth: Vec<f64> = m.log_p(&ROWS).into_iter().map(f64::exp).collect();
    erratum("Corro §3, denominators", &truth, &p(integral(&bare)), &p(integral(&exponentials)));
}
