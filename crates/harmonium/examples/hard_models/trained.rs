//! Models trained on real data, small enough to enumerate: well trained, hardly trained and badly trained ones.

use super::common::Result;
use super::results::Case;
use super::{Study, Task};
use harmonium::data::{self, Binarize, PreparedRows, Preprocess, ReadOptions};
use harmonium::file::ModelFile;
use harmonium::optimize::Schedule;
use harmonium::units::{Kind, potts::Potts};
use harmonium::{Dataset, Exact, Layout, Rbm, TrainConfig, Trainer, initial_model};
use ndarray::{Array2, Axis};
use std::path::{Path, PathBuf};

/// How the names of these families begin.
pub const TRAINED: &str = "trained-";
/// Deepest training rows that are given to the estimate.
const ROWS: usize = 64;
/// Where trained models are kept.
const CACHE: &str = "target/hard-models";

/// A data set.
struct Set {
    name: &'static str,
    /// Its file in the folder of data, or a built-in table.
    file: &'static str,
    kind: &'static str,
    hidden: usize,
}

/// The list of data sets. Hidden units: as many as can be enumerated in some seconds.
const SETS: &[Set] = &[
    Set { name: "nltcs", file: "nltcs/nltcs.train.data.gz", kind: "bernoulli", hidden: 20 },
    Set { name: "mushrooms", file: "density/mushrooms.train.data.gz", kind: "bernoulli", hidden: 20 },
    Set { name: "dna", file: "density/dna.train.data.gz", kind: "bernoulli", hidden: 18 },
    Set { name: "baudio", file: "density/baudio.train.data.gz", kind: "bernoulli", hidden: 20 },
    Set { name: "accidents", file: "density/accidents.train.data.gz", kind: "bernoulli", hidden: 18 },
    Set { name: "digits", file: "builtin:digits", kind: "bernoulli", hidden: 23 },
    Set { name: "ww-domain", file: "ww-domain/WW_domain_MSA.fasta.gz", kind: "potts", hidden: 14 },
    Set { name: "breast-cancer", file: "gaussian/breast_cancer.csv", kind: "gaussian", hidden: 16 },
];

/// How the models of every set are trained, by number.
fn recipes() -> Vec<TrainConfig> {
    let plain = || TrainConfig { report_every: 1_000_000, likelihood: false, ..TrainConfig::default() };
    let constant = Schedule::Constant;
    vec![
        // The defaults of the first version.
        TrainConfig { ..plain() },
        // The same for longer at a constant rate: memorised rows.
        TrainConfig { updates: 30_000, schedule: constant, ..plain() },
        // Small steps and several sweeps per update.
        TrainConfig { lr: 0.001, gibbs_steps: 5, ..plain() },
        // CD-1, which leaves modes between the data.
        TrainConfig { method: "cd".into(), updates: 20_000, schedule: constant, ..plain() },
        // Much too large a rate.
        TrainConfig { lr: 0.05, updates: 3000, schedule: constant, ..plain() },
        // Stopped early.
        TrainConfig { updates: 500, schedule: constant, ..plain() },
    ]
}

impl Set {
    /// Opens the table and decides the units.
    fn open(&self, folder: &Path) -> Result<(Box<dyn data::Source>, Kind)> {
        let mut options = ReadOptions::default();
        if self.kind == "gaussian" {
            (options.skip_rows, options.label_column) = (1, Some("last".into()));
        }
        let path = if self.file.starts_with("builtin:") { self.file.into() } else { folder.join(self.file) };
        let source = data::open_with(&path.to_string_lossy(), &options)?;
        let kind = match source.alphabet() {
            Some(letters) => Kind::Potts(Potts { states: letters.chars().count() }),
            None => Kind::new(self.kind, &Default::default())?,
        };
        Ok((source, kind))
    }

    /// All rows: Bernoulli data are thresholded, Gaussian data standardised.
    fn read(&self, folder: &Path) -> Result<(Dataset<f32>, Kind)> {
        let mut preprocess = Preprocess::default();
        let binarize = (self.kind == "bernoulli").then_some(Binarize::Threshold(0.5));
        if self.kind == "gaussian" {
            let mut source = self.open(folder)?.0;
            let rows = source.read(usize::MAX)?.ok_or("no rows")?;
            preprocess.shift = rows.mean_axis(Axis(0));
            preprocess.scale = Some(rows.std_axis(Axis(0), 0.0));
        }
        let (source, kind) = self.open(folder)?;
        let layout = Layout::new(kind.clone(), source.columns());
        let mut rows = PreparedRows::new(source, &layout, &preprocess, binarize, 0)?;
        let mut data = Dataset::new(&layout);
        while let Some(block) = rows.read()? {
            data.push_block(&layout, &block)?;
        }
        Ok((data, kind))
    }

