//! `impute`: missing cells filled from p(missing | known).

use super::RowsToFile;
use crate::args::{Global, parse_output};
use crate::cells::CellOptions;
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
use harmonium::layout::Site;
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
  harmonium impute model.safetensors data.npy --free 3 -o x.npy --spread s.npy")]
pub struct Impute {
    /// What to fill in: the mean, the most probable state, or a draw
    #[arg(long, default_value = "mean", value_parser = PossibleValuesParser::new(Fill::LIST.map(|f| f.0)))]
    fill: String,
    /// How to compute conditional distributions
    ///
    /// auto: exactly if that takes at most about 50 ms per row, otherwise by chains.
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
        let wants = [&self.low, &self.high, &self.spread].iter().any(|f| f.is_some()) || fill == Fill::Draw;
        let settings = conditional::ConditionalOptions {
            method: Method::parse(&self.method)?,
            chains: self.chains,
            burn_in: self.burn_in,
            steps: self.steps,
            interval: wants.then_some(self.interval),
            seed: global.seed(),
            device: cpu(),
        };
        let ask = Conditional::new(&model.file.rbm, settings)?;
        let mut work =
            Work { model: &model, ask, check: Check::new(&model), tally: Tally::default(), fill, data: &self.io.data };
        let (mut low, mut high, mut spread, mut done) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let table = model.notes.visible(model.lowered.visible().sites(), stream.rows());
        let rows = write_table(&self.io.output, &table, &mut || {
            let Some(block) = stream.read()? else {
                // An error here leaves no file behind.
                cells.finish(done)?;
                return work.something().map(|()| None);
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
        let columns = format!("{} columns", model.lowered.visible().sites());
        Ok(work.report(self.io.report(rows, &columns)))
    }
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
    fill: Fill,
    data: &'a str,
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
            all.push(Filled { draws: Vec::new(), ..filled });
            meter.tell(to as u64, Some(rows as u64));
        }
        Ok((values, all))
    }

    /// Refuses data that has nothing to fill.
    fn something(&self) -> harmonium::Result<()> {
        match self.tally.cells {
            0 => Err(Error::Data {
                path: self.data.into(),
                problem: "has no missing cells; name some with --free or --mask".into(),
            }),
            _ => Ok(()),
        }
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

/// Cells that were hidden although their values are known: the error of the filled values, and of column means.
struct Check {
    columns: Vec<Column>,
    /// Of numbers and of codes.
    numbers: Off,
    codes: Off,
}

/// Hidden cells, and Σ of what was off in them.
#[derive(Clone, Copy, Default)]
struct Off {
    cells: u64,
    sum: f64,
}

/// What a column is filled with for comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MeansOf {
    /// The cells that were known, as for the model.
    Known,
    /// All true values of the file, hidden ones too: some column has no other.
    All,
}

impl MeansOf {
    fn name(self) -> &'static str {
        match self {
            MeansOf::Known => "known cells",
            MeansOf::All => "true values",
        }
    }
}

/// Values of one column: how many, Σx and Σx² of hidden cells, and of known ones.
#[derive(Clone)]
struct Column {
    hidden: [f64; 3],
    known: [f64; 3],
    /// How often each code was known, and hidden; of numbers none.
    codes: Vec<[u64; 2]>,
    scale: f64,
}

impl Column {
    fn is_codes(&self) -> bool {
        !self.codes.is_empty()
    }

    /// Σ of what its mean, or its most frequent code, is off in the hidden cells.
    fn off_by_itself(&self, means_of: MeansOf) -> f64 {
        let all = means_of == MeansOf::All;
        if self.hidden[0] == 0.0 {
            return 0.0;
        }
        if self.is_codes() {
            let seen = |c: &&[u64; 2]| c[0] + if all { c[1] } else { 0 };
            let best = self.codes.iter().max_by_key(seen).map_or(0, |c| c[1]);
            return self.hidden[0] - best as f64;
        }
        let of = |k: usize| self.known[k] + if all { self.hidden[k] } else { 0.0 };
        let mean = of(1) / of(0);
        let [n, sum, squares] = self.hidden;
        (squares - 2.0 * mean * sum + n * mean * mean) * self.scale * self.scale
    }
}

impl Check {
    fn new(model: &Model) -> Check {
        let scales = model.file.preprocess.scale.as_ref();
        let column = |site: Site| {
            let states = if site.columns.len() > 1 { site.n_states().unwrap_or(0) } else { 0 };
            let scale = scales.map_or(1.0, |scales| scales[site.index]);
            Column { hidden: [0.0; 3], known: [0.0; 3], codes: vec![[0; 2]; states], scale }
        };
        let columns = model.lowered.visible().each_site().map(column).collect();
        Check { columns, numbers: Off::default(), codes: Off::default() }
    }

    fn add(&mut self, block: &Block, known: &Bits, from: usize, filled: &Array2<f64>) {
        let there = |r: usize, i: usize| block.known.as_ref().is_none_or(|k| k.get(r, i));
        for ((r, i), guess) in filled.indexed_iter().filter(|((r, i), _)| there(from + r, *i)) {
            let (x, hidden) = (block.values[[from + r, i]], !known.get(r, i));
            let column = &mut self.columns[i];
            let sums = if hidden { &mut column.hidden } else { &mut column.known };
            [1.0, x, x * x].iter().zip(sums).for_each(|(x, sum)| *sum += x);
            if let Some(code) = column.codes.get_mut(x as usize) {
                code[usize::from(hidden)] += 1;
            }
            if hidden {
                let (off, by) = match column.is_codes() {
                    true => (&mut self.codes, f64::from(u8::from(*guess != x))),
                    false => (&mut self.numbers, ((guess - x) * column.scale).powi(2)),
                };
                (off.cells, off.sum) = (off.cells + 1, off.sum + by);
            }
        }
    }

    /// Known cells are a fair comparison; a column that is hidden as a whole has none.
    fn means_of(&self) -> MeansOf {
        let is_hidden = |column: &Column| column.hidden[0] > 0.0 && column.known[0] == 0.0;
        if self.columns.iter().any(is_hidden) { MeansOf::All } else { MeansOf::Known }
    }

    /// What is off per cell, and what it would be by the columns' own means or codes.
    fn per_cell(&self, of: Off, codes: bool) -> Option<[f64; 2]> {
        let columns = self.columns.iter().filter(|column| column.is_codes() == codes);
        let by_columns: f64 = columns.map(|column| column.off_by_itself(self.means_of())).sum();
        (of.cells > 0).then(|| [of.sum, by_columns].map(|sum| sum / of.cells as f64))
    }

    fn report(&self, mut report: CommandOutput) -> CommandOutput {
        let cells = self.numbers.cells + self.codes.cells;
        if cells == 0 {
            return report;
        }
        let of = self.means_of().name();
        report = report.field("checked_cells", cells).field("columns_by", of);
        if let Some([ours, columns]) = self.per_cell(self.codes, true) {
            let percent = |x: f64| format!("{:.1} %", 100.0 * x);
            let text = format!("{} (most frequent code of the column, by {of}: {})", percent(ours), percent(columns));
            report = report.line("wrong codes", text).field("wrong", ours).field("wrong_by_columns", columns);
        }
        if let Some(squares) = self.per_cell(self.numbers, false) {
            let [ours, columns] = squares.map(f64::sqrt);
            report = report
                .line("error", format!("{ours:.4} root mean square (column means of the {of}: {columns:.4})"))
                .field("rmse", ours)
                .field("rmse_by_columns", columns);
        }
        report
    }
}
