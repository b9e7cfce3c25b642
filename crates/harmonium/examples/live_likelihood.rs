//! Is the likelihood that a run reports while it trains right, and does early stopping keep the right model? Every model here is
//! small enough for the exact value.
//!
//! ```sh
//! cargo run --release -p harmonium --example live_likelihood -- live DATA-FOLDER live.csv [--short] [--only NAME]
//! cargo run --release -p harmonium --example live_likelihood -- stop DATA-FOLDER stop.csv [--short] [--only NAME]
//! ```
//!
//! DATA-FOLDER has the folders `density`, `nltcs`, `gaussian` and `ww-domain`; sets that are missing are left out. A case that
//! is already in the file of results is not run again.

use harmonium::data::{self, Binarize, Preprocess, ReadOptions};
use harmonium::events::{Event, Flow, Observer, Progress, Reason};
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::train::initial_model;
use harmonium::units::{Kind, Options};
use harmonium::{Dataset, Exact, Layout, Rbm, Result, TrainConfig, Trainer};
use std::fmt::Write as _;
use std::path::Path;

/// A data set: its name, files for training, held-out rows and test, the kind of its visible units, hidden units.
struct Set {
    name: &'static str,
    files: [&'static str; 3],
    visible: &'static str,
    hidden: usize,
}

const fn set(name: &'static str, files: [&'static str; 3], visible: &'static str, hidden: usize) -> Set {
    Set { name, files, visible, hidden }
}

const MUSHROOMS: [&str; 3] =
    ["density/mushrooms.train.data.gz", "density/mushrooms.valid.data.gz", "density/mushrooms.test.data.gz"];
const DNA: [&str; 3] = ["density/dna.train.data.gz", "density/dna.valid.data.gz", "density/dna.test.data.gz"];

const LIVE: &[Set] = &[
    set("mushrooms", MUSHROOMS, "bernoulli", 20),
    set("nltcs", ["nltcs/nltcs.train.data.gz", "", ""], "bernoulli", 20),
    set("dna", DNA, "bernoulli", 18),
    set("digits", ["builtin:digits", "", ""], "bernoulli", 20),
    set("bars", ["builtin:bars:3", "", ""], "bernoulli", 16),
    set("ww-domain", ["ww-domain/WW_domain_MSA.fasta.gz", "", ""], "potts", 14),
    set("breast-cancer", ["gaussian/breast_cancer.csv", "", ""], "gaussian", 16),
];

const STOP: &[Set] = &[
    set(
        "baudio",
        ["density/baudio.train.data.gz", "density/baudio.valid.data.gz", "density/baudio.test.data.gz"],
        "bernoulli",
        16,
    ),
    set(
        "accidents",
        ["density/accidents.train.data.gz", "density/accidents.valid.data.gz", "density/accidents.test.data.gz"],
        "bernoulli",
        16,
    ),
    set("mushrooms", MUSHROOMS, "bernoulli", 18),
    set("dna", DNA, "bernoulli", 16),
    set("digits", ["builtin:digits", "", ""], "bernoulli", 18),
];

/// Stops at every measurement from the update `next` on, so that the model can be looked at.
struct Stops {
    next: u64,
    measured: Option<Progress>,
    kept: u64,
}

impl Observer for Stops {
    fn on(&mut self, event: &Event) -> Flow {
        match event {
            Event::Progress(p) if p.update >= self.next => {
                self.measured = Some(p.clone());
                Flow::Stop
            }
            Event::Finished { kept, .. } => {
                self.kept = *kept;
                Flow::Continue
            }
            _ => Flow::Continue,
        }
    }
}

/// User and system time of this process on Linux, which other processes do not affect.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn read(source: &str, kind: &mut Kind) -> Result<Dataset<f32>> {
    // A first line with sizes and names of classes, and the class in the last column.
    let is_table = source.ends_with("breast_cancer.csv");
    let columns = is_table.then(|| "1-30".to_string());
    let options = ReadOptions { skip_rows: u64::from(is_table), columns, ..ReadOptions::default() };
    let source = data::open_with(source, &options)?;
    if let Some(alphabet) = source.alphabet() {
        let states = alphabet.len().to_string();
        *kind = Kind::new("potts", &Options::from([("states".to_string(), states)]))?;
    }
    let layout = Layout::new(kind.clone(), source.columns());
    let binarize = (kind.to_string() == "bernoulli").then_some(Binarize::Threshold(0.5));
    let prepare = Preprocess::default();
    let mut rows = data::PreparedRows::new(source, &layout, &prepare, binarize, 0)?;
    let mut blocks = Vec::new();
    while let Some(block) = rows.read()? {
        blocks.push(block.values.mapv(|x| x as f32));
    }
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    let mut all = ndarray::concatenate(ndarray::Axis(0), &views).unwrap_or_default();
    if kind.to_string().starts_with("gaussian") {
        for mut column in all.columns_mut() {
            let (mean, spread) = (column.mean().unwrap_or(0.0), column.std(0.0).max(1e-6));
            column.mapv_inplace(|x| (x - mean) / spread);
        }
    }
    Dataset::from_values(&layout, all.view())
}

