//! Which cells are missing: those that are not numbers, and those that --free and --mask name.

use clap::Args;
use harmonium::data::{self, Block, ReadOptions, Source};
use harmonium::{Bits, Error, Result};
use ndarray::{Array2, Axis};
use std::path::PathBuf;

/// Options that name missing cells.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Missing cells, besides empty, NaN, NA and ?")]
pub struct CellOptions {
    /// Columns to treat as missing: numbers from 1 and ranges (1-4,7)
    #[arg(long, value_name = "LIST")]
    free: Option<String>,
    /// Table of 1 (known) and 0 (missing): one row, or one per data row
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
    /// Whether it has a single row, which is for all rows of the data.
    single: bool,
    /// Rows that were read but not used yet.
    pending: Vec<Array2<f64>>,
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
        let Some(mask) = self.mask.as_mut().filter(|m| !m.single) else { return Ok(()) };
        if mask.pending.is_empty() && mask.source.read(1)?.is_none() {
            return Ok(());
        }
        Err(mask.wrong(format!("has more rows than the data, which has {rows}")))
    }
}

impl Mask {
    fn open(path: &str, sites: usize) -> Result<Mask> {
        let mut source = data::open_with(path, &ReadOptions::default())?;
        let columns = source.columns();
        let (first, second) = (source.read(1)?, source.read(1)?);
        let single = second.is_none();
        let pending = [first, second].into_iter().flatten().collect();
        let mask = Mask { path: path.into(), source, single, pending };
        if columns != sites {
            return Err(mask.wrong(format!("has {columns} columns, but the model has {sites} visible sites")));
        }
        mask.pending.iter().try_for_each(|rows| mask.check(rows))?;
        Ok(mask)
    }

    /// The next rows, one per data row, or the single one.
    fn read(&mut self, rows: usize) -> Result<Array2<f64>> {
        let have = |pending: &[Array2<f64>]| pending.iter().map(Array2::nrows).sum::<usize>();
        while !self.single && have(&self.pending) < rows {
            let Some(more) = self.source.read(rows)? else {
                return Err(self.wrong("has fewer rows than the data; it needs one row, or one per data row".into()));
            };
            self.check(&more)?;
            self.pending.push(more);
        }
        let views: Vec<_> = self.pending.iter().map(|w| w.view()).collect();
        // All have the same number of columns.
        let all = ndarray::concatenate(Axis(0), &views).unwrap_or_default();
        if self.single {
            return Ok(all);
        }
        let (now, later) = all.view().split_at(Axis(0), rows);
        self.pending = if later.nrows() > 0 { vec![later.to_owned()] } else { Vec::new() };
        Ok(now.to_owned())
    }

    fn check(&self, rows: &Array2<f64>) -> Result<()> {
        match rows.iter().find(|x| **x != 0.0 && **x != 1.0) {
            Some(x) => Err(self.wrong(format!("has the value {x}, but must hold 1 (known) or 0 (missing)"))),
            None => Ok(()),
        }
    }

    fn wrong(&self, problem: String) -> Error {
        Error::Data { path: self.path.clone(), problem: format!("the mask {problem}") }
    }
}
