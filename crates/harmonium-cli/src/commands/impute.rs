//! `impute`: missing cells filled from p(missing | known).

use super::RowsToFile;
use crate::args::{Global, parse_output};
use crate::cells::CellOptions;
use crate::filled_cells::{CellTable, Completed};
use crate::hidden_cells::Check;
use crate::model::Model;
use crate::output::CommandOutput;
use crate::progress::Meter;
use crate::stream::Stream;
use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use harmonium::backend::cpu;
use harmonium::conditional::{self, Conditional, Fill, Filled, Method};
use harmonium::data::{Block, write_table};
use harmonium::error::count;
use harmonium::{Bits, Error};
use ndarray::{Array2, Axis};
use std::path::PathBuf;

/// Fill missing cells from the known cells of their row
///
/// Missing cells are those that are empty, NaN, NA or ?, and those named by --free or --mask. By default they are filled with
/// their conditional mean: for binary units the probability of a 1, for Potts units the most probable state. Where --free or
/// --mask hides known values, the error of the filled values is printed, beside that of filling in column means.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium impute model.safetensors data.npy --free 1-2 -o filled.npy
  harmonium impute model.safetensors data.csv -o x.csv --intervals cells.csv
  harmonium impute model.safetensors data.csv -o drawn.csv --draws 5")]
pub struct Impute {
    /// What to fill in: the mean, the most probable state, or a draw
    #[arg(long, default_value = "mean", value_parser = PossibleValuesParser::new(Fill::LIST.map(|f| f.0)))]
    fill: String,
    /// How to compute conditional distributions
    ///
    /// auto: by the cheaper of the exact sum and chains; by the sum, if that takes at most about 50 ms per row, where chains are not
    /// precise enough. Draws (--draws) are exact if that takes at most about 50 ms per row.
    #[arg(long, default_value = "auto", value_parser = methods())]
    method: String,
    /// Number of chains per row
    #[arg(long, value_name = "N", default_value_t = 20)]
    chains: usize,
    /// Sweeps of every chain before averaging
    #[arg(long, value_name = "N", default_value_t = 100)]
    burn_in: u64,
    /// Sweeps of every chain to average over
    #[arg(long, value_name = "N", default_value_t = 200)]
    steps: u64,
    /// Write M tables with drawn cells instead: X.1.csv to X.M.csv
    ///
    /// For multiple imputation: the missing cells of each table are an independent draw given the known ones.
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    #[arg(conflicts_with_all = ["fill", "low", "high", "spread", "intervals"])]
    draws: Option<u64>,
    /// Also write a table of the filled cells: interval, spread, error
    ///
    /// A row for each cell: row and column (numbers from 1), value, std_err (Monte Carlo error; 0 if exact), spread (standard
    /// deviation), low and high (ends of the interval), probability (of the filled state; NaN if it is no state).
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    intervals: Option<PathBuf>,
    /// Probability of the interval from --low to --high
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    interval: f64,
    /// Also write the lower ends of the intervals
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    low: Option<PathBuf>,
    /// Also write the upper ends of the intervals
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    high: Option<PathBuf>,
    /// Also write the standard deviations of the filled cells
    ///
    /// For Potts units, the probability of another state.
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    spread: Option<PathBuf>,
    #[command(flatten)]
    cells: CellOptions,
    #[command(flatten)]
    io: RowsToFile,
}

fn methods() -> PossibleValuesParser {
    PossibleValuesParser::new(Method::LIST.map(|m| m.0))
}

impl Impute {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.io.model)?;
        let mut stream = Stream::open(&model, &self.io.data, &self.io.options.with_missing(true), global)?;
        let mut cells = self.cells.open(model.lowered.visible().sites())?;
        let fill = Fill::parse(&self.fill)?;
        let wants =
            [&self.low, &self.high, &self.spread, &self.intervals].iter().any(|f| f.is_some()) || fill == Fill::Draw;
        let settings = conditional::ConditionalOptions {
            method: Method::parse(&self.method)?,
            chains: self.chains,
            burn_in: self.burn_in,
            steps: self.steps,
            interval: wants.then_some(self.interval),
            seed: global.seed(),
            device: cpu(),
        };
        let mut ask = Conditional::new(&model.file.rbm, settings)?;
        if let Some(n) = self.draws {
            let found = Completed::draw(&model, &mut ask, &mut stream, n as usize, |block| cells.known(block))?;
            cells.finish(found.rows)?;
            return self.report_draws(&model, found);
        }
        let cell_table = self.intervals.as_ref().map(|_| CellTable::default());
        let mut work =
            Work { model: &model, ask, check: Check::new(&model), tally: Tally::default(), cell_table, fill };
        let (mut low, mut high, mut spread, mut done) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let table = model.notes.visible(model.lowered.visible().sites(), stream.rows());
        let rows = write_table(&self.io.output, &table, &mut || {
            let Some(block) = stream.read()? else {
                // An error here leaves no file behind.
                cells.finish(done)?;
                return something(work.tally.cells, &self.io.data).map(|()| None);
            };
            done += block.values.nrows() as u64;
            let known = cells.known(&block)?;
            let (values, filled) = work.block(&block, &known)?;
            for filled in filled {
                let [l, h] = filled.interval.unwrap_or_default();
                low.push(l);
                high.push(h);
                spread.push(filled.spread.unwrap_or_default());
            }
            Ok(Some(values))
        })?;
        for (path, blocks) in [(&self.low, low), (&self.high, high), (&self.spread, spread)] {
            let Some(path) = path else { continue };
            let mut blocks = blocks.into_iter();
            let table = model.notes.numbers(model.lowered.visible().sites(), Some(rows));
            write_table(path, &table, &mut || Ok(blocks.next()))?;
        }
        if let (Some(path), Some(table)) = (&self.intervals, work.cell_table.take()) {
            table.write(path)?;
        }
        let columns = format!("{} columns", model.lowered.visible().sites());
        Ok(work.report(self.io.report(rows, &columns)))
    }
}

