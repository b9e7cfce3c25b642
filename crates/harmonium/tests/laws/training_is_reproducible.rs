//! The same seed gives the same bits: twice, on any number of threads, and however often it is interrupted.

use crate::common::{
    Numbers, StopAfter, Units, first_model, pairs, random_rbm, random_rows, small_rbm, some_units, wanted,
};
use harmonium::backend::{DeviceRef, Reference, cpu};
use harmonium::events::{Event, Flow, Observer, Reason};
use harmonium::file::ModelFile;
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::train::Penalty;
use harmonium::units::Kind;
use harmonium::{Dataset, Exact, Gradient, Layer, Layout, Rbm, TrainConfig, Trainer};
use ndarray::Axis;
use std::path::Path;

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

/// A layer of three kinds.
const MIXED: &str = "bernoulli+potts (states 3)+gaussian";

/// Rows that have something to learn: exact samples of a random model.
fn rows(visible: impl Into<Units>, n: usize, sites: usize) -> Dataset<f32> {
    let teacher = crate::common::random_rbm(visible, sites, &kind("bernoulli"), 3, false, 1.0, &mut Numbers::new(5));
    let values = harmonium::Exact::new(&teacher).unwrap().sample(n, harmonium::rng::Key::root(2)).0;
    Dataset::from_values(teacher.cast::<f32>().lower().visible(), values.mapv(|x| x as f32).view()).unwrap()
}

fn config(method: &str, updates: u64) -> TrainConfig {
    let optimizer = OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false };
    let small = TrainConfig { chains: 70, batch_size: 40, report_every: 60, ..TrainConfig::default() };
    TrainConfig { method: method.into(), updates, lr: 0.01, schedule: Schedule::Cosine, optimizer, ..small }
}

fn trainer(config: &TrainConfig, visible: impl Into<Units>) -> Trainer<f32> {
    let visible = visible.into();
    let (data, valid) = (rows(&visible, 170, 6), rows(&visible, 60, 6));
    let rbm = first_model(&visible, &kind("bernoulli"), 5, &data, config.centering, config.seed).unwrap();
    Trainer::new(config.clone(), rbm, data, Some(valid)).unwrap()
}

fn bytes(rbm: &Rbm<f32>) -> Vec<u8> {
    ModelFile::new(rbm).to_bytes()
}

/// Models large enough for every part of an update to be shared by threads: products, draws, and passes over the weights. And batches of
/// several shards.
#[test]
fn large_models_on_any_number_of_threads() {
    for visible in some_units(&["bernoulli", "spin", "gaussian", "uneven", "potts (states 3)", MIXED]) {
        let layout = visible.layout(600 * 2 / visible.layout(2).columns());
        let wide = Layer::<f64>::with_defaults(layout.clone());
        let values = random_rows(&wide, 1100, &mut Numbers::new(3)).mapv(|x| x as f32);
        let all = Dataset::from_values(&layout, values.view()).unwrap();
        let few = all.select(&(0..60).collect::<Vec<_>>());
        for (method, data) in [("cd", &few), ("pcd", &few), ("pt", &few), ("pcd", &all)] {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let (rows, updates) = if data.len() > 60 { (1100, 2) } else { (40, 4) };
                    let config = TrainConfig { likelihood: false, report_every: 100, ..config(method, updates) };
                    let config = TrainConfig { batch_size: rows, chains: rows + 30, ..config };
                    let rbm = first_model(&visible, &kind("bernoulli"), 450, data, true, 1).unwrap();
                    let mut t = Trainer::new(config, rbm, data.clone(), None).unwrap();
                    t.run(&mut ()).unwrap();
                    bytes(&t.rbm())
                })
            };
            let one = run(1);
            for threads in [2, 3, 8] {
                assert!(run(threads) == one, "{visible}, {method}, {threads} threads");
            }
        }
    }
}

