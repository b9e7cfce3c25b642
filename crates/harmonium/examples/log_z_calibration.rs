//! Is the error bar of log Z correct? Models of all pairs of units that are small enough for exact log Z, half of them random and
//! half trained, are estimated without enumeration.
//!
//! ```sh
//! cargo run --release -p harmonium --example log_z_calibration -- --models 1056 --method modes --results models.csv
//! ```
//!
//! One line per model is appended to the results; models that are in them are not estimated again, so a run can be stopped and
//! continued. `--two-layers` never sums out a layer: small models are then sampled like large ones.

#[allow(dead_code)] // the driver's protocol is for the timings
mod common;

use common::Options;
use harmonium::logz::{self, LogZOptions, Verdict};
use harmonium::rng::{Key, normal};
use harmonium::train::initial_model;
use harmonium::units::Kind;
use harmonium::{Dataset, Error, Exact, Layer, Rbm, Result, TrainConfig, Trainer};
use ndarray::{Array1, Array2};
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of one model: a few seconds.
const BUDGET: f64 = 4e10;

/// One model and its result.
struct Row {
    number: usize,
    kinds: String,
    trained: bool,
    strength: f64,
    exact: f64,
    value: f64,
    std_err: f64,
    verdict: String,
    seconds: f64,
}

const HEADER: &str = "model,trained,strength,exact,value,std_err,errors,verdict,seconds,units";

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Row { number, kinds, trained, strength, exact, value, std_err, verdict, seconds } = self;
        let errors = (value - exact) / std_err;
        write!(
            f,
            "{number},{trained},{strength:.3},{exact:.9},{value:.9},{std_err:.9},{errors:.2},{verdict},{seconds:.2},"
        )?;
        write!(f, "{kinds}")
    }
}

impl Row {
    /// A line of the results; none if it is something else, or was cut off.
    fn parse(line: &str) -> Option<Row> {
        let mut fields = line.splitn(10, ',');
        let number = fields.next()?.parse().ok()?;
        let trained = fields.next()?.parse().ok()?;
        let mut f = || fields.next()?.parse::<f64>().ok();
        let [strength, exact, value, std_err, _] = [f()?, f()?, f()?, f()?, f()?];
        let verdict = fields.next()?.to_string();
        let seconds = fields.next()?.parse().ok()?;
        let kinds = fields.next()?.to_string();
        Some(Row { number, kinds, trained, strength, exact, value, std_err, verdict, seconds })
    }
}

/// The random numbers of one model.
struct Numbers(Key, u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniforms(self.1, 0)[0]
    }
    fn normal(&mut self) -> f64 {
        self.1 += 1;
        normal(self.0.uniforms(self.1, 0))
    }
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low + 1) as f64) as usize
    }
}

/// A model with fields of standard deviation about `strength` and biases of size 1.
fn random(visible: &Kind, hidden: &Kind, strength: f64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let most = if hidden.unit::<f64>().n_states().is_some() { 40 } else { 11 };
    let (n, m) = (r.between(6, most), r.between(4, 11));
    let mut layer = |kind: &Kind, sites: usize| {
        let plain = Layer::<f64>::new(kind.clone(), sites);
        let par = Array2::from_shape_fn(plain.par().dim(), |(f, _)| if f == 0 { r.normal() } else { 0.5 * r.normal() });
        Layer::from_parts(kind.clone(), par, Array1::zeros(plain.columns()))
    };
    let (v, h) = (layer(visible, n)?, layer(hidden, m)?);
    let size = strength / (n as f64).sqrt();
    let mut weights = Array2::from_shape_fn((v.columns(), h.columns()), |_| size * r.normal());
    // Two Gaussian layers are normalisable only if the coupling is weak: the weights are halved until they are.
    for _ in 0..60 {
        let rbm = Rbm::from_parts(v.clone(), h.clone(), weights.clone())?;
        match Exact::new(&rbm) {
            Err(Error::NotNormalisable(_)) => weights *= 0.5,
            other => return other.map(|_| rbm),
        }
    }
    Err(Error::NotNormalisable("even with small weights".into()))
}

/// A model trained on samples of a random one.
fn trained(visible: &Kind, hidden: &Kind, strength: f64, seed: u64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let teacher = random(visible, hidden, strength, r)?;
    let exact = Exact::new(&teacher)?;
    let (rows, _) = exact.sample(300, Key::root(seed).step(1));
    let data = Dataset::from_values(teacher.lower().visible(), rows.view())?;
    let rbm = initial_model(visible, hidden, r.between(4, 11), &data, true, seed)?;
    let config = TrainConfig {
        seed,
        updates: 2000,
        lr: 0.02,
        report_every: 100_000,
        likelihood: false,
        ..TrainConfig::default()
    };
    let mut trainer = Trainer::new(config, rbm, data, None)?;
    trainer.run(&mut ())?;
    Ok(trainer.rbm().clone())
}

