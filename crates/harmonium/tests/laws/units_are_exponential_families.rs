//! Every unit kind is an exponential family: Γ is the log integral, means its derivative, the pullback the adjoint of the chart.
//! A kind is tested by being registered: nothing here names one.

use crate::common::{Numbers, close, derivative, kinds, random_layer};
use harmonium::Layer;
use harmonium::units::{Kind, Unit};
use ndarray::{Array2, ArrayView1};

/// η of one random site of a kind, and a random input.
fn site(kind: &Kind, seed: u64) -> (Layer<f64>, Array2<f64>, Vec<f64>) {
    let mut r = Numbers::new(seed);
    let layer = random_layer(kind, 1, true, &mut r);
    let unit = kind.unit::<f64>();
    let mut eta = Array2::zeros((unit.n_stats(), unit.width()));
    unit.natural(layer.par(), layer.offset(), eta.view_mut(), &mut vec![0.0; unit.width()]);
    let input = (0..unit.width()).map(|_| r.normal()).collect();
    (layer, eta, input)
}

/// ∫ f over the unit's support: a sum over states, or the trapezoidal rule, which is spectrally exact for a Gaussian.
fn integrate(unit: &dyn Unit<f64>, f: impl Fn(&[f64]) -> f64) -> f64 {
    match unit.n_states() {
        Some(q) => {
            let mut x = vec![0.0; unit.width()];
            let term = |k| {
                unit.state(k, &mut x);
                f(&x)
            };
            (0..q).map(term).sum()
        }
        None => (-40_000..=40_000).map(|k| f(&[k as f64 * 1e-3])).sum::<f64>() * 1e-3,
    }
}

/// ⟨η, T(x)⟩ + I·x.
fn log_weight(unit: &dyn Unit<f64>, eta: &Array2<f64>, input: &[f64], x: &[f64]) -> f64 {
    let mut t = Array2::zeros(eta.dim());
    unit.stats(x, t.view_mut());
    (eta * &t).sum() + x.iter().zip(input).map(|(x, i)| x * i).sum::<f64>()
}

#[test]
fn the_log_norm_is_the_log_integral_and_the_means_are_averages() {
    for kind in kinds() {
        for seed in 0..8 {
            let (_, eta, input) = site(&kind, seed);
            let unit = kind.unit::<f64>();
            let log_norm = unit.log_norm(eta.view(), &input);
            let integral = integrate(unit, |x| log_weight(unit, &eta, &input, x).exp());
            close(log_norm, integral.ln(), 1e-12, &format!("{kind} log norm"));

            let mut means = Array2::zeros(eta.dim());
            unit.mean_stats(eta.view(), &input, means.view_mut());
            for (k, &mean) in means.indexed_iter() {
                let t_k = |x: &[f64]| {
                    let mut t = Array2::zeros(eta.dim());
                    unit.stats(x, t.view_mut());
                    t[k]
                };
                let average = integrate(unit, |x| t_k(x) * (log_weight(unit, &eta, &input, x) - log_norm).exp());
                close(mean, average, 1e-12, &format!("{kind} mean of T{k:?}"));
            }
            let mut x = vec![0.0; unit.width()];
            unit.means(eta.view(), &input, &mut x);
            for (a, b) in x.iter().zip(means.row(0)) {
                close(*a, *b, 1e-14, &format!("{kind} means agree with mean statistics"));
            }
        }
    }
}

/// ⟨η(par), d⟩ + Σ dₛ ln s(par), differentiated in every parameter.
#[test]
fn the_pullback_is_the_adjoint_of_the_chart() {
    for kind in kinds() {
        let (layer, eta, _) = site(&kind, 11);
        let unit = kind.unit::<f64>();
        let mut r = Numbers::new(12);
        let d_eta = eta.mapv(|_| r.normal());
        let d_ln_s: Vec<f64> = (0..unit.width()).map(|_| r.normal()).collect();
        let mut d_par = Array2::zeros(layer.par().dim());
        unit.pullback(layer.par(), layer.offset(), d_eta.view(), &d_ln_s, d_par.view_mut());
        for (k, &d) in d_par.indexed_iter() {
            let f = |h: f64| {
                let mut par = layer.par().to_owned();
                par[k] += h;
                let (mut eta, mut s) = (Array2::zeros(eta.dim()), vec![0.0; unit.width()]);
                unit.natural(par.view(), layer.offset(), eta.view_mut(), &mut s);
                (&eta * &d_eta).sum() + s.iter().zip(&d_ln_s).map(|(s, d)| s.ln() * d).sum::<f64>()
            };
            close(d, derivative(f, 1e-2), 1e-9, &format!("{kind} parameter {k:?}"));
        }
    }
}

