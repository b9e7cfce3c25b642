//! One pass over the rows that a model is judged by: free energies, and what missing cells add to them.

use crate::measured::Sample;
use crate::model::Model;
use crate::output::say;
use crate::progress::Meter;
use crate::stream::{Mapped, Stream};
use anyhow::Result;
use harmonium::backend::cpu;
use harmonium::conditional::{self, Conditional, Score};
use harmonium::data::{Block, RowCounts};
use harmonium::error::count;
use harmonium::rng::{Key, Purpose};
use harmonium::{Bits, Dataset};
use ndarray::{Array2, Axis};
use std::collections::HashSet;

/// Rows whose missing cells are summed over at a time.
const PIECE: usize = 100;
/// Sweeps that fill missing cells.
const FILL: u64 = 40;

/// The results of one pass over the data.
pub struct DataPass {
    pub sample: Sample,
    pub entropy: Option<f64>,
    /// What the units of the data add to the log density of each row.
    pub jacobians: Vec<f64>,
    pub missing: MissingCells,
}

/// Missing cells, and how they were summed over.
#[derive(Clone, Default)]
pub struct MissingCells {
    pub cells: u64,
    rows: usize,
    /// Rows whose missing cells were summed over exactly.
    exact: usize,
    /// The sums over them.
    scores: Vec<Score>,
}

impl MissingCells {
    /// What was done about them, if there are any.
    pub fn in_words(&self) -> Option<String> {
        let MissingCells { cells, rows, exact, .. } = self;
        let how = if exact == rows {
            "summed out exactly".into()
        } else {
            format!("summed out by annealing in {}, exactly in the others", count((rows - exact) as u64, "row"))
        };
        let what = "the likelihood is that of the known cells; other measures use draws for the missing ones";
        (*cells > 0).then(|| format!("{cells} in {}, {how}; {what}", count(*rows as u64, "row")))
    }

    /// The standard error that summing over them adds to a mean over `rows` rows.
    pub fn error_of_mean(&self, rows: usize) -> f64 {
        let part = self.scores.len() as f64 / rows.max(1) as f64;
        part * Score::error_of_mean(&self.scores, &vec![1.0; self.scores.len()])
    }

    /// Puts −log p*(v_B) in the place of the free energies of rows with missing cells.
    fn sum_over(
        &mut self,
        ask: &mut Conditional,
        block: &Block,
        known: &Bits,
        energies: &mut Array2<f64>,
    ) -> harmonium::Result<()> {
        let rows: Vec<usize> = (0..known.rows()).filter(|r| known.ones(*r) < known.sites()).collect();
        let meter = Meter::new("missing cells");
        for (done, some) in rows.chunks(PIECE).enumerate() {
            let x = block.select(some).columns()?;
            let scores = ask.scores(x.view(), &known.select(some), block.first + some[0] as u64)?;
            for (r, score) in some.iter().zip(&scores.rows) {
                energies[[*r, 0]] = -score.value;
                self.cells += (known.sites() - known.ones(*r)) as u64;
            }
            self.exact += scores.exact;
            self.scores.extend(scores.rows);
            meter.tell((done * PIECE) as u64, Some(rows.len() as u64));
        }
        self.rows += rows.len();
        Ok(())
    }
}

/// Which rows of a table are taken, by their numbers from 0.
pub enum Taken<'a> {
    All,
    Only(&'a HashSet<u64>),
    Without(&'a HashSet<u64>),
}

impl Taken<'_> {
    /// The rows of a block that are taken.
    fn of(&self, mapped: Mapped) -> Mapped {
        let Mapped { block, result } = mapped;
        let is_taken = |row: &usize| {
            let row = block.first - 1 + *row as u64;
            match self {
                Taken::All => true,
                Taken::Only(rows) => rows.contains(&row),
                Taken::Without(rows) => !rows.contains(&row),
            }
        };
        let rows: Vec<usize> = (0..block.values.nrows()).filter(is_taken).collect();
        if rows.len() == block.values.nrows() {
            return Mapped { block, result };
        }
        Mapped { block: block.select(&rows), result: result.select(Axis(0), &rows) }
    }
}

impl DataPass {
    pub fn run(model: &Model, mut stream: Stream, taken: &Taken, seed: u64) -> Result<DataPass> {
        let (up, visible) = (model.lowered.up(), model.lowered.visible());
        let (mut counts, mut sample) = (RowCounts::new(visible), Sample::new(model, seed));
        let (mut jacobians, mut missing) = (Vec::new(), MissingCells::default());
        let mut ask =
            Conditional::new(&model.file.rbm, conditional::ConditionalOptions { seed, ..Default::default() })?;
        while let Some(mapped) = stream.map(1, |v| up.free_energy(v).insert_axis(Axis(1)))? {
            let Mapped { block, mut result } = taken.of(mapped);
            counts.add(block.values.view());
            let rows = block.values.nrows();
            jacobians.extend(model.file.preprocess.log_jacobians(visible, rows, block.known.as_ref()));
            match &block.known {
                None => sample.add(&block.columns()?, result),
                Some(known) => {
                    missing.sum_over(&mut ask, &block, known, &mut result)?;
                    sample.add(&filled(model, &block, known, seed)?, result);
                }
            }
        }
        if visible.is_finite() && !counts.all_states() {
            say(
                "note",
                "grey values are used as probabilities: log likelihoods are -F(v) - log Z, not log probabilities",
            );
        }
        Ok(DataPass { sample, entropy: counts.entropy(), jacobians, missing })
    }
}

/// The columns of a block with missing cells drawn given the others, for measures that need whole rows.
fn filled(model: &Model, block: &Block, known: &Bits, seed: u64) -> harmonium::Result<Array2<f64>> {
    let side = model.lowered.visible();
    let mut rows = Dataset::new(side);
    rows.push_values(side, block.values.view(), Some(known));
    let key = Key::root(seed).of(Purpose::Missing).step(block.first);
    let rows = conditional::filled(&mut *cpu().backend(model.lowered.clone())?, 0, &rows, FILL, key);
    Ok(rows.states().columns(side, 0, rows.len()))
}
