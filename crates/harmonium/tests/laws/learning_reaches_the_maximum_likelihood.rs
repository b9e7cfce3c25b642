//! The exact estimator climbs to the maximum of the likelihood, and trouble on the way is mended or reported.

use crate::common::{first_model, wanted};
use harmonium::events::{Event, Flow, KeptBy, Observer};
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::{Key, normal};
use harmonium::units::{Kind, Options};
use harmonium::{Advice, Dataset, Error, Exact, Rbm, TrainConfig, Trainer};
use ndarray::{Array1, Array2};

fn bernoulli() -> Kind {
    Kind::new("bernoulli", &Options::new()).unwrap()
}

/// All pictures of k × k pixels made of whole rows or whole columns, each once.
fn bars_and_stripes(k: usize) -> Array2<f32> {
    let mut rows = Vec::new();
    for mask in 0..1usize << k {
        for by_row in [true, false] {
            if by_row || (mask != 0 && mask != (1 << k) - 1) {
                rows.extend((0..k * k).map(|p| (mask >> (if by_row { p / k } else { p % k }) & 1) as f32));
            }
        }
    }
    Array2::from_shape_vec((rows.len() / (k * k), k * k), rows).unwrap()
}

fn exact_config(updates: u64, lr: f64, seed: u64) -> TrainConfig {
    let optimizer = OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false };
    let quiet = TrainConfig { method: "exact".into(), updates, lr, seed, report_every: updates, ..Default::default() };
    TrainConfig { batch_size: 1000, schedule: Schedule::Cosine, optimizer, variance_rate: 1.0, ..quiet }
}

/// −log 6 and −log 14 are the best that 2 × 2 and 3 × 3 bars-and-stripes allow; 0.02 nats of that are reached.
#[test]
fn bars_and_stripes_are_learned_to_the_entropy() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    for (k, hidden, patterns, updates) in [(2, 8, 6, 1500), (3, 16, 14, 2500)] {
        let rows = bars_and_stripes(k);
        assert_eq!(rows.nrows(), patterns);
        let plain: Rbm<f32> = Rbm::new(bernoulli(), k * k, bernoulli(), hidden).unwrap();
        let data = Dataset::from_values(plain.lower().visible(), rows.view()).unwrap();
        let rbm = first_model(&bernoulli(), &bernoulli(), hidden, &data, true, 1).unwrap();
        let mut t = Trainer::new(exact_config(updates, 0.03, 1), rbm, data, None).unwrap();
        t.run(&mut ()).unwrap();
        let log_p = Exact::new(&t.rbm()).unwrap().log_likelihood(rows.mapv(f64::from).view()).unwrap();
        let gap = -(patterns as f64).ln() - log_p.mean().unwrap();
        println!("{k} x {k}: {gap:.4} nats below the best");
        assert!(gap < 0.02, "{k} x {k}: {gap} nats below the best");
    }
}

/// Four components of equal isotropic covariance at the corners of a square: a Gaussian–Bernoulli model can hold
/// them (means add up), so each coupling must come within 0.05 nats per row of the true density, best of 3 seeds.
#[test]
fn a_mixture_of_four_is_fitted_by_every_coupling() {
    if !wanted(&["gaussian"]) {
        return;
    }
    let (sigma, n) = (0.4, 2000);
    let key = Key::root(11);
    let corner = |k: usize| [[-1.5, -1.5], [-1.5, 1.5], [1.5, -1.5], [1.5, 1.5]][k];
    let rows = Array2::from_shape_fn((n, 2), |(r, c)| {
        corner(r % 4)[c] + sigma * normal::<f64>(key.uniforms(r as u64, c as u32))
    });
    let density = |x: &[f64]| {
        let one = |k: usize| {
            let d: f64 = (0..2).map(|c| (x[c] - corner(k)[c]).powi(2)).sum();
            (-0.5 * d / sigma.powi(2)).exp() / (std::f64::consts::TAU * sigma.powi(2))
        };
        ((0..4).map(one).sum::<f64>() / 4.0).ln()
    };
    let truth = rows.rows().into_iter().map(|r| density(&r.to_vec())).sum::<f64>() / n as f64;
    for coupling in ["cho", "krizhevsky", "goodfellow"] {
        let visible = Kind::new("gaussian", &[("coupling".to_string(), coupling.to_string())].into()).unwrap();
        let best = (1..=3).map(|seed| fit(&visible, &rows, seed)).fold(f64::NEG_INFINITY, f64::max);
        println!("{coupling}: {:.4} nats below the true density", truth - best);
        assert!(truth - best < 0.05, "{coupling}: {best} against {truth}");
    }
}

