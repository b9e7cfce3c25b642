//! Effective couplings: closed forms of models that are pairwise, and their definition by sums over hidden states for all others.

use crate::common::{Numbers, all_close, close, pairs, random_layer, random_rows, small_rbm, states_of, wanted};
use harmonium::couplings::{Couplings, terms_per_row};
use harmonium::units::{Kind, Options};
use harmonium::{Layer, LoweredModel, Rbm};
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

fn kind(name: &str) -> Kind {
    let options = if name == "potts" { [("states".into(), "3".into())].into() } else { Options::new() };
    Kind::new(name, &options).unwrap()
}

fn none(_: u64, _: u64) {}

/// Four random rows of visible columns.
fn rows(rbm: &Rbm<f64>, r: &mut Numbers) -> Array2<f64> {
    rbm.lower().visible().encode(random_rows(rbm.visible(), 4, r).view(), 1).unwrap()
}

/// A matrix in the zero-sum gauge, entry by entry.
fn centred(x: &Array2<f64>) -> Array2<f64> {
    let (n, m) = (x.nrows() as f64, x.ncols() as f64);
    let all = x.sum() / (n * m);
    Array2::from_shape_fn(x.dim(), |(a, b)| x[[a, b]] - x.row(a).sum() / m - x.column(b).sum() / n + all)
}

/// Against Gaussian hidden units of variance 1 the model is pairwise, with J = W Wᵀ.
#[test]
fn gaussian_hidden_units_couple_by_the_products_of_their_weights() {
    for name in ["bernoulli", "spin", "potts"].into_iter().filter(|name| wanted(&[name, "gaussian"])) {
        let mut r = Numbers::new(5);
        let visible = random_layer(&kind(name), 4, false, &mut r);
        let weights = Array2::from_shape_fn((visible.columns(), 3), |_| 0.5 * r.normal());
        let rbm = Rbm::from_parts(visible, Layer::new(kind("gaussian"), 3), weights.clone()).unwrap();
        let (m, rows) = (rbm.lower(), rows(&rbm, &mut r));
        let (found, product) = (Couplings::new(&m, rows.view()).unwrap(), weights.dot(&weights.t()));
        for pair in found.pairs(None, &none) {
            let [i, j] = pair.sites;
            if let Some(coupling) = pair.coupling {
                close(coupling, product[[i, j]], 1e-12, name);
                close(pair.score, coupling.abs(), 1e-15, name);
            } else {
                let block = product.slice(ndarray::s![3 * i..3 * i + 3, 3 * j..3 * j + 3]).to_owned();
                all_close(&found.matrix([i, j]), &centred(&block), 1e-12, name);
            }
        }
    }
}

/// A coupling from two weights and the bias of their hidden unit.
type Formula<'a> = &'a dyn Fn(f64, f64, f64) -> f64;

/// One hidden spin per pair of spins: Σ_h exp(h(w s + u t)) = 2cosh(ws + ut), so J = ½ log(cosh(w + u)/cosh(w − u)). The same for
/// bits and a hidden bit of bias b: J = log((1 + eᵇ)(1 + eᵇ⁺ʷ⁺ᵘ)/((1 + eᵇ⁺ʷ)(1 + eᵇ⁺ᵘ))).
#[test]
fn one_hidden_unit_per_pair_is_its_coupling() {
    let (pairs, strengths) = ([[0, 1], [0, 2], [1, 2]], [[0.7, -0.4], [1.5, 0.9], [-0.3, -2.0]]);
    let mut weights = Array2::zeros((3, 3));
    for (k, (pair, strength)) in pairs.iter().zip(strengths).enumerate() {
        (0..2).for_each(|end| weights[[pair[end], k]] = strength[end]);
    }
    let spin = |w: f64, u: f64, _: f64| 0.5 * ((w + u).cosh() / (w - u).cosh()).ln();
    let bit = |w: f64, u: f64, b: f64| {
        let one = |x: f64| (b + x).exp().ln_1p();
        one(0.0) + one(w + u) - one(w) - one(u)
    };
    let formulas: [(&str, Formula); 2] = [("spin", &spin), ("bernoulli", &bit)];
    for (name, formula) in formulas.into_iter().filter(|(name, _)| wanted(&[name])) {
        let bias = if name == "spin" { array![[0.0, 0.0, 0.0]] } else { array![[-0.5, 0.3, 1.0]] };
        let hidden = Layer::from_parts(kind(name), bias.clone(), Array1::zeros(3)).unwrap();
        let visible = random_layer(&kind(name), 3, false, &mut Numbers::new(2));
        let rbm = Rbm::from_parts(visible, hidden, weights.clone()).unwrap();
        let (m, rows) = (rbm.lower(), rows(&rbm, &mut Numbers::new(3)));
        let found = Couplings::new(&m, rows.view()).unwrap().pairs(None, &none);
        assert!(found.len() == 3 && found.windows(2).all(|p| p[0].score >= p[1].score), "{found:?}");
        for pair in found {
            let k = pairs.iter().position(|p| *p == pair.sites).unwrap();
            let [w, u] = strengths[k];
            close(pair.coupling.unwrap(), formula(w, u, bias[[0, k]]), 1e-12, name);
        }
    }
}