/// The same rows as bits and as numbers go through different kernels (lookup tables or index lists, and dense products): they learn
/// alike. One grey row of weight 0 makes all of them numbers. Exact likelihoods of the last models differ by less than
/// 0.02 nats per row, where learning gains about 1.
#[test]
fn rows_learn_alike_whichever_kernel_takes_them() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let bits = rows(&kind("bernoulli"), 500, 12);
    let mut numbers = bits.clone();
    let layout = Layout::new(kind("bernoulli"), 12);
    numbers.push_values(&layout, ndarray::Array2::from_elem((1, 12), 0.5).view(), None);
    let mut weights = vec![1.0; 501];
    weights[500] = 0.0;
    numbers.set_weights(&weights).unwrap();
    let learned = |data: &Dataset<f32>| {
        let config = TrainConfig { report_every: 3000, chains: 500, batch_size: 167, ..config("pcd", 3000) };
        let rbm = first_model(&kind("bernoulli"), &kind("bernoulli"), 6, data, true, 1).unwrap();
        let mut t = Trainer::new(config, rbm, data.clone(), None).unwrap();
        t.run(&mut ()).unwrap();
        let values = bits.states().values(&layout).mapv(f64::from);
        harmonium::Exact::new(&t.rbm().cast::<f64>()).unwrap().log_likelihood(values.view()).unwrap().mean().unwrap()
    };
    let (a, b) = (learned(&bits), learned(&numbers));
    assert!((a - b).abs() < 0.02, "{a} against {b}");
}

/// Shortens the weights of hidden units that are longer than this.
fn limit(rbm: &mut Rbm<f64>, longest: f64) {
    let mut less = Gradient::zeros(rbm);
    for (mut less, w) in less.weights.columns_mut().into_iter().zip(rbm.weights().columns()) {
        less.assign(&(&w * (longest / w.dot(&w).sqrt() - 1.0).min(0.0)));
    }
    rbm.step(1.0, &less);
}

/// Ten updates by hand, with the exact gradient of all rows: a step, the longest weights, then the offsets, which move at the tenth.
#[test]
fn an_update_is_step_limit_and_offsets_in_this_order() {
    let penalty = |max_norm| Penalty { max_norm, ..Penalty::default() };
    let cases = [("bernoulli", None), ("spin", Some(0.01)), ("gaussian", None), ("ternary", None)];
    let devices: [DeviceRef; 2] = [cpu(), Box::leak(Box::new(Reference::default()))];
    for ((visible, max_norm), device) in cases.into_iter().flat_map(|case| devices.map(|device| (case, device))) {
        let teacher = random_rbm(&kind(visible), 4, &kind("bernoulli"), 3, false, 1.0, &mut Numbers::new(5));
        let values = Exact::new(&teacher).unwrap().sample(40, harmonium::rng::Key::root(2)).0;
        let data = Dataset::from_values(teacher.lower().visible(), values.view()).unwrap();
        let [visible, hidden] = [(visible, 4), ("bernoulli", 3)].map(|(name, n)| Layout::new(kind(name), n));
        let mut rbm = harmonium::initial_model(&visible, &hidden, &data, true, 1).unwrap();
        let optimizer = OptimizerConfig { name: "sgd".into(), momentum: 0.0, nesterov: false };
        let config =
            TrainConfig { lr: 0.3, schedule: Schedule::Constant, variance_rate: 1.0, optimizer, ..config("exact", 10) };
        let config = TrainConfig { batch_size: 40, offset_rate: 0.2, penalty: penalty(max_norm), ..config };
        let mut t = Trainer::on(device, config, rbm.clone(), data, None).unwrap();
        t.run(&mut ()).unwrap();
        let mut running = [rbm.visible(), rbm.hidden()].map(|layer| layer.offset().to_owned());
        for _ in 0..10 {
            let lowered = rbm.lower();
            let x = lowered.visible().encode(values.view(), 1).unwrap();
            let batch = lowered.up().stats(x.view(), ndarray::Array1::ones(40).view()).mean();
            let gradient = rbm.gradient(&lowered, &batch.minus(&Exact::new(&rbm).unwrap().stats()));
            rbm.step(0.3, &gradient);
            max_norm.iter().for_each(|longest| limit(&mut rbm, *longest));
            for (running, means) in running.iter_mut().zip([&batch.visible, &batch.hidden]) {
                running.zip_mut_with(&means.row(0), |r, m| *r += 0.2 * (m - *r));
            }
        }
        rbm.recenter(running[0].view(), running[1].view()).unwrap();
        let numbers = |rbm: &Rbm<f64>| {
            let layer = |l: &harmonium::Layer<f64>| [l.par().to_owned(), l.offset().to_owned().insert_axis(Axis(0))];
            let parts = layer(rbm.visible()).into_iter().chain(layer(rbm.hidden())).chain([rbm.weights().to_owned()]);
            parts.flatten().collect::<Vec<f64>>()
        };
        for (a, b) in numbers(&t.rbm()).into_iter().zip(numbers(&rbm)) {
            crate::common::close(a, b, 1e-10, &visible.to_string());
        }
        let longest = rbm.weights().columns().into_iter().map(|w| w.dot(&w).sqrt()).fold(0.0, f64::max);
        assert!(max_norm.is_none_or(|limit| (longest - limit).abs() < 1e-10), "the limit is reached: {longest}");
    }
}