fn fit(visible: &Kind, rows: &Array2<f64>, seed: u64) -> f64 {
    let plain: Rbm<f32> = Rbm::new(visible.clone(), 2, bernoulli(), 8).unwrap();
    let data = Dataset::from_values(plain.lower().visible(), rows.mapv(|x| x as f32).view()).unwrap();
    let rbm = first_model(visible, &bernoulli(), 8, &data, true, seed).unwrap();
    let config = TrainConfig { batch_size: rows.nrows(), ..exact_config(1500, 0.02, seed) };
    let mut t = Trainer::new(config, rbm, data, None).unwrap();
    t.run(&mut ()).unwrap();
    Exact::new(&t.rbm()).unwrap().log_likelihood(rows.view()).unwrap().mean().unwrap()
}

/// Row weights are counts: learning from weighted rows reaches the likelihood of the repeated rows.
#[test]
fn weighted_rows_are_repeated_rows() {
    let rows = ndarray::arr2(&[[0f32, 0.0], [1.0, 0.0], [1.0, 1.0]]);
    let plain: Rbm<f32> = Rbm::new(bernoulli(), 2, bernoulli(), 2).unwrap();
    let side = plain.lower().visible().clone();
    let mut weighted = Dataset::from_values(&side, rows.view()).unwrap();
    weighted.set_weights(&[1.0, 2.0, 5.0]).unwrap();
    let repeated = weighted.select(&[0, 1, 1, 2, 2, 2, 2, 2]);
    let mut repeated = Dataset::from_values(&side, repeated.states().values(&side).view()).unwrap();
    repeated.set_weights(&[1.0; 8]).unwrap();
    let learn = |data: Dataset<f32>| {
        let rbm = first_model(&bernoulli(), &bernoulli(), 2, &data, true, 1).unwrap();
        let mut t = Trainer::new(exact_config(800, 0.03, 1), rbm, data, None).unwrap();
        t.run(&mut ()).unwrap();
        Exact::new(&t.rbm()).unwrap().log_likelihood(rows.mapv(f64::from).view()).unwrap()
    };
    let (a, b) = (learn(weighted), learn(repeated));
    for ((a, b), count) in a.iter().zip(&b).zip([1.0f64, 2.0, 5.0]) {
        assert!((a - b).abs() < 1e-3, "{a} against {b}");
        assert!((a - (count / 8.0).ln()).abs() < 0.05, "{a} against the frequency");
    }
}

/// Counts what an unreasonable learning rate does.
#[derive(Default)]
struct Recoveries(Vec<(u64, u64)>);

impl Observer for Recoveries {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Recovered { update, back_to, .. } = event {
            self.0.push((*update, *back_to));
        }
        Flow::Continue
    }
}

/// A rate that explodes is halved from the last good state until it works, or the run ends with advice.
#[test]
fn an_exploding_run_goes_back_and_slows_down_or_says_why_not() {
    let visible = Kind::new("gaussian", &Options::new()).unwrap();
    let key = Key::root(3);
    let rows = Array2::from_shape_fn((200, 3), |(r, c)| normal::<f64>(key.uniforms(r as u64, c as u32)) as f32);
    let plain: Rbm<f32> = Rbm::new(visible.clone(), 3, bernoulli(), 4).unwrap();
    let data = Dataset::from_values(plain.lower().visible(), rows.view()).unwrap();
    let run = |lr: f64| {
        let rbm = first_model(&visible, &bernoulli(), 4, &data, true, 1).unwrap();
        let optimizer = OptimizerConfig { name: "sgd".into(), momentum: 0.5, nesterov: false };
        let config = TrainConfig { lr, updates: 300, schedule: Schedule::Constant, optimizer, ..Default::default() };
        let mut t = Trainer::new(config, rbm, data.clone(), None).unwrap();
        let mut seen = Recoveries::default();
        (t.run(&mut seen).map(|_| t.rbm().clone()), seen.0)
    };
    let (hopeless, seen) = run(1e30);
    let hopeless = hopeless.unwrap_err();
    assert!(matches!(hopeless.plain(), Error::Diverged { .. }), "{hopeless:?}");
    assert_eq!(seen.len(), harmonium::train::MOST_FAILURES as usize);
    assert!(seen.iter().all(|(update, back)| back <= update && back % harmonium::train::SNAPSHOT_EVERY == 0));
    assert!(hopeless.advice().contains(&Advice::SmallerRate));
    let (mended, seen) = run(20.0);
    assert!(!seen.is_empty(), "a rate of 20 is expected to fail at first");
    assert!(mended.unwrap().weights().iter().all(|w| w.is_finite()));
    assert!(run(0.01).1.is_empty());
}