/// log Σ_h exp(−E(v, h)) by adding up.
fn log_sum(m: &LoweredModel<f64>, v: ArrayView1<f64>) -> f64 {
    let states = states_of(m.hidden());
    states.rows().into_iter().map(|h| (-m.energy(v, h)).exp()).sum::<f64>().ln()
}

/// The definition, with every state put into the rows by hand.
fn by_definition(m: &LoweredModel<f64>, rows: &Array2<f64>, [i, j]: [usize; 2]) -> Array2<f64> {
    let sites = [m.visible().site(i), m.visible().site(j)];
    let [first, second] = [0, 1].map(|k| sites[k].states::<f64>());
    let mean = Array2::from_shape_fn((first.len(), second.len()), |(a, b)| {
        let changed = |row: ArrayView1<f64>| {
            let mut v = row.to_vec();
            v[sites[0].columns.clone()].copy_from_slice(&first[a]);
            v[sites[1].columns.clone()].copy_from_slice(&second[b]);
            log_sum(m, Array1::from(v).view())
        };
        rows.rows().into_iter().map(changed).sum::<f64>() / rows.nrows() as f64
    });
    centred(&mean)
}

#[test]
fn couplings_of_any_finite_model_are_second_differences() {
    for (seed, v, h) in pairs("couplings_of_any_finite_model_are_second_differences") {
        if !v.is_finite() || !h.is_finite() {
            continue;
        }
        let rbm = small_rbm(&v, &h, true, seed);
        let (m, rows) = (rbm.lower(), rows(&rbm, &mut Numbers::new(seed)));
        let couplings = Couplings::new(&m, rows.view()).unwrap();
        let norms = |sites: [usize; 2], gap: Option<usize>| {
            let mut x = by_definition(&m, &rows, sites);
            gap.into_iter().for_each(|gap| (0..2).for_each(|axis| x.index_axis_mut(Axis(axis), gap).fill(0.0)));
            (&x * &x).sum().sqrt()
        };
        for sites in [[0, 1], [2, 1]] {
            all_close(&couplings.matrix(sites), &by_definition(&m, &rows, sites), 1e-11, &format!("{v} with {h}"));
        }
        for gap in [None, Some(0)] {
            let [a, b, c] = [[0, 1], [0, 2], [1, 2]].map(|sites| norms(sites, gap));
            for pair in couplings.pairs(gap, &none) {
                let norm = [a, b, c][pair.sites[0] + pair.sites[1] - 1];
                close(pair.norm, norm, 1e-10, "norm");
                // Of three sites each has two pairs: the opposite pair is in neither mean of both of its sites.
                let (of, all) = ([(a + b) / 2.0, (a + c) / 2.0, (b + c) / 2.0], (a + b + c) / 3.0);
                let product = of[pair.sites[0]] * of[pair.sites[1]] / all;
                let want = pair.coupling.map_or(norm - product, f64::abs);
                assert!((pair.score - want).abs() < 1e-10, "{v} with {h}: {pair:?}, {want}");
            }
        }
    }
}

#[test]
fn models_without_such_couplings_are_refused() {
    let model = |name: &str, n| Rbm::<f64>::new(kind(name), n, kind("bernoulli"), 2).unwrap().lower();
    let refused = |m: &LoweredModel<f64>, rows: Array2<f64>| Couplings::new(m, rows.view()).err().unwrap().to_string();
    assert!(refused(&model("gaussian", 3), Array2::zeros((1, 3))).contains("these are gaussian"));
    assert!(refused(&model("spin", 1), Array2::zeros((1, 1))).contains("at least two visible units"));
    assert!(refused(&model("spin", 3), Array2::zeros((0, 3))).contains("at least one row"));
    assert!(refused(&model("spin", 3), Array2::zeros((1, 4))).contains("4 columns"));
    assert_eq!(terms_per_row(&model("potts", 4)).unwrap(), 6.0 * 9.0 * 2.0);
}
