//! `couplings`: effective couplings between visible units, with the hidden units summed out.

use crate::args::{DataOptions, Global, output_help, parse_output};
use crate::measured::Sample;
use crate::model::{MODEL_HELP, Model};
use crate::output::{CommandOutput, say};
use crate::progress::Meter;
use crate::stream::Stream;
use anyhow::{Context, Result};
use clap::Args;
use harmonium::couplings::{self, PairCoupling};
use harmonium::data::{TableHead, write_table};
use harmonium::error::{count, shown};
use harmonium::sample::{SampleOptions, draw};
use ndarray::{Array2, Axis};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Rows to average over at most; fewer if they take more terms than this, about a minute, but not fewer than `LEAST`.
const ROWS: usize = 1000;
const TERMS: f64 = 1e10;
const LEAST: usize = 20;

/// Compute effective couplings between pairs of visible units
///
/// The hidden units are summed out. For two units i and j, L(a,b) is log p(v) of a row v in which unit i has the value a and unit
/// j the value b. The coupling is the mean over rows of L(a,b) - L(.,b) - L(a,.) + L(.,.), where a dot is the mean over
/// all values (Tubiana, Cocco and Monasson 2019). It is exact if log p(v) has no terms of three or more units.
///
/// For Bernoulli and spin units, a coupling is one number J, that of the term J v_i v_j. For Potts units it is a matrix: printed
/// are its Frobenius norm, without the gap state of an alignment, and the contact score, which is the norm after the average product
/// correction (APC).
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium couplings model.safetensors --top 5
  harmonium couplings model.safetensors --data data.npy -o couplings.csv")]
pub struct Couplings {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help = output_help())]
    output: Option<PathBuf>,
    /// Number of pairs to print, the strongest first
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Average over rows of this file [default: samples of the model]
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// Number of rows to average over, at most 1000 [default: automatic]
    ///
    /// By default 1000, or as many as take about a minute. Rows of a larger file are chosen at random.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rows: Option<u16>,
    #[command(flatten)]
    options: DataOptions,
}

impl Couplings {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.model)?;
        let context = || model.path.display().to_string();
        let terms = couplings::terms_per_row(&model.lowered).with_context(context)?;
        let wanted = self.rows.map_or((TERMS / terms) as usize, usize::from).clamp(self.least(), ROWS);
        let rows = match &self.data {
            Some(data) => self.data_rows(&model, data, wanted, global)?,
            None => samples(&model, wanted, global.seed()).with_context(context)?,
        };
        let meter = Meter::new("pairs");
        let all = couplings::Couplings::new(&model.lowered, rows.view())?;
        let gap = model.notes.alphabet.as_ref().and_then(|letters| letters.find('-'));
        let pairs = all.pairs(gap, &|done, all| meter.tell(done, Some(all)));
        self.write(&pairs)?;
        Ok(self.report(&model, &pairs, rows.nrows()))
    }

    fn least(&self) -> usize {
        if self.rows.is_some() { 1 } else { LEAST }
    }

    /// At most `wanted` rows of a file, as rows of columns.
    fn data_rows(&self, model: &Model, data: &str, wanted: usize, global: &Global) -> Result<Array2<f64>> {
        let mut stream = Stream::open(model, data, &self.options, global)?;
        let mut sample = Sample::new(model, global.seed());
        while let Some(block) = stream.read()? {
            let x = block.columns()?;
            sample.add(&x, model.lowered.up().free_energy(x.view()));
        }
        let rows = sample.columns(model);
        let (have, few) = (rows.nrows(), wanted.min(rows.nrows()));
        Ok(rows.select(Axis(0), &(0..few).map(|k| k * have / few).collect::<Vec<_>>()))
    }

    /// Writes all pairs, the strongest first.
    fn write(&self, pairs: &[PairCoupling]) -> Result<()> {
        let Some(path) = &self.output else { return Ok(()) };
        let names: Vec<String> = columns(pairs).iter().map(ToString::to_string).collect();
        let rows = Array2::from_shape_fn((pairs.len(), names.len()), |(r, c)| numbers(&pairs[r])[c]);
        let rows_known = Some(pairs.len() as u64);
        let table = TableHead { columns: names.len(), rows: rows_known, names: Some(&names), ..TableHead::default() };
        let mut blocks = [rows].into_iter();
        write_table(path, &table, &mut || Ok(blocks.next()))?;
        Ok(())
    }

    fn report(&self, model: &Model, pairs: &[PairCoupling], rows: usize) -> CommandOutput {
        let over = match &self.data {
            Some(data) => format!("{} of {data}", count(rows as u64, "row")),
            None => format!("{} of the model", count(rows as u64, "sample")),
        };
        let top = &pairs[..self.top.min(pairs.len())];
        let title = format!(
            "{}: effective couplings of {} of columns, the strongest first",
            model.path.display(),
            count(pairs.len() as u64, "pair")
        );
        let report = CommandOutput::new(title).line("averaged over", over);
        let report = report.maybe("output", self.output.as_ref().map(|path| path.display().to_string()));
        top.iter()
            .fold(report, |report, pair| report.line(&named(model, pair), in_words(pair)))
            .field("n_pairs", pairs.len())
            .field("rows", rows)
            .field("averaged_over", if self.data.is_some() { "data" } else { "samples" })
            .field("output", self.output.as_ref().map(|path| path.display().to_string()))
            .field("pairs", top.iter().map(as_json).collect::<Value>())
    }
}

/// Rows of columns drawn from the model, with the sampler's warnings on stderr.
fn samples(model: &Model, n: usize, seed: u64) -> harmonium::Result<Array2<f64>> {
    let meter = Meter::new("sweeps");
    let settings = SampleOptions { n: n as u64, seed, ..SampleOptions::default() };
    let (rows, drawn) = draw(&model.file.rbm, settings, &|done, all| meter.tell(done, Some(all)))?;
    for warning in &drawn.warnings {
        meter.suspend(|| say("warning", &warning.problem));
    }
    model.lowered.visible().encode(rows.view(), 1)
}

/// The columns of the output.
fn columns(pairs: &[PairCoupling]) -> &'static [&'static str] {
    let is_number = pairs.first().is_some_and(|pair| pair.coupling.is_some());
    if is_number { &["i", "j", "coupling"] } else { &["i", "j", "score", "norm"] }
}

/// The numbers of a pair, in the order of the columns; sites are counted from 1.
fn numbers(pair: &PairCoupling) -> Vec<f64> {
    let sites = pair.sites.map(|i| (i + 1) as f64);
    let strength = pair.coupling.map_or(vec![pair.score, pair.norm], |coupling| vec![coupling]);
    sites.into_iter().chain(strength).collect()
}

fn as_json(pair: &PairCoupling) -> Value {
    let [i, j] = pair.sites.map(|i| i + 1);
    match pair.coupling {
        Some(coupling) => json!({"i": i, "j": j, "coupling": coupling}),
        None => json!({"i": i, "j": j, "score": pair.score, "norm": pair.norm}),
    }
}

/// The two sites of a pair, by name if they have names.
fn named(model: &Model, pair: &PairCoupling) -> String {
    let name = |i: usize| model.notes.names.as_ref().map_or((i + 1).to_string(), |names| shown(&names[i]));
    pair.sites.map(name).join(" - ")
}

fn in_words(pair: &PairCoupling) -> String {
    match pair.coupling {
        Some(coupling) => format!("{coupling:+.4}"),
        None => format!("score {:.4}, norm {:.4}", pair.score, pair.norm),
    }
}
