//! A model with two Gaussian layers is a factor analysis, v ∼ N(μ, ΛΛᵀ + Ψ), and a run starts at the most likely one.

use crate::common::{Numbers, wanted};
use harmonium::factor_analysis::{Covariance, Effort, FactorAnalysis, LEAST_NOISE, default_factors};
use harmonium::train::{factor_model, gaussian_model};
use harmonium::units::{Kind, Options};
use harmonium::{Bits, Dataset, Exact, Rbm, TrainConfig, Trainer};
use ndarray::{Array1, Array2, Axis};

fn gaussian(coupling: &str) -> Kind {
    Kind::new("gaussian", &[("coupling".to_string(), coupling.to_string())].into()).unwrap()
}

/// Rows with `factors` factors in `columns` columns, of different scales.
fn rows(n: usize, columns: usize, factors: usize, noise: f64, seed: u64) -> Array2<f64> {
    let mut r = Numbers::new(seed);
    let loadings = Array2::from_shape_fn((factors, columns), |_| r.normal());
    let z = Array2::from_shape_fn((n, factors), |_| r.normal());
    let noise = Array2::from_shape_fn((n, columns), |_| noise * r.normal());
    let scales = Array1::from_shape_fn(columns, |i| 10f64.powi(i as i32 % 4 - 1));
    (z.dot(&loadings) + noise) * &scales + &scales
}

fn dataset(rows: &Array2<f64>) -> (Rbm<f64>, Dataset<f64>) {
    let plain = Rbm::new(gaussian("cho"), rows.ncols(), gaussian("cho"), 1).unwrap();
    let data = Dataset::from_values(plain.lower().visible(), rows.view()).unwrap();
    (plain, data)
}

fn covariance(rows: &Array2<f64>) -> Covariance {
    let (plain, data) = dataset(rows);
    Covariance::of(plain.lower().visible(), &data)
}

/// log N(x; μ, Σ) by elimination.
fn log_normal(x: &Array1<f64>, mean: &Array1<f64>, sigma: &Array2<f64>) -> f64 {
    let n = x.len();
    let (mut a, mut b) = (sigma.clone(), x - mean);
    let y = b.clone();
    let mut log_det = 0.0;
    for k in 0..n {
        log_det += a[[k, k]].ln();
        for i in k + 1..n {
            let factor = a[[i, k]] / a[[k, k]];
            for j in k..n {
                let upper = a[[k, j]];
                a[[i, j]] -= factor * upper;
            }
            let upper = b[k];
            b[i] -= factor * upper;
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[[k, j]] * b[j]).sum();
        b[k] = (b[k] - rest) / a[[k, k]];
    }
    -0.5 * (n as f64 * std::f64::consts::TAU.ln() + log_det + y.dot(&b))
}

#[test]
fn the_model_has_the_density_of_the_factor_analysis_in_every_chart() {
    if !wanted(&["gaussian"]) {
        return;
    }
    for (columns, factors, n_hidden) in [(1, 1, 1), (5, 2, 2), (6, 3, 5), (4, 3, 3)] {
        let rows = rows(60, columns, factors, 0.5, 7 + columns as u64);
        let found = FactorAnalysis::fit(&covariance(&rows), factors, Effort::FULL);
        let loadings = found.loadings();
        let sigma = loadings.dot(&loadings.t()) + Array2::from_diag(&found.noise);
        let want: Vec<f64> = rows.rows().into_iter().map(|x| log_normal(&x.to_owned(), &found.mean, &sigma)).collect();
        for visible in ["cho", "krizhevsky", "goodfellow"] {
            for hidden in ["cho", "krizhevsky"] {
                let rbm: Rbm<f64> = gaussian_model(&gaussian(visible), &gaussian(hidden), n_hidden, &found).unwrap();
                for rbm in [rbm.clone(), rbm.folded()] {
                    let log_p = Exact::new(&rbm).unwrap().log_likelihood(rows.view()).unwrap();
                    for (found, want) in log_p.iter().zip(&want) {
                        assert!(
                            (found - want).abs() < 1e-8 * want.abs().max(1.0),
                            "{visible} {hidden}: {found} {want}"
                        );
                    }
                }
            }
        }
        let mean = want.iter().sum::<f64>() / want.len() as f64;
        let own = found.log_likelihood(&covariance(&rows));
        assert!((mean - own).abs() < 1e-9 * mean.abs().max(1.0), "{mean} {own}");
    }
}

