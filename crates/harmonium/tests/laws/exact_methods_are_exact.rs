//! Exact means exact: against brute force, against the other layer, on any number of threads, with exact samples.

use crate::common::{Numbers, all_pairs, all_states, close, pairs, random_rbm, small_rbm};
use harmonium::rng::Key;
use harmonium::units::Kind;
use harmonium::{Exact, Rbm};
use ndarray::{Array1, Array2, Axis};

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

/// log Σ_v Σ_h exp(−E) by adding up every pair of states of models small enough for that.
#[test]
fn log_z_is_the_sum_over_all_pairs_of_states() {
    for (seed, v, h) in all_pairs("log_z_is_the_sum_over_all_pairs_of_states") {
        if !v.is_finite() || !h.is_finite() {
            continue;
        }
        let rbm = small_rbm(&v, &h, true, seed);
        let m = rbm.lower();
        let (vs, hs) = (all_states(&v, 3), all_states(&h, 2));
        let sum: f64 =
            vs.rows().into_iter().map(|v| hs.rows().into_iter().map(|h| (-m.energy(v, h)).exp()).sum::<f64>()).sum();
        close(Exact::new(&rbm).unwrap().log_z(), sum.ln(), 1e-13, &format!("{v} with {h}"));
    }
}

/// Sizes around the block and shard limits, enumerated by the library over one layer and by hand over the other.
#[test]
fn long_enumerations_agree_with_the_other_layer() {
    for (v, n, h, m) in [("bernoulli", 13, "spin", 12), ("spin", 12, "bernoulli", 13), ("bernoulli", 9, "bernoulli", 9)]
    {
        let mut r = Numbers::new(n as u64);
        let rbm = random_rbm(&kind(v), n, &kind(h), m, true, 0.3, &mut r);
        let exact = Exact::new(&rbm).unwrap();
        for (pass, states) in
            [(exact.lowered().up(), all_states(&kind(v), n)), (exact.lowered().down(), all_states(&kind(h), m))]
        {
            let free = pass.free_energy(states.view());
            let lowest = free.iter().copied().fold(f64::INFINITY, f64::min);
            let log_z = free.mapv(|f| (lowest - f).exp()).sum().ln() - lowest;
            close(exact.log_z(), log_z, 1e-12, &format!("{v} {n} with {h} {m}"));
        }
        assert!(
            exact.method().contains(if n <= m && v != "spin" || n < m { "visible" } else { "hidden" }),
            "{}",
            exact.method()
        );
    }
}

/// Very strong weights: terms differ by e^±10000, and the sum is still its largest term and a bit.
#[test]
fn extreme_weights_do_not_overflow() {
    let mut weights = Array2::zeros((6, 5));
    weights[[0, 0]] = 1e4;
    weights[[1, 1]] = -1e4;
    let plain: Rbm<f64> = Rbm::new(kind("bernoulli"), 6, kind("bernoulli"), 5).unwrap();
    let rbm = Rbm::from_parts(plain.visible().clone(), plain.hidden().clone(), weights).unwrap();
    // 2⁹ configurations of the other units times (e^10000 + 3)(e^−10000 + 3) → 10000 + log 3 + 7 log 2.
    let want = 1e4 + 3f64.ln() + 7.0 * 2f64.ln();
    close(Exact::new(&rbm).unwrap().log_z(), want, 1e-15, "log Z");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let rbm = random_rbm(&kind("bernoulli"), 30, &kind("bernoulli"), 14, true, 0.3, &mut Numbers::new(4));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let exact = Exact::new(&rbm).unwrap();
            let stats = exact.stats();
            let (v, h) = exact.sample(50, Key::root(1));
            (exact.log_z().to_bits(), stats, v, h)
        })
    };
    let one = on(1);
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), one, "{threads} threads");
    }
}

