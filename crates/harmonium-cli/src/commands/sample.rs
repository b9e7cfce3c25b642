//! `sample`: rows drawn from a model, in the units of its data, with convergence diagnostics.

use crate::advice;
use crate::args::{DataOptions, Global, output_help, parse_output, positive, samplers};
use crate::cells::CellOptions;
use crate::model::{MODEL_HELP, Model};
use crate::output::{CommandOutput, program, say};
use crate::progress::Meter;
use crate::stream::Stream;
use anyhow::{Context, Result, bail};
use clap::Args;
use harmonium::backend::cpu;
use harmonium::data::write_table;
use harmonium::error::count;
use harmonium::file::ColumnNotes;
use harmonium::sample::{Clamped, Drawn, SampleOptions, Sampling, Start, TracedQuantity};
use ndarray::{Array2, Axis};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Draw samples from a model
///
/// With several chains, the output holds the first row of every chain, then the second row of every chain, and so on. R-hat is
/// near 1 if the chains agree. The effective sample size is the number of independent rows that would be worth as much. A warning
/// is printed if the chains have not converged.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium sample model.safetensors -n 100 -o samples.npy
  harmonium sample model.safetensors -o samples.npy --sampler gibbs --thin 20")]
pub struct Sample {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
    /// Number of rows to draw
    #[arg(short, value_name = "N", default_value_t = 1000)]
    n: u64,
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help = output_help())]
    output: PathBuf,
    /// How to draw samples
    #[arg(long, default_value = "auto", value_parser = samplers())]
    sampler: String,
    /// Where chains start: random, hidden or data:FILE
    ///
    /// random: visible units drawn independently, ignoring the weights. hidden: hidden units drawn uniformly, then visible units
    /// given them. data:FILE: chain k starts from row k.
    #[arg(long, default_value = "random", value_name = "WHERE", value_parser = parse_start)]
    start: StartArg,
    /// Sweeps of every chain before its first row is taken
    #[arg(long, value_name = "SWEEPS", default_value_t = 1000)]
    burn_in: u64,
    /// Sweeps between two rows of a chain
    #[arg(long, value_name = "SWEEPS", default_value_t = 10)]
    thin: u64,
    /// Number of chains [default: one per 50 rows, from 20 to 100]
    ///
    /// With tempering, every chain has its own ladder of temperatures.
    #[arg(long, value_name = "N")]
    chains: Option<usize>,
    /// Draw every row from a new chain, after this many sweeps
    ///
    /// Replaces --burn-in, --thin and --chains.
    #[arg(long, value_name = "SWEEPS", conflicts_with_all = ["burn_in", "thin", "chains"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Temperatures per chain, for tempering [default: automatic]
    ///
    /// By default, as many as are needed for about half of the swaps to be accepted.
    #[arg(long, value_name = "N")]
    temperatures: Option<usize>,
    /// Temperature T of the model: draw from p(v, h)^(1/T), normalised
    ///
    /// Below 1, probable rows are drawn even more often; above 1, rows are more diverse. The whole energy is divided by T.
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = positive)]
    temperature: f64,
    /// Write visible means given the hidden units instead of samples
    ///
    /// For a Potts unit, its most probable code is written.
    #[arg(long)]
    means: bool,
    /// Hold the known cells of a row fixed and draw its missing ones
    ///
    /// Missing cells are those that are empty, NaN, NA or ?, and those named by --free or --mask.
    /// In a sequence, - is the gap and ? a missing cell.
    #[arg(long, value_name = "DATA")]
    clamp: Option<String>,
    /// Row of --clamp, counted from 1 (needed if it has several)
    #[arg(long, value_name = "N", requires = "clamp", value_parser = clap::value_parser!(u64).range(1..))]
    clamp_row: Option<u64>,
    #[command(flatten)]
    cells: CellOptions,
    #[command(flatten)]
    options: DataOptions,
}

/// Where chains start, as it was typed.
#[derive(Clone)]
enum StartArg {
    Random,
    Hidden,
    Data(String),
}

fn parse_start(text: &str) -> Result<StartArg, String> {
    match text.split_once(':') {
        None if text == "random" => Ok(StartArg::Random),
        None if text == "hidden" => Ok(StartArg::Hidden),
        Some(("data", file)) if !file.is_empty() => Ok(StartArg::Data(file.into())),
        _ => Err("expected random, hidden or data:FILE".into()),
    }
}

