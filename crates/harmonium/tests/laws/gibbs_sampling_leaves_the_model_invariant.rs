//! πP = π: the full transition matrix of v → h → v′ on tiny models does not change the model's distribution.

use crate::common::{all_pairs, all_states, only, pairs, small_rbm};
use harmonium::{Exact, Pass};
use ndarray::{Array1, Array2, ArrayView2};

/// P(y | x) for all pairs of states: exp(−E) over its sum, from the conditional's own normaliser.
fn conditional(pass: Pass<f64>, xs: ArrayView2<f64>, ys: ArrayView2<f64>) -> Array2<f64> {
    let inputs = pass.inputs(xs);
    Array2::from_shape_fn((xs.nrows(), ys.nrows()), |(i, j)| {
        let y = ys.row(j).to_vec();
        let input = inputs.row(i).to_vec();
        let coupled: f64 = y.iter().zip(&input).map(|(y, i)| y * i).sum();
        (pass.to.log_weight(&y) + coupled - pass.to.log_norm(pass.to.eta(), &input)).exp()
    })
}

#[test]
fn the_model_is_a_left_eigenvector_of_the_gibbs_chain() {
    let mut seen = 0;
    for (seed, v, h) in all_pairs("the_model_is_a_left_eigenvector_of_the_gibbs_chain") {
        if !v.is_finite() || !h.is_finite() {
            continue;
        }
        seen += 1;
        let rbm = small_rbm(&v, &h, true, seed);
        let exact = Exact::new(&rbm).unwrap();
        let m = exact.lowered();
        let (vs, hs) = (all_states(&v, 3), all_states(&h, 2));
        let up = conditional(m.up(), vs.view(), hs.view());
        let down = conditional(m.down(), hs.view(), vs.view());
        for p in [&up, &down] {
            assert!(p.rows().into_iter().all(|r| (r.sum() - 1.0).abs() < 1e-12), "{v} with {h}: rows sum to 1");
        }
        let pi: Array1<f64> = m.up().free_energy(vs.view()).mapv(|f| (-f - exact.log_z()).exp());
        assert!((pi.sum() - 1.0).abs() < 1e-12, "{v} with {h}: π sums to 1");
        let after = pi.dot(&up).dot(&down);
        for (a, b) in after.iter().zip(&pi) {
            assert!((a - b).abs() <= 1e-12, "{v} with {h}: {a} against {b}");
        }
        // The same from the hidden side, where the free energy is the other marginal.
        let rho: Array1<f64> = m.down().free_energy(hs.view()).mapv(|f| (-f - exact.log_z()).exp());
        for (a, b) in pi.dot(&up).iter().zip(&rho) {
            assert!((a - b).abs() <= 1e-12, "{v} with {h}: hidden marginal {a} against {b}");
        }
    }
    assert!(seen >= 16 || only().is_some());
}

/// Sampling uses the same conditional: with the library's uniforms, `Pass::sample` draws what the unit draws.
#[test]
fn sampled_rows_depend_on_key_and_chain_only() {
    use harmonium::rng::{Key, Purpose};
    for (seed, v, h) in pairs("sampled_rows_depend_on_key_and_chain_only") {
        let rbm = small_rbm(&v, &h, true, seed);
        let m = rbm.lower();
        let rows = crate::common::random_rows(rbm.visible(), 200, &mut crate::common::Numbers::new(1));
        let x = m.visible().encode(rows.view(), 1).unwrap();
        let key = Key::root(5).of(Purpose::Hidden).step(3);
        let all = m.up().sample(x.view(), key, 10);
        for r in [0, 1, 7, 199] {
            let one = m.up().sample(x.slice(ndarray::s![r..r + 1, ..]), key, 10 + r as u64);
            assert_eq!(one.row(0), all.row(r), "{v} with {h}: a chain does not see its neighbours");
        }
        assert_ne!(all, m.up().sample(x.view(), Key::root(6).of(Purpose::Hidden).step(3), 10));
        assert_eq!(all, m.up().sample(x.view(), key, 10));
    }
}
