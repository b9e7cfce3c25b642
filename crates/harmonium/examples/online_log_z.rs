//! Is the likelihood that a run measures while it trains correct? The run stops from time to time, and log Z of the model is
//! estimated by annealing in both directions.
//!
//! ```sh
//! cargo run --release -p harmonium --example online_log_z -- train-images-idx3-ubyte.gz 500 10000 1000
//! ```
//!
//! Arguments: DATA (binary, or thresholded at 0.5), hidden units, updates, fewest updates between stops, learning rate, and a
//! folder for the model of every stop. When learning is fast, the likelihood is measured only from time to time; the run stops
//! there.

use harmonium::data::{self, Binarize, Preprocess, ReadOptions};
use harmonium::events::{Event, Flow, Observer, Progress, Reason};
use harmonium::file::ModelFile;
use harmonium::logz::{self, LogZOptions};
use harmonium::train::initial_model;
use harmonium::units::Kind;
use harmonium::{Dataset, Layout, Result, TrainConfig, Trainer};

/// Stops at the first measured likelihood from the update `next` on, and keeps the measurement.
struct Stops {
    next: u64,
    measured: Option<Progress>,
}

impl Observer for Stops {
    fn on(&mut self, event: &Event) -> Flow {
        match event {
            Event::Progress(p) if p.update >= self.next && p.train.log_likelihood.is_some() => {
                self.measured = Some(p.clone());
                Flow::Stop
            }
            _ => Flow::Continue,
        }
    }
}

/// User and system time of this process on Linux, in hundredths of a second, which other processes do not affect.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn read(source: &str, kind: &Kind) -> Result<Dataset<f32>> {
    let source = data::open_with(source, &ReadOptions::default())?;
    let layout = Layout::new(kind.clone(), source.columns());
    let prepare = Preprocess::default();
    let mut rows = data::PreparedRows::new(source, &layout, &prepare, Some(Binarize::Threshold(0.5)), 0)?;
    let mut data = Dataset::new(&layout);
    while let Some(block) = rows.read()? {
        data.push_block(&layout, &block)?;
    }
    Ok(data)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let number = |k: usize, default: u64| args.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let source = args.get(1).map_or("builtin:digits", String::as_str);
    let (hidden, updates, every) = (number(2, 500) as usize, number(3, 10_000), number(4, 1000));
    let kind = Kind::new("bernoulli", &Default::default())?;
    let data = read(source, &kind)?;
    let layer = |sites| Layout::new(kind.clone(), sites);
    let rbm = initial_model(&layer(data.states().sites()), &layer(hidden), &data, true, 0)?;
    let lr = args.get(5).and_then(|a| a.parse().ok()).unwrap_or(0.005);
    let config = TrainConfig { updates, lr, ..TrainConfig::default() };

    // The cost: some updates with and without the likelihood, alternating.
    let few = (updates / 2).min(4000);
    let mut seconds = [0.0; 2];
    for round in 0..4 {
        let likelihood = round % 2 == 0;
        let config = TrainConfig { updates: few, likelihood, ..config.clone() };
        let mut trainer = Trainer::new(config, rbm.clone(), data.clone(), None)?;
        let before = processor_seconds();
        trainer.run(&mut ())?;
        seconds[round % 2] += (processor_seconds() - before) / (2 * few) as f64;
    }
    let [with, without] = seconds.map(|s| 1e3 * s);
    println!(
        "an update takes {with:.3} ms of processor time with the likelihood, {without:.3} ms without: {:.1} % more",
        100.0 * (with / without - 1.0)
    );

    let some: Vec<usize> = (0..data.len().min(1000)).map(|k| k * data.len() / data.len().min(1000)).collect();
    let mut trainer = Trainer::new(config, rbm, data, None)?;
    println!("update  while training       both directions      difference  in errors");
    let mut next = every;
    loop {
        let mut stops = Stops { next, measured: None };
        let reason = trainer.run(&mut stops)?;
        if let Some(measured) = stops.measured {
            next = measured.update + every;
            if let Some(folder) = args.get(6) {
                let path = std::path::Path::new(folder).join(format!("{}.safetensors", measured.update));
                ModelFile::new(&trainer.rbm()).write(path)?;
            }
            let lowered = trainer.rbm().lower();
            let rows = trainer.data().select(&some).states().columns(lowered.visible(), 0, some.len());
            let wide = trainer.rbm().cast::<f64>();
            let rows = rows.mapv(f64::from);
            let settings = LogZOptions { data: Some(&rows), budget: 2e12, ..LogZOptions::default() };
            let found = logz::log_z(&wide, "bar", settings, &|_, _| ())?;
            let offline = -measured.train.free_energy - found.value;
            let (ours, error) = (measured.train.log_likelihood, measured.train.log_likelihood_std_err);
            let (ours, error) = (ours.unwrap_or(f64::NAN), error.unwrap_or(f64::NAN));
            println!(
                "{:6}  {ours:9.3} ± {error:.3}    {offline:9.3} ± {:.3} {:9}  {:+.3}  {:+.1}",
                measured.update,
                found.std_err,
                found.verdict,
                ours - offline,
                (ours - offline) / error.hypot(found.std_err),
            );
        }
        if reason != Reason::Interrupted {
            return Ok(());
        }
    }
}
