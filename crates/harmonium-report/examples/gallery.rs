//! Trains four small machines and writes their reports: `cargo run -p harmonium-report --example gallery DIRECTORY`.

use harmonium::data::Preprocess;
use harmonium::events::{Event, Flow, Observer};
use harmonium::rng::{Key, Purpose, normal};
use harmonium::units::Kind;
use harmonium::{Dataset, Exact, Rbm, Result, TrainConfig, Trainer, initial_machine};
use harmonium_report::{Rendered, Report, render};
use ndarray::{Array2, Axis, array};
use std::path::Path;

struct Log(Vec<Event>);

impl Observer for Log {
    fn on(&mut self, event: &Event) -> Flow {
        self.0.push(event.clone());
        Flow::Continue
    }
}

/// One machine of the gallery.
struct Example {
    name: &'static str,
    visible: &'static str,
    rows: Array2<f32>,
    valid: Option<Array2<f32>>,
    image: Option<(usize, usize)>,
    columns: Vec<String>,
    preprocess: Preprocess,
    n_hidden: usize,
    config: TrainConfig,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "gallery".into());
    for example in [bars(3, 12), bars(8, 64), mixture(), table()] {
        example.write(&Path::new(&directory).join(example.name))?;
    }
    Ok(())
}

/// Uniforms for the data: row r, number i.
fn uniform(r: usize, i: usize) -> [f64; 2] {
    Key::root(7).of(Purpose::Binarize).uniforms(r as u64, i as u32)
}

/// Rows or columns of a square are on or off together.
fn bars(n: usize, n_hidden: usize) -> Example {
    let rows = Array2::from_shape_fn((1200, n * n), |(r, i)| {
        let line = if uniform(r, 0)[0] < 0.5 { i / n } else { i % n };
        if uniform(r, 1 + line)[0] < 0.5 { 1.0 } else { 0.0 }
    });
    let (train, valid) = rows.view().split_at(Axis(0), 1000);
    Example {
        name: if n == 3 { "bars-3x3" } else { "bars-8x8" },
        visible: "bernoulli",
        rows: train.to_owned(),
        valid: Some(valid.to_owned()),
        image: Some((n, n)),
        columns: Vec::new(),
        preprocess: Preprocess::default(),
        n_hidden,
        config: TrainConfig { updates: 6000, report_every: 50, lr: 0.003, ..TrainConfig::default() },
    }
}

/// Four heaps of points in the plane.
fn mixture() -> Example {
    let rows = Array2::from_shape_fn((2000, 2), |(r, i)| {
        let corner = (uniform(r, 0)[i] < 0.5) as u8 as f64;
        let noise: f64 = normal(uniform(r, 1 + i));
        ((4.0 * corner - 2.0 + 0.5 * noise) / 2.0) as f32
    });
    Example {
        name: "mixture",
        visible: "gaussian",
        rows,
        valid: None,
        image: None,
        columns: vec!["width, mm".into(), "height, mm".into()],
        preprocess: Preprocess { shift: Some(array![5.0, 12.0]), scale: Some(array![2.0, 2.0]), binarize: None },
        n_hidden: 12,
        config: TrainConfig { updates: 8000, report_every: 100, lr: 0.05, ..TrainConfig::default() },
    }
}

/// Sixteen yes-or-no questions that hang together in fours.
fn table() -> Example {
    let rows = Array2::from_shape_fn((1500, 16), |(r, i)| {
        let mood = uniform(r, 100 + i / 4)[0] < 0.3 + 0.1 * (i / 4) as f64;
        let yes = if mood { 0.9 } else { 0.15 };
        if uniform(r, i)[1] < yes { 1.0 } else { 0.0 }
    });
    let (train, valid) = rows.view().split_at(Axis(0), 1000);
    Example {
        name: "table",
        visible: "bernoulli",
        rows: train.to_owned(),
        valid: Some(valid.to_owned()),
        image: None,
        columns: (0..16).map(|i| format!("question {}", i + 1)).collect(),
        preprocess: Preprocess::default(),
        n_hidden: 10,
        config: TrainConfig { updates: 6000, report_every: 50, early_stop: Some(30), ..TrainConfig::default() },
    }
}