    /// The model of a recipe, from the cache or trained now.
    fn model(&self, number: usize, config: &TrainConfig, data: &Dataset<f32>, kind: &Kind) -> Result<Rbm<f64>> {
        let path = PathBuf::from(CACHE).join(format!("{}-{number}.safetensors", self.name));
        if !path.exists() {
            let visible = Layout::new(kind.clone(), data.states().sites());
            let hidden = Layout::new(Kind::new("bernoulli", &Default::default())?, self.hidden);
            let config = TrainConfig { seed: number as u64, ..config.clone() };
            let rbm = initial_model(&visible, &hidden, data, true, config.seed)?;
            let mut trainer = Trainer::new(config, rbm, data.clone(), None)?;
            trainer.run(&mut ())?;
            std::fs::create_dir_all(CACHE)?;
            ModelFile::new(&trainer.rbm()).write(&path)?;
        }
        Ok(ModelFile::read(&path)?.rbm)
    }
}

/// All rows as columns.
fn columns(rbm: &Rbm<f64>, data: &Dataset<f32>) -> Array2<f64> {
    data.states().columns(rbm.visible().layout(), 0, data.len()).mapv(f64::from)
}

/// The deepest distinct rows, those of lowest free energy.
fn deepest(rbm: &Rbm<f64>, data: &Dataset<f32>) -> Array2<f64> {
    let rows = columns(rbm, data);
    let energies = rbm.lower().up().free_energy(rows.view());
    let mut order: Vec<usize> = (0..rows.nrows()).collect();
    order.sort_by(|a, b| energies[*a].total_cmp(&energies[*b]));
    // Equal rows have equal energies, so they are neighbours.
    order.dedup_by(|a, b| rows.row(*a) == rows.row(*b));
    order.truncate(ROWS);
    rows.select(Axis(0), &order)
}

/// A trained model, its name, and the data.
struct Trained<'a> {
    family: &'a str,
    number: usize,
    rbm: &'a Rbm<f64>,
    truth: f64,
    data: &'a Dataset<f32>,
}

/// Calls `f` with every model that `wanted` asks for, trained if it is not in the cache.
fn each(folder: &Path, wanted: impl Fn(&str, usize) -> bool, mut f: impl FnMut(Trained) -> Result<()>) -> Result<()> {
    for set in SETS {
        let family = format!("{TRAINED}{}", set.name);
        let recipes: Vec<(usize, TrainConfig)> =
            recipes().into_iter().enumerate().filter(|(number, _)| wanted(&family, *number)).collect();
        if recipes.is_empty() {
            continue;
        }
        let (data, kind) = set.read(folder)?;
        for (number, config) in recipes {
            match set.model(number, &config, &data, &kind) {
                Ok(rbm) => {
                    let truth = Exact::new(&rbm)?.log_z();
                    f(Trained { family: &family, number, rbm: &rbm, truth, data: &data })?;
                }
                Err(error) => eprintln!("{family}:{number} skipped: {error}"),
            }
        }
    }
    Ok(())
}

/// Runs the cases of all sets that are not in the results yet.
pub fn run(study: &mut Study, folder: &Path) -> Result<()> {
    let missing: Vec<(String, usize)> = SETS
        .iter()
        .flat_map(|set| (0..recipes().len()).map(move |number| (format!("{TRAINED}{}", set.name), number)))
        .filter(|(family, number)| study.wants(family, *number) && !cases(study, family, *number).is_empty())
        .collect();
    let wanted = |family: &str, number: usize| missing.iter().any(|m| m.0 == family && m.1 == number);
    each(folder, wanted, |Trained { family, number, rbm, truth, data }| {
        let rows = deepest(rbm, data);
        cases(study, family, number).into_iter().try_for_each(|(case, collapse, with_rows)| {
            study.run(case, &Task { rbm, truth, data: with_rows.then_some(&rows), collapse })
        })
    })
}

/// Prints every model with its sizes, log Z and the mean log likelihood of the training rows.
pub fn list(study: &Study, folder: &Path) -> Result<()> {
    each(
        folder,
        |family, number| study.wants(family, number),
        |Trained { family, number, rbm, truth, data }| {
            let mean = -rbm.lower().up().free_energy(columns(rbm, data).view()).mean().unwrap_or(f64::NAN) - truth;
            let (n, m) = (rbm.visible().sites(), rbm.hidden().sites());
            println!("{family}:{number}  {n} × {m}  log Z {truth:.6}  {mean:.3} nats per training row");
            Ok(())
        },
    )
}

/// The cases of a model that are not in the results: one layer summed out or not, with and without rows.
fn cases(study: &Study, family: &str, number: usize) -> Vec<(Case, bool, bool)> {
    let mut cases = Vec::new();
    for seed in 0..study.seeds.unwrap_or(1) {
        for (collapse, rows) in [(false, false), (false, true), (true, false), (true, true)] {
            let layers = if collapse { "collapsed" } else { "two-layers" };
            let variant = format!("{layers}{}", if rows { " with rows" } else { "" });
            cases.push((study.case(family, number, seed, &variant), collapse, rows));
        }
    }
    cases.retain(|(case, ..)| !study.results.has(case));
    cases
}