impl Impute {
    /// Writes drawn tables.
    fn report_draws(&self, model: &Model, found: Completed) -> Result<CommandOutput> {
        let (rows, cells, sites) = (found.rows, found.cells, model.lowered.visible().sites());
        something(cells, &self.io.data)?;
        let names = found.write(&self.io.output, &model.notes.visible(sites, Some(rows)))?;
        let text = format!("{} of {}, {sites} columns", count(names.len() as u64, "table"), count(rows, "row"));
        let report = CommandOutput::new(text).line("drawn", format!("{} in each table", count(cells, "cell")));
        let report = report.line("files", names.join(", "));
        Ok(report.field("rows", rows).field("cells", cells).field("outputs", names))
    }
}

/// Refuses data that has nothing to fill.
fn something(cells: u64, data: &str) -> harmonium::Result<()> {
    if cells > 0 {
        return Ok(());
    }
    let problem = "has no missing cells; name some with --free or --mask".into();
    Err(Error::Data { path: data.into(), problem })
}

/// How much was filled, and how.
#[derive(Default)]
struct Tally {
    cells: u64,
    rows: u64,
    exact_rows: u64,
    /// Sum of the squared Monte Carlo errors of filled cells.
    squares: f64,
}

/// A model that fills blocks.
struct Work<'a> {
    model: &'a Model,
    ask: Conditional,
    check: Check,
    tally: Tally,
    cell_table: Option<CellTable>,
    fill: Fill,
}

impl Work<'_> {
    /// The block with its missing cells filled, in the units of the data, and their spreads and intervals.
    fn block(&mut self, block: &Block, known: &Bits) -> harmonium::Result<(Array2<f64>, Vec<Filled>)> {
        let mut values = block.raw.clone().unwrap_or_else(|| block.values.clone());
        let (rows, step) = (values.nrows(), self.ask.rows_at_once());
        let meter = Meter::new("rows");
        let mut all = Vec::new();
        for from in (0..rows).step_by(step) {
            let to = (from + step).min(rows);
            let some: Vec<usize> = (from..to).collect();
            let part = known.select(&some);
            let x = block.select(&some).columns()?;
            let mut filled = self.ask.fill(x.view(), &part, block.first + from as u64)?;
            self.count(&filled, &part);
            filled.choose(self.fill, self.model.lowered.visible());
            self.check.add(block, &part, from, &filled.values);
            let mut place = values.slice_axis_mut(Axis(0), (from..to).into());
            filled.restore(&self.model.file.preprocess, place.view(), &part);
            place.assign(&filled.values);
            if let Some(table) = &mut self.cell_table {
                table.add(self.model, &filled, &part, block.first + from as u64);
            }
            all.push(Filled { draws: Vec::new(), ..filled });
            meter.tell(to as u64, Some(rows as u64));
        }
        Ok((values, all))
    }

    fn count(&mut self, filled: &Filled, known: &Bits) {
        let free = |r: &usize| known.ones(*r) < known.sites();
        let whole = (0..known.rows()).filter(|r| !free(r)).count();
        self.tally.rows += (known.rows() - whole) as u64;
        self.tally.exact_rows += (filled.exact - whole) as u64;
        self.tally.cells += (0..known.rows()).map(|r| (known.sites() - known.ones(r)) as u64).sum::<u64>();
        self.tally.squares += filled.std_err.iter().map(|e| e * e).sum::<f64>();
    }

    fn report(&self, report: CommandOutput) -> CommandOutput {
        let Tally { cells, rows, exact_rows, squares } = self.tally;
        let error = (squares / cells as f64).sqrt();
        let monte_carlo = format!("Monte Carlo error per cell {error:.1e}");
        let how = match exact_rows {
            0 => format!("by Gibbs chains; {monte_carlo}"),
            all if all == rows => "by exact conditional distributions".into(),
            some => format!("{some} exactly, {} by Gibbs chains; {monte_carlo}", count(rows - some, "row")),
        };
        let report = report
            .line("filled", format!("{} in {} ({how})", count(cells, "cell"), count(rows, "row")))
            .field("cells", cells)
            .field("exact_rows", exact_rows)
            .field("monte_carlo_error", error);
        self.check.report(report)
    }
}
