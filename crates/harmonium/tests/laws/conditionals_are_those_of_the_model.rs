//! p(v_A | v_B) of every pair of layers: means, sums and gradients equal brute force, and chains keep clamped cells.

use crate::common::{
    Numbers, all_close, all_pairs, close, derivative, direction, flat, pairs, random_rows, small_rbm, solvable_rbm,
};
use harmonium::backend::{Sweeps, cpu};
use harmonium::conditional::{self, Conditional, ConditionalOptions, Method, Score};
use harmonium::math::log_sum_exp;
use harmonium::rng::Key;
use harmonium::units::Kind;
use harmonium::{Bits, Dataset, Exact, LoweredModel, Rbm};
use ndarray::{Array1, Array2, ArrayView1};

/// Rows × sites; about two of three cells are known, in the first row all, in the second none.
fn mask(rows: usize, sites: usize, r: &mut Numbers) -> Bits {
    let mut bits = Bits::new(sites);
    (0..rows).for_each(|k| {
        bits.push((0..sites).map(|_| k == 0 || (k > 1 && r.uniform() < 0.66)).collect::<Vec<_>>().into_iter())
    });
    bits
}

/// Every state of the unknown cells of a row with its weight in the sum: all states, or the nodes of a fine grid (for Gaussian
/// units the trapezoid rule is exact to the last digits).
fn completions(lowered: &LoweredModel<f64>, x: ArrayView1<f64>, known: impl Fn(usize) -> bool) -> (Array2<f64>, f64) {
    let (step, half) = (0.3f64, 70usize);
    let nodes = || (0..=2 * half).map(|k| vec![(k as f64 - half as f64) * step]).collect();
    let (mut all, mut log_cell) = (vec![x.to_vec()], 0.0);
    for site in lowered.visible().each_site().filter(|site| !known(site.index)) {
        log_cell += if site.n_states().is_none() { step.ln() } else { 0.0 };
        let states: Vec<Vec<f64>> = if site.n_states().is_none() { nodes() } else { site.states() };
        let with = |row: &Vec<f64>, state: &Vec<f64>| {
            let mut row = row.clone();
            row[site.columns.clone()].copy_from_slice(state);
            row
        };
        all = states.iter().flat_map(|state| all.iter().map(move |row| with(row, state))).collect();
    }
    (Array2::from_shape_vec((all.len(), x.len()), all.concat()).unwrap(), log_cell)
}

/// log Σ_{v_A} p*(v) and ⟨v⟩ by brute force over the visible layer.
fn brute(lowered: &LoweredModel<f64>, x: ArrayView1<f64>, known: impl Fn(usize) -> bool) -> (f64, Array1<f64>) {
    let (all, log_cell) = completions(lowered, x, known);
    let log_p: Vec<f64> = lowered.up().free_energy(all.view()).iter().map(|f| -f).collect();
    let sum = log_sum_exp(log_p.iter().copied());
    let p: Array1<f64> = log_p.iter().map(|l| (l - sum).exp()).collect();
    (sum + log_cell, p.dot(&all))
}

/// Cells of at most two unknown Gaussian sites, so that a grid is enough.
fn cases(law: &str) -> impl Iterator<Item = (Rbm<f64>, Array2<f64>, Bits)> {
    all_pairs(law).into_iter().map(|(seed, v, h)| {
        let mut r = Numbers::new(seed + 50);
        let rbm = small_rbm(&v, &h, seed.is_multiple_of(2), seed);
        let rows = random_rows(rbm.visible(), 6, &mut r);
        let x = rbm.lower().visible().encode(rows.view(), 1).unwrap();
        let mut known = mask(6, 3, &mut r);
        if !v.is_finite() {
            let mut fewer = Bits::new(3);
            (0..6).for_each(|row| {
                fewer.push((0..3).map(|i| i == 0 || known.get(row, i)).collect::<Vec<_>>().into_iter())
            });
            known = fewer;
        }
        (rbm, x, known)
    })
}

