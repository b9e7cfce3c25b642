//! The report of a run: data, samples, chains and reconstructions gathered for the page, and the page rendered.

use super::begin::model_in_words;
use crate::notes::Notes;
use anyhow::Result;
use harmonium::backend::{Backend, Cpu, Sweeps};
use harmonium::data::Preprocess;
use harmonium::events::Event;
use harmonium::exact::budget;
use harmonium::rng::{Key, Purpose, shuffled};
use harmonium::sample::diagnose::{ess_bulk, r_hat};
use harmonium::{Dataset, Exact, Rbm, States};
use harmonium_report::{Mixing, Rendered, ReportData, Verdict};
use ndarray::{Array2, Axis};

/// Rows shown or summarised, of each kind.
const ROWS: usize = 500;
/// Rows that are reconstructed.
const AGAIN: usize = 100;
/// Chains that are watched, half of them from rows of the data.
const WATCHED: usize = 40;
/// Sweeps that chains make, so that they forget where they began: at most, and at least, and the products of a chain with a
/// weight that are worth it, some seconds on two cores.
const SWEEPS: usize = 500;
const FEWEST_SWEEPS: usize = 50;
const PRODUCTS: f64 = 1e11;

/// What the page tells about.
pub struct Page<'a> {
    pub rbm: &'a Rbm<f32>,
    /// Training rows; none if the data is gone.
    pub train: Option<&'a Dataset<f32>>,
    pub valid: Option<&'a Dataset<f32>>,
    pub preprocess: &'a Preprocess,
    /// Names of the columns, letters of the states, size of the images, as far as there are any.
    pub notes: &'a Notes,
    pub seed: u64,
}

/// Chains of a model that ran on from its end.
pub struct Watched {
    /// Rows of the model: independent ones if it is small enough, else where the chains ended.
    pub samples: Array2<f32>,
    /// F(v), sweeps × chains.
    trace: Array2<f64>,
    pub r_hat: Option<f64>,
    pub ess: Option<f64>,
}

/// The words of a page.
pub struct Words<'a> {
    pub source: &'a str,
    pub verdict: &'a Verdict,
    pub notes: &'a [String],
    pub facts: Vec<(String, String)>,
    pub config: &'a str,
    pub events: &'a [Event],
}

