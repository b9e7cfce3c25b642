//! A program that `bench/run` times: annealed importance sampling or parallel tempering of a model from a file.
//!
//! `--method ais`: `go` anneals chains from independent units (the visible fields of the model, no hidden ones) in equal steps of β
//! to the model, as `harmonium log-z --method ais` does, without the search for a base and a schedule. `--method tempering`: `go`
//! runs ladders of chains between `--low` and 1 for some sweeps, with swaps after each, as `harmonium sample --sampler tempering`
//! does. `save FILE` writes the result and starts again (see `common`): an estimate of log Z per chain and run; or, for each
//! temperature but the last, both estimates of log Z_{k+1}/Z_k, from the chains below and above, and the fraction of accepted swaps.
//!
//! ```text
//! annealing_speed --method ais --model model.safetensors --temperatures 1000 --chains 100 --threads 1
//! ```

mod common;

use common::{Command, Driver, Options, Result, print_seconds};
use harmonium::LoweredModel;
use harmonium::backend::{Slot, cpu};
use harmonium::file::ModelFile;
use harmonium::math::log_sum_exp;
use harmonium::rng::{Key, Purpose};
use harmonium::sample::ladder::Ladders;
use harmonium::sample::path::Path;
use ndarray::Array2;
use std::time::Instant;

/// Options and their defaults.
const OPTIONS: &[(&str, &str)] = &[
    ("method", "ais"), // or tempering
    ("model", ""),
    ("temperatures", "1000"),
    ("low", "0"),      // the lowest inverse temperature; they are equally spaced
    ("chains", "100"), // at every temperature
    ("sweeps", "100"), // of a run of tempering
    ("threads", "1"),
    ("seed", "1"),
];
const CHAINS: Slot = 0;

fn main() -> Result<()> {
    let options = Options::parse(OPTIONS)?;
    let lowered = ModelFile::read(options.text("model"))?.rbm.cast::<f32>().lower();
    let mut seed = options.get("seed")?;
    let mut work = prepare(&options, &lowered, seed)?;
    let mut driver = Driver::ready();
    loop {
        match driver.next_command()? {
            Command::Go => {
                let started = Instant::now();
                work.run();
                print_seconds(started);
            }
            Command::Save(path) => {
                std::fs::write(path, work.found())?;
                seed += 1;
                work = prepare(&options, &lowered, seed)?;
            }
            Command::Quit => return Ok(()),
        }
    }
}

/// The work that is timed, and its result, one line of text per row.
trait Work {
    fn run(&mut self);
    fn found(&self) -> String;
}

fn prepare(options: &Options, lowered: &LoweredModel<f32>, seed: u64) -> Result<Box<dyn Work>> {
    let base = [lowered.visible().eta().to_owned(), Array2::zeros(lowered.hidden().eta().dim())];
    let mut path = Path::between(base, cpu().backend(lowered.clone())?, 2, &|_| ());
    let (low, temperatures) = (options.get::<f64>("low")?, options.get::<usize>("temperatures")?);
    if temperatures < 2 {
        return Err(format!("--temperatures {temperatures}: must be at least 2").into());
    }
    let steps = temperatures - 1;
    let betas: Vec<f64> = path.schedule(steps).iter().map(|beta| low + (1.0 - low) * beta).collect();
    let (chains, key) = (options.get("chains")?, Key::root(seed));
    match options.text("method").as_str() {
        "ais" => Ok(Box::new(Annealing { path, betas, chains, key, runs: 0, log_z: Vec::new() })),
        "tempering" => {
            path.start(CHAINS, chains * betas.len(), key);
            let (ladders, works) = (Ladders::of_rows(CHAINS, &betas, chains), vec![Vec::new(); steps]);
            Ok(Box::new(Tempering { path, ladders, sweeps: options.get("sweeps")?, key, runs: 0, works }))
        }
        other => Err(format!("--method {other}: is not ais or tempering").into()),
    }
}

struct Annealing {
    path: Path<'static, f32>,
    betas: Vec<f64>,
    chains: usize,
    key: Key,
    runs: u64,
    log_z: Vec<f64>,
}

impl Work for Annealing {
    fn run(&mut self) {
        let key = self.key.of(Purpose::Forward).step(self.runs);
        self.path.start(CHAINS, self.chains, key);
        let weights = self.path.anneal(CHAINS, &self.betas, key, |_, _, _| ());
        self.log_z.extend(weights.iter().map(|w| w + self.path.log_z0()));
        self.runs += 1;
    }

    fn found(&self) -> String {
        self.log_z.iter().map(|z| format!("{z}\n")).collect()
    }
}

struct Tempering {
    path: Path<'static, f32>,
    ladders: Ladders<f32>,
    sweeps: u64,
    key: Key,
    runs: u64,
    /// log p*_{k+1}(v)/p*_k(v) of the chains at k and at k + 1 of every proposed swap in the last run.
    works: Vec<Vec<[f64; 2]>>,
}

impl Work for Tempering {
    fn run(&mut self) {
        let (backend, key) = (self.path.backend.as_mut(), self.key.of(Purpose::Tempering));
        self.works.iter_mut().for_each(Vec::clear);
        for step in self.runs * self.sweeps..(self.runs + 1) * self.sweeps {
            self.ladders.step(backend, 1, key, step, |m| self.works[m.rung].push([m.forward, m.backward]));
        }
        self.runs += 1;
    }

    fn found(&self) -> String {
        let rates = self.ladders.swap_rates();
        let line = |(works, rate): (&Vec<[f64; 2]>, &Option<f64>)| {
            let log_n = (works.len() as f64).ln();
            let below = log_sum_exp(works.iter().map(|w| w[0])) - log_n;
            let above = log_n - log_sum_exp(works.iter().map(|w| -w[1]));
            format!("{below} {above} {}\n", rate.unwrap_or(f64::NAN))
        };
        self.works.iter().zip(&rates).map(line).collect()
    }
}
