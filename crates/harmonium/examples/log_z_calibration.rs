//! Is the error bar of log Z correct? Models of all pairs of units that are small enough for exact log Z, half of them random and
//! half trained, are estimated without enumeration.
//!
//! ```sh
//! cargo run --release -p harmonium --example log_z_calibration -- --models 1056 --method modes --results models.csv
//! ```
//!
//! One line per model is appended to the results; models that are in them are not estimated again, so a run can be stopped and
//! continued. `--two-layers` never sums out a layer: small models are then sampled like large ones. `--mixed` is about layers
//! with units of two or three kinds.

#[allow(dead_code)] // the driver's protocol is for the timings
mod common;
#[path = "common/small_models.rs"]
mod small_models;

use common::Options;
use harmonium::logz::{self, LogZOptions, Verdict};
use harmonium::{Exact, Result};
use small_models::Kinds;
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

fn one(k: usize, method: &str, collapse: bool, pairs: &[(Kinds, Kinds)]) -> Result<Row> {
    let (kinds, trained, strength, rbm) = small_models::model(k, pairs)?;
    let seed = k as u64;
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
        kinds,
        trained,
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
        ("mixed", "false"),
        ("threads", "0"),
    ])?;
    let (count, method, path): (usize, _, _) =
        (options.get("models")?, options.text("method"), options.text("results"));
    let collapse = options.text("two-layers") == "false";
    let pairs = if options.get("mixed")? { small_models::mixed_pairs() } else { small_models::pairs() };
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
    for kind in small_models::kinds() {
        let named: Vec<&Row> = all.iter().filter(|r| r.kinds.contains(&kind.to_string())).copied().collect();
        summary(&kind.to_string(), &named);
    }
    Ok(())
}
