//! Is the error of an annealed sum over unknown cells correct? Models small enough for the exact sum, random and trained, with
//! different amounts of cells masked; log p*(v_known) of every row is annealed and compared with the exact value.
//!
//! ```sh
//! cargo run --release -p harmonium --example unknown_cells_calibration -- 84 > cases.csv
//! ```
//!
//! One line per model and amount: mean difference over the rows, its stated error, and how many single rows are within two errors.

#[allow(dead_code)] // layers of several kinds are for log Z
#[path = "common/small_models.rs"]
mod small_models;

use harmonium::conditional::{Conditional, ConditionalOptions, Method, Score, Scores};
use harmonium::data::{self, ReadOptions};
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::Key;
use harmonium::train::initial_model;
use harmonium::units::{Kind, Options};
use harmonium::{Bits, Dataset, Exact, Layout, Rbm, Result, TrainConfig, Trainer};
use ndarray::Array2;
use small_models::Kinds;

/// Rows of each model, and the parts of their cells that are masked.
const ROWS: usize = 100;
const MASKED: [f64; 3] = [0.2, 0.5, 0.8];
/// Built-in data on which models with many modes are trained: name, hidden units, rate.
const BUILTIN: [(&str, usize, f64); 4] =
    [("digits", 14, 0.005), ("digits", 14, 0.001), ("bars:4", 12, 0.005), ("shifter", 10, 0.01)];

/// A model with rows to mask.
struct Model {
    name: String,
    trained: bool,
    rbm: Rbm<f64>,
    rows: Array2<f64>,
}

/// A model and an amount.
struct Case {
    name: String,
    trained: bool,
    masked: f64,
    /// Mean over the rows of estimate − exact, and its stated error.
    difference: f64,
    std_err: f64,
    /// Rows within two of their own errors, and rows.
    within: usize,
    rows: usize,
    /// Root of the mean squared error of a row.
    row_error: f64,
    seconds: f64,
}

fn main() -> Result<()> {
    let count: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(84);
    let (pairs, mut cases) = (small_models::pairs(), Vec::new());
    println!("model,trained,masked,difference,std_err,errors,rows within 2,rows,row error,seconds");
    for k in 0..count + BUILTIN.len() {
        let model = if k < count { small(k, &pairs) } else { builtin(BUILTIN[k - count]) };
        match model {
            Ok(model) => {
                for masked in MASKED {
                    let case = compare(&model, masked, k as u64)?;
                    println!("{}", case.line());
                    cases.push(case);
                }
            }
            Err(error) => eprintln!("model {k} skipped: {error}"),
        }
    }
    let all: Vec<&Case> = cases.iter().collect();
    summary("all", &all);
    for (name, trained) in [("random", false), ("trained", true)] {
        summary(name, &all.iter().filter(|c| c.trained == trained).copied().collect::<Vec<_>>());
    }
    for masked in MASKED {
        let some: Vec<&Case> = all.iter().filter(|c| c.masked == masked).copied().collect();
        summary(&format!("{masked} masked"), &some);
    }
    for kind in small_models::kinds() {
        let named = all.iter().filter(|c| c.name.starts_with(&kind.to_string()));
        summary(&kind.to_string(), &named.copied().collect::<Vec<_>>());
    }
    Ok(())
}

fn small(k: usize, pairs: &[(Kinds, Kinds)]) -> Result<Model> {
    let (name, trained, strength, rbm) = small_models::model(k, pairs)?;
    let rows = Exact::new(&rbm)?.sample(ROWS, Key::root(k as u64).step(3)).0;
    Ok(Model { name: format!("{name} {strength:.2}"), trained, rbm, rows })
}