impl Page<'_> {
    pub fn render(&self, words: Words, watched: &Watched) -> Rendered {
        let model = self.rbm.lower();
        let values = |rows: Option<&Dataset<f32>>| match rows {
            Some(rows) => self.some_rows(rows).states().values(model.visible()),
            None => Array2::zeros((0, model.visible().sites())),
        };
        let (data, held_out) = (values(self.train), values(self.valid));
        let again = self.reconstructions(&data);
        let mixing = Mixing {
            trace: watched.trace.view(),
            from_data: WATCHED / 2,
            counted_from: watched.trace.nrows() / 2,
            r_hat: watched.r_hat,
            ess: watched.ess,
        };
        harmonium_report::render(&ReportData {
            title: format!("{} on {}", model_in_words(self.rbm), words.source),
            verdict: Some(words.verdict),
            notes: words.notes,
            facts: words.facts,
            events: words.events,
            config_toml: words.config,
            rbm: self.rbm,
            data: data.view(),
            held_out: held_out.view(),
            samples: watched.samples.view(),
            reconstructions: again.view(),
            image: self.notes.image,
            columns: self.notes.names.as_deref().unwrap_or_default(),
            alphabet: self.notes.alphabet.as_deref().unwrap_or_default(),
            mixing: (watched.trace.nrows() > 0).then_some(mixing),
            preprocess: self.preprocess,
        })
    }

    /// Rows drawn at random: rows at equal distances could all be of one kind.
    fn some_rows(&self, all: &Dataset<f32>) -> Dataset<f32> {
        let mut rows = shuffled(all.len(), Key::root(self.seed).of(Purpose::Monitor));
        rows.truncate(ROWS);
        all.select(&rows)
    }

    /// Runs chains on the model, half of them from rows and half from rows whose columns are shuffled, each by itself: where
    /// these meet, they have forgotten where they began.
    pub fn watch(&self) -> Result<Watched> {
        let (model, key) = (self.rbm.lower(), Key::root(self.seed));
        let exact = budget::REPORT_SAMPLES.allows(Exact::cost(&model));
        let independent = |n| Ok::<_, anyhow::Error>(Exact::new(self.rbm)?.sample(n, key).0.mapv(|x| x as f32));
        let Some(train) = self.train.filter(|rows| !rows.is_empty()) else {
            let samples = if exact { independent(ROWS)? } else { Array2::zeros((0, model.visible().sites())) };
            return Ok(Watched { samples, trace: Array2::zeros((0, 0)), r_hat: None, ess: None });
        };
        let chains = if exact { WATCHED } else { ROWS };
        let begin = self.beginnings(train, chains)?;
        let sweeps = (PRODUCTS / (chains * model.weights().len()) as f64) as usize;
        let sweeps = sweeps.clamp(FEWEST_SWEEPS, SWEEPS);
        let (trace, end) = run(Cpu::new(model)?, &begin, sweeps, key.of(Purpose::Monitor).step(u64::MAX))?;
        let samples = if exact { independent(ROWS)? } else { end };
        let counted = trace.slice_axis(Axis(0), (sweeps / 2..).into()).reversed_axes();
        let (r_hat, ess) = (r_hat(counted), ess_bulk(counted));
        Ok(Watched { samples, trace, r_hat, ess })
    }

    /// The states that chains begin at: in both the watched and the other part the first half are rows, the second half rows
    /// of shuffled columns.
    fn beginnings(&self, train: &Dataset<f32>, chains: usize) -> Result<States<f32>> {
        let model = self.rbm.lower();
        let rows = self.some_rows(train).states().values(model.visible());
        let key = Key::root(self.seed).of(Purpose::Chains).step(u64::MAX);
        let shuffled = |chain: usize, site: usize| {
            let row = key.uniforms::<f64>(chain as u64, site as u32)[0] * rows.nrows() as f64;
            rows[[(row as usize).min(rows.nrows() - 1), site]]
        };
        let is_row = |chain: usize| match chain < WATCHED {
            true => chain < WATCHED / 2,
            false => chain < (WATCHED + chains) / 2,
        };
        let values = Array2::from_shape_fn((chains, rows.ncols()), |(chain, site)| match is_row(chain) {
            true => rows[[chain % rows.nrows(), site]],
            false => shuffled(chain, site),
        });
        Ok(Dataset::from_values(model.visible(), values.view())?.states().clone())
    }

    fn reconstructions(&self, data: &Array2<f32>) -> Array2<f32> {
        let model = self.rbm.lower();
        let few = data.slice_axis(Axis(0), (..data.nrows().min(AGAIN)).into());
        // These are rows that the units had.
        let Ok(x) = model.visible().encode(few, 1) else { return Array2::zeros((0, data.ncols())) };
        let again = model.down().means(model.up().means(x.view()).view());
        model.visible().decode(again.view())
    }
}

/// Sweeps of all chains: free energies of the watched ones after each, and where all of them end.
fn run(mut backend: Cpu<f32>, begin: &States<f32>, sweeps: usize, key: Key) -> Result<(Array2<f64>, Array2<f32>)> {
    let some: Vec<usize> = (0..begin.rows().min(WATCHED)).collect();
    let mut trace = Array2::zeros((sweeps, some.len()));
    backend.put(0, begin, None);
    for (first, mut energies) in (0..).zip(trace.rows_mut()) {
        backend.gibbs(0, Sweeps { steps: 1, key, first, beta: None });
        energies.assign(&backend.free_energy(&backend.get(0).select(&some)));
    }
    Ok((trace, backend.get(0).values(backend.lowered().visible())))
}