/// With p factors for p columns the best model is the normal distribution of the rows; with fewer, every iteration gains, the
/// gradient of the likelihood is zero at the end, and the variances of the columns are those of the rows.
#[test]
fn the_fit_climbs_to_the_maximum_of_the_likelihood() {
    for (columns, factors, seed) in [(4, 1, 1), (6, 2, 2), (9, 3, 3), (5, 5, 4)] {
        let rows = rows(200, columns, factors.min(3), 0.7, seed);
        let data = covariance(&rows);
        let mut seen = Vec::new();
        let found = FactorAnalysis::fit_watched(&data, factors, Effort::FULL, None, |l| seen.push(l));
        assert!(seen.windows(2).all(|w| w[1] >= w[0] - 1e-10), "{seen:?}");
        let loadings = found.loadings();
        let sigma = loadings.dot(&loadings.t()) + Array2::from_diag(&found.noise);
        for i in 0..columns {
            assert!((sigma[[i, i]] / data.covariance[[i, i]] - 1.0).abs() < 1e-2, "column {i}");
        }
        let rbm: Rbm<f64> = gaussian_model(&gaussian("krizhevsky"), &gaussian("cho"), factors, &found).unwrap();
        let exact = Exact::new(&rbm).unwrap();
        let gradient = exact.gradient(rows.view(), Array1::ones(rows.nrows()).view()).unwrap();
        let is_free = |i: &usize| found.noise[*i] > 1.01 * LEAST_NOISE * data.covariance[[*i, *i]];
        // In the chart of krizhevsky weights and log variances have no units.
        let size = (0..columns).filter(is_free).map(|i| gradient.visible[[1, i]].abs()).fold(0.0, f64::max);
        assert!(size < 2e-2, "log variances: {size}");
        if factors == columns {
            let full: f64 =
                rows.rows().into_iter().map(|x| log_normal(&x.to_owned(), &data.mean, &data.covariance)).sum();
            assert!(
                full / 200.0 - found.log_likelihood(&data) < 1e-4,
                "{} {}",
                full / 200.0,
                found.log_likelihood(&data)
            );
        }
    }
}

/// Columns of equal noise whose factors are exact: the noise is the mean of the eigenvalues that are left, as in probabilistic
/// principal components (Tipping and Bishop 1999).
#[test]
fn equal_noise_is_found_as_by_principal_components() {
    let (n, noise) = (5, 0.3);
    let direction = Array1::from_elem(n, 1.0 / (n as f64).sqrt());
    let outer = direction.view().insert_axis(Axis(1)).dot(&direction.view().insert_axis(Axis(0)));
    let covariance = Array2::eye(n) * noise + outer * 4.0;
    let data = Covariance { mean: Array1::zeros(n), covariance, weight: 100.0 };
    let found = FactorAnalysis::fit(&data, 1, Effort::FULL);
    assert!(found.noise.iter().all(|x| (x - noise).abs() < 1e-4), "{}", found.noise);
    assert!((found.ratios[0] - (4.0 + noise) / noise).abs() < 1e-2, "{}", found.ratios);
}

/// Weights of rows are counts, a constant column and a copy of a column do no harm, nor do more factors than rows can teach.
#[test]
fn degenerate_tables_are_analysed_without_harm() {
    let mut table = rows(12, 8, 2, 0.5, 11);
    table.column_mut(3).fill(7.0);
    let copy = table.column(1).to_owned();
    table.column_mut(5).assign(&copy);
    for n_hidden in [1, 4, 20] {
        let (_, data) = dataset(&table);
        let rbm = factor_model(&gaussian("cho"), &gaussian("cho"), n_hidden, &data, true).unwrap();
        let log_p = Exact::new(&rbm.cast::<f32>()).unwrap().log_likelihood(table.view()).unwrap();
        assert!(log_p.iter().all(|l| l.is_finite()), "{n_hidden}: {log_p}");
    }
    let (plain, mut data) = dataset(&table);
    let side = plain.lower().visible().clone();
    assert!((1..8).contains(&default_factors(&side, &data, None)));
    let counts: Vec<f64> = (0..12).map(|r| f64::from(r % 3)).collect();
    data.set_weights(&counts).unwrap();
    let repeated: Vec<usize> = (0..12).flat_map(|r| vec![r; r % 3]).collect();
    let (a, b) = (Covariance::of(&side, &data), covariance(&table.select(Axis(0), &repeated)));
    assert!((&a.covariance - &b.covariance).iter().all(|x| x.abs() < 1e-9 * b.covariance.diag().sum()));
}