/// A model trained on built-in data, and some of its rows.
fn builtin((name, hidden, lr): (&str, usize, f64)) -> Result<Model> {
    let kind = Kind::new("bernoulli", &Options::default())?;
    let mut source = data::open_with(&format!("builtin:{name}"), &ReadOptions::default())?;
    let (mut blocks, columns) = (Vec::new(), source.columns());
    while let Some(block) = source.read(1000)? {
        blocks.push(block.mapv(|x| f64::from(u8::from(x > 0.5))));
    }
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    let all = ndarray::concatenate(ndarray::Axis(0), &views).unwrap_or_default();
    let plain: Rbm<f64> = Rbm::new(kind.clone(), columns, kind.clone(), 1)?;
    let data = Dataset::from_values(plain.lower().visible(), all.view())?;
    let rbm = initial_model(plain.visible().layout(), &Layout::new(kind, hidden), &data, true, 0)?;
    let config = TrainConfig {
        method: "pcd".into(),
        updates: 5000,
        lr,
        gibbs_steps: 1,
        chains: 100,
        batch_size: 100,
        schedule: Schedule::Cosine,
        optimizer: OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false },
        report_every: 100_000,
        likelihood: false,
        ..TrainConfig::default()
    };
    let mut trainer = Trainer::new(config, rbm, data, None)?;
    trainer.run(&mut ())?;
    let step = (all.nrows() / ROWS).max(1);
    let rows: Vec<usize> = (0..all.nrows()).step_by(step).take(ROWS).collect();
    let rows = all.select(ndarray::Axis(0), &rows);
    Ok(Model { name: format!("{name} {lr}"), trained: true, rbm: trainer.rbm().clone(), rows })
}

fn compare(model: &Model, masked: f64, seed: u64) -> Result<Case> {
    let lowered = model.rbm.lower();
    let (x, sites) = (lowered.visible().encode(model.rows.view(), 1)?, lowered.visible().sites());
    let (mut known, key) = (Bits::new(sites), Key::root(seed).step((100.0 * masked) as u64));
    for r in 0..x.nrows() {
        let mask: Vec<bool> = (0..sites).map(|i| key.uniforms::<f64>(r as u64, i as u32)[0] >= masked).collect();
        known.push(mask.into_iter());
    }
    let scores = |method| -> Result<Scores> {
        let options = ConditionalOptions { method, seed, ..ConditionalOptions::default() };
        Conditional::new(&model.rbm, options)?.scores(x.view(), &known, 1)
    };
    let exact = scores(Method::Exact)?;
    let clock = std::time::Instant::now();
    let annealed = scores(Method::Chains)?;
    let seconds = clock.elapsed().as_secs_f64();
    let estimated: Vec<(f64, f64)> = exact
        .rows
        .iter()
        .zip(&annealed.rows)
        .filter(|(_, a)| a.std_err > 0.0)
        .map(|(e, a)| (a.value - e.value, a.std_err))
        .collect();
    let n = estimated.len().max(1) as f64;
    let annealed: Vec<Score> = annealed.rows.into_iter().filter(|a| a.std_err > 0.0).collect();
    let square = |f: &dyn Fn(&(f64, f64)) -> f64| estimated.iter().map(|e| f(e).powi(2)).sum::<f64>();
    Ok(Case {
        name: model.name.clone(),
        trained: model.trained,
        masked,
        difference: estimated.iter().map(|e| e.0).sum::<f64>() / n,
        std_err: Score::error_of_mean(&annealed, &vec![1.0; annealed.len()]),
        within: estimated.iter().filter(|e| e.0.abs() <= 2.0 * e.1 + 1e-4).count(),
        rows: estimated.len(),
        row_error: (square(&|e| e.1) / n).sqrt(),
        seconds,
    })
}

impl Case {
    /// Rounding of single precision is not an error of the method.
    fn covers(&self) -> bool {
        self.difference.abs() <= 2.0 * self.std_err + 1e-4
    }

    fn line(&self) -> String {
        let Case { name, trained, masked, difference, std_err, within, rows, row_error, seconds } = self;
        let errors = difference / std_err;
        format!(
            "{name},{trained},{masked},{difference:.5},{std_err:.5},{errors:.2},{within},{rows},{row_error:.4},{seconds:.2}"
        )
    }
}

fn summary(name: &str, cases: &[&Case]) {
    let (within, rows) = cases.iter().fold((0, 0), |s, c| (s.0 + c.within, s.1 + c.rows));
    let covered = cases.iter().filter(|c| c.covers()).count();
    let worst = cases.iter().map(|c| c.difference.abs()).fold(0.0, f64::max);
    let mean = cases.iter().map(|c| c.difference).sum::<f64>() / cases.len().max(1) as f64;
    let seconds: f64 = cases.iter().map(|c| c.seconds).sum();
    eprintln!(
        "{name:24} {:4} cases: means within 2 errors {:5.1} %, rows {:5.1} % of {rows}, mean difference {mean:+.4}, largest {worst:.3}, {seconds:.0} s",
        cases.len(),
        100.0 * covered as f64 / cases.len().max(1) as f64,
        100.0 * within as f64 / rows.max(1) as f64,
    );
}
