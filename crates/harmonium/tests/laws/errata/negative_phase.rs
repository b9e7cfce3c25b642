//! The unsigned note *Derivation RBM negative phase*: 𝓔_λ is the free energy F, λ all parameters.

use super::{Hand, confirmed, dot, erratum, sigmoid, states};

type Machine = Hand<3, 2>;

const V: [f64; 3] = [1.0, 0.0, 1.0];

/// All parameters of the plain machine, in the order a, b, W.
fn change(m: &mut Machine, k: usize, t: f64) {
    let Hand { a, b, w, .. } = m;
    *a.iter_mut().chain(b).chain(w.as_flattened_mut()).nth(k).unwrap() += t;
}

const PARAMETERS: usize = 3 + 2 + 3 * 2;

/// ∂E(v,h)/∂λ in the same order.
fn energy_gradient(v: [f64; 3], h: [f64; 2]) -> Vec<f64> {
    let products = v.iter().flat_map(|v| h.iter().map(move |h| v * h));
    v.into_iter().chain(h).chain(products).map(|x| -x).collect()
}

/// Eq. (4): ∇𝓔(v) − Σ_{v′h} p(v′,h) ∇E(v′,h), with p(v′,h) = exp(−E)/Z summed out.
fn equation_4(m: &Machine) -> Vec<f64> {
    let log_z = m.exact().log_z();
    let active: [f64; 2] = std::array::from_fn(|j| sigmoid(m.b[j] + m.up(V)[j]));
    let mut g = energy_gradient(V, active);
    for (v, h) in states().flat_map(|v: [f64; 3]| states().map(move |h: [f64; 2]| (v, h))) {
        let p = (dot(&m.a, &v) + dot(&m.b, &h) + dot(&m.up(v), &h) - log_z).exp();
        g.iter_mut().zip(energy_gradient(v, h)).for_each(|(g, e)| *g -= p * e);
    }
    g
}

fn slopes(m: &Machine) -> Vec<f64> {
    (0..PARAMETERS).map(|k| m.slope(&[V], |m, t| change(m, k, t))).collect()
}

/// (3) → (4): the minus of the second term is right, because ∇ log Z = −Σ p ∇E.
#[test]
fn the_printed_gradient_is_that_of_the_negative_log_likelihood() {
    let m = Machine::new(None);
    let minus: Vec<f64> = slopes(&m).iter().map(|s| -s).collect();
    confirmed("negative phase (4)", &minus, &equation_4(&m));
}

/// Printed: "maximizing the negative log-likelihood". The direction that does so is (4); learning goes the other way.
#[test]
fn learning_goes_down_the_printed_gradient_not_up() {
    let m = Machine::new(None);
    let g = equation_4(&m);
    let back: Vec<f64> = g.iter().map(|g| -g).collect();
    erratum("negative phase, direction", &slopes(&m), &g, &back);
    let after_a_step = |rate: f64| {
        let mut m = m;
        g.iter().enumerate().for_each(|(k, g)| change(&mut m, k, rate * g));
        m.log_p(&[V])[0]
    };
    let before = m.log_p(&[V])[0];
    assert!(after_a_step(0.1) < before - 1e-3 && after_a_step(-0.1) > before + 1e-3);
}

/// Printed: Σ q log q "is the Shannon entropy". It is its negative, else D_KL(q‖p) ≥ 0 would be lost.
#[test]
fn the_first_term_of_the_divergence_is_minus_the_entropy() {
    let m = Machine::new(None);
    let (q, rows) = ([0.5f64, 0.3, 0.2], [V, [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]);
    let log_p = m.log_p(&rows);
    let divergence: f64 = (0..3).map(|k| q[k] * (q[k].ln() - log_p[k])).sum();
    let cross: f64 = (0..3).map(|k| -q[k] * log_p[k]).sum();
    let entropy: f64 = (0..3).map(|k| q[k] * (1.0 / q[k]).ln()).sum();
    erratum("negative phase (1)", &[divergence], &[entropy + cross], &[-entropy + cross]);
}
