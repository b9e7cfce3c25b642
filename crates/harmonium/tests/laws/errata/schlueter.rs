//! Schlüter, *Restricted Boltzmann Machine Derivations*, 2014.

use super::{Hand, add, confirmed, dot, erratum, sigmoid, states, sub};
use std::array::from_fn;

type Machine = Hand<2, 3>;

const ROWS: [[f64; 2]; 3] = [[0.4, -1.1], [-0.9, 0.3], [1.7, 0.8]];

/// New offsets to move to.
const ALPHA: [f64; 2] = [0.9, -0.4];
const BETA: [f64; 3] = [0.3, 0.8, -0.2];

/// ⟨g(u)⟩ over p(u) by the trapezoidal rule: p times a mean of hidden units is a mixture of Gaussians, for which a step
/// of 0.4 σ is exact to rounding, and 14 σ to each side leave nothing out.
fn expectation(m: &Machine, g: impl Fn([f64; 2]) -> f64) -> f64 {
    let step = m.z.map(|z| 0.4 * (0.5 * z).exp());
    let node = |k: i32, i: usize| m.a[i] + step[i] * f64::from(k);
    let nodes: Vec<_> = (-35..=35).flat_map(|k| (-35..=35).map(move |l| [node(k, 0), node(l, 1)])).collect();
    let p = m.log_p(&nodes);
    nodes.iter().zip(p).map(|(&u, p)| g(u) * p.exp() * step[0] * step[1]).sum()
}

/// φ(v) of Cho's (26) and Goodfellow's (35) energy, times σ².
fn coupled(m: &Machine, v: [f64; 2]) -> [f64; 2] {
    if m.coupling == Some("goodfellow") { sub(v, m.a) } else { v }
}

/// Σⱼ Wᵢⱼ h̄ⱼ(v).
fn reconstruction(m: &Machine, v: [f64; 2]) -> [f64; 2] {
    let (s2, phi) = (m.variance(), coupled(m, v));
    m.down(add(m.b, m.up(from_fn(|i| phi[i] / s2[i]))).map(sigmoid))
}

/// g(v) − ⟨g(u)⟩ averaged over the rows.
fn difference(m: &Machine, g: impl Fn([f64; 2]) -> f64) -> f64 {
    ROWS.iter().map(|&v| g(v)).sum::<f64>() / ROWS.len() as f64 - expectation(m, g)
}

#[test]
fn the_cross_term_of_the_gradient_by_sigma_has_the_factor_two_not_one_half() {
    for (equation, coupling) in [("(32)", "cho"), ("(42)", "goodfellow")] {
        let m = Machine::new(Some(coupling));
        for i in 0..2 {
            let sigma = (0.5 * m.z[i]).exp();
            let truth = m.slope(&ROWS, |m, t| m.z[i] = 2.0 * (sigma + t).ln());
            let form = |factor: f64| {
                difference(&m, |v| {
                    let cross = coupled(&m, v)[i] * reconstruction(&m, v)[i];
                    (v[i] - m.a[i]).powi(2) / sigma.powi(3) - factor * cross / sigma.powi(3)
                })
            };
            erratum(&format!("Schlüter {equation}, σ{i}"), &[truth], &[form(0.5)], &[form(2.0)]);
        }
    }
}

#[test]
fn the_gradients_by_the_log_variance_are_right() {
    for (equation, coupling) in [("(34)", "cho"), ("(43)", "goodfellow")] {
        let m = Machine::new(Some(coupling));
        for i in 0..2 {
            let s2 = m.variance()[i];
            let form = difference(&m, |v| {
                (v[i] - m.a[i]).powi(2) / (2.0 * s2) - coupled(&m, v)[i] / s2 * reconstruction(&m, v)[i]
            });
            confirmed(&format!("Schlüter {equation}, z{i}"), &[m.slope(&ROWS, |m, t| m.z[i] += t)], &[form]);
        }
    }
}

/// Printed: α′ = α + α − α′ + W(β′−β), read as a rule for a, which it is meant to be.
#[test]
fn chos_visible_bias_moves_from_its_old_value_when_the_offsets_move() {
    let m = Machine::centred(Some("cho"));
    let (s2, d_alpha, d_beta) = (m.variance(), sub(ALPHA, m.alpha), sub(BETA, m.beta));
    let b = add(m.b, m.up(from_fn(|i| d_alpha[i] / s2[i])));
    let form = |a| Machine { a, b, alpha: ALPHA, beta: BETA, ..m }.log_p(&ROWS);
    let shift = add(sub(m.alpha, ALPHA), m.down(d_beta));
    erratum("Schlüter §6.2, Cho a′", &m.log_p(&ROWS), &form(add(m.alpha, shift)), &form(add(m.a, shift)));
}