#[test]
fn twice_and_on_any_number_of_threads() {
    for visible in [kind("bernoulli"), kind("gaussian")] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut t = trainer(&config("pcd", 120), &visible);
                t.run(&mut ()).unwrap();
                bytes(&t.rbm())
            })
        };
        let one = run(1);
        for threads in [1, 2, 3, 8] {
            assert_eq!(run(threads), one, "{visible} on {threads} threads");
        }
    }
}

/// A run is stopped at random places, thrown away and resumed from its checkpoint until it is done.
#[test]
fn interrupted_and_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let pcd = some_units(&["bernoulli", "gaussian", "uneven", MIXED]).into_iter().map(|kind| ("pcd", kind));
    let pt = some_units(&["bernoulli", "gaussian", "ternary", MIXED]).into_iter().map(|kind| ("pt", kind));
    let cd = some_units(&["spin", MIXED]).into_iter().map(|kind| ("cd", kind));
    let quick =
        some_units(&["bernoulli", "ternary"]).into_iter().flat_map(|kind| [("pcd", kind.clone()), ("pt", kind)]);
    let all = pcd.chain(pt).chain(cd).map(|run| (run, 0)).chain(quick.map(|run| (run, 170)));
    for ((method, visible), quick_start) in all {
        let config = TrainConfig { early_stop: Some(1000), quick_start, ..config(method, 400) };
        let mut whole = trainer(&config, &visible);
        assert_eq!(whole.run(&mut ()).unwrap(), Reason::Done);
        let path = dir.path().join(format!("{method}-{visible}-{quick_start}"));
        let mut r = Numbers::new(3);
        let mut stops = 0;
        let pieces = loop {
            let mut t = trainer(&config, &visible);
            t.checkpoint_to(path.clone(), 100);
            if path.exists() {
                t.resume(&std::fs::read(&path).unwrap()).unwrap();
            }
            match t.run(&mut StopAfter(20 + r.below(130) as u64)).unwrap() {
                Reason::Done => break t,
                _ => stops += 1,
            }
        };
        assert!(stops >= 2, "{stops} interruptions");
        assert_eq!(bytes(&pieces.rbm()), bytes(&whole.rbm()), "{method} {visible}, {stops} interruptions");
        assert_eq!(pieces.chains(), whole.chains());
    }
}

fn checkpoint_of(config: &TrainConfig, visible: &Kind, path: &Path) -> Vec<u8> {
    let mut t = trainer(config, visible);
    t.checkpoint_to(path.into(), 50);
    t.run(&mut ()).unwrap();
    std::fs::read(path).unwrap()
}