/// `shift` adds to the field only, `recenter` keeps η, and the energy is zero at the reference and least there or flat.
#[test]
fn shifts_and_offsets_do_to_the_natural_parameters_what_they_say() {
    for kind in kinds() {
        let unit = kind.unit::<f64>();
        let mut r = Numbers::new(21);
        let layer = random_layer(&kind, 3, true, &mut r);
        let n = layer.columns();
        let natural = |par: &Array2<f64>, offset: ArrayView1<f64>| {
            let mut eta = Array2::zeros((unit.n_stats(), n));
            unit.natural(par.view(), offset, eta.view_mut(), &mut vec![0.0; n]);
            eta
        };
        let before = natural(&layer.par().to_owned(), layer.offset());
        let d: Vec<f64> = (0..n).map(|_| r.normal()).collect();

        let mut par = layer.par().to_owned();
        unit.shift(par.view_mut(), &d);
        let mut moved = natural(&par, layer.offset()) - &before;
        for (a, b) in moved.row(0).iter().zip(&d) {
            close(*a, *b, 1e-13, &format!("{kind} shift"));
        }
        moved.row_mut(0).fill(0.0);
        assert!(moved.iter().all(|x| x.abs() < 1e-13), "{kind}: a shift moves the field only");

        let mut par = layer.par().to_owned();
        unit.recenter(par.view_mut(), &d);
        let offset = &layer.offset() + &ArrayView1::from(&d);
        for (a, b) in natural(&par, offset.view()).iter().zip(&before) {
            close(*a, *b, 1e-13, &format!("{kind} recenter"));
        }
    }
}

/// A row of many sites is the sum, or the list, of its sites.
#[test]
fn rows_are_made_of_sites() {
    for kind in kinds() {
        let (unit, sites) = (kind.unit::<f64>(), 13);
        let mut r = Numbers::new(31);
        let layer = random_layer(&kind, sites, true, &mut r);
        let (n, w) = (layer.columns(), unit.width());
        let mut eta = Array2::zeros((unit.n_stats(), n));
        unit.natural(layer.par(), layer.offset(), eta.view_mut(), &mut vec![0.0; n]);
        let input: Vec<f64> = (0..n).map(|_| 2.0 * r.normal()).collect();
        let k = unit.n_uniforms();
        let u: Vec<f64> = (0..sites * k).map(|_| r.uniform()).collect();
        let (mut x, mut mean) = (vec![0.0; n], vec![0.0; n]);
        unit.sample(eta.view(), &input, &u, &mut x);
        unit.means(eta.view(), &input, &mut mean);
        let mut sum = 0.0;
        for site in 0..sites {
            let range = site * w..(site + 1) * w;
            let eta = eta.slice(ndarray::s![.., range.clone()]).to_owned();
            let (input, mut one) = (&input[range.clone()], vec![0.0; w]);
            sum += unit.log_norm(eta.view(), input);
            unit.sample(eta.view(), input, &u[site * k..(site + 1) * k], &mut one);
            assert_eq!(one, x[range.clone()], "{kind} sample");
            unit.means(eta.view(), input, &mut one);
            one.iter().zip(&mean[range]).for_each(|(a, b)| close(*a, *b, 1e-15, &format!("{kind} mean")));
        }
        close(unit.log_norm(eta.view(), &input), sum, 1e-13, &format!("{kind} log norm"));
    }
}

/// What `encode` accepts, `decode` gives back; states are accepted; NaN and infinities never are.
#[test]
fn data_values_are_in_the_domain_or_refused() {
    for kind in kinds() {
        let unit = kind.unit::<f64>();
        let mut x = vec![0.0; unit.width()];
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!unit.encode(value, &mut x), "{kind} accepts {value}");
        }
        for value in [-1.0, 0.0, 0.5, 1.0, 2.0, -3.0, 1e9] {
            if unit.encode(value, &mut x) {
                assert_eq!(unit.decode(&x), value, "{kind}");
            }
        }
        let Some(q) = unit.n_states() else {
            assert!(unit.encode(-3.25, &mut x));
            continue;
        };
        let mut again = x.clone();
        for k in 0..q {
            unit.state(k, &mut x);
            assert!(unit.encode(unit.decode(&x), &mut again));
            assert_eq!(x, again, "{kind} state {k}");
        }
        assert!(!unit.encode(q as f64 + 7.0, &mut x) && !unit.encode(-7.0, &mut x));
    }
}

/// `fit` is the inverse of `mean_stats` when there are many rows, and unseen values stay possible when there are few.
#[test]
fn fitting_the_means_gives_the_means() {
    for kind in kinds() {
        let unit = kind.unit::<f64>();
        let mut r = Numbers::new(41);
        let layer = random_layer(&kind, 4, true, &mut r);
        let n = layer.columns();
        let natural = |par: &Array2<f64>| {
            let mut eta = Array2::zeros((unit.n_stats(), n));
            unit.natural(par.view(), layer.offset(), eta.view_mut(), &mut vec![0.0; n]);
            eta
        };
        let means = |par: &Array2<f64>| {
            let mut t = Array2::zeros((unit.n_stats(), n));
            unit.mean_stats(natural(par).view(), &vec![0.0; n], t.view_mut());
            t
        };
        let want = means(&layer.par().to_owned());
        let mut par = layer.par().to_owned();
        unit.fit(want.view(), 1e12, layer.offset(), par.view_mut());
        for (a, b) in means(&par).iter().zip(&want) {
            close(*a, *b, 1e-9, &format!("{kind}"));
        }
        // Ten rows, all alike: finite parameters.
        let mut x = vec![1.0; n];
        if unit.n_states().is_some() {
            x.chunks_exact_mut(unit.width()).for_each(|site| unit.state(0, site));
        }
        let mut alike = Array2::zeros(want.dim());
        unit.stats(&x, alike.view_mut());
        unit.fit(alike.view(), 10.0, layer.offset(), par.view_mut());
        assert!(par.iter().all(|x| x.is_finite() && x.abs() < 79.5), "{kind}: {par}");
    }
}