#[test]
fn means_and_likelihoods_of_cells_equal_brute_force() {
    for (rbm, x, known) in cases("means_and_likelihoods_of_cells_equal_brute_force") {
        let what = format!("{} {}", rbm.visible().layout(), rbm.hidden().layout());
        let lowered = rbm.lower();
        let mut ask =
            Conditional::new(&rbm, ConditionalOptions { method: Method::Exact, ..ConditionalOptions::default() })
                .unwrap();
        let filled = ask.fill(x.view(), &known, 0).unwrap();
        let scores = ask.scores(x.view(), &known, 0).unwrap();
        assert_eq!((filled.exact, scores.exact), (6, 6), "{what}");
        for (r, row) in x.rows().into_iter().enumerate() {
            let (log_p, means) = brute(&lowered, row, |site| known.get(r, site));
            let tolerance = 1e-9;
            close(scores.rows[r].value, log_p, tolerance, &what);
            let values = lowered.visible().decode(means.insert_axis(ndarray::Axis(0)).view());
            all_close(filled.values.row(r), values.row(0), tolerance, &what);
        }
    }
}

/// One sweep with clamped cells is one sweep with these cells put back, bit for bit; rows put anew are not clamped.
#[test]
fn clamped_sweeps_draw_the_free_cells_and_no_others() {
    for (rbm, x, _) in cases("clamped_sweeps_draw_the_free_cells_and_no_others") {
        let lowered = rbm.lower();
        let side = lowered.visible();
        let rows = 70;
        let x = Array2::from_shape_fn((rows, x.ncols()), |(r, c)| x[[r % 6, c]]);
        let known = mask(rows, side.sites(), &mut Numbers::new(9));
        let mut data = Dataset::new(side);
        data.push_values(side, side.decode(x.view()).view(), None);
        let sweeps = Sweeps { steps: 1, key: Key::root(4), first: 3, beta: None };
        let run = |known: Option<&Bits>| {
            let mut backend = cpu().backend(lowered.clone()).unwrap();
            backend.put(0, data.states(), None);
            backend.clamp(0, known);
            backend.gibbs(0, sweeps);
            backend.get(0).values(side)
        };
        let (free, held, start) = (run(None), run(Some(&known)), data.states().values(side));
        for ((r, i), value) in held.indexed_iter() {
            let want = if known.get(r, i) { start[[r, i]] } else { free[[r, i]] };
            assert_eq!(*value, want, "{} row {r} site {i}", side.layout());
        }
        let mut backend = cpu().backend(lowered.clone()).unwrap();
        backend.put(0, data.states(), None);
        backend.clamp(0, Some(&known));
        backend.put(0, data.states(), None);
        backend.gibbs(0, sweeps);
        assert_eq!(backend.get(0).values(side), free);
    }
}

/// Clamped grey cells stay grey.
#[test]
fn grey_values_can_be_clamped() {
    let bernoulli = Kind::new("bernoulli", &Default::default()).unwrap();
    let rbm = small_rbm(&bernoulli, &bernoulli, true, 3);
    let lowered = rbm.lower();
    let side = lowered.visible();
    let mut data = Dataset::new(side);
    data.push_values(side, ndarray::arr2(&[[0.3, 1.0, 0.0], [0.0, 0.6, 1.0]]).view(), None);
    let mut known = Bits::new(3);
    known.push([true, false, true].into_iter());
    known.push([false, true, false].into_iter());
    let mut backend = cpu().backend(lowered.clone()).unwrap();
    backend.put(0, data.states(), None);
    backend.clamp(0, Some(&known));
    for first in 0..20 {
        backend.gibbs(0, Sweeps { steps: 1, key: Key::root(4), first, beta: None });
        let now = backend.get(0).values(side);
        assert_eq!([now[[0, 0]], now[[0, 2]], now[[1, 1]]], [0.3, 0.0, 0.6]);
        assert!([now[[0, 1]], now[[1, 0]], now[[1, 2]]].iter().all(|x| *x == 0.0 || *x == 1.0));
    }
}

