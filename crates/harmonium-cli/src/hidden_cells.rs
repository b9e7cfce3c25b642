//! Cells that were hidden although their values are known: the error of the filled values, and of column means.

use crate::model::Model;
use crate::output::CommandOutput;
use harmonium::Bits;
use harmonium::data::Block;
use harmonium::layout::Site;
use ndarray::Array2;

/// Sums over hidden cells.
pub struct Check {
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
    /// Nothing seen yet.
    pub fn new(model: &Model) -> Check {
        let scales = model.file.preprocess.scale.as_ref();
        let column = |site: Site| {
            let states = if site.columns.len() > 1 { site.n_states().unwrap_or(0) } else { 0 };
            let scale = scales.map_or(1.0, |scales| scales[site.index]);
            Column { hidden: [0.0; 3], known: [0.0; 3], codes: vec![[0; 2]; states], scale }
        };
        let columns = model.lowered.visible().each_site().map(column).collect();
        Check { columns, numbers: Off::default(), codes: Off::default() }
    }

    /// Counts the cells of some rows of a block, from row `from` on.
    pub fn add(&mut self, block: &Block, known: &Bits, from: usize, filled: &Array2<f64>) {
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

    /// Adds what was found to a report.
    pub fn report(&self, mut report: CommandOutput) -> CommandOutput {
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