/// A constant column, rows that are all equal, one row, more hidden units than sense: it works and stays finite.
#[test]
fn degenerate_data_are_learned_without_harm() {
    for name in ["bernoulli", "gaussian"] {
        let visible = Kind::new(name, &Options::new()).unwrap();
        let tables: [Array2<f32>; 3] = [
            Array2::from_shape_fn((40, 3), |(r, c)| if c == 1 { 1.0 } else { ((r * 7 + c) % 2) as f32 }),
            Array2::ones((40, 3)),
            Array2::ones((1, 3)),
        ];
        for rows in tables {
            let plain: Rbm<f32> = Rbm::new(visible.clone(), 3, bernoulli(), 1).unwrap();
            let data = Dataset::from_values(plain.lower().visible(), rows.view()).unwrap();
            let rbm = first_model(&visible, &bernoulli(), 20, &data, true, 1).unwrap();
            let config = TrainConfig { updates: 500, ..Default::default() };
            let mut t = Trainer::new(config, rbm, data, None).unwrap();
            t.run(&mut ()).unwrap();
            let l = Exact::new(&t.rbm()).unwrap().log_likelihood(rows.mapv(f64::from).view()).unwrap();
            assert!(l.iter().all(|l| l.is_finite()), "{name}");
        }
    }
}

/// Early stopping ends a run that only overfits, and keeps the model that was best on the held-out rows.
#[test]
fn early_stopping_keeps_the_best_model() {
    let key = Key::root(8);
    let noise = |n: usize, from: u64| {
        Array2::from_shape_fn((n, 8), |(r, c)| (key.uniforms::<f64>(from + r as u64, c as u32)[0] < 0.5) as u8 as f32)
    };
    let plain: Rbm<f32> = Rbm::new(bernoulli(), 8, bernoulli(), 12).unwrap();
    let side = plain.lower().visible().clone();
    let (data, valid) = (
        Dataset::from_values(&side, noise(20, 0).view()).unwrap(),
        Dataset::from_values(&side, noise(200, 1000).view()).unwrap(),
    );
    let rbm = first_model(&bernoulli(), &bernoulli(), 12, &data, true, 1).unwrap();
    let config = TrainConfig { report_every: 20, early_stop: Some(5), ..exact_config(2000, 0.02, 1) };
    let mut t = Trainer::new(config, rbm, data, Some(valid.clone())).unwrap();
    struct Log(Vec<(u64, f64)>, Option<(u64, Option<KeptBy>)>);
    impl Observer for Log {
        fn on(&mut self, event: &Event) -> Flow {
            match event {
                Event::Progress(p) => self.0.push((p.update, p.valid.as_ref().unwrap().log_likelihood.unwrap())),
                Event::Finished { kept, kept_by, .. } => self.1 = Some((*kept, *kept_by)),
                _ => {}
            }
            Flow::Continue
        }
    }
    let mut log = Log(Vec::new(), None);
    assert_eq!(t.run(&mut log).unwrap(), harmonium::events::Reason::EarlyStop);
    let best = log.0.iter().fold((0, f64::NEG_INFINITY), |b, x| if x.1 > b.1 { *x } else { b });
    assert_eq!(log.1, Some((best.0, Some(KeptBy { valid_log_likelihood: best.1, std_err: None }))));
    let values = valid.states().values(&side).mapv(f64::from);
    let kept: Array1<f64> = Exact::new(&t.rbm()).unwrap().log_likelihood(values.view()).unwrap();
    assert!((kept.mean().unwrap() - best.1).abs() < 1e-4, "{} against {}", kept.mean().unwrap(), best.1);
}
