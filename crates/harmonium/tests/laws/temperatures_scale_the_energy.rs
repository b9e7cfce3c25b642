//! A model at temperature T has the energy E/T: against sums over all pairs of states, by every sampler.

use crate::common::{Numbers, close, pairs, random_rows, small_rbm, states_of, wanted};
use harmonium::sample::{SAMPLERS, SampleOptions, draw};
use harmonium::units::Kind;
use harmonium::{Layer, LoweredModel, Rbm};
use ndarray::{Array2, ArrayView1};

/// The energy of some pairs of rows is divided by T, and T = 1 changes nothing.
#[test]
fn the_whole_energy_is_divided_by_the_temperature() {
    for (seed, v, h) in pairs("the_whole_energy_is_divided_by_the_temperature") {
        let (rbm, mut r) = (small_rbm(&v, &h, true, seed), Numbers::new(seed));
        let m = rbm.lower();
        let (vs, hs) = (rows(rbm.visible(), &mut r), rows(rbm.hidden(), &mut r));
        for t in [0.3, 2.0] {
            let at = m.at_temperature(t).unwrap();
            for (v, h) in vs.rows().into_iter().zip(hs.rows()) {
                close(at.energy(v, h), m.energy(v, h) / t, 1e-12, "energy");
            }
        }
        assert!(m.at_temperature(1.0).unwrap() == m, "{v} with {h}");
    }
}

/// Five random rows of columns.
fn rows(layer: &Layer<f64>, r: &mut Numbers) -> Array2<f64> {
    layer.layout().encode(random_rows(layer, 5, r).view(), 1).unwrap()
}

/// p(v) at temperature T of all visible states, by adding up exp(−E/T) over all pairs of states.
fn probabilities(m: &LoweredModel<f64>, t: f64) -> Vec<f64> {
    let (vs, hs) = (states_of(m.visible()), states_of(m.hidden()));
    let of = |v: ArrayView1<f64>| hs.rows().into_iter().map(|h| (-m.energy(v, h) / t).exp()).sum::<f64>();
    let p: Vec<f64> = vs.rows().into_iter().map(of).collect();
    let all: f64 = p.iter().sum();
    p.iter().map(|p| p / all).collect()
}

/// How often each visible state is among rows.
fn frequencies(m: &LoweredModel<f64>, rows: &Array2<f64>) -> Vec<f64> {
    let states = m.visible().decode(states_of(m.visible()).view());
    let of = |state: ArrayView1<f64>| rows.rows().into_iter().filter(|row| *row == state).count();
    states.rows().into_iter().map(|state| of(state) as f64 / rows.nrows() as f64).collect()
}

/// 2,000 rows from chains of their own. Four pairs with 8 to 27 states by three samplers at two temperatures are about 300
/// comparisons; with a limit of 7 standard errors a false alarm comes less than once in 10⁷ seeds. A probability of ¼ that is off
/// by 0.07 is seen.
#[test]
fn every_sampler_draws_at_the_temperature() {
    for (seed, v, h) in pairs("every_sampler_draws_at_the_temperature") {
        let some = [
            "bernoulli with spin",
            "spin with bernoulli",
            "potts (states 2) with bernoulli",
            "potts (states 3) with bernoulli",
            "bernoulli+potts (states 3) with bernoulli",
        ];
        if !some.contains(&format!("{v} with {h}").as_str()) {
            continue;
        }
        let rbm = small_rbm(&v, &h, true, seed);
        for (sampler, temperature) in SAMPLERS.iter().flat_map(|s| [(s.name, 0.7), (s.name, 3.0)]) {
            let settings = SampleOptions {
                sampler,
                n: 2000,
                temperatures: Some(3),
                temperature,
                seed,
                ..SampleOptions::default()
            };
            let (rows, _) = draw(&rbm, settings.with_steps(60), &|_, _| ()).unwrap();
            let m = rbm.lower();
            for (p, f) in probabilities(&m, temperature).into_iter().zip(frequencies(&m, &rows)) {
                let error = (p * (1.0 - p) / 2000.0).sqrt().max(1.0 / 2000.0);
                assert!((p - f).abs() < 7.0 * error, "{v} with {h}, {sampler}, T = {temperature}: {f} against {p}");
            }
        }
    }
}

/// The variance of an uncoupled Gaussian unit is Tσ². 20,000 independent rows: 5 % are five standard errors.
#[test]
fn a_gaussian_gets_wider_with_the_temperature() {
    if !wanted(&["gaussian", "bernoulli"]) {
        return;
    }
    let layer = |name: &str| Layer::<f64>::new(Kind::new(name, &Default::default()).unwrap(), 1);
    let rbm = Rbm::from_parts(layer("gaussian"), layer("bernoulli"), Array2::zeros((1, 1))).unwrap();
    for temperature in [0.5, 1.0, 4.0] {
        let settings = SampleOptions { n: 20_000, temperature, ..SampleOptions::default() };
        let (rows, _) = draw(&rbm, settings, &|_, _| ()).unwrap();
        let variance = rows.mapv(|x| x * x).mean().unwrap();
        assert!((variance / temperature - 1.0).abs() < 0.05, "{variance} at {temperature}");
    }
}

#[test]
fn temperatures_that_make_no_sense_are_refused_by_name() {
    let plain = Kind::new("spin", &Default::default()).unwrap();
    let rbm =
        Rbm::from_parts(Layer::new(plain.clone(), 2), Layer::new(plain, 2), Array2::from_elem((2, 2), 0.5)).unwrap();
    for temperature in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        let settings = SampleOptions { temperature, ..SampleOptions::default() };
        let error = draw(&rbm, settings, &|_, _| ()).err().unwrap().to_string();
        assert!(error.contains("temperature is "), "{error}");
    }
}