impl Example {
    fn write(&self, directory: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let rendered = self.render()?;
        std::fs::create_dir_all(directory)?;
        std::fs::write(directory.join("report.html"), &rendered.html)?;
        for picture in &rendered.pictures {
            std::fs::write(directory.join(&picture.name), &picture.bytes)?;
        }
        println!("{}: {} pictures, page of {} kB", self.name, rendered.pictures.len(), rendered.html.len() / 1000);
        Ok(())
    }

    fn render(&self) -> Result<Rendered> {
        let (rbm, events) = self.train()?;
        let samples = match self.n_hidden <= 20 {
            true => Exact::new(&rbm)?.sample(1000, Key::root(1)).0.mapv(|x| x as f32),
            false => chains(&rbm, &self.rows),
        };
        let machine = rbm.lower();
        let x = machine.visible().encode(self.rows.view(), 1)?;
        let again = machine.down().means(machine.up().means(x.view()).view());
        let (n, m, config) = (rbm.visible().sites(), self.n_hidden, &self.config);
        Ok(render(&Report {
            title: format!("{}: {n} × {m} machine", self.name),
            summary: vec![format!("A machine of {n} visible and {m} hidden units, trained in some seconds.")],
            facts: self.facts(),
            events: &events,
            config_toml: &format!("seed = {}\nmethod = \"{}\"\nlr = {}\n", config.seed, config.method, config.lr),
            rbm: &rbm,
            data: self.rows.view(),
            samples: samples.view(),
            reconstructions: machine.visible().decode(again.view()).view(),
            image: self.image,
            columns: &self.columns,
            preprocess: &self.preprocess,
        }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let fact = |name: &str, value: String| (name.to_string(), value);
        vec![
            fact("rows", self.rows.nrows().to_string()),
            fact("columns", self.rows.ncols().to_string()),
            fact("hidden units", self.n_hidden.to_string()),
            fact("method", format!("{}-{}", self.config.method, self.config.gibbs_steps)),
            fact("learning rate", self.config.lr.to_string()),
            fact("updates", self.config.updates.to_string()),
        ]
    }

    fn train(&self) -> Result<(Rbm<f32>, Vec<Event>)> {
        let [visible, hidden] = [self.visible, "bernoulli"].map(|k| Kind::new(k, &Default::default()));
        let (visible, hidden) = (visible?, hidden?);
        let side = Rbm::<f32>::new(visible.clone(), self.rows.ncols(), hidden.clone(), 1)?.lower();
        let data = Dataset::from_values(side.visible(), self.rows.view())?;
        let valid = self.valid.as_ref().map(|v| Dataset::from_values(side.visible(), v.view())).transpose()?;
        let rbm = initial_machine(&visible, &hidden, self.n_hidden, &data, true, self.config.seed)?;
        let mut trainer = Trainer::new(self.config.clone(), rbm, data, valid)?;
        let mut log = Log(Vec::new());
        trainer.run(&mut log)?;
        if self.name == "bars-3x3" {
            // So that there is one to see: these settings never fail.
            let reason = "the mean energy of the chains was 1.2e4 per unit".into();
            log.0.push(Event::Recovered { update: 2430, back_to: 2400, reason, rate_factor: 0.5 });
        }
        Ok((trainer.rbm().clone(), log.0))
    }
}

/// Gibbs chains that begin at rows of the data.
fn chains(rbm: &Rbm<f32>, rows: &Array2<f32>) -> Array2<f32> {
    let (machine, key) = (rbm.lower(), Key::root(1));
    let mut v = rows.select(Axis(0), &(0..500).collect::<Vec<_>>());
    for step in 0..200 {
        let h = machine.up().sample(v.view(), key.of(Purpose::Hidden).step(step), 0);
        v = machine.down().sample(h.view(), key.of(Purpose::Visible).step(step), 0);
    }
    v
}