/// Exact marginals and moments against sums over all visible states.
#[test]
fn model_statistics_are_averages_over_the_model() {
    let rbm = random_rbm(&kind("spin"), 9, &kind("bernoulli"), 10, true, 0.4, &mut Numbers::new(8));
    let exact = Exact::new(&rbm).unwrap();
    let states = all_states(&kind("spin"), 9);
    let p = exact.lowered().up().free_energy(states.view()).mapv(|f| (-f - exact.log_z()).exp());
    let stats = exact.stats();
    let h = exact.lowered().up().means(states.view());
    for i in 0..9 {
        close(stats.visible[[0, i]], (&p * &states.column(i)).sum(), 1e-12, "<v>");
        for j in 0..10 {
            close(stats.cross[[i, j]], (&p * &states.column(i) * h.column(j)).sum(), 1e-12, "<vh>");
        }
    }
    for j in 0..10 {
        close(stats.hidden[[0, j]], (&p * &h.column(j)).sum(), 1e-12, "<h>");
    }
    close(stats.weight, 1.0, 1e-15, "weight");
}

/// 40,000 exact samples of every pair: every first moment within 6 standard errors (a false alarm once in 1e8 per
/// moment; a bias of 0.03 standard deviations would be seen), and the hidden layer likewise.
#[test]
fn exact_samples_have_the_exact_moments() {
    let n = 40_000;
    for (seed, v, h) in pairs("exact_samples_have_the_exact_moments") {
        let rbm = small_rbm(&v, &h, true, 60 + seed);
        let exact = Exact::new(&rbm).unwrap();
        let (x, y) = exact.sample(n, Key::root(seed));
        let stats = exact.stats();
        for (side, rows, want) in
            [(exact.lowered().visible(), &x, &stats.visible), (exact.lowered().hidden(), &y, &stats.hidden)]
        {
            let columns = side.encode(rows.view(), 1).unwrap();
            for (c, want) in columns.columns().into_iter().zip(want.row(0)) {
                let (mean, sd) = (c.mean().unwrap(), c.std(0.0).max(0.01));
                assert!((mean - want).abs() < 6.0 * sd / (n as f64).sqrt(), "{v} with {h}: {mean} against {want}");
            }
        }
    }
}

/// Cumulative probabilities are walked in order, so state frequencies follow p: Pearson's χ² over all 64 states of a
/// strongly coupled model stays below the 1 − 1e-9 quantile of χ²₆₃ (157) for 100,000 samples; a state whose
/// probability of 1/64 were off by 8 % would exceed it.
#[test]
fn exact_samples_visit_states_as_often_as_their_probability() {
    let rbm = random_rbm(&kind("bernoulli"), 6, &kind("bernoulli"), 7, true, 1.0, &mut Numbers::new(3));
    let exact = Exact::new(&rbm).unwrap();
    let states = all_states(&kind("bernoulli"), 6);
    let p = exact.log_likelihood(states.view()).unwrap().mapv(f64::exp);
    close(p.sum(), 1.0, 1e-12, "p sums to 1");
    let n = 100_000;
    let mut counts = Array1::<f64>::zeros(64);
    for row in exact.sample(n, Key::root(9)).0.rows() {
        counts[row.iter().enumerate().map(|(i, x)| (*x as usize) << i).sum::<usize>()] += 1.0;
    }
    let expected = p.mapv(|p| p * n as f64);
    let chi2 = ((&counts - &expected).mapv(|d| d * d) / &expected).sum();
    assert!(chi2 < 157.0, "χ² = {chi2}");
}