fn path(folder: &str, file: &str) -> String {
    if file.starts_with("builtin:") { file.into() } else { Path::new(folder).join(file).display().to_string() }
}

struct Case<'a> {
    set: &'a Set,
    setting: &'static str,
    seed: u64,
    config: TrainConfig,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| args.iter().position(|a| a == name);
    let only = flag("--only").and_then(|k| args.get(k + 1)).cloned();
    let [what, folder, out] = [0, 1, 2].map(|k| args.get(k).cloned().unwrap_or_default());
    let short = flag("--short").is_some();
    let done = std::fs::read_to_string(&out).unwrap_or_default();
    let sets = if what == "stop" { STOP } else { LIVE };
    for seed in 0..if short { 1 } else { 3 } {
        for set in sets {
            for (setting, lr, gibbs_steps) in [("old", 0.005, 1), ("slow", 0.001, 5)] {
                let name = format!("{} {setting} {seed}", set.name);
                let wanted = only.as_ref().is_none_or(|only| name.starts_with(only.as_str()));
                let missing =
                    !set.files[0].starts_with("builtin:") && !Path::new(&path(&folder, set.files[0])).exists();
                if !wanted || missing || done.lines().any(|l| l.starts_with(&format!("{name},"))) {
                    continue;
                }
                let updates = if set.name == "mushrooms" && setting == "old" && !short { 30_000 } else { 10_000 };
                let updates = if what == "stop" { 10_000 } else { updates };
                let config = config(seed, updates, lr, gibbs_steps);
                let case = Case { set, setting, seed, config };
                let line = if what == "stop" { stop(&case, &folder)? } else { live(&case, &folder)? };
                println!("{line}");
                let mut all = std::fs::OpenOptions::new().create(true).append(true).open(&out).map_err(failed)?;
                std::io::Write::write_all(&mut all, format!("{line}\n").as_bytes()).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// The settings of both kinds of runs, whatever the defaults are.
fn config(seed: u64, updates: u64, lr: f64, gibbs_steps: u64) -> TrainConfig {
    TrainConfig {
        seed,
        method: "pcd".into(),
        updates,
        lr,
        gibbs_steps,
        chains: 100,
        batch_size: 100,
        schedule: Schedule::Cosine,
        variance_rate: 0.3,
        centering: true,
        offset_rate: 0.01,
        report_every: 200,
        optimizer: OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false },
        ..TrainConfig::default()
    }
}

fn failed(error: std::io::Error) -> harmonium::Error {
    harmonium::Error::Undefined(error.to_string())
}

fn start(case: &Case, folder: &str) -> Result<(Kind, Dataset<f32>, Rbm<f32>)> {
    let mut kind = match case.set.visible {
        "potts" => Kind::new("potts", &Options::from([("states".to_string(), "2".to_string())]))?,
        name => Kind::new(name, &Options::default())?,
    };
    let data = read(&path(folder, case.set.files[0]), &mut kind)?;
    let visible = Layout::new(kind.clone(), data.states().sites());
    let hidden = Layout::new(Kind::new("bernoulli", &Options::default())?, case.set.hidden);
    let rbm = initial_model(&visible, &hidden, &data, true, case.seed)?;
    Ok((kind, data, rbm))
}

/// A point: the update, its exact likelihood, the estimate and its error.
type Point = (u64, f64, Option<(f64, f64)>);

/// One line: the case, points, points with a number, of these within two errors, beyond 4 errors, positive ones, mean error,
/// overhead in percent, and then every point: update, difference to the exact value, error.
fn live(case: &Case, folder: &str) -> Result<String> {
    let (_, data, rbm) = start(case, folder)?;
    let config = TrainConfig { report_every: (case.config.updates / 25).max(1), ..case.config.clone() };
    let mut trainer = Trainer::new(config.clone(), rbm.clone(), data.clone(), None)?;
    trainer.estimate_likelihood()?;
    let (mut with, mut exact_seconds, mut next, mut points): (f64, f64, u64, Vec<Point>) = (0.0, 0.0, 1, Vec::new());
    loop {
        let mut stops = Stops { next, measured: None, kept: 0 };
        let before = processor_seconds();
        let reason = trainer.run(&mut stops)?;
        with += processor_seconds() - before;
        if let Some(measured) = stops.measured {
            next = measured.update + 1;
            let estimate = measured.train.log_likelihood.zip(measured.train.log_likelihood_std_err);
            let before = processor_seconds();
            let exact = -measured.train.free_energy - Exact::new(&trainer.rbm())?.log_z();
            exact_seconds += processor_seconds() - before;
            points.push((measured.update, exact, estimate));
        }
        if reason != Reason::Interrupted {
            break;
        }
    }
    let mut without = 0.0;
    if case.seed == 0 {
        let plain = TrainConfig { likelihood: false, ..config };
        let mut trainer = Trainer::new(plain, rbm, data, None)?;
        let before = processor_seconds();
        trainer.run(&mut ())?;
        without = processor_seconds() - before;
    }
    let printed: Vec<(f64, f64, f64)> = points.iter().filter_map(|p| p.2.map(|e| (e.0 - p.1, e.1, e.0))).collect();
    let within = |k: f64| printed.iter().filter(|p| p.0.abs() <= k * p.1 + 1e-6).count();
    let positive = printed.iter().filter(|p| p.2 > 0.0 && case.set.visible != "gaussian").count();
    let mean_error = printed.iter().map(|p| p.1).sum::<f64>() / printed.len().max(1) as f64;
    let mut line = format!(
        "{} {} {},{},{},{},{},{positive},{mean_error:.3},{:.1},{:.3},{:.3}",
        case.set.name,
        case.setting,
        case.seed,
        points.len(),
        printed.len(),
        within(2.0),
        printed.len() - within(4.0),
        100.0 * (with / without - 1.0),
        1e3 * without / case.config.updates as f64,
        exact_seconds / points.len().max(1) as f64,
    );
    for (update, exact, estimate) in &points {
        let shown = estimate.map_or("none".into(), |e| format!("{:+.2}±{:.2}", e.0 - exact, e.1));
        _ = write!(line, ",{update}:{exact:.2}:{shown}");
    }
    Ok(line)
}

/// Names of the criteria that are compared with the exact likelihood of the test rows; a larger number is better.
const CRITERIA: [&str; 5] =
    ["likelihood", "pseudo-likelihood", "reconstruction", "gap of free energies", "covariances of chains"];

/// One line: the case, the update that was kept, exact test likelihood of it, of the best update and of the last, and what each
/// criterion would have lost against the best.
fn stop(case: &Case, folder: &str) -> Result<String> {
    let (mut kind, data, rbm) = start(case, folder)?;
    let (data, valid, test) = if case.set.files[1].is_empty() {
        let (rest, test) = data.split(0.2, case.seed)?;
        let (data, valid) = rest.split(0.1, case.seed + 100)?;
        (data, valid, test)
    } else {
        let valid = read(&path(folder, case.set.files[1]), &mut kind)?;
        (data, valid, read(&path(folder, case.set.files[2]), &mut kind)?)
    };
    let config = TrainConfig { early_stop: Some(10), ..case.config.clone() };
    let mut trainer = Trainer::new(config, rbm, data, Some(valid))?;
    let test_likelihood = |rbm: &Rbm<f32>| -> Result<f64> {
        let exact = Exact::new(rbm)?;
        let rows = test.states().values(rbm.lower().visible()).mapv(f64::from);
        Ok(exact.log_likelihood(rows.view())?.mean().unwrap_or(f64::NAN))
    };
    let (mut points, mut next) = (Vec::<(u64, f64, [f64; 5])>::new(), 1);
    let kept = loop {
        let mut stops = Stops { next, measured: None, kept: 0 };
        let reason = trainer.run(&mut stops)?;
        if let Some(measured) = stops.measured {
            next = measured.update + 1;
            let valid = measured.valid.unwrap_or_default();
            let more = |name: &str| measured.more.get(name).copied().unwrap_or(f64::NAN);
            let criteria = [
                valid.log_likelihood.unwrap_or(f64::NAN),
                valid.pseudo_log_likelihood.unwrap_or(f64::NAN),
                -valid.reconstruction_error,
                -more("free_energy_gap"),
                -more("covariance_difference"),
            ];
            points.push((measured.update, test_likelihood(&trainer.rbm())?, criteria));
        }
        if reason != Reason::Interrupted {
            break (stops.kept, test_likelihood(&trainer.rbm())?);
        }
    };
    let best = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or((0, f64::NAN), |p| (p.0, p.1));
    let last = points.last().map_or(f64::NAN, |p| p.1);
    let mut line = format!(
        "{} {} {},{},{},{:.3},{},{:.3},{last:.3},{:.3}",
        case.set.name,
        case.setting,
        case.seed,
        trainer.update(),
        kept.0,
        kept.1,
        best.0,
        best.1,
        best.1 - kept.1,
    );
    for (k, name) in CRITERIA.iter().enumerate() {
        let measured = points.iter().filter(|p| p.2[k].is_finite());
        let chosen = measured.max_by(|a, b| a.2[k].total_cmp(&b.2[k]));
        _ = write!(line, ",{name} {:.2}", chosen.map_or(f64::NAN, |c| best.1 - c.1));
    }
    Ok(line)
}