/// The number of factors that made the rows is found from the rows alone, give or take those that are lost in noise.
#[test]
fn the_number_of_factors_is_found() {
    for (factors, seed) in [(1, 21), (3, 22), (6, 23)] {
        let table = rows(400, 12, factors, 0.6, seed);
        let (plain, data) = dataset(&table);
        let found = default_factors(plain.lower().visible(), &data, None);
        assert!((factors..=2 * factors).contains(&found), "{factors}: {found}");
    }
}

/// Whatever the updates do, a run ends at least where it started.
#[test]
fn training_never_ends_below_the_factor_analysis() {
    let table = rows(80, 6, 2, 0.3, 31).mapv(|x| x as f32);
    let plain: Rbm<f32> = Rbm::new(gaussian("cho"), 6, gaussian("cho"), 2).unwrap();
    let data = Dataset::from_values(plain.lower().visible(), table.view()).unwrap();
    let first = factor_model(&gaussian("cho"), &gaussian("cho"), 2, &data, true).unwrap();
    let wide = table.mapv(f64::from);
    let mean = |rbm: &Rbm<f32>| Exact::new(rbm).unwrap().log_likelihood(wide.view()).unwrap().mean().unwrap();
    for (lr, batch_size) in [(1e-6, 10), (1e-3, 80)] {
        let config = TrainConfig { method: "exact".into(), updates: 200, lr, batch_size, ..TrainConfig::default() };
        let mut t = Trainer::new(config, first.clone(), data.clone(), None).unwrap();
        // A rate that is much too large ends the run with an error instead.
        if t.run(&mut ()).is_ok() {
            assert!(mean(&t.rbm()) >= mean(&first) - 1e-9, "{} {}", mean(&t.rbm()), mean(&first));
        }
    }
}

/// Rows of which a fifth of the cells are missing, and those cells as a matrix of bools.
fn with_holes(rows: &Array2<f64>, seed: u64) -> (Dataset<f64>, Array2<bool>) {
    let mut r = Numbers::new(seed);
    let known = Array2::from_shape_fn(rows.dim(), |_| r.uniform() > 0.2);
    let mut bits = Bits::new(rows.ncols());
    known.rows().into_iter().for_each(|row| bits.push(row.iter().copied()));
    let plain: Rbm<f64> = Rbm::new(gaussian("cho"), rows.ncols(), gaussian("cho"), 1).unwrap();
    let (side, mut data) = (plain.lower(), Dataset::new(plain.lower().visible()));
    // What stands in a missing cell does not matter.
    let filled = Array2::from_shape_fn(rows.dim(), |at| if known[at] { rows[at] } else { 1e3 });
    data.push_values(side.visible(), filled.view(), Some(&bits));
    (data, known)
}

/// log p of the known cells under N(mean, ΛΛᵀ + Ψ), by elimination, and the prior of the loadings, both for all rows.
fn log_posterior(
    rows: &Array2<f64>,
    known: &Array2<bool>,
    mean: &Array1<f64>,
    loadings: &Array2<f64>,
    noise: &Array1<f64>,
) -> f64 {
    let sigma = loadings.dot(&loadings.t()) + Array2::from_diag(noise);
    let mut sum = 0.0;
    for (x, known) in rows.rows().into_iter().zip(known.rows()) {
        let which: Vec<usize> = (0..x.len()).filter(|i| known[*i]).collect();
        let part = sigma.select(Axis(0), &which).select(Axis(1), &which);
        sum += log_normal(&x.select(Axis(0), &which), &mean.select(Axis(0), &which), &part);
    }
    for (i, l) in loadings.rows().into_iter().enumerate() {
        let cells: Vec<f64> = (0..rows.nrows()).filter(|r| known[[*r, i]]).map(|r| rows[[r, i]]).collect();
        let m = cells.iter().sum::<f64>() / cells.len() as f64;
        let variance = cells.iter().map(|x| (x - m).powi(2)).sum::<f64>() / cells.len() as f64;
        sum -= 0.5 * l.dot(&l) * 2.0 * loadings.ncols() as f64 / variance;
    }
    sum
}

