//! The report of a run: data, samples and reconstructions gathered for the page, and the page written.

use super::begin::machine_in_words;
use super::directory::{REPORT, RunDir};
use anyhow::Result;
use harmonium::backend::{Backend, Cpu, Sweeps};
use harmonium::data::Preprocess;
use harmonium::events::Event;
use harmonium::rng::{Key, Purpose};
use harmonium::train::shuffled;
use harmonium::{Dataset, Exact, Rbm, States};
use harmonium_report::Report;
use ndarray::Array2;

/// Rows shown or summarised, of each kind.
const ROWS: usize = 500;
/// Rows that are reconstructed.
const AGAIN: usize = 100;
/// Sweeps that chains make after the run, so that they forget the data they may have begun at.
const SWEEPS: u64 = 500;
/// States times columns up to which samples are drawn from the enumerated distribution itself.
const CHEAP: f64 = 1e9;

/// What the page tells about.
pub struct Page<'a> {
    pub rbm: &'a Rbm<f32>,
    pub train: &'a Dataset<f32>,
    /// Where chains are, if the run had any.
    pub chains: Option<States<f32>>,
    pub preprocess: &'a Preprocess,
    pub image: Option<(usize, usize)>,
    /// Names of the columns, if they have any.
    pub names: &'a [String],
    pub seed: u64,
    /// The number of the first sweep whose random numbers the run has not used.
    pub first_sweep: u64,
}

impl Page<'_> {
    pub fn write(
        &self,
        dir: &RunDir,
        source: &str,
        facts: Vec<(String, String)>,
        config: &str,
        events: &[Event],
    ) -> Result<()> {
        let side = self.rbm.lower();
        let shown = self.some_rows();
        let (data, samples, again) =
            (shown.states().values(side.visible()), self.samples()?, self.reconstructions(&shown));
        let report = Report {
            title: format!("{} on {source}", machine_in_words(self.rbm)),
            summary: Vec::new(),
            facts,
            events,
            config_toml: config,
            rbm: self.rbm,
            data: data.view(),
            samples: samples.view(),
            reconstructions: again.view(),
            image: self.image,
            columns: self.names,
            preprocess: self.preprocess,
        };
        let page = harmonium_report::render(&report);
        for picture in &page.pictures {
            dir.write(&picture.name, &picture.bytes)?;
        }
        dir.write(REPORT, page.html.as_bytes())
    }

    /// Rows drawn at random: rows at equal distances could all be of one kind.
    fn some_rows(&self) -> Dataset<f32> {
        let mut rows = shuffled(self.train.len(), Key::root(self.seed).of(Purpose::Monitor));
        rows.truncate(ROWS);
        self.train.select(&rows)
    }

    /// Independent samples where the machine is small, else chains that have run on.
    fn samples(&self) -> Result<Array2<f32>> {
        let key = Key::root(self.seed);
        let machine = self.rbm.lower();
        if Exact::cost(&machine).is_some_and(|cost| cost <= CHEAP) {
            return Ok(Exact::new(self.rbm)?.sample(ROWS, key).0.mapv(|x| x as f32));
        }
        let chains = self.chains.as_ref().unwrap_or(self.train.states());
        let some: Vec<usize> = (0..chains.rows().min(ROWS)).collect();
        let mut backend = Cpu::new(machine)?;
        backend.put(0, chains, Some(&some));
        backend.gibbs(0, Sweeps { steps: SWEEPS, key, first: self.first_sweep, beta: None });
        Ok(backend.get(0).values(backend.machine().visible()))
    }

    fn reconstructions(&self, shown: &Dataset<f32>) -> Array2<f32> {
        let machine = self.rbm.lower();
        let x = shown.states().columns(machine.visible().unit(), 0, shown.len().min(AGAIN));
        let again = machine.down().means(machine.up().means(x.view()).view());
        machine.visible().decode(again.view())
    }
}
