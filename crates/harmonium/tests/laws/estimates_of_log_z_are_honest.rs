//! Estimates of log Z cover the exact value, report when they cannot, and are the same on any number of threads.

use crate::common::{Numbers, close, first_model, pairs, random_rbm, seed, solvable_rbm, wanted};
use harmonium::events::{Event, Flow, Observer, Progress};
use harmonium::logz::{LogZ, LogZOptions, METHODS, Verdict, log_z};
use harmonium::rng::Key;
use harmonium::train::independent_log_likelihood;
use harmonium::units::Kind;
use harmonium::{Dataset, Exact, Layer, Rbm, TrainConfig, Trainer};
use ndarray::{Array1, Array2};

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

fn estimate(rbm: &Rbm<f64>, method: &str, settings: LogZOptions) -> LogZ {
    log_z(rbm, method, settings, &|_, _| ()).unwrap()
}

/// Every method on every pair of units, plain and centred: within 4.5 of its own errors, which are below 0.4. An error in
/// a weight, a base or a constant is off by tenths; the calibration study (`studies/calibration`) has more models.
#[test]
fn every_method_covers_the_exact_value_for_every_pair_of_units() {
    for (seed, v, h) in pairs("every_method_covers_the_exact_value_for_every_pair_of_units") {
        let rbm = solvable_rbm((&v, 5), (&h, 4), seed.is_multiple_of(2), 0.8, seed);
        let exact = Exact::new(&rbm).unwrap().log_z();
        for method in METHODS.iter().filter(|m| m.name != "exact") {
            let z = estimate(&rbm, method.name, LogZOptions { chains: Some(64), ..LogZOptions::default() });
            let what = format!("{} of {v} with {h}: {z}, exact {exact}", method.name);
            // One direction alone may miss a place that holds a few hundredths.
            let slack = if ["modes", "bar"].contains(&method.name) { 1e-9 } else { 0.05 };
            assert!((z.value - exact).abs() <= 4.5 * z.std_err + slack && z.std_err < 0.4, "{what}");
            assert!(z.lower <= z.value && z.value <= z.upper, "{what}");
        }
    }
}

/// Sizes that are sampled in single precision, with rows of the model's kind to start from.
#[test]
fn large_models_are_covered_in_single_precision_with_and_without_data() {
    for (v, h) in [("bernoulli", "bernoulli"), ("spin", "spin"), ("bernoulli", "spin")] {
        if !wanted(&[v, h]) {
            continue;
        }
        let seed = seed("large models", &[&(&kind(v)).into(), &(&kind(h)).into()]);
        let rbm = random_rbm(&kind(v), 300, &kind(h), 14, true, 0.15, &mut Numbers::new(seed));
        let exact = Exact::new(&rbm).unwrap();
        let rows = exact.lowered().visible().encode(exact.sample(200, Key::root(1)).0.view(), 1).unwrap();
        for data in [None, Some(&rows)] {
            for (method, verdict) in [("modes", Verdict::Certain), ("bar", Verdict::Likely)] {
                let z = estimate(&rbm, method, LogZOptions { data, ..LogZOptions::default() });
                let what = format!("{method}, {v} with {h}: {z}, exact {}", exact.log_z());
                assert!((z.value - exact.log_z()).abs() <= 4.5 * z.std_err && z.verdict == verdict, "{what}");
            }
        }
    }
}

/// One hidden unit that holds 99 % of the mass at one pattern of 60 visible units: annealing finds the other 1 %, and nothing
/// leads from there to here.
fn unmixed() -> Rbm<f64> {
    let n = 60;
    let weights = Array2::from_shape_fn((n, 1), |(i, _)| if i % 2 == 0 { 8.0 } else { -8.0 });
    let on: f64 = weights.iter().map(|w: &f64| w.exp().ln_1p()).sum();
    let bias = n as f64 * 2f64.ln() - on + 99f64.ln();
    let layer = |par: Array2<f64>| {
        let offset = Array1::zeros(par.ncols());
        Layer::from_parts(kind("bernoulli"), par, offset).unwrap()
    };
    Rbm::from_parts(layer(Array2::zeros((1, n))), layer(Array2::from_elem((1, 1), bias)), weights).unwrap()
}

