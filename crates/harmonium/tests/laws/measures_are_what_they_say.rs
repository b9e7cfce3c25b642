//! Measures are what their names promise: against enumeration, transition matrices, closed forms, and numbers set by hand.

use crate::common::{Numbers, all_states, close, pairs, random_rbm, random_rows, small_rbm, solvable_rbm, states_of};
use harmonium::backend::cpu;
use harmonium::layout::Site;
use harmonium::measure::{
    Chains, Context, IntegratedTime, MEASURES, Measure, MeasuredRows, Value, autocorrelations, integrated_time,
    pseudo_log_likelihood, sampled_pseudo_log_likelihood, singular_values,
};
use harmonium::rng::Key;
use harmonium::units::Kind;
use harmonium::{Dataset, Exact, Layer, LoweredModel, Rbm, States};
use ndarray::{Array1, Array2, Axis, array};

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

fn measure(name: &str) -> &'static Measure {
    MEASURES.iter().find(|m| m.name == name).unwrap()
}

fn context(lowered: &LoweredModel<f64>) -> Context<'_> {
    let (rows, held_out, chains) = (None, None, None);
    Context { lowered, log_jacobian: 0.0, rows, held_out, chains, key: Key::root(1), terms: f64::INFINITY }
}

fn measured(lowered: &LoweredModel<f64>, values: &Array2<f64>) -> MeasuredRows {
    let data = Dataset::from_values(lowered.visible(), values.view()).unwrap();
    MeasuredRows::new(&mut *cpu().backend(lowered.clone()).unwrap(), &data, usize::MAX)
}

/// A layer with these biases.
fn layer(kind: &Kind, bias: Vec<f64>) -> Layer<f64> {
    let n = bias.len();
    let mut par = Layer::<f64>::new(kind.clone(), n).par().to_owned();
    par.row_mut(0).assign(&Array1::from(bias));
    Layer::from_parts(kind.clone(), par, Array1::zeros(n)).unwrap()
}

fn number(values: &[Value], name: &str) -> f64 {
    values.iter().find(|v| v.name == name).unwrap_or_else(|| panic!("{name}: not measured")).value
}

/// The pseudo-likelihood is Σ log p(v_i | rest), from the exact joint.
#[test]
fn the_pseudo_likelihood_of_finite_units_is_made_of_exact_conditionals() {
    for (seed, v, h) in pairs("the_pseudo_likelihood_of_finite_units_is_made_of_exact_conditionals") {
        let rbm = small_rbm(&v, &h, true, 90 + seed);
        let exact = Exact::new(&rbm).unwrap();
        let rows = random_rows(rbm.visible(), 4, &mut Numbers::new(seed));
        let x = exact.lowered().visible().encode(rows.view(), 1).unwrap();
        let pseudo = pseudo_log_likelihood(exact.lowered(), x.view());
        if !v.is_finite() {
            continue;
        }
        let log_p = |x: &Array2<f64>| -exact.lowered().up().free_energy(x.view())[0] - exact.log_z();
        for (r, pseudo) in pseudo.unwrap().iter().enumerate() {
            let mut want = 0.0;
            for site in rbm.visible().layout().each_site() {
                let mut row = x.select(Axis(0), &[r]);
                let own = log_p(&row);
                let mut all = 0.0;
                for state in site.states::<f64>() {
                    row.as_slice_mut().unwrap()[site.columns.clone()].copy_from_slice(&state);
                    all += log_p(&row).exp();
                }
                want += own - all.ln();
            }
            close(*pseudo, want, 1e-12, &format!("{v} with {h}"));
        }
    }
}

/// log ∫ exp(−E) dt for an energy that is a parabola in t, from its values at −1, 0 and 1.
fn log_gaussian_integral(energy: impl Fn(f64) -> f64) -> f64 {
    let (left, middle, right) = (energy(-1.0), energy(0.0), energy(1.0));
    let (square, slope) = (0.5 * (left + right) - middle, 0.5 * (right - left));
    0.5 * (std::f64::consts::PI / square).ln() + slope * slope / (4.0 * square) - middle
}

