//! A program that `bench/run` times: training with [`Trainer`], one epoch per command.
//!
//! `go` trains for one epoch; `save FILE` writes the model and restarts from the first one with the next seed (see `common`).
//! The optimiser is plain gradient ascent without centering by default, because that is what the peers in `bench/` do.
//!
//! ```text
//! training_speed --n-visible 784 --n-hidden 500 --rows 10240 --batch 128 --method cd --threads 1
//! ```

mod common;

use common::{Command, Driver, Options, Result, print_seconds};
use harmonium::events::{Event, Flow, Observer};
use harmonium::file::ModelFile;
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::{Key, Purpose, normal};
use harmonium::units::Kind;
use harmonium::{Dataset, Layer, Layout, Rbm, TrainConfig, Trainer, data, initial_model};
use ndarray::{Array2, Axis, concatenate};
use std::path::Path;
use std::time::Instant;

/// Options and their defaults.
const OPTIONS: &[(&str, &str)] = &[
    ("visible", "bernoulli"), // or gaussian, whose variances stay 1 as in the peers; or a list of blocks, which has its own n-visible
    ("n-visible", "784"),
    ("n-hidden", "500"),
    ("method", "cd"),
    ("steps", "1"),
    ("batch", "128"),
    ("rows", "10240"),
    ("density", "0.13"), // fraction of the random bits that are 1
    ("data", ""),        // a .npy file instead of random rows
    ("model", ""),       // a model file to start from instead of small random weights
    ("optimizer", "sgd"),
    ("centred", "false"),
    ("lr", "0.05"),
    ("threads", "1"),
    ("seed", "1"),
];

fn main() -> Result<()> {
    let options = Options::parse(OPTIONS)?;
    let units = options.text("visible");
    let visible = if Layout::is_list(&units) {
        Layout::parse(&units)?
    } else {
        Layout::new(Kind::new(&units, &Default::default())?, options.get("n-visible")?)
    };
    let values = rows(&options, &visible)?;
    let data = Dataset::from_values(&visible, values.view())?;
    let first = first_model(&options, &visible, &data)?;
    let mut config = config(&options)?;
    let mut protocol = Protocol::new(config.updates_per_epoch(data.len()));
    loop {
        let mut trainer = Trainer::new(config.clone(), first.clone(), data.clone(), None)?;
        trainer.run(&mut protocol)?;
        match std::mem::replace(&mut protocol.next, Ok(Command::Quit))? {
            Command::Save(path) => ModelFile::new(&trainer.rbm()).write(path)?,
            Command::Go | Command::Quit => return Ok(()),
        }
        config.seed += 1;
        protocol.update = 0;
    }
}

/// The training configuration; everything that the algorithm of the peers does not have is off.
fn config(options: &Options) -> Result<TrainConfig> {
    let batch = options.get("batch")?;
    let optimizer = options.text("optimizer");
    let momentum = if optimizer == "sgd" { 0.0 } else { TrainConfig::default().optimizer.momentum };
    Ok(TrainConfig {
        seed: options.get("seed")?,
        method: options.text("method"),
        gibbs_steps: options.get("steps")?,
        chains: batch,
        batch_size: batch,
        updates: 1 << 40,
        lr: options.get("lr")?,
        schedule: Schedule::Constant,
        variance_rate: 0.0,
        centering: options.get("centred")?,
        report_every: 1 << 40,
        likelihood: false,
        optimizer: OptimizerConfig { name: optimizer, momentum, nesterov: false },
        ..TrainConfig::default()
    })
}

/// The rows of the file, or random ones.
fn rows(options: &Options, visible: &Layout) -> Result<Array2<f32>> {
    let path = options.text("data");
    if path.is_empty() {
        return random_rows(options, visible);
    }
    let mut source = data::open(Path::new(&path))?;
    let mut blocks = Vec::new();
    while let Some(block) = source.read(1 << 14)? {
        blocks.push(block.mapv(|x| x as f32));
    }
    Ok(concatenate(Axis(0), &blocks.iter().map(|b| b.view()).collect::<Vec<_>>())?)
}

/// Independent bits of one density, standard normals, or states of equal probability.
fn random_rows(options: &Options, visible: &Layout) -> Result<Array2<f32>> {
    let density = options.get::<f64>("density")?;
    let key = Key::root(options.get("seed")?).of(Purpose::Init);
    let states: Vec<Option<usize>> = visible.each_site().map(|site| site.n_states()).collect();
    Ok(Array2::from_shape_fn((options.get("rows")?, states.len()), |(r, i)| {
        let u = key.uniforms::<f64>(r as u64, i as u32);
        match states[i] {
            None => normal(u) as f32,
            Some(2) => f32::from(u8::from(u[0] < density)),
            Some(q) => (q as f64 * u[0]).floor() as f32,
        }
    }))
}

/// The model of the file, or small random weights; centred at the data with `--centred`.
fn first_model(options: &Options, visible: &Layout, data: &Dataset<f32>) -> Result<Rbm<f32>> {
    let path = options.text("model");
    let mut rbm = if path.is_empty() {
        let hidden = Layout::new(Kind::new("bernoulli", &Default::default())?, options.get("n-hidden")?);
        let rbm = initial_model(visible, &hidden, data, false, options.get("seed")?)?;
        unit_variance(rbm)?
    } else {
        ModelFile::read(path)?.rbm.cast()
    };
    if options.get("centred")? {
        let moments = data.moments(rbm.lower().visible()).means;
        let alpha = moments.row(0).mapv(|m| m as f32);
        let beta = rbm.hidden().offset().mapv(|_| 0.5);
        rbm.recenter(alpha.view(), beta.view())?;
    }
    Ok(rbm)
}

/// The model with visible variances of 1, if it has any.
fn unit_variance(rbm: Rbm<f32>) -> Result<Rbm<f32>> {
    if rbm.visible().field("log_variance").is_none() {
        return Ok(rbm);
    }
    let layer = Layer::with_defaults(rbm.visible().layout().clone());
    Ok(Rbm::from_parts(layer, rbm.hidden().clone(), rbm.weights().to_owned())?)
}

/// Waits for the driver before every epoch and prints the time after it.
struct Protocol {
    driver: Driver,
    per_epoch: u64,
    update: u64,
    started: Instant,
    /// The command that ended the run.
    next: Result<Command>,
}

impl Protocol {
    fn new(per_epoch: u64) -> Protocol {
        Protocol { driver: Driver::ready(), per_epoch, update: 0, started: Instant::now(), next: Ok(Command::Quit) }
    }
}

impl Observer for Protocol {
    /// A failed update repeats work, so the time of the epoch would be meaningless.
    fn on(&mut self, event: &Event) -> Flow {
        let Event::Recovered { reason, .. } = event else { return Flow::Continue };
        self.next = Err(format!("an update failed because {reason}").into());
        Flow::Stop
    }

    fn poll(&mut self) -> Flow {
        if self.update.is_multiple_of(self.per_epoch) {
            if self.update > 0 {
                print_seconds(self.started);
            }
            self.next = self.driver.next_command();
            if !matches!(self.next, Ok(Command::Go)) {
                return Flow::Stop;
            }
            self.started = Instant::now();
        }
        self.update += 1;
        Flow::Continue
    }
}