#[test]
fn a_model_that_does_not_mix_is_never_called_certain() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let rbm = unmixed();
    let exact = Exact::new(&rbm).unwrap();
    close(exact.log_z(), 60.0 * 2f64.ln() + 100f64.ln(), 1e-9, "the construction");
    let rows = exact.sample(50, Key::root(3)).0;
    for data in [None, Some(&rows)] {
        for seed in 0..3 {
            let z = estimate(
                &rbm,
                "bar",
                LogZOptions { seed, data, budget: 2e11, collapse: false, ..LogZOptions::default() },
            );
            assert!(z.lower <= exact.log_z() && exact.log_z() <= z.upper, "{z}, exact {}", exact.log_z());
            // Data lead to the pattern; without them nothing is certain.
            let doubtful = matches!(z.verdict, Verdict::Disagree | Verdict::Imprecise) && z.explanation().is_some();
            assert!(doubtful || data.is_some(), "{z}");
        }
    }
    // A sum over modes finds both, with and without data.
    for data in [None, Some(&rows)] {
        let z = estimate(&rbm, "modes", LogZOptions { data, collapse: false, ..LogZOptions::default() });
        assert!((z.value - exact.log_z()).abs() <= 4.5 * z.std_err, "{z}, exact {}", exact.log_z());
        assert!(z.evidence.iter().any(|e| e.name == "bound" && e.holds), "{z:?}");
    }
    // With the visible layer summed out there is no wall.
    let z = estimate(&rbm, "bar", LogZOptions::default());
    assert!(z.verdict == Verdict::Likely && (z.value - exact.log_z()).abs() <= 4.5 * z.std_err, "{z}");
    let z = estimate(&rbm, "ais", LogZOptions { collapse: false, ..LogZOptions::default() });
    assert!(z.verdict == Verdict::Likely || z.verdict == Verdict::Imprecise, "{z}");
    assert!(z.value < exact.log_z() - 3.0, "annealing alone misses the mode: {z}");
}

#[test]
fn the_same_seed_gives_the_same_estimate_on_any_number_of_threads() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let rbm = random_rbm(&kind("bernoulli"), 400, &kind("bernoulli"), 200, true, 0.05, &mut Numbers::new(2));
    for method in ["bar", "modes"] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let options = LogZOptions { temperatures: Some(50), budget: 3e10, ..LogZOptions::default() };
            pool.install(|| estimate(&rbm, method, options))
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{method} on {threads} threads");
        }
    }
}

/// An estimate that the clock or a budget has ended records its work, and the same budget repeats it.
#[test]
fn the_recorded_work_repeats_an_estimate() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let rbm = random_rbm(&kind("bernoulli"), 60, &kind("bernoulli"), 50, true, 0.3, &mut Numbers::new(4));
    let first = estimate(&rbm, "modes", LogZOptions { time: Some(0.2), ..LogZOptions::default() });
    let again = estimate(&rbm, "modes", LogZOptions { budget: first.work.unwrap(), ..LogZOptions::default() });
    assert_eq!(first, again);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let rbm = random_rbm(&kind("bernoulli"), 4, &kind("bernoulli"), 3, false, 0.5, &mut Numbers::new(2));
    let plain = LogZOptions::default();
    for (settings, name) in [
        (LogZOptions { tolerance: 0.0, ..plain }, "tolerance"),
        (LogZOptions { tolerance: f64::NAN, ..plain }, "tolerance"),
        (LogZOptions { chains: Some(1), ..plain }, "chains"),
        (LogZOptions { temperatures: Some(0), ..plain }, "temperatures"),
        (LogZOptions { temperatures: Some(usize::MAX), ..plain }, "temperatures"),
    ] {
        let error = log_z(&rbm, "bar", settings, &|_, _| ()).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
    // Two Gaussian layers that are coupled too strongly have no distribution to anneal to.
    let gaussian = random_rbm(&kind("gaussian"), 3, &kind("gaussian"), 3, false, 5.0, &mut Numbers::new(2));
    assert!(log_z(&gaussian, "ais", plain, &|_, _| ()).is_err());
}

/// One hidden bias of 1e20 eats all digits of log p; large negative biases eat none.
#[test]
fn parameters_that_leave_no_digits_are_refused_by_every_method() {
    let model = |bias: f64| {
        let layer = |par: Array2<f64>| {
            let offset = Array1::zeros(par.ncols());
            Layer::from_parts(kind("bernoulli"), par, offset).unwrap()
        };
        let mut hidden = Array2::zeros((1, 4));
        hidden[[0, 2]] = bias;
        let weights = Array2::from_shape_fn((6, 4), |(i, j)| 0.1 * (i as f64 - j as f64));
        Rbm::from_parts(layer(Array2::zeros((1, 6))), layer(hidden), weights).unwrap()
    };
    let options = LogZOptions { chains: Some(16), temperatures: Some(20), budget: 1e9, ..LogZOptions::default() };
    for method in METHODS.iter().map(|m| m.name).chain(["auto"]) {
        for bias in [1e20, 1e12] {
            let refused = log_z(&model(bias), method, options, &|_, _| ()).unwrap_err().to_string();
            assert!(
                refused.contains("so large that log Z cannot be computed accurately"),
                "{method}, {bias:e}: {refused}"
            );
        }
        for bias in [1e6, -1e20] {
            let exact = Exact::new(&model(bias)).unwrap().log_z();
            let z = estimate(&model(bias), method, options);
            assert!((z.value - exact).abs() <= 4.5 * z.std_err + 0.05, "{method}, {bias:e}: {z}, exact {exact}");
        }
    }
}

/// Keeps what a run reports.
#[derive(Default)]
struct Reported(Vec<Progress>);

impl Observer for Reported {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Progress(p) = event {
            self.0.push(p.clone());
        }
        Flow::Continue
    }
}