impl Sample {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.model)?;
        let settings = self.settings(global.seed());
        let clamped = self.clamped(&model, global)?;
        let rows = match &self.start {
            StartArg::Data(data) => Some(self.first_rows(&model, data, settings.chains, global)?),
            _ => None,
        };
        let rows = rows.map(|rows| clamped.free_columns(&rows));
        let start = match (&self.start, &rows) {
            (StartArg::Hidden, _) => Start::Hidden,
            (StartArg::Data(_), Some(rows)) => Start::Rows(rows),
            _ => Start::Random,
        };
        let meter = Meter::new("sweeps");
        let progress = |done, all| meter.tell(done, Some(all));
        let context = || model.path.display().to_string();
        let mut sampling = Sampling::of(clamped.lowered().clone(), SampleOptions { start, ..settings }, &progress)
            .with_context(context)?;
        let sites = model.lowered.visible().sites();
        let of = if self.means { ColumnNotes::numbers } else { ColumnNotes::visible };
        let table = of(&model.notes, sites, Some(self.n));
        write_table(&self.output, &table, &mut || {
            let block = sampling.block()?;
            Ok(block.map(|rows| clamped.whole(&model.file.preprocess, rows)))
        })?;
        let drawn = sampling.finish();
        for text in warnings(&drawn) {
            meter.suspend(|| say("warning", &text));
        }
        Ok(self.report(&drawn, &settings, &clamped.free_sites(), model.lowered.visible().sites()))
    }

    /// The model to draw from: the whole, or that of the missing cells of one row.
    fn clamped(&self, model: &Model, global: &Global) -> Result<Clamped> {
        let Some(data) = &self.clamp else {
            if self.cells.any() {
                bail!("--free and --mask need a row to hold fixed; give it with --clamp");
            }
            return Ok(Clamped::nothing(&model.lowered));
        };
        let mut stream = Stream::open(model, data, &self.options.with_missing(true), global)?;
        let mut cells = self.cells.open(model.lowered.visible().sites())?;
        let (wanted, mut found, mut rows) = (self.clamp_row.unwrap_or(1), None, 0);
        while let Some(block) = stream.read()? {
            let known = cells.known(&block)?;
            let (first, n) = (block.first, block.values.nrows() as u64);
            rows = first + n - 1;
            if (first..first + n).contains(&wanted) {
                let r = (wanted - first) as usize;
                let raw = block.raw.as_ref().unwrap_or(&block.values).row(r).to_vec();
                let bits: Vec<bool> = (0..raw.len()).map(|i| known.get(r, i)).collect();
                found = Some((block.select(&[r]).columns()?.row(0).to_vec(), raw, bits));
            }
        }
        if rows > 1 && self.clamp_row.is_none() {
            bail!(
                "{data} has {rows} rows; choose one with --clamp-row, or fill all with `{} impute --fill draw`",
                program()
            );
        }
        let Some((x, raw, known)) = found else {
            bail!("--clamp-row is {wanted}, but {data} has only {}", count(rows, "row"))
        };
        if known.iter().all(|k| *k) {
            bail!("row {wanted} of {data} has no missing cells; name some with --free or --mask");
        }
        Ok(Clamped::cells(&model.lowered, &x, raw, known))
    }

    /// The options, without the rows that chains may start at.
    fn settings(&self, seed: u64) -> SampleOptions<'_> {
        let all = SampleOptions {
            sampler: &self.sampler,
            n: self.n,
            chains: self.chains,
            temperatures: self.temperatures,
            burn_in: self.burn_in,
            thin: self.thin,
            steps: None,
            start: Start::Random,
            means: self.means,
            temperature: self.temperature,
            seed,
            device: cpu(),
        };
        match self.steps {
            None => all,
            Some(steps) => all.with_steps(steps),
        }
    }

    /// As many rows of columns as there are chains, or all if there are fewer.
    fn first_rows(&self, model: &Model, data: &str, chains: Option<usize>, global: &Global) -> Result<Array2<f64>> {
        let wanted = chains.unwrap_or(100);
        let mut stream = Stream::open(model, data, &self.options, global)?;
        let mut rows = Array2::zeros((0, model.lowered.visible().columns()));
        while rows.nrows() < wanted {
            let Some(block) = stream.read()? else { break };
            rows.append(Axis(0), block.columns()?.view())?;
        }
        Ok(rows)
    }

    fn report(&self, drawn: &Drawn, settings: &SampleOptions, columns: &[usize], sites: usize) -> CommandOutput {
        let path = self.output.display().to_string();
        let what = if self.means { "rows of visible means" } else { "samples" };
        let how = match (&drawn.tempered, drawn.sampler) {
            (_, "exact") => "exact, rows are independent".into(),
            (tempered, name) => {
                let ladders = tempered.as_ref().map_or(String::new(), |t| format!(" × {} temperatures", t.betas.len()));
                let chains = format!("{name}: {}{ladders}", count(drawn.chains as u64, "chain"));
                match settings.steps {
                    Some(steps) => format!("{chains} of {}, one row each", count(steps, "sweep")),
                    None => {
                        let SampleOptions { burn_in, thin, .. } = settings;
                        format!("{chains}, {burn_in} sweeps before the first row, {thin} between rows")
                    }
                }
            }
        };
        let worst = drawn.r_hat.map(|r| format!("{r:.3} (worst of {} monitored statistics)", drawn.quantities.len()));
        let tempered = drawn.tempered.as_ref();
        let worst_column = drawn.worst_site.map(|worst| (columns[worst.site] + 1, worst.r_hat));
        CommandOutput::new(format!("{path}: {} {what}, {sites} columns", drawn.rows))
            .line("sampler", how)
            .maybe("temperature", (self.temperature != 1.0).then(|| self.temperature.to_string()))
            .maybe("R-hat", worst)
            .maybe(
                "R-hat of columns",
                worst_column.map(|(column, r_hat)| format!("at most {r_hat:.3}, in column {column}")),
            )
            .maybe("effective sample size", effective_size_in_words(drawn))
            .maybe("accepted swaps", tempered.map(|t| swaps_in_words(&t.swap_rates)))
            .maybe(
                "round trips",
                tempered
                    .map(|t| format!("{}, {:.1} per chain", t.round_trips, t.round_trips as f64 / drawn.chains as f64)),
            )
            .field("rows", drawn.rows)
            .field("columns", sites)
            .field("output", path)
            .field("sampler", drawn.sampler)
            .field("temperature", self.temperature)
            .field("chains", drawn.chains)
            .field("r_hat", drawn.r_hat)
            .field("column_r_hat", worst_column.map(|w| w.1))
            .field("worst_column", worst_column.map(|w| w.0))
            .field("ess", drawn.ess)
            .field("quantities", drawn.quantities.iter().map(quantity).collect::<Vec<_>>())
            .field("inverse_temperatures", tempered.map(|t| t.betas.clone()))
            .field("swap_rates", tempered.map(|t| json!(t.swap_rates)))
            .field("round_trips", tempered.map(|t| t.round_trips))
            .field("warnings", warnings(drawn))
    }
}