fn one(k: usize, method: &str, collapse: bool, pairs: &[(Kind, Kind)]) -> Result<Row> {
    let (visible, hidden) = &pairs[(k / 2) % pairs.len()];
    let seed = k as u64;
    let mut r = Numbers(Key::root(seed).step(77), 0);
    // From weak to very strong coupling.
    let strength = 0.1 * 80f64.powf(r.uniform());
    let is_trained = k % 2 == 1;
    let rbm = if is_trained {
        trained(visible, hidden, strength, seed, &mut r)?
    } else {
        random(visible, hidden, strength, &mut r)?
    };
    let exact = Exact::new(&rbm)?.log_z();
    let clock = std::time::Instant::now();
    let found = logz::log_z(
        &rbm,
        method,
        LogZOptions { seed, budget: BUDGET, collapse, ..LogZOptions::default() },
        &|_, _| (),
    )?;
    Ok(Row {
        number: k,
        kinds: format!("{visible} with {hidden}"),
        trained: is_trained,
        strength,
        exact,
        value: found.value,
        std_err: found.std_err,
        verdict: found.verdict.name().into(),
        seconds: clock.elapsed().as_secs_f64(),
    })
}

fn summary(name: &str, rows: &[&Row]) {
    let n = rows.len().max(1) as f64;
    let beyond = |r: &&&Row, k: f64| (r.value - r.exact).abs() > k * r.std_err + 1e-9;
    let part = |f: &dyn Fn(&&&Row) -> bool| 100.0 * rows.iter().filter(|r| f(r)).count() as f64 / n;
    let mut errors: Vec<f64> = rows.iter().map(|r| r.std_err).collect();
    errors.sort_by(f64::total_cmp);
    let mut seconds: Vec<f64> = rows.iter().map(|r| r.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    eprintln!(
        "{name:32} {:5} models: within 2 errors {:5.1} %, beyond 4 errors {:.2} % ({} certain), median error {:.3}, \
         certain {:.1} %, median {:.2} s, longest {:.1} s",
        rows.len(),
        100.0 - part(&|r| beyond(r, 2.0)),
        part(&|r| beyond(r, 4.0)),
        rows.iter().filter(|r| beyond(r, 4.0) && r.verdict == Verdict::Certain.name()).count(),
        errors.get(errors.len() / 2).unwrap_or(&0.0),
        part(&|r| r.verdict == Verdict::Certain.name()),
        seconds.get(seconds.len() / 2).unwrap_or(&0.0),
        seconds.last().unwrap_or(&0.0),
    );
}

/// All lines of a file that are results.
fn read(path: &str) -> Vec<Row> {
    let text = read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .filter_map(|line| Row::parse(line.trim_end()))
        .collect()
}

fn main() -> common::Result<()> {
    let options = Options::parse(&[
        ("models", "1056"),
        ("method", "modes"),
        ("results", "target/log-z-calibration.csv"),
        ("two-layers", "false"),
        ("threads", "0"),
    ])?;
    let (count, method, path): (usize, _, _) =
        (options.get("models")?, options.text("method"), options.text("results"));
    let collapse = options.text("two-layers") == "false";
    // Kinds that users can choose: the study is about these.
    let offered = |kind: &Kind| Kind::LIST.iter().any(|k| k.0 == kind.name());
    let kinds: Vec<Kind> = Kind::examples().into_iter().filter(offered).collect();
    let pairs: Vec<(Kind, Kind)> = kinds
        .iter()
        .flat_map(|v| kinds.iter().filter(|h| !h.visible_only()).map(move |h| (v.clone(), h.clone())))
        .collect();
    let done: Vec<usize> = read(&path).iter().map(|row| row.number).collect();
    let file = Mutex::new(OpenOptions::new().create(true).append(true).open(&path)?);
    let write = |line: String| file.lock().map(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if done.is_empty() {
        write(HEADER.into()).ok();
    }
    // One model per thread; each is too small to keep two threads busy.
    let next = AtomicUsize::new(0);
    let worker = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return;
            }
            if done.contains(&k) {
                continue;
            }
            let found = match &pool {
                Ok(pool) => pool.install(|| one(k, &method, collapse, &pairs)),
                Err(_) => one(k, &method, collapse, &pairs),
            };
            match found {
                Ok(row) => drop(write(row.to_string())),
                Err(error) => eprintln!("model {k} skipped: {error}"),
            }
        }
    };
    std::thread::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| drop(scope.spawn(worker))));
    let rows = read(&path);
    let all: Vec<&Row> = rows.iter().filter(|row| row.number < count).collect();
    summary("all", &all);
    summary("random", &all.iter().filter(|r| !r.trained).copied().collect::<Vec<_>>());
    summary("trained", &all.iter().filter(|r| r.trained).copied().collect::<Vec<_>>());
    for kind in &kinds {
        let named: Vec<&Row> = all.iter().filter(|r| r.kinds.contains(&kind.to_string())).copied().collect();
        summary(&kind.to_string(), &named);
    }
    Ok(())
}
