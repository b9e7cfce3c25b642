//! The unsigned notes *Energy-Based Models*, on the gradient of the RBM (their b, c are a, b here).

use super::{Hand, confirmed, dot, erratum, sigmoid, states};

type Machine = Hand<3, 2>;

const DATA: [[f64; 3]; 3] = [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]];

fn minus_energy(m: &Machine, v: [f64; 3], h: [f64; 2]) -> f64 {
    dot(&m.a, &v) + dot(&m.b, &h) + dot(&m.up(v), &h)
}

/// log Σ_h exp(−E(v,h)) and log Σ_vh exp(−E(v,h)), by the definition.
fn log_sums(m: &Machine, v: [f64; 3]) -> (f64, f64) {
    let over_h = |v| states().map(|h| minus_energy(m, v, h).exp()).sum::<f64>();
    (over_h(v).ln(), states().map(over_h).sum::<f64>().ln())
}

fn mean(x: impl Iterator<Item = f64>) -> f64 {
    x.sum::<f64>() / DATA.len() as f64
}

/// "The negative log likelihood is L(D) = 1/N Σ log Σ_h p(v,h)" lacks the sign; their l(D) = −L(D) has it.
#[test]
fn the_mean_log_likelihood_is_not_its_negative() {
    let m = Machine::new(None);
    let truth = -mean(m.log_p(&DATA).into_iter());
    let l = mean(DATA.into_iter().map(|v| log_sums(&m, v)).map(|(free, log_z)| free - log_z));
    erratum("notes §1, L(D)", &[truth], &[l], &[-l]);
}

/// Printed: −Σ p_D log Σ_h e^{−E} − Σ p_D log Z, after which the next line has + log Z.
#[test]
fn the_loss_contains_plus_log_z() {
    let m = Machine::new(None);
    let truth = -mean(m.log_p(&DATA).into_iter());
    let form = |sign: f64| mean(DATA.into_iter().map(|v| log_sums(&m, v)).map(|(free, log_z)| -free + sign * log_z));
    erratum("notes §1, l(D)", &[truth], &[form(-1.0)], &[form(1.0)]);
}

/// p_D(v) = 1/N for v ∈ D is not a distribution once a row occurs twice; its count over N is.
#[test]
fn a_row_that_occurs_twice_counts_twice() {
    let m = Machine::new(None);
    let data = [DATA[0], DATA[0], DATA[1]];
    let log_p = m.log_p(&data);
    let truth = log_p.iter().sum::<f64>() / 3.0;
    let form = |of_twice: f64| of_twice / 3.0 * log_p[0] + log_p[2] / 3.0;
    erratum("notes §1, p_D", &[truth], &[form(1.0)], &[form(2.0)]);
}

/// Printed: ∂l/∂W = −Σ_vh p_D(v) p(h_j=1|v) v_i + Σ_vh p(v) p(h_j=1|v) v_i, and likewise without v_i for the bias.
/// Nothing in the sums depends on h any more: over v and h they count every v 2ᵐ times.
#[test]
fn sums_over_h_of_the_probability_of_one_hidden_unit_count_each_v_two_to_the_m_times() {
    let m = Machine::new(None);
    let p = |v| m.log_p(&[v])[0].exp();
    let active = |v: [f64; 3], j: usize| sigmoid(m.b[j] + m.up(v)[j]);
    for j in 0..2 {
        // the factor v_i of ∂W, for i = 0, and 1 for the bias
        let weight_of = |v: [f64; 3], bias: bool| if bias { 1.0 } else { v[0] };
        for bias in [false, true] {
            let g = |v| active(v, j) * weight_of(v, bias);
            let over_v = -mean(DATA.into_iter().map(g)) + states().map(|v| p(v) * g(v)).sum::<f64>();
            let over_v_and_h = states::<2>().map(|_| over_v).sum::<f64>();
            let change = |m: &mut Machine, t: f64| if bias { m.b[j] += t } else { m.w[0][j] += t };
            let truth = -m.slope(&DATA, change);
            let what = if bias { format!("notes §3.1, ∂c{j}") } else { format!("notes §3.1, ∂W0{j}") };
            erratum(&what, &[truth], &[over_v_and_h], &[over_v]);
            confirmed(&format!("{what}, printed as 2ᵐ times the truth"), &[4.0 * truth], &[over_v_and_h]);
        }
    }
}
