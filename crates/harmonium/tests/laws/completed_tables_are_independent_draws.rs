//! Multiple imputation: the unknown cells of every completed table are an independent draw from p(v_A | v_B), and a filled cell's
//! Monte Carlo error is small beside its standard deviation.

use crate::common::{Numbers, close, pairs, random_rows, small_rbm, states_of};
use harmonium::conditional::{Conditional, ConditionalOptions, Filled, Method};
use harmonium::math::log_sum_exp;
use harmonium::units::Kind;
use harmonium::{Bits, Rbm};
use ndarray::{Array2, Axis};
use std::collections::BTreeMap;

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

fn mask(rows: &[&[bool]]) -> Bits {
    let mut known = Bits::new(rows[0].len());
    rows.iter().for_each(|row| known.push(row.iter().copied()));
    known
}

fn ask(rbm: &Rbm<f64>, method: Method) -> Conditional {
    Conditional::new(rbm, ConditionalOptions { method, seed: 3, ..ConditionalOptions::default() }).unwrap()
}

/// Probabilities of the states of a finite visible layer, as data values in bits, given the known cells of a row.
fn probabilities(rbm: &Rbm<f64>, x: &[f64], known: &[bool]) -> BTreeMap<Vec<u64>, f64> {
    let lowered = rbm.lower();
    let all = states_of(rbm.visible().layout());
    let values = lowered.visible().decode(all.view());
    let log_p: Vec<f64> = lowered.up().free_energy(all.view()).iter().map(|f| -f).collect();
    let fits = |r: usize| (0..x.len()).all(|i| !known[i] || values[[r, i]] == x[i]);
    let rows: Vec<usize> = (0..values.nrows()).filter(|r| fits(*r)).collect();
    let sum = log_sum_exp(rows.iter().map(|r| log_p[*r]));
    rows.into_iter().map(|r| (values.row(r).mapv(f64::to_bits).to_vec(), (log_p[r] - sum).exp())).collect()
}

/// χ² of 6,000 tables against enumeration, of every pair of finite visible layers. With at most 27 states χ² exceeds 100 by chance
/// less than once in 10⁹ cases. A state of probability 0.1 whose frequency is off by 0.02 would be seen.
#[test]
fn frequencies_of_draws_are_probabilities() {
    for (seed, v, h) in pairs("frequencies_of_draws_are_probabilities") {
        if !v.is_finite() {
            continue;
        }
        let what = format!("{v} with {h}");
        let rbm = small_rbm(&v, &h, seed.is_multiple_of(2), seed);
        let rows = random_rows(rbm.visible(), 2, &mut Numbers::new(seed));
        let x = rbm.lower().visible().encode(rows.view(), 1).unwrap();
        let known = [[true, false, false], [false, true, false]];
        let n = 6000;
        let tables = ask(&rbm, Method::Exact).complete(x.view(), &mask(&[&known[0], &known[1]]), 1, n).unwrap();
        assert_eq!(tables.len(), n, "{what}");
        for (r, known) in known.iter().enumerate() {
            let mut left = probabilities(&rbm, rows.row(r).as_slice().unwrap(), known);
            let mut counts: BTreeMap<Vec<u64>, f64> = BTreeMap::new();
            for table in &tables {
                *counts.entry(table.row(r).mapv(f64::to_bits).to_vec()).or_default() += 1.0;
            }
            let mut square = 0.0;
            for (state, count) in counts {
                let expected = n as f64 * left.remove(&state).unwrap_or_else(|| panic!("{what}: an impossible state"));
                // States that are expected less than once would need an exact test.
                square += if expected < 1.0 { 0.0 } else { (count - expected).powi(2) / expected };
            }
            square += left.values().filter(|p| **p * n as f64 >= 1.0).map(|p| p * n as f64).sum::<f64>();
            assert!(square < 100.0, "{what} row {r}: {square}");
        }
    }
}