/// What speaks against the rows, and what to do.
fn warnings(drawn: &Drawn) -> Vec<String> {
    drawn.warnings.iter().map(|w| advice::sentence(&w.problem, &w.advice)).collect()
}

fn effective_size_in_words(drawn: &Drawn) -> Option<String> {
    match (drawn.ess, drawn.r_hat) {
        (Some(ess), _) => Some(format!("{ess:.0}")),
        (None, Some(_)) => Some("not meaningful: the chains have not mixed".into()),
        (None, None) => None,
    }
}

fn swaps_in_words(rates: &[Option<f64>]) -> String {
    let least = rates.iter().flatten().copied().fold(1.0, f64::min);
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    format!("{:.0} to {:.0} % between neighbouring temperatures", 100.0 * least, 100.0 * most)
}

fn quantity(f: &TracedQuantity) -> Value {
    json!({
        "name": f.name,
        "mean": f.mean,
        "mcse": f.mcse,
        "r_hat": f.r_hat,
        "ess_bulk": f.ess_bulk,
        "ess_tail": f.ess_tail,
        "autocorrelation_time": f.time.filter(|t| t.closed).map(|t| t.value),
        "autocorrelation_time_at_least": f.time.filter(|t| !t.closed).map(|t| t.value),
        "sweeps_between_places": f.every,
    })
}