fn log_sum(x: &[f64]) -> f64 {
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + x.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// Σ_i log p(v_i | rest) of a row: sums over states, and integrals over v_i that are a sum of Gaussian ones, one for each h; or
/// one, if there are infinitely many h: then F is a parabola along every line.
fn mixture_reference(lowered: &LoweredModel<f64>, x: &Array1<f64>) -> f64 {
    let hidden = lowered.hidden().is_finite().then(|| states_of(lowered.hidden()));
    let with = |site: &Site, state: &[f64]| {
        let mut x = x.clone();
        site.columns.clone().zip(state).for_each(|(c, s)| x[c] = *s);
        x
    };
    let free = |x: Array1<f64>| lowered.up().free_energy(x.insert_axis(Axis(0)).view())[0];
    let line = |site: &Site| match &hidden {
        _ if site.n_states().is_some() => {
            log_sum(&site.states().iter().map(|state| -free(with(site, state))).collect::<Vec<_>>())
        }
        Some(all) => {
            let each =
                |h: ndarray::ArrayView1<f64>| log_gaussian_integral(|t| lowered.energy(with(site, &[t]).view(), h));
            log_sum(&all.rows().into_iter().map(each).collect::<Vec<_>>())
        }
        None => log_gaussian_integral(|t| free(with(site, &[t]))),
    };
    lowered.visible().each_site().map(|site| -free(x.clone()) - line(&site)).sum()
}

/// Also where a conditional has modes many standard deviations apart: weights of size 6.
#[test]
fn the_pseudo_likelihood_of_gaussian_units_is_that_of_the_exact_mixture() {
    for (seed, v, h) in pairs("the_pseudo_likelihood_of_gaussian_units_is_that_of_the_exact_mixture") {
        if v.is_finite() {
            continue;
        }
        let scales: &[f64] = if h.is_finite() { &[0.1, 0.7, 6.0] } else { &[0.7] };
        for scale in scales {
            let rbm = solvable_rbm((&v, 3), (&h, 4), true, *scale, 700 + seed);
            let lowered = rbm.lower();
            let rows = random_rows(rbm.visible(), 5, &mut Numbers::new(seed));
            let x = lowered.visible().encode(rows.view(), 1).unwrap();
            let found = pseudo_log_likelihood(&lowered, x.view()).unwrap();
            for (x, found) in x.rows().into_iter().zip(&found) {
                let want = mixture_reference(&lowered, &x.to_owned());
                close(*found, want, 1e-9, &format!("{v} with {h}, weights of size {scale}"));
            }
        }
    }
}

/// 4,000 estimates from a third of the sites each; their mean is within 6 standard errors, and all sites are exact.
#[test]
fn sampled_sites_estimate_the_pseudo_likelihood_without_bias() {
    for visible in ["bernoulli", "gaussian"] {
        let rbm = random_rbm(&kind(visible), 9, &kind("bernoulli"), 4, false, 0.8, &mut Numbers::new(4));
        let row = random_rows(rbm.visible(), 1, &mut Numbers::new(5));
        let lowered = rbm.lower();
        let exact = pseudo_log_likelihood(&lowered, row.view()).unwrap()[0];
        let terms = if visible == "gaussian" { 40.0 * 12.0 } else { 12.0 };
        let estimate = |k: u64| sampled_pseudo_log_likelihood(&lowered, row.view(), terms, Key::root(k)).unwrap()[0];
        let each: Vec<f64> = (0..4000).map(estimate).collect();
        let mean = Value::mean("", each.iter().copied(), &vec![1.0; each.len()]);
        assert!(each.iter().any(|e| (e - exact).abs() > 0.01), "{visible}: nothing was sampled");
        assert!((mean.value - exact).abs() < 6.0 * mean.std_err.unwrap(), "{visible}: {mean:?} against {exact}");
    }
}

/// An orthogonal matrix: a product of reflections.
fn orthogonal(n: usize, r: &mut Numbers) -> Array2<f64> {
    let mut q = Array2::eye(n);
    for _ in 0..n {
        let u = Array1::from_shape_fn(n, |_| r.normal());
        let u = (&u / u.dot(&u).sqrt()).insert_axis(Axis(1));
        let next = &q - &(q.dot(&u).dot(&u.t()) * 2.0);
        q = next;
    }
    q
}

#[test]
fn singular_values_are_those_the_matrix_was_made_of() {
    let mut r = Numbers::new(8);
    let (u, v) = (orthogonal(40, &mut r), orthogonal(55, &mut r));
    let made = |values: &[f64]| {
        let mut w = Array2::zeros((40, 55));
        for (k, s) in values.iter().enumerate() {
            w = w + u.select(Axis(1), &[k]).dot(&v.select(Axis(1), &[k]).t()) * *s;
        }
        w
    };
    let geometric: Vec<f64> = (0..40).map(|k| 3.0 * 0.8f64.powi(k)).collect();
    let cases = [geometric.clone(), vec![2.0, 2.0, 2.0, 0.5], vec![5.0], vec![1.0; 40]];
    for values in &cases {
        let w = made(values);
        for w in [w.view(), w.t()] {
            let found = singular_values(w, 40);
            for (k, s) in found.iter().enumerate() {
                // W Wᵀ has the squares, so that a small value is known to the root of the rounding.
                let (want, most) = (values.get(k).copied().unwrap_or(0.0), values[0]);
                assert!((s * s - want * want).abs() < 1e-12 * most * most, "{k}: {s} against {want}");
            }
        }
    }
    let top = singular_values(made(&geometric).view(), 25);
    (0..5).for_each(|k| close(top[k], geometric[k], 1e-9, "with 25 steps"));
    assert_eq!(singular_values(Array2::zeros((3, 2)).view(), 30), [0.0, 0.0]);
}

/// ρ(t) = φᵗ has τ = (1 + φ)/(1 − φ); the window leaves out less than e⁻⁹ of it, or is reported as too short.
#[test]
fn the_integrated_time_of_a_geometric_decay_is_known() {
    for phi in [0.0, 0.3, 0.8, 0.95] {
        let rho: Vec<f64> = (0..2000).map(|t| f64::powi(phi, t)).collect();
        let found = integrated_time(&rho).unwrap();
        let want = (1.0 + phi) / (1.0 - phi);
        assert!(found.closed && (found.value - want).abs() <= 1e-3 * want, "{phi}: {found:?} against {want}");
    }
    let slow: Vec<f64> = (0..49).map(|t| 0.99f64.powi(t)).collect();
    let IntegratedTime { value, window, closed } = integrated_time(&slow).unwrap();
    assert!(!closed && window == 48 && value > 30.0 && value < 199.0);
    assert_eq!((integrated_time(&[1.0]), autocorrelations(Array2::ones((9, 4)).view())), (None, None));
}

/// Two chains of three steps, by hand: mean 2, deviations (−1, 0, 1) and (1, 0, −1), so that ρ(1) = 0 and ρ(2) = −1/⅔.
#[test]
fn autocorrelations_have_one_mean_for_all_chains() {
    let rho = autocorrelations(array![[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]].view()).unwrap();
    assert_eq!(rho, [1.0, 0.0, -1.5]);
    // Chains that stay apart stay correlated.
    let apart = autocorrelations(Array2::from_shape_fn((9, 2), |(_, c)| c as f64).view()).unwrap();
    assert!(apart.iter().all(|r| (r - 1.0).abs() < 1e-12));
}

/// τ of F from the powers of the transition matrix of a tiny model, against 300 watched chains of 300 sweeps that begin at
/// exact samples: within 6 of its error bars, which are 3 %. The window leaves out 6 %.
#[test]
fn the_autocorrelation_time_is_that_of_the_transition_matrix() {
    let bernoulli = kind("bernoulli");
    // All on or all off, and seldom from one to the other.
    let rbm = Rbm::from_parts(
        layer(&bernoulli, vec![-2.5, -3.0, -2.0]),
        layer(&bernoulli, vec![-4.5, -3.5]),
        Array2::from_elem((3, 2), 2.7),
    )
    .unwrap();
    let (exact, lowered) = (Exact::new(&rbm).unwrap(), rbm.lower());
    let (v, h) = (all_states(&bernoulli, 3), all_states(&bernoulli, 2));
    let given = |means: Array2<f64>, states: &Array2<f64>| {
        Array2::from_shape_fn((means.nrows(), states.nrows()), |(a, b)| {
            means.row(a).iter().zip(states.row(b)).map(|(p, x)| if *x == 1.0 { *p } else { 1.0 - p }).product()
        })
    };
    let step: Array2<f64> = given(lowered.up().means(v.view()), &h).dot(&given(lowered.down().means(h.view()), &v));
    let energy = lowered.up().free_energy(v.view());
    let p = energy.mapv(|f| (-f - exact.log_z()).exp());
    let deviation = &energy - p.dot(&energy);
    let mut after = deviation.clone();
    let mut rho = Vec::new();
    for _ in 0..10_000 {
        rho.push((&p * &deviation).dot(&after) / (&p * &deviation).dot(&deviation));
        after = step.dot(&after);
    }
    let tau = 2.0 * rho.iter().sum::<f64>() - 1.0;
    let window = integrated_time(&rho).unwrap();
    assert!(tau > 2.0 && (window.value - tau).abs() < 0.07 * tau, "{window:?} of {tau}");
    let begin = exact.sample(300, Key::root(3)).0;
    let states = Dataset::from_values(lowered.visible(), begin.view()).unwrap().states().clone();
    let chains = Chains::watched(&mut *cpu().backend(lowered.clone()).unwrap(), 0, &states, 300, Key::root(4));
    let values = measure("autocorrelation").values(&Context { chains: Some(&chains), ..context(&lowered) });
    let error = values[0].std_err.unwrap();
    assert!(values[0].name == "autocorrelation_time" && error < 0.05 * tau, "{values:?}");
    assert!((values[0].value - window.value).abs() < 6.0 * error, "{values:?} against {window:?}");
}

/// Means 3 and 5 of free energies (1, 5) and (4, 6) have standard errors 2 and 1.
#[test]
fn the_gap_is_a_difference_of_means_with_both_errors() {
    let lowered = small_rbm(&kind("bernoulli"), &kind("bernoulli"), false, 1).lower();
    let rows = |energies: Vec<f64>| MeasuredRows {
        weights: vec![1.0; energies.len()],
        free_energies: energies.into(),
        ..measured(&lowered, &Array2::zeros((2, 3)))
    };
    let (train, valid) = (rows(vec![1.0, 5.0]), rows(vec![4.0, 6.0]));
    let cx = Context { rows: Some(&train), held_out: Some(&valid), ..context(&lowered) };
    let values = measure("free-energy-gap").values(&cx);
    assert_eq!((values[0].value, values[0].std_err), (2.0, Some(5f64.sqrt())));
    assert!(measure("free-energy-gap").values(&Context { held_out: None, ..cx }).is_empty());
}

/// A row of weight 3 is three rows, and one of weight 0 none.
#[test]
fn a_mean_counts_rows_by_their_weights() {
    let weighted = Value::mean("", [1.0, 2.0, 9.0].into_iter(), &[3.0, 1.0, 0.0]);
    assert_eq!(weighted.value, 1.25);
    let plain = Value::mean("", [1.0, 3.0].into_iter(), &[1.0, 1.0]);
    assert_eq!((plain.value, plain.std_err), (2.0, Some(1.0)));
    assert_eq!(Value::mean("", [4.0].into_iter(), &[1.0]).std_err, None);
}

/// Samples of the data's own model differ by nothing but chance, and those of another by what enumeration gives: with
/// 20,000 of each the errors are about 0.01.
#[test]
fn moments_differ_by_what_the_exact_ones_do() {
    for visible in ["bernoulli", "spin", "uneven"] {
        let make = |seed| random_rbm(&kind(visible), 6, &kind("bernoulli"), 4, false, 1.0, &mut Numbers::new(seed));
        let solved = [31, 32].map(|seed| Exact::new(&make(seed)).unwrap());
        let sample = |k: usize, seed| solved[k].sample(20_000, Key::root(seed)).0;
        let lowered = solved[0].lowered();
        let rows = measured(lowered, &sample(0, 1));
        let differences = |x: Array2<f64>| {
            let chains = samples(x);
            measure("moments").values(&Context { rows: Some(&rows), chains: Some(&chains), ..context(lowered) })
        };
        let same = differences(sample(0, 2));
        assert!(number(&same, "mean_difference") < 0.02 && number(&same, "covariance_difference") < 0.02, "{same:?}");
        let found = differences(sample(1, 3));
        let [(mean, c), (other_mean, d)] = solved.each_ref().map(|e| enumerated_moments(e, &kind(visible)));
        let want = ((&mean - &other_mean).mapv(|d| d * d).sum() / c.diag().sum()).sqrt();
        close(number(&found, "mean_difference"), want, 0.02, visible);
        let pairs: Vec<_> = (0..6).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        let square: f64 = pairs.iter().map(|&p| (c[p] - d[p]).powi(2)).sum();
        let scale: f64 = pairs.iter().map(|&(i, j)| c[(i, i)] * c[(j, j)]).sum();
        close(number(&found, "covariance_difference"), (square / scale).sqrt(), 0.02, visible);
    }
}

/// Few samples of the same model, 400 times: the mean squares of what is seen and of what chance is reported to make agree
/// within 6 %, which is three standard errors.
#[test]
fn differences_between_equal_distributions_are_those_of_chance() {
    let rbm = random_rbm(&kind("bernoulli"), 12, &kind("bernoulli"), 4, false, 1.0, &mut Numbers::new(33));
    let exact = Exact::new(&rbm).unwrap();
    let mut sums = [[0.0; 2]; 2];
    for k in 0..400 {
        let rows = measured(exact.lowered(), &exact.sample(80, Key::root(2 * k)).0);
        let chains = samples(exact.sample(50, Key::root(2 * k + 1)).0);
        let cx = Context { rows: Some(&rows), chains: Some(&chains), ..context(exact.lowered()) };
        let values = measure("moments").values(&cx);
        for (sums, name) in sums.iter_mut().zip(["mean_difference", "covariance_difference"]) {
            sums[0] += number(&values, name).powi(2);
            sums[1] += number(&values, &format!("{name}_by_chance")).powi(2);
        }
    }
    assert!(sums.iter().all(|[seen, chance]| (seen / chance - 1.0).abs() < 0.06), "{sums:?}");
}

/// Independent samples.
fn samples(x: Array2<f64>) -> Chains {
    Chains { x, states_per_chain: 1, trace: Array2::zeros((0, 0)) }
}

/// Means and covariances from the probabilities of all 2⁶ rows.
fn enumerated_moments(exact: &Exact, visible: &Kind) -> (Array1<f64>, Array2<f64>) {
    let v = all_states(visible, 6);
    let p = exact.lowered().up().free_energy(v.view()).mapv(|f| (-f - exact.log_z()).exp());
    let mean = v.t().dot(&p);
    let x = &v - &mean;
    let covariance = x.t().dot(&(&x * &p.insert_axis(Axis(1))));
    (mean, covariance)
}

/// Of four units without weights one is always off, one always on and two are constant; the fifth listens. None counts twice.
#[test]
fn dead_saturated_and_still_units_are_counted() {
    for hidden in ["bernoulli", "spin", "gaussian", "ternary"] {
        let hidden_layer = layer(&kind(hidden), vec![-20.0, 20.0, 0.0, 0.3, 0.0]);
        let weights = Array2::from_shape_fn((2, 5), |(_, j)| if j == 4 { 1.0 } else { 0.0 });
        let rbm = Rbm::from_parts(layer(&kind("bernoulli"), vec![0.0; 2]), hidden_layer, weights).unwrap();
        let lowered = rbm.lower();
        let rows = measured(&lowered, &array![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
        let values = measure("hidden-units").values(&Context { rows: Some(&rows), ..context(&lowered) });
        let constant = if hidden == "gaussian" { 0.8 } else { 0.4 };
        assert_eq!(number(&values, "still_units"), constant, "{hidden}");
        match hidden {
            "gaussian" => assert_eq!(values.len(), 1),
            _ => {
                assert_eq!((number(&values, "dead_units"), number(&values, "saturated_units")), (0.2, 0.2), "{hidden}")
            }
        }
    }
}

/// Every measure, on every pair of layers: finite numbers with the names of its list, and all of them somewhere.
#[test]
fn every_measure_gives_the_numbers_it_registers() {
    let mut seen = std::collections::BTreeSet::new();
    for (seed, v, h) in pairs("every_measure_gives_the_numbers_it_registers") {
        let rbm = small_rbm(&v, &h, true, 90 + seed);
        let lowered = rbm.lower();
        let (rows, valid) = (
            measured(&lowered, &random_rows(rbm.visible(), 12, &mut Numbers::new(seed))),
            measured(&lowered, &random_rows(rbm.visible(), 9, &mut Numbers::new(90 + seed))),
        );
        let mut backend = cpu().backend(lowered.clone()).unwrap();
        let mut states = States::new(lowered.visible());
        states.push(lowered.visible(), rows.x.view());
        for sweeps in [4, 100] {
            let chains = Chains::watched(&mut *backend, 0, &states, sweeps, Key::root(seed));
            let (rows, held_out, chains) = (Some(&rows), Some(&valid), Some(&chains));
            let cx = Context { rows, held_out, chains, ..context(&lowered) };
            for measure in MEASURES {
                let values = measure.values(&cx);
                assert!(!values.is_empty(), "{} of {v} with {h}", measure.name);
                for value in values {
                    assert!(measure.quantity(value.name).is_some(), "{} is not registered", value.name);
                    assert!(value.value.is_finite() && value.std_err.is_none_or(f64::is_finite));
                    seen.insert(value.name);
                }
            }
        }
    }
    let all: Vec<&str> = MEASURES.iter().flat_map(|m| m.quantities).map(|q| q.name).collect();
    // Models of 3 × 2 sites have few singular values.
    let missing: Vec<_> = all.iter().filter(|n| !seen.contains(**n) && !n.starts_with("singular")).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len(), "two quantities have one name");
}
