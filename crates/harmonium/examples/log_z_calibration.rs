//! Is the error bar of log Z correct? Models of all pairs of units that are small enough for exact log Z, half of them random and
//! half trained, are estimated without enumeration.
//!
//! ```sh
//! cargo run --release -p harmonium --example log_z_calibration -- 1056 bar > models.csv
//! ```
//!
//! `bar two-layers` never sums out a layer: small models are then sampled like large ones.

#[path = "common/small_models.rs"]
mod small_models;

use harmonium::logz::{self, LogZOptions, Verdict};
use harmonium::units::Kind;
use harmonium::{Exact, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of one model: a few seconds.
const BUDGET: f64 = 4e10;

/// One model and its result.
struct Row {
    kinds: String,
    trained: bool,
    strength: f64,
    exact: f64,
    value: f64,
    std_err: f64,
    verdict: Verdict,
    seconds: f64,
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Row { kinds, trained, strength, exact, value, std_err, verdict, seconds } = self;
        let errors = (value - exact) / std_err;
        write!(
            f,
            "\"{kinds}\",{trained},{strength:.3},{exact:.6},{value:.6},{std_err:.6},{errors:.2},{verdict},{seconds:.2}"
        )
    }
}

fn one(k: usize, method: &str, collapse: bool, pairs: &[(Kind, Kind)]) -> Result<Row> {
    let (kinds, trained, strength, rbm) = small_models::model(k, pairs)?;
    let exact = Exact::new(&rbm)?.log_z();
    let clock = std::time::Instant::now();
    let found = logz::log_z(
        &rbm,
        method,
        LogZOptions { seed: k as u64, budget: BUDGET, collapse, ..LogZOptions::default() },
        &|_, _| (),
    )?;
    Ok(Row {
        kinds,
        trained,
        strength,
        exact,
        value: found.value,
        std_err: found.std_err,
        verdict: found.verdict,
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
        rows.iter().filter(|r| beyond(r, 4.0) && r.verdict == Verdict::Certain).count(),
        errors.get(errors.len() / 2).unwrap_or(&0.0),
        part(&|r| r.verdict == Verdict::Certain),
        seconds.get(seconds.len() / 2).unwrap_or(&0.0),
        seconds.last().unwrap_or(&0.0),
    );
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let count: usize = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1056);
    let method = args.get(2).map_or("bar", String::as_str);
    let collapse = args.get(3).is_none_or(|a| a != "two-layers");
    let pairs = small_models::pairs();
    // Two models at a time; each is too small to keep two threads busy.
    let (next, workers) = (AtomicUsize::new(0), std::thread::available_parallelism().map_or(1, usize::from));
    let worker = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let mut rows = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return rows;
            }
            let found = match &pool {
                Ok(pool) => pool.install(|| one(k, method, collapse, &pairs)),
                Err(_) => one(k, method, collapse, &pairs),
            };
            match found {
                Ok(row) => {
                    println!("{k},{row}");
                    rows.push((k, row));
                }
                Err(error) => eprintln!("model {k} skipped: {error}"),
            }
        }
    };
    println!("model,units,trained,strength,exact,value,std_err,errors,verdict,seconds");
    let mut rows: Vec<(usize, Row)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        all.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
    });
    rows.sort_by_key(|r| r.0);
    let all: Vec<&Row> = rows.iter().map(|r| &r.1).collect();
    summary("all", &all);
    for verdict in [Verdict::Certain, Verdict::Likely, Verdict::Imprecise, Verdict::Disagree] {
        summary(verdict.name(), &all.iter().filter(|r| r.verdict == verdict).copied().collect::<Vec<_>>());
    }
    summary("random", &all.iter().filter(|r| !r.trained).copied().collect::<Vec<_>>());
    summary("trained", &all.iter().filter(|r| r.trained).copied().collect::<Vec<_>>());
    for kind in small_models::kinds() {
        let named: Vec<&Row> = all.iter().filter(|r| r.kinds.contains(&kind.to_string())).copied().collect();
        summary(&kind.to_string(), &named);
    }
    Ok(())
}
