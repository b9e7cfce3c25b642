//! What is known of every filled cell, as a table with a row for each, and tables in which missing cells are drawn.

use crate::model::Model;
use crate::stream::Stream;
use anyhow::Result;
use harmonium::Bits;
use harmonium::conditional::{self, Conditional, Filled};
use harmonium::data::{Block, TableHead, write_table};
use ndarray::{Array2, Axis};
use std::path::{Path, PathBuf};

/// Columns of the table of cells.
const COLUMNS: [&str; 8] = ["row", "column", "value", "std_err", "spread", "low", "high", "probability"];

/// The table of cells, block by block.
#[derive(Default)]
pub struct CellTable {
    blocks: Vec<Array2<f64>>,
}

impl CellTable {
    /// Adds the missing cells of filled rows, of which the first has the number `first`.
    pub fn add(&mut self, model: &Model, filled: &Filled, known: &Bits, first: u64) {
        let layer = model.lowered.visible();
        let at = |table: Option<&Array2<f64>>, r: usize, i: usize| table.map_or(f64::NAN, |table| table[[r, i]]);
        let [low, high] = [0, 1].map(|end| filled.interval.as_ref().map(|ends| &ends[end]));
        let mut cells = Vec::new();
        for r in 0..known.rows() {
            for site in layer.each_site().filter(|site| !known.get(r, site.index)) {
                let i = site.index;
                cells.extend([
                    (first + r as u64) as f64,
                    (i + 1) as f64,
                    filled.values[[r, i]],
                    filled.std_err[[r, i]],
                    at(filled.spread.as_ref(), r, i),
                    at(low, r, i),
                    at(high, r, i),
                    filled.probability(r, &site).unwrap_or(f64::NAN),
                ]);
            }
        }
        let rows = cells.len() / COLUMNS.len();
        self.blocks.extend(Array2::from_shape_vec((rows, COLUMNS.len()), cells));
    }

    /// Writes the table.
    pub fn write(self, path: &Path) -> harmonium::Result<u64> {
        let rows = self.blocks.iter().map(|block| block.nrows() as u64).sum();
        let names = COLUMNS.map(String::from);
        let head = TableHead { columns: COLUMNS.len(), rows: Some(rows), names: Some(&names), ..TableHead::default() };
        let mut blocks = self.blocks.into_iter();
        write_table(path, &head, &mut || Ok(blocks.next()))
    }
}

/// Completed tables, with the number of their rows and of drawn cells.
pub struct Completed {
    tables: Vec<Vec<Array2<f64>>>,
    /// Rows of each.
    pub rows: u64,
    /// Drawn cells of each.
    pub cells: u64,
}

impl Completed {
    /// Draws the missing cells of all rows of a stream, `n` times; `known` returns the known cells of a block.
    pub fn draw(
        model: &Model,
        ask: &mut Conditional,
        stream: &mut Stream,
        n: usize,
        mut known: impl FnMut(&Block) -> harmonium::Result<Bits>,
    ) -> Result<Completed> {
        let (columns, step) = (model.lowered.visible().sites(), ask.rows_at_once());
        conditional::check_size(n, 0, columns)?;
        let mut this = Completed { tables: vec![Vec::new(); n], rows: 0, cells: 0 };
        while let Some(block) = stream.read()? {
            let (rows, known) = (block.values.nrows(), known(&block)?);
            conditional::check_size(n, this.rows as usize + rows, columns)?;
            let raw = block.raw.as_ref().unwrap_or(&block.values);
            for from in (0..rows).step_by(step) {
                let some: Vec<usize> = (from..(from + step).min(rows)).collect();
                let (part, x) = (known.select(&some), block.select(&some).columns()?);
                let drawn = ask.complete(x.view(), &part, block.first + from as u64, n)?;
                for (table, mut drawn) in this.tables.iter_mut().zip(drawn) {
                    conditional::restore(&mut drawn, &model.file.preprocess, raw.select(Axis(0), &some).view(), &part);
                    table.push(drawn);
                }
            }
            this.rows += rows as u64;
            this.cells += (0..rows).map(|r| (columns - known.ones(r)) as u64).sum::<u64>();
        }
        Ok(this)
    }

    /// Writes each table to a file of its own and returns their names.
    pub fn write(self, path: &Path, head: &TableHead) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (k, table) in self.tables.into_iter().enumerate() {
            let (path, mut blocks) = (numbered(path, k + 1), table.into_iter());
            write_table(&path, head, &mut || Ok(blocks.next()))?;
            names.push(path.display().to_string());
        }
        Ok(names)
    }
}

/// X.csv with a number: X.1.csv. A name without an extension gets .npy, as its format.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let extension = path.extension().map_or("npy".into(), |extension| extension.to_string_lossy());
    path.with_extension(format!("{number}.{extension}"))
}
