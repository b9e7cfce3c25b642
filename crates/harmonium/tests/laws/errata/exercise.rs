//! The unsigned exercise *Pencil-and-Paper / Code-from-Scratch*: there W is hidden × visible, and b, c are a, b here.

use super::{Hand, confirmed, dot, erratum, sigmoid, states};
use ndarray::{arr1, arr2};

/// As many visible as hidden units: else vᵀWh is not even a product.
type Machine = Hand<3, 3>;

const DATA: [[f64; 3]; 3] = [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]];

/// w_ij of the exercise: i hidden, j visible.
fn w(m: &Machine, i: usize, j: usize) -> f64 {
    m.w[j][i]
}

/// exp(−E) with the double sum Σ w_ij h_i v_j of eq. (1).
fn weight(m: &Machine, v: [f64; 3], h: [f64; 3]) -> f64 {
    let coupled: f64 = (0..3).flat_map(|i| (0..3).map(move |j| w(m, i, j) * h[i] * v[j])).sum();
    (coupled + dot(&m.a, &v) + dot(&m.b, &h)).exp()
}

/// xᵀWy with W as the exercise has it.
fn form(m: &Machine, x: [f64; 3], y: [f64; 3]) -> f64 {
    (0..3).map(|r| (0..3).map(|c| x[r] * w(m, r, c) * y[c]).sum::<f64>()).sum()
}

/// Printed in eq. (1): Σ w_ij h_i v_j = vᵀWh.
#[test]
fn the_matrix_form_of_the_energy_is_h_w_v() {
    let m = Machine::new(None);
    let log_z = m.exact().log_z();
    let log_p = |coupled: &dyn Fn([f64; 3], [f64; 3]) -> f64| {
        DATA.map(|v| states().map(|h| (coupled(v, h) + dot(&m.a, &v) + dot(&m.b, &h)).exp()).sum::<f64>().ln() - log_z)
    };
    let (printed, corrected) = (log_p(&|v, h| form(&m, v, h)), log_p(&|v, h| form(&m, h, v)));
    erratum("exercise (1)", &m.log_p(&DATA), &printed, &corrected);
}

/// With 2 hidden and 3 visible units W is 2 × 3: vᵀW is no product at all, hᵀWv is the double sum.
#[test]
fn the_printed_matrix_form_has_the_wrong_shape_unless_the_layers_are_equally_large() {
    let w = arr2(&[[0.3, -1.2, 0.5], [0.8, 0.1, -0.7]]);
    let (v, h) = (arr1(&[1.0, 0.0, 1.0]), arr1(&[1.0, 1.0]));
    let double_sum = 0.3 + 0.5 + 0.8 - 0.7;
    confirmed("exercise (1), hᵀWv", &[double_sum], &[h.dot(&w).dot(&v)]);
    assert!(std::panic::catch_unwind(|| v.dot(&w)).is_err());
}

/// p(v_j, h_i), summed out of the joint distribution.
fn pair(m: &Machine, v_j: (usize, f64), h_i: (usize, f64)) -> f64 {
    let all = states().flat_map(|v: [f64; 3]| states().map(move |h: [f64; 3]| (v, h)));
    let fits = |(v, h): &([f64; 3], [f64; 3])| v[v_j.0] == v_j.1 && h[h_i.0] == h_i.1;
    all.filter(fits).map(|(v, h)| weight(m, v, h)).sum::<f64>() / m.exact().log_z().exp()
}

/// Π_ij p(v_j, h_i).
fn product_of_pairs(m: &Machine, v: [f64; 3], h: [f64; 3]) -> f64 {
    (0..3).flat_map(|i| (0..3).map(move |j| pair(m, (j, v[j]), (i, h[i])))).product()
}

/// Π_k p_k^{x_k}(1−p_k)^{1−x_k} with p_k = σ(input_k).
fn product_of_units(x: [f64; 3], input: [f64; 3]) -> f64 {
    (0..3).map(|k| sigmoid(if x[k] == 1.0 { input[k] } else { -input[k] })).product()
}

/// Printed in eq. (2), (12): p(v,h) = Π_ij p(v_j,h_i). The conditionals factor into single units, the joint into nothing.
#[test]
fn the_joint_does_not_factor_into_pairs_but_the_conditionals_factor_into_units() {
    let m = Machine::new(None);
    let h = [1.0, 0.0, 1.0];
    let v = [0.0, 1.0, 1.0];
    let input_v: [f64; 3] = std::array::from_fn(|j| m.a[j] + (0..3).map(|i| w(&m, i, j) * h[i]).sum::<f64>());
    let input_h: [f64; 3] = std::array::from_fn(|i| m.b[i] + (0..3).map(|j| w(&m, i, j) * v[j]).sum::<f64>());
    let normalised = |f: &dyn Fn([f64; 3]) -> f64| {
        let all: Vec<f64> = states().map(f).collect();
        all.iter().map(|x| x / all.iter().sum::<f64>()).collect::<Vec<_>>()
    };
    let truth = normalised(&|v| weight(&m, v, h));
    let units: Vec<f64> = states().map(|v| product_of_units(v, input_v)).collect();
    erratum("exercise (2)", &truth, &normalised(&|v| product_of_pairs(&m, v, h)), &units);

    let truth = normalised(&|h| weight(&m, v, h));
    let units: Vec<f64> = states().map(|h| product_of_units(h, input_h)).collect();
    erratum("exercise (12)", &truth, &normalised(&|h| product_of_pairs(&m, v, h)), &units);
}

/// Eq. (22) sums over the data, the gradients (26)–(28) of it do not.
#[test]
fn the_gradient_of_a_sum_over_the_data_is_a_sum_over_the_data() {
    let m = Machine::new(None);
    let active = |v: [f64; 3], i: usize| sigmoid(m.b[i] + (0..3).map(|j| w(&m, i, j) * v[j]).sum::<f64>());
    let expected = |g: &dyn Fn([f64; 3]) -> f64| states().map(|u| m.log_p(&[u])[0].exp() * g(u)).sum::<f64>();
    let check = |what: &str, g: &dyn Fn([f64; 3]) -> f64, change: &dyn Fn(&mut Machine, f64)| {
        let truth = DATA.len() as f64 * m.slope(&DATA, change);
        let single = |v| g(v) - expected(g);
        erratum(what, &[truth], &[single(DATA[0])], &[DATA.into_iter().map(single).sum()]);
    };
    check("exercise (26)", &|v| active(v, 1) * v[0], &|m, t| m.w[0][1] += t);
    check("exercise (27)", &|v| v[0], &|m, t| m.a[0] += t);
    check("exercise (28)", &|v| active(v, 1), &|m, t| m.b[1] += t);
}