/// 2¹² states are several blocks and shards: every sample is the state at which the cumulative probability passes its
/// uniform, in the order of enumeration. No statistics.
#[test]
fn exact_samples_are_the_inverse_of_the_cumulative_distribution() {
    let rbm = random_rbm(&kind("bernoulli"), 12, &kind("bernoulli"), 14, true, 0.3, &mut Numbers::new(6));
    let exact = Exact::new(&rbm).unwrap();
    let states = all_states(&kind("bernoulli"), 12);
    let mut cumulative = 0.0;
    let ends: Vec<f64> = exact
        .log_likelihood(states.view())
        .unwrap()
        .iter()
        .map(|l| {
            cumulative += l.exp();
            cumulative
        })
        .collect();
    let key = Key::root(12);
    let samples = exact.sample(3000, key).0;
    for (i, row) in samples.rows().into_iter().enumerate() {
        let u: f64 = key.of(harmonium::rng::Purpose::ExactState).uniforms(i as u64, 0)[0];
        let k = row.iter().enumerate().map(|(site, x)| (*x as usize) << site).sum::<usize>();
        let begin = if k == 0 { 0.0 } else { ends[k - 1] };
        assert!(u > begin - 1e-10 && u < ends[k] + 1e-10, "sample {i}: {u} is not in [{begin}, {}]", ends[k]);
    }
}

/// KL(q‖p) of the model's own distribution is zero; of one state it is −log p; weights scale away.
#[test]
fn the_divergence_is_zero_at_the_model_and_counts_equal_rows_once() {
    let rbm = small_rbm(&kind("spin"), &kind("bernoulli"), true, 5);
    let exact = Exact::new(&rbm).unwrap();
    let states = all_states(&kind("spin"), 3);
    let p = exact.log_likelihood(states.view()).unwrap().mapv(f64::exp);
    close(exact.kl(states.view(), p.view()).unwrap().kl, 0.0, 1e-13, "KL(p||p)");
    let row = states.select(Axis(0), &[4, 4, 4]);
    let d = exact.kl(row.view(), Array1::from_elem(3, 7.0).view()).unwrap();
    close(d.kl, -p[4].ln(), 1e-13, "one state");
    close(d.entropy, 0.0, 1e-13, "its entropy");
    let uniform = exact.kl(states.view(), Array1::ones(8).view()).unwrap();
    close(uniform.entropy, 8f64.ln(), 1e-13, "entropy of the uniform distribution");
    assert!(uniform.kl > 0.0);
    for weights in [vec![1.0; 7], vec![-1.0; 8], vec![0.0; 8], vec![f64::NAN; 8]] {
        assert!(exact.kl(states.view(), Array1::from(weights).view()).is_err());
    }
    let grey = small_rbm(&kind("bernoulli"), &kind("bernoulli"), false, 5);
    let half = Array2::from_elem((1, 3), 0.5);
    let error = Exact::new(&grey).unwrap().kl(half.view(), Array1::ones(1).view()).unwrap_err();
    assert!(error.to_string().contains("states"), "{error}");
}

#[test]
fn what_cannot_be_exact_is_refused_with_the_reason() {
    let large: Rbm<f64> = Rbm::new(kind("bernoulli"), 784, kind("bernoulli"), 500).unwrap();
    let text = Exact::new(&large).err().unwrap().to_string();
    assert!(text.contains("the hidden layer has 2^500 states") && text.contains("2^30"), "{text}");

    let gaussian = kind("gaussian");
    let plain: Rbm<f64> = Rbm::new(gaussian.clone(), 2, gaussian, 2).unwrap();
    let build = |w: f64| {
        let weights = Array2::from_elem((2, 2), w);
        Exact::new(&Rbm::from_parts(plain.visible().clone(), plain.hidden().clone(), weights).unwrap())
    };
    // The joint precision has the eigenvalues 1 ± 2w: singular at w = ½.
    assert!(build(0.49).is_ok());
    for w in [0.5, 0.51, -0.5, 3.0] {
        let text = build(w).err().unwrap().to_string();
        assert!(text.contains("not positive definite"), "{w}: {text}");
    }
    let rows = Array2::zeros((1, 3));
    assert!(build(0.1).unwrap().log_likelihood(rows.view()).unwrap_err().to_string().contains("3 columns"));
}