/// Chains find the same means within six of their errors, and annealed sums the same log p*(v_B): some 1,000 numbers of each, of
/// which six errors (of 40 chains) are exceeded by chance in fewer than one of 1,000 such tests. A bias of 0.03 in a mean would be
/// seen. An annealed sum may miss a rare large weight, and is then low by more than its error: 0.04 was seen, 0.1 is allowed.
#[test]
fn chains_agree_with_what_is_exact() {
    for (rbm, x, known) in cases("chains_agree_with_what_is_exact") {
        let what = format!("{} {}", rbm.visible().layout(), rbm.hidden().layout());
        let ask = |method| {
            let settings = ConditionalOptions { method, chains: 40, steps: 400, ..ConditionalOptions::default() };
            let mut ask = Conditional::new(&rbm, settings).unwrap();
            (ask.fill(x.view(), &known, 1).unwrap(), ask.scores(x.view(), &known, 1).unwrap())
        };
        let ((exact, log_p), (chains, annealed)) = (ask(Method::Exact), ask(Method::Chains));
        let whole = (0..6).filter(|r| known.ones(*r) == 3).count();
        assert_eq!((chains.exact, annealed.exact), (whole, whole), "only rows without free cells: {what}");
        let is_code = |i: usize| rbm.visible().layout().columns_of(i).len() > 1;
        for (((r, i), a), b) in exact.values.indexed_iter().zip(&chains.values) {
            let error = chains.std_err[[r, i]];
            assert_eq!(error == 0.0, known.get(r, i), "{what}");
            assert!(is_code(i) || (a - b).abs() <= 6.0 * error + 1e-6, "{what}: {a} {b} ± {error}");
        }
        for (a, b) in log_p.rows.iter().zip(&annealed.rows) {
            let (high, low) = (b.value - a.value, a.value - b.value);
            let near = high <= 6.0 * b.std_err + 1e-4 && low <= 6.0 * b.std_err + 0.1;
            assert!(near, "{what}: {} {} ± {}", a.value, b.value, b.std_err);
            assert!(b.std_err < 1.0, "{what}: {}", b.std_err);
        }
    }
}

/// Half of the cells of samples are masked. Of all annealed sums together at least 90 % are within two of their errors, and the mean
/// over the 12 rows of a model is within four of its own error and a hundredth of a nat. A law for ±2 errors and for their size:
/// half as large, they would cover about two thirds. The study (`studies/calibration`) has more models and rows.
#[test]
fn errors_of_annealed_sums_mean_what_they_say() {
    let (mut within, mut all) = (0, 0);
    for (seed, v, h) in pairs("errors_of_annealed_sums_mean_what_they_say") {
        let what = format!("{v} with {h}");
        let rbm = solvable_rbm((&v, 8), (&h, 4), seed.is_multiple_of(2), 0.8, seed);
        let rows = Exact::new(&rbm).unwrap().sample(12, Key::root(seed)).0;
        let x = rbm.lower().visible().encode(rows.view(), 1).unwrap();
        let (mut known, mut r) = (Bits::new(8), Numbers::new(seed));
        (0..12).for_each(|_| known.push((0..8).map(|i| i > 0 && r.uniform() < 0.5).collect::<Vec<_>>().into_iter()));
        let scores = |method| {
            let options = ConditionalOptions { method, seed, ..ConditionalOptions::default() };
            Conditional::new(&rbm, options).unwrap().scores(x.view(), &known, 1).unwrap().rows
        };
        let (exact, annealed) = (scores(Method::Exact), scores(Method::Chains));
        let off: Vec<f64> = annealed.iter().zip(&exact).map(|(a, e)| a.value - e.value).collect();
        within += off.iter().zip(&annealed).filter(|(off, a)| off.abs() <= 2.0 * a.std_err).count();
        all += off.len();
        let (mean, error) = (off.iter().sum::<f64>() / 12.0, Score::error_of_mean(&annealed, &[1.0; 12]));
        assert!(mean.abs() <= 4.0 * error + 0.01, "{what}: {mean} ± {error}");
        assert!(annealed.iter().all(|a| a.std_err < 1.0 && a.doubt <= a.std_err), "{what}");
    }
    assert!(10 * within >= 9 * all, "{within} of {all}");
}