/// A run on samples of a model, of 20 × 20 units: just too many for the exact likelihood while training runs.
fn run_of_20(config: TrainConfig) -> Trainer<f32> {
    let teacher = random_rbm(&kind("bernoulli"), 20, &kind("bernoulli"), 8, false, 1.5, &mut Numbers::new(9));
    let rows = Exact::new(&teacher).unwrap().sample(2000, Key::root(2)).0;
    let data = Dataset::from_values(teacher.cast::<f32>().lower().visible(), rows.mapv(|x| x as f32).view()).unwrap();
    let rbm = first_model(&kind("bernoulli"), &kind("bernoulli"), 20, &data, true, config.seed).unwrap();
    Trainer::new(config, rbm, data, None).unwrap()
}

/// What is reported is within 3 of its own errors and half a nat of the exact likelihood at the end, after it has grown.
#[test]
fn the_likelihood_reported_while_training_is_that_of_the_model() {
    for seed in 0..3 {
        let config = TrainConfig { seed, updates: 1500, report_every: 100, lr: 0.01, ..TrainConfig::default() };
        let mut trainer = run_of_20(config);
        let baseline = independent_log_likelihood(trainer.rbm().lower().visible(), trainer.data());
        let mut reported = Reported::default();
        trainer.run(&mut reported).unwrap();
        let last = &reported.0[14].train;
        let exact = -last.free_energy - Exact::new(&trainer.rbm()).unwrap().log_z();
        let (ours, error) = (last.log_likelihood.unwrap(), last.log_likelihood_std_err.unwrap());
        assert!(ours > baseline + 0.1, "something was learned: {ours} against {baseline}");
        assert!((ours - exact).abs() <= (3.0 * error).min(0.5), "{ours} ± {error}, exact {exact}");
    }
}

/// Stops at every measurement.
struct StopAtEach(Option<Progress>);

impl Observer for StopAtEach {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Progress(p) = event {
            self.0 = Some(p.clone());
            return Flow::Stop;
        }
        Flow::Continue
    }
}

/// Bars and stripes with a rate at which persistent chains do not follow the model, so that its likelihood jumps by nats: what is
/// reported is right within three errors, and half of the points have a number.
#[test]
fn the_likelihood_of_a_run_that_does_not_mix_is_right_or_not_reported() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let pattern = |rows: bool, bits: usize| move |k: usize| ((bits >> if rows { k / 3 } else { k % 3 }) & 1) as f32;
    let all = (0..16).map(|k| pattern(k < 8, k % 8)).map(|p| (0..9).map(p).collect::<Vec<f32>>());
    let all: Vec<f32> = all.flatten().collect();
    let rows = Array2::from_shape_vec((16, 9), all).unwrap();
    let plain: Rbm<f32> = Rbm::new(kind("bernoulli"), 9, kind("bernoulli"), 16).unwrap();
    let data = Dataset::from_values(plain.lower().visible(), rows.view()).unwrap();
    let rbm = first_model(&kind("bernoulli"), &kind("bernoulli"), 16, &data, true, 0).unwrap();
    let config = TrainConfig { updates: 8000, report_every: 400, ..TrainConfig::default() };
    let mut trainer = Trainer::new(config, rbm, data, None).unwrap();
    trainer.estimate_likelihood().unwrap();
    let mut reported = 0;
    loop {
        let mut stop = StopAtEach(None);
        trainer.run(&mut stop).unwrap();
        let Some(measured) = stop.0 else { break };
        let (Some(ours), Some(error)) = (measured.train.log_likelihood, measured.train.log_likelihood_std_err) else {
            continue;
        };
        let exact = -measured.train.free_energy - Exact::new(&trainer.rbm()).unwrap().log_z();
        assert!(ours <= 0.0 && (ours - exact).abs() <= 3.0 * error, "{ours} ± {error}, exact {exact}");
        reported += 1;
    }
    assert!(reported >= 10, "{reported} of 20");
}

/// Stops at the first poll after some updates.
struct StopAt(u64, Reported);

impl Observer for StopAt {
    fn on(&mut self, event: &Event) -> Flow {
        self.1.on(event)
    }
    fn poll(&mut self) -> Flow {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn a_resumed_run_tells_the_same_likelihood_to_the_bit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoint");
    let config = TrainConfig { updates: 700, report_every: 100, ..TrainConfig::default() };
    let mut whole = Reported::default();
    run_of_20(config.clone()).run(&mut whole).unwrap();
    let mut first = run_of_20(config.clone());
    first.checkpoint_to(path.clone(), 100);
    first.run(&mut StopAt(371, Reported::default())).unwrap();
    let mut second = run_of_20(config);
    second.resume(&std::fs::read(&path).unwrap()).unwrap();
    let mut rest = StopAt(u64::MAX, Reported::default());
    second.run(&mut rest).unwrap();
    let rest = rest.1.0;
    assert!(rest.len() >= 3 && rest[..] == whole.0[7 - rest.len()..]);
    assert!(rest.iter().any(|p| p.train.log_likelihood_std_err.is_some()));
}