/// Truncated, bit-flipped, of another seed, kind or optimiser: refused with a sentence, never a panic.
#[test]
fn checkpoints_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = config("pcd", 100);
    let good = checkpoint_of(&config, &kind("bernoulli"), &dir.path().join("c"));
    let mut t = trainer(&config, &kind("bernoulli"));
    t.resume(&good).unwrap();
    for n in (0..good.len()).step_by(7) {
        assert!(t.resume(&good[..n]).is_err());
    }
    for k in (0..good.len() * 8).step_by(13) {
        let mut flipped = good.clone();
        flipped[k / 8] ^= 1 << (k % 8);
        assert!(t.resume(&flipped).is_err(), "bit {k}");
    }
    let other_seed = TrainConfig { seed: 7, ..config.clone() };
    assert!(trainer(&other_seed, &kind("bernoulli")).resume(&good).unwrap_err().to_string().contains("seed"));
    assert!(trainer(&config, &kind("spin")).resume(&good).unwrap_err().to_string().contains("another kind"));
    let mut sgd = config.clone();
    sgd.optimizer.name = "sgd".into();
    assert!(trainer(&sgd, &kind("bernoulli")).resume(&good).is_err());
}

/// Every pair of layers, every estimator, centred and not: some updates, all parameters finite, likelihood not worse
/// than where it began by more than noise.
#[test]
fn every_pair_and_every_estimator_trains() {
    for (seed, v, h) in pairs("every_pair_and_every_estimator_trains") {
        let rows = random_rows(small_rbm(&v, &h, false, seed).visible(), 50, &mut Numbers::new(seed));
        for entry in harmonium::estimate::estimators::<f32>() {
            for centering in [true, false] {
                let data = Dataset::from_values(&v.layout(3), rows.mapv(|x| x as f32).view()).unwrap();
                let rbm = first_model(&v, &h, 2, &data, centering, 1).unwrap();
                let config = TrainConfig { centering, ..config(entry.name, 100) };
                let mut t = Trainer::new(config, rbm.clone(), data, None).unwrap();
                t.run(&mut ()).unwrap();
                assert_ne!(bytes(&t.rbm()), bytes(&rbm), "{v} with {h}, {}: something was learned", entry.name);
            }
        }
    }
}

/// Keeps what is reported.
struct Keep(Vec<String>);

impl Observer for Keep {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Progress(p) = event {
            self.0.push(format!("{p:?}"));
        }
        Flow::Continue
    }
}

/// However often a run is measured, and with or without held-out rows: the same model and the same chains. And what is
/// measured is the same on any number of threads.
#[test]
fn watching_a_run_does_not_change_it() {
    let cases = [("pcd", kind("bernoulli")), ("pt", kind("spin")), ("cd", kind("spin")), ("pcd", kind("gaussian"))];
    for (method, visible) in cases.map(|(method, kind)| (method, Units::from(&kind))) {
        let run = |report_every: u64, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let config = TrainConfig { report_every, ..config(method, 120) };
                let mut t = trainer(&config, &visible);
                let mut keep = Keep(Vec::new());
                t.run(&mut keep).unwrap();
                (bytes(&t.rbm()), t.chains(), keep.0)
            })
        };
        let (model, chains, reported) = run(7, 1);
        assert!(reported.len() == 18);
        assert!(reported[17].contains("autocorrelation_time") && reported[17].contains("singular_value_1"));
        let (other, others, _) = run(120, 2);
        assert!(model == other && chains == others, "{method} {visible}");
        assert_eq!(run(7, 3).2, reported, "{method} {visible}");
    }
}

/// The weights stay on the device: they cross for a snapshot, every 50 updates, with a moment and their average.
#[test]
fn nothing_as_large_as_the_weights_crosses_per_update() {
    for method in ["cd", "pcd", "wpcd", "pt"] {
        let crossed = |updates| {
            let device: &'static Reference = Box::leak(Box::new(Reference::default()));
            let data = rows(&kind("bernoulli"), 40, 6);
            let rbm = first_model(&kind("bernoulli"), &kind("bernoulli"), 4, &data, true, 1).unwrap();
            let config = TrainConfig { report_every: 1000, chains: 12, average: Some(0.1), ..config(method, updates) };
            Trainer::on(device, config, rbm, data, None).unwrap().run(&mut ()).unwrap();
            device.copies()
        };
        let (short, long) = (crossed(50), crossed(150));
        assert!(long >= short + 2 && long <= short + 2 * 4, "{method}: {short} and {long} matrices");
    }
}