/// Printed: b′ = b + (a−a′)ᵀΛW, the first of three forms; the other two, b + (β′−β)ᵀWᵀΛW, are right.
#[test]
fn goodfellows_hidden_bias_moves_with_the_visible_bias_not_against_it() {
    let m = Machine::centred(Some("goodfellow"));
    let s2 = m.variance();
    let a = add(m.a, m.down(sub(BETA, m.beta)));
    let form = |d: [f64; 2]| Machine { a, b: add(m.b, m.up(from_fn(|i| d[i] / s2[i]))), beta: BETA, ..m }.log_p(&ROWS);
    let truth = m.log_p(&ROWS);
    erratum("Schlüter §6.2, Goodfellow b′", &truth, &form(sub(m.a, a)), &form(sub(a, m.a)));
    confirmed("Schlüter §6.2, Goodfellow b′, last form", &truth, &form(m.down(sub(BETA, m.beta))));
}

/// Printed: a′ = α − α′.
#[test]
fn goodfellows_visible_bias_moves_from_its_old_value_when_the_visible_offset_moves() {
    let m = Machine::centred(Some("goodfellow"));
    let form = |a| Machine { a, alpha: ALPHA, ..m }.log_p(&ROWS);
    let d = sub(m.alpha, ALPHA);
    erratum("Schlüter §6.2, Goodfellow a′", &m.log_p(&ROWS), &form(d), &form(add(m.a, d)));
}

/// Printed: b′ₖ = bₖ + Σᵢ (vᵢ+α′ᵢ−αᵢ)/σᵢ Wᵢₖ, which would make a parameter depend on the data.
#[test]
fn krizhevskys_hidden_bias_does_not_depend_on_v_when_the_visible_offset_moves() {
    let m = Machine::centred(Some("krizhevsky"));
    let d = sub(ALPHA, m.alpha);
    let form = |v: [f64; 2], stray: f64| {
        let shift = m.up(from_fn(|i| (stray * v[i] + d[i]) / (0.5 * m.z[i]).exp()));
        Machine { a: sub(m.a, d), b: add(m.b, shift), alpha: ALPHA, ..m }.log_p(&[v])[0]
    };
    let (printed, corrected) = (ROWS.map(|v| form(v, 1.0)), ROWS.map(|v| form(v, 0.0)));
    erratum("Schlüter §6.2, Krizhevsky b′", &m.log_p(&ROWS), &printed, &corrected);
}

/// Wᵀφ(v), the hidden field without its bias, of Krizhevsky's (19) and Goodfellow's (35) energy.
fn field(m: &Machine, v: [f64; 2]) -> [f64; 3] {
    let s2 = m.variance();
    match m.coupling {
        Some("krizhevsky") => m.up(from_fn(|i| v[i] / s2[i].sqrt())),
        _ => m.up(from_fn(|i| (v[i] - m.a[i]) / s2[i])),
    }
}

/// The printed exponent is −E with the quadratic term over `denominator`·σ².
fn exponent(m: &Machine, v: [f64; 2], g: [f64; 3], denominator: f64) -> f64 {
    let s2 = m.variance();
    let quadratic: f64 = (0..2).map(|i| (v[i] - m.a[i]).powi(2) / (denominator * s2[i])).sum();
    dot(&field(m, v), &g) - quadratic + dot(&m.b, &g)
}

/// Σ_g exp(exponent) is p(v)Z only with 2σ², but the ratio that (21) and (38) need is the same with either.
#[test]
fn the_quadratic_term_is_over_two_variances_and_cancels_in_the_conditional() {
    for (equation, coupling) in [("(21)", "krizhevsky"), ("(38)", "goodfellow")] {
        let m = Machine::new(Some(coupling));
        let log_z = m.exact().log_z();
        let sum = |v, k: Option<usize>, denominator| {
            let some = states().filter(|g: &[f64; 3]| k.is_none_or(|k| g[k] == 1.0));
            some.map(|g| exponent(&m, v, g, denominator).exp()).sum::<f64>()
        };
        let log_p = |denominator| ROWS.map(|v| sum(v, None, denominator).ln() - log_z);
        erratum(&format!("Schlüter {equation}, exponent"), &m.log_p(&ROWS), &log_p(1.0), &log_p(2.0));
        for k in 0..3 {
            let p = |denominator| ROWS.map(|v| sum(v, Some(k), denominator) / sum(v, None, denominator));
            confirmed(&format!("Schlüter {equation}, p(h{k}=1|v)"), &p(2.0), &p(1.0));
        }
    }
}

/// Printed in the last line but one of (21): 1/(1 + 1/exp(−x)), which is σ(−x). Truth: ∂(−F)/∂b = ∂(log p + log Z)/∂b.
#[test]
fn the_last_but_one_exponent_of_the_hidden_conditional_has_no_minus() {
    let m = Machine::new(Some("krizhevsky"));
    for k in 0..3 {
        let unnormalised = |t: f64| {
            let mut m = m;
            m.b[k] += t;
            m.log_p(&ROWS[..1])[0] + m.exact().log_z()
        };
        let truth = super::derivative(unnormalised, 0.02);
        let x = m.b[k] + field(&m, ROWS[0])[k];
        let form = |sign: f64| 1.0 / (1.0 + 1.0 / (sign * x).exp());
        erratum(&format!("Schlüter (21), h{k}"), &[truth], &[form(-1.0)], &[form(1.0)]);
    }
}