/// Errors of rows average out, doubts do not.
#[test]
fn the_error_of_a_mean_has_what_rows_share() {
    let score = |std_err: f64, doubt: f64| Score { value: 0.0, std_err, doubt };
    let error = |scores: &[Score]| Score::error_of_mean(scores, &vec![1.0; scores.len()]);
    close(error(&[score(0.2, 0.0); 4]), 0.1, 1e-12, "independent");
    close(error(&[score(0.2, 0.2); 4]), 0.2, 1e-12, "shared");
    close(error(&[score(0.5, 0.3); 4]), 0.2f64.hypot(0.3), 1e-12, "both");
    close(Score::error_of_mean(&[score(0.3, 0.0), score(0.0, 0.0)], &[1.0, 2.0]), 0.1, 1e-12, "weighted");
    assert_eq!(error(&[]), 0.0);
}

/// An interval of 90 % holds 90 % of the conditional, and its draws have the cell's spread: an exact mixture of normals.
#[test]
fn intervals_hold_what_they_say() {
    let kinds = ["gaussian", "bernoulli"].map(|k| Kind::new(k, &Default::default()).unwrap());
    let rbm = small_rbm(&kinds[0], &kinds[1], true, 8);
    let lowered = rbm.lower();
    let x = ndarray::arr2(&[[0.4, -0.7, 0.2]]);
    let mut known = Bits::new(3);
    known.push([true, false, true].into_iter());
    for method in [Method::Exact, Method::Chains] {
        let settings =
            ConditionalOptions { method, interval: Some(0.9), chains: 50, steps: 800, ..ConditionalOptions::default() };
        let filled = Conditional::new(&rbm, settings).unwrap().fill(x.view(), &known, 0).unwrap();
        let [low, high] = filled.interval.unwrap();
        assert_eq!((low[[0, 0]], high[[0, 0]]), (0.4, 0.4), "a known cell has no width");
        let (all, _) = completions(&lowered, x.row(0), |site| site != 1);
        let log_p: Vec<f64> = lowered.up().free_energy(all.view()).iter().map(|f| -f).collect();
        let sum = log_sum_exp(log_p.iter().copied());
        let inside: f64 = all
            .column(1)
            .iter()
            .zip(&log_p)
            .filter(|(v, _)| (low[[0, 1]]..=high[[0, 1]]).contains(*v))
            .map(|(_, l)| (l - sum).exp())
            .sum();
        // The grid's cells at the ends count for up to 0.04, the draws for as much.
        assert!((inside - 0.9).abs() < 0.08, "{method:?}: {inside}");
        let (_, mean) = brute(&lowered, x.row(0), |site| site != 1);
        let square: f64 = all.column(1).iter().zip(&log_p).map(|(v, l)| v * v * (l - sum).exp()).sum();
        let spread = (square - mean[1] * mean[1]).sqrt();
        close(filled.spread.unwrap()[[0, 1]], spread, 0.1, "spread");
    }
}

/// The gradient of the mean log likelihood of the known cells, against differences of that likelihood.
#[test]
fn gradients_of_what_is_known_are_derivatives() {
    for (rbm, x, known) in cases("gradients_of_what_is_known_are_derivatives") {
        let what = format!("{} {}", rbm.visible().layout(), rbm.hidden().layout());
        let weights: Vec<f64> = (0..x.nrows()).map(|r| 1.0 + r as f64 / 3.0).collect();
        let log_likelihood = |rbm: &Rbm<f64>| {
            let mut ask =
                Conditional::new(rbm, ConditionalOptions { method: Method::Exact, ..ConditionalOptions::default() })
                    .unwrap();
            let scores = ask.scores(x.view(), &known, 0).unwrap();
            let sum: f64 = scores.rows.iter().zip(&weights).map(|(s, w)| s.value * w).sum();
            sum / weights.iter().sum::<f64>() - Exact::new(rbm).unwrap().log_z()
        };
        let lowered = rbm.lower();
        let data = conditional::stats(&lowered, x.view(), &known, &weights).unwrap();
        let gradient = rbm.gradient(&lowered, &data.minus(&Exact::new(&rbm).unwrap().stats()));
        for (k, g) in flat(&gradient).into_iter().enumerate() {
            let step = direction(&gradient, k);
            let moved = |t: f64| {
                let mut rbm = rbm.clone();
                rbm.step(t, &step);
                log_likelihood(&rbm)
            };
            close(g, derivative(moved, 0.02), 1e-8, &format!("{what}[{k}]"));
        }
    }
}