/// The same by chains of their own: 4,000 of them, whose draws are independent too, and nearly exact after 300 sweeps.
#[test]
fn draws_of_chains_have_the_same_frequencies() {
    let rbm = small_rbm(&kind("bernoulli"), &kind("bernoulli"), true, 4);
    let x = ndarray::arr2(&[[1.0, 0.0, 1.0]]);
    let n = 4000;
    let tables = ask(&rbm, Method::Chains).complete(x.view(), &mask(&[&[true, false, false]]), 1, n).unwrap();
    for (state, p) in probabilities(&rbm, &[1.0, 0.0, 1.0], &[true, false, false]) {
        let count = tables.iter().filter(|t| t.row(0).mapv(f64::to_bits).to_vec() == state).count() as f64;
        // Six standard errors.
        close(count / n as f64, p, 6.0 * (p * (1.0 - p) / n as f64).sqrt(), "frequency");
    }
}

/// Draws of two tables are as unlike as independent ones: pairs of tables agree in a cell as often as p² + (1 − p)².
#[test]
fn tables_are_independent_of_each_other_and_of_the_block() {
    let rbm = small_rbm(&kind("bernoulli"), &kind("bernoulli"), true, 5);
    let rows = 3000;
    let x = Array2::from_shape_fn((rows, 3), |(_, c)| f64::from(u8::from(c == 0)));
    let known = mask(&vec![&[true, false, true][..]; rows]);
    let tables = ask(&rbm, Method::Auto).complete(x.view(), &known, 1, 2).unwrap();
    let p = probabilities(&rbm, &[1.0, 0.0, 0.0], &[true, false, true])[&[1f64, 1.0, 0.0].map(f64::to_bits).to_vec()];
    let agree = (0..rows).filter(|r| tables[0][[*r, 1]] == tables[1][[*r, 1]]).count() as f64 / rows as f64;
    let q = p * p + (1.0 - p) * (1.0 - p);
    close(agree, q, 6.0 * (q * (1.0 - q) / rows as f64).sqrt(), "agreement of two tables");
    assert!(tables.iter().all(|t| t.column(0).iter().all(|x| *x == 1.0) && t.column(2).iter().all(|x| *x == 0.0)));
    // Rows that are asked for by themselves are the same.
    let last = x.slice(ndarray::s![2000.., ..]);
    let part =
        ask(&rbm, Method::Auto).complete(last, &known.select(&(2000..rows).collect::<Vec<_>>()), 2001, 2).unwrap();
    assert_eq!(part[1], tables[1].slice(ndarray::s![2000.., ..]));
    assert!(ask(&rbm, Method::Auto).complete(x.view(), &known, 1, 0).is_err());
}

/// Normal draws have the mean and the variance of the conditional, which is a normal distribution here: within six errors.
#[test]
fn draws_of_numbers_have_their_mean_and_variance() {
    let rbm = small_rbm(&kind("gaussian"), &kind("gaussian"), true, 6);
    let x = ndarray::arr2(&[[0.4, 0.0, -0.3]]);
    let known = mask(&[&[true, false, true]]);
    let n = 20_000;
    let drawn: Vec<f64> =
        ask(&rbm, Method::Exact).complete(x.view(), &known, 1, n).unwrap().iter().map(|t| t[[0, 1]]).collect();
    // The free energy is quadratic in the cell: its differences give both.
    let lowered = rbm.lower();
    let energy = |v: f64| lowered.up().free_energy(ndarray::arr2(&[[0.4, v, -0.3]]).view())[0];
    let curvature = energy(1.0) - 2.0 * energy(0.0) + energy(-1.0);
    let (mean, variance) = (-(energy(1.0) - energy(-1.0)) / (2.0 * curvature), 1.0 / curvature);
    let found = drawn.iter().sum::<f64>() / n as f64;
    let spread = drawn.iter().map(|d| (d - found).powi(2)).sum::<f64>() / n as f64;
    close(found, mean, 6.0 * (variance / n as f64).sqrt(), "mean");
    close(spread, variance, 6.0 * variance * (2.0 / n as f64).sqrt(), "variance");
}

/// Rows of a model whose sum is dear.
fn wide(hidden: usize) -> (Rbm<f64>, Array2<f64>, Bits) {
    let rbm = crate::common::solvable_rbm((&kind("bernoulli"), 40), (&kind("bernoulli"), hidden), true, 0.6, 7);
    let x = random_rows(rbm.visible(), 12, &mut Numbers::new(8));
    let mut r = Numbers::new(9);
    let mut known = Bits::new(40);
    (0..12).for_each(|_| known.push((0..40).map(|_| r.uniform() < 0.5).collect::<Vec<_>>().into_iter()));
    (rbm, x, known)
}

