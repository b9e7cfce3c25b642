//! Which cells are known: those that are numbers, without the columns and cells that were named.

use clap::Args;
use harmonium::data::{self, Block, ReadOptions, Source};
use harmonium::{Bits, Error, Result};
use ndarray::{Array2, Axis};
use std::path::PathBuf;

/// Options that name unknown cells.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Unknown cells, besides those that are no numbers")]
pub struct CellOptions {
    /// Columns that are unknown in every row: numbers and ranges from 1, such as 1-4,7
    #[arg(long, value_name = "LIST")]
    free: Option<String>,
    /// A table of 1 (known) and 0 (unknown): one row for all rows, or one for each
    #[arg(long, value_name = "FILE")]
    mask: Option<String>,
}

/// The cells of a table, block by block.
pub struct Cells {
    free: Vec<bool>,
    mask: Option<Mask>,
}

/// A table of zeros and ones that is read along with the data.
struct Mask {
    path: PathBuf,
    source: Box<dyn Source>,
    /// Whether it has one row, which is for all.
    only: bool,
    /// Rows that were read and are yet to be used.
    waiting: Vec<Array2<f64>>,
}

impl CellOptions {
    /// Whether cells were named.
    pub fn any(&self) -> bool {
        self.free.is_some() || self.mask.is_some()
    }

    /// Refuses columns and masks that do not fit rows of so many sites.
    pub fn open(&self, sites: usize) -> Result<Cells> {
        let mut free = vec![false; sites];
        if let Some(list) = &self.free {
            let columns = data::column_list(list, sites).map_err(|problem| Error::Config { key: "free", problem })?;
            columns.into_iter().for_each(|column| free[column] = true);
        }
        let mask = self.mask.as_ref().map(|path| Mask::open(path, sites)).transpose()?;
        Ok(Cells { free, mask })
    }
}

impl Cells {
    /// The known cells of a block.
    pub fn known(&mut self, block: &Block) -> Result<Bits> {
        let (rows, sites) = block.values.dim();
        let mask = self.mask.as_mut().map(|m| m.read(rows)).transpose()?;
        let mut known = Bits::new(sites);
        for r in 0..rows {
            let there = |i: usize| block.known.as_ref().is_none_or(|k| k.get(r, i));
            let asked = |i: usize| mask.as_ref().is_none_or(|m| m[[r.min(m.nrows() - 1), i]] == 1.0);
            known.push((0..sites).map(|i| there(i) && asked(i) && !self.free[i]));
        }
        Ok(known)
    }

    /// Refuses a mask with more rows than the data, which has `rows`.
    pub fn finish(&mut self, rows: u64) -> Result<()> {
        let Some(mask) = self.mask.as_mut().filter(|m| !m.only) else { return Ok(()) };
        match mask.waiting.is_empty() && mask.source.read(1)?.is_none() {
            true => Ok(()),
            false => Err(mask.wrong(format!("has more rows than the data, which has {rows}"))),
        }
    }
}

impl Mask {
    fn open(path: &str, sites: usize) -> Result<Mask> {
        let mut source = data::open_with(path, &ReadOptions::default())?;
        let columns = source.columns();
        let (first, second) = (source.read(1)?, source.read(1)?);
        let only = second.is_none();
        let waiting = [first, second].into_iter().flatten().collect();
        let mask = Mask { path: path.into(), source, only, waiting };
        if columns != sites {
            return Err(mask.wrong(format!("has {columns} columns, but the model has {sites} visible sites")));
        }
        mask.waiting.iter().try_for_each(|rows| mask.check(rows))?;
        Ok(mask)
    }

    /// The next rows, one for each of the data, or the only one.
    fn read(&mut self, rows: usize) -> Result<Array2<f64>> {
        let have = |waiting: &[Array2<f64>]| waiting.iter().map(Array2::nrows).sum::<usize>();
        while !self.only && have(&self.waiting) < rows {
            let Some(more) = self.source.read(rows)? else {
                return Err(self.wrong("has fewer rows than the data, and more than one".into()));
            };
            self.check(&more)?;
            self.waiting.push(more);
        }
        let views: Vec<_> = self.waiting.iter().map(|w| w.view()).collect();
        // All have the same number of columns.
        let all = ndarray::concatenate(Axis(0), &views).unwrap_or_default();
        if self.only {
            return Ok(all);
        }
        let (now, later) = all.view().split_at(Axis(0), rows);
        self.waiting = if later.nrows() > 0 { vec![later.to_owned()] } else { Vec::new() };
        Ok(now.to_owned())
    }

    fn check(&self, rows: &Array2<f64>) -> Result<()> {
        match rows.iter().find(|x| **x != 0.0 && **x != 1.0) {
            Some(x) => Err(self.wrong(format!("has the value {x}, but a mask has 1 (known) and 0 (unknown)"))),
            None => Ok(()),
        }
    }

    fn wrong(&self, problem: String) -> Error {
        Error::Data { path: self.path.clone(), problem: format!("the mask {problem}") }
    }
}