/// With missing cells every iteration gains, and the end is a maximum of the posterior of the known cells: no small change of the mean,
/// the loadings or the noise raises it by more than the fit left to gain.
#[test]
fn rows_with_missing_cells_are_fitted_to_the_maximum_of_their_posterior() {
    if !wanted(&["gaussian"]) {
        return;
    }
    for (columns, factors, seed) in [(5, 1, 41), (6, 2, 42), (4, 3, 43)] {
        let rows = rows(150, columns, factors.min(2), 0.6, seed);
        let (data, known) = with_holes(&rows, seed);
        let side: Rbm<f64> = Rbm::new(gaussian("cho"), columns, gaussian("cho"), 1).unwrap();
        let mut seen = Vec::new();
        let found = FactorAnalysis::of_known_watched(side.visible().layout(), &data, factors, |p| seen.push(p));
        assert!(seen.windows(2).all(|w| w[1] >= w[0] - 1e-9), "{seen:?}");
        let loadings = found.loadings();
        let best = log_posterior(&rows, &known, &found.mean, &loadings, &found.noise);
        let mut r = Numbers::new(seed + 7);
        for _ in 0..200 {
            let size = 0.02;
            let mut change = |x: f64, scale: f64| x + size * scale * r.normal();
            let deviations = found.noise.mapv(f64::sqrt);
            let mean = Array1::from_shape_fn(columns, |i| change(found.mean[i], deviations[i]));
            let noise = Array1::from_shape_fn(columns, |i| change(found.noise[i], found.noise[i]));
            let changed = Array2::from_shape_fn(loadings.dim(), |(i, j)| change(loadings[[i, j]], deviations[i]));
            let other = log_posterior(&rows, &known, &mean, &changed, &noise);
            // 150 rows stop at a gain of 10⁻⁵ each.
            assert!(other < best + 0.05, "{columns} {factors}: {other} {best}");
        }
    }
}

/// The model of a run has the density of that fit; columns without variance and rows without known cells do no harm.
#[test]
fn factor_models_of_rows_with_missing_cells_are_models() {
    if !wanted(&["gaussian"]) {
        return;
    }
    let mut table = rows(60, 5, 2, 0.5, 51);
    table.column_mut(3).fill(7.0);
    let (data, _) = with_holes(&table, 52);
    for n_hidden in [1, 3, 9] {
        let rbm = factor_model(&gaussian("cho"), &gaussian("cho"), n_hidden, &data, true).unwrap();
        let log_p = Exact::new(&rbm).unwrap().log_likelihood(table.view()).unwrap();
        assert!(log_p.iter().all(|l| l.is_finite()), "{n_hidden}: {log_p}");
        let found = FactorAnalysis::of_known_watched(rbm.visible().layout(), &data, n_hidden.min(4), |_| ());
        let sigma = found.loadings().dot(&found.loadings().t()) + Array2::from_diag(&found.noise);
        for (row, log_p) in table.rows().into_iter().zip(&log_p) {
            let want = log_normal(&row.to_owned(), &found.mean, &sigma);
            assert!((want - log_p).abs() < 1e-5 * want.abs().max(1.0), "{n_hidden}: {want} {log_p}");
        }
    }
    assert_eq!(
        default_factors(
            Rbm::<f64>::new(gaussian("cho"), 5, gaussian("cho"), 1).unwrap().visible().layout(),
            &data,
            None
        ),
        4
    );
}

#[test]
fn units_that_are_not_gaussian_have_no_factors() {
    let bernoulli = Kind::new("bernoulli", &Options::new()).unwrap();
    let found = FactorAnalysis::fit(&covariance(&rows(50, 4, 1, 0.5, 3)), 1, Effort::FULL);
    assert!(gaussian_model::<f64>(&gaussian("cho"), &bernoulli, 2, &found).is_err());
    assert!(gaussian_model::<f64>(&gaussian("cho"), &gaussian("cho"), 0, &found).is_err());
}