fn filled(rbm: &Rbm<f64>, x: &Array2<f64>, known: &Bits, method: Method) -> Filled {
    ask(rbm, method).fill(x.view(), known, 1).unwrap()
}

/// Where chains are chosen, their values differ from the exact ones by less than 5 % of the cells' standard deviations (√(p(1 − p)),
/// root mean square), so that the error of filled cells grows by about 0.1 %.
#[test]
fn chains_are_chosen_where_they_are_cheaper_and_as_good() {
    let (rbm, x, known) = wide(14);
    let [auto, exact, chains] = [Method::Auto, Method::Exact, Method::Chains].map(|m| filled(&rbm, &x, &known, m));
    assert_eq!((exact.exact, chains.exact), (12, 0));
    assert!(auto.exact < 12, "2^14 states of 20 columns are dearer than 20 chains");
    let (mut sum, mut cells) = (0.0, 0.0);
    for ((r, i), p) in exact.values.indexed_iter().filter(|((r, i), _)| !known.get(*r, *i)) {
        sum += (auto.values[[r, i]] - p).powi(2) / (p * (1.0 - p));
        cells += 1.0;
    }
    assert!((sum / cells).sqrt() < 0.05, "{}", (sum / cells).sqrt());
    let (rbm, x, known) = wide(6);
    assert_eq!(filled(&rbm, &x, &known, Method::Auto).exact, 12, "64 states are cheaper than chains");
}

/// Chains that do not mix are not believed: two patterns with a high barrier between them are summed over.
#[test]
fn rows_whose_chains_do_not_mix_are_summed_over() {
    let layer = |n: usize, bias: f64| {
        let par = Array2::from_elem((1, n), bias);
        harmonium::Layer::from_parts(kind("bernoulli"), par, ndarray::Array1::zeros(n)).unwrap()
    };
    // Each hidden unit prefers all cells on or off together: 16 cells, 16 units, energy 8 per cell and unit pair.
    let weights = Array2::from_elem((16, 16), 1.5);
    let rbm = Rbm::from_parts(layer(16, -12.0), layer(16, -12.0), weights).unwrap();
    let x = Array2::zeros((1, 16));
    let known = mask(&[&[false; 16]]);
    let [auto, exact] = [Method::Auto, Method::Exact].map(|m| filled(&rbm, &x, &known, m));
    assert_eq!(auto.exact, 1);
    assert_eq!(auto.values, exact.values);
    close(auto.values[[0, 0]], 0.5, 1e-6, "both patterns are equal");
}

/// A filled Potts cell has the probabilities of all its states, of which that of the filled one is the largest.
#[test]
fn filled_states_have_their_probability() {
    let potts = Kind::new("potts", &[("states".to_string(), "3".to_string())].into()).unwrap();
    let rbm = small_rbm(&potts, &kind("bernoulli"), true, 11);
    let rows = ndarray::arr2(&[[2.0, 0.0, 1.0]]);
    let x = rbm.lower().visible().encode(rows.view(), 1).unwrap();
    let filled = filled(&rbm, &x, &mask(&[&[true, false, true]]), Method::Exact);
    let all = probabilities(&rbm, &[2.0, 0.0, 1.0], &[true, false, true]);
    for state in 0..3 {
        let p = all[&[2.0, f64::from(state), 1.0].map(f64::to_bits).to_vec()];
        close(filled.means[[0, 3 + state as usize]], p, 1e-9, "a state");
    }
    let lowered = rbm.lower();
    let site = lowered.visible().each_site().nth(1).unwrap();
    let largest = all.values().copied().fold(0.0, f64::max);
    close(filled.probability(0, &site).unwrap(), largest, 1e-9, "the filled state");
    close(filled.means.row(0).sum(), 3.0, 1e-9, "probabilities of three cells");
    assert_eq!(filled.values.index_axis(Axis(0), 0)[0], 2.0);
}
