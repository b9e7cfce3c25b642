//! The rows of DATA, block by block, with progress, notes and error messages that name the file.

use crate::args::{DataOptions, Global};
use crate::model::Model;
use crate::output::say;
use crate::progress::Meter;
use harmonium::data::{Binarize, Block, PreparedRows, Preprocess};
use harmonium::{Advice, Error, Layout, Result};
use ndarray::{Array2, ArrayView2};
use std::path::{Path, PathBuf};

/// The rows of a data file as a model sees them.
pub struct Stream<'a> {
    rows: PreparedRows<'a>,
    path: PathBuf,
    hint: Box<dyn Fn() -> Vec<Advice> + 'a>,
    meter: Meter,
    noted: bool,
}

impl<'a> Stream<'a> {
    pub fn open(model: &'a Model, data: &str, options: &DataOptions, global: &Global) -> Result<Stream<'a>> {
        let side = model.lowered.visible();
        let options = DataOptions {
            alphabet: model.notes.alphabet.clone(),
            schema: model.file.schema.clone(),
            ..options.clone()
        };
        Self::new(side, &model.file.preprocess, data, &options, global.seed(), Box::new(Vec::new))
    }

    /// The rows of `data` for the units of a layer; `hint` is what else to do about a value outside their domain.
    pub fn new(
        side: &'a Layout,
        preprocess: &'a Preprocess,
        data: &str,
        options: &DataOptions,
        seed: u64,
        hint: Box<dyn Fn() -> Vec<Advice> + 'a>,
    ) -> Result<Stream<'a>> {
        let path = PathBuf::from(data);
        let source = options.open(data)?;
        if let Some(note) = source.note() {
            say("note", &format!("{}: {note}", path.display()));
        }
        let rows = PreparedRows::new(source, side, preprocess, options.binarize(), seed);
        let rows = rows.map_err(|e| locate(&path, &Vec::new, e))?;
        let rows = rows.with_missing(options.missing);
        Ok(Stream { rows, path, hint, meter: Meter::new("rows"), noted: false })
    }

    /// Number of rows, if it is known.
    pub fn rows(&self) -> Option<u64> {
        self.rows.rows()
    }

    /// The next block; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Block>> {
        let block = self.rows.read().map_err(|e| locate(&self.path, &self.hint, e))?;
        if let Some(rule) = self.rows.decided_by_data().filter(|_| !self.noted) {
            self.noted = true;
            let text = binarized(&self.path, rule);
            self.meter.suspend(|| say("note", &text));
        }
        self.meter.tell(self.rows.done(), self.rows.rows());
        Ok(block)
    }

    /// Applies `f` to the columns of every block; `f` takes rows to rows of `columns` numbers.
    pub fn map(&mut self, columns: usize, f: impl Fn(ArrayView2<f64>) -> Array2<f64> + Sync) -> Result<Option<Mapped>> {
        let Some(block) = self.read()? else { return Ok(None) };
        let result = block.map(columns, f).map_err(|e| e.in_file(&self.path))?;
        Ok(Some(Mapped { block, result }))
    }
}

/// The note about data whose grey values were binarised although nobody asked for it.
pub fn binarized(path: &Path, rule: Binarize) -> String {
    let how = match rule {
        Binarize::Threshold(t) => format!("thresholded at {t}"),
        other => format!("binarised by {other}"),
    };
    format!("{}: grey values were {how}; see --binarize", path.display())
}

/// A block and the result for it.
pub struct Mapped {
    pub block: Block,
    pub result: Array2<f64>,
}

/// Names the file in errors that know only a row or a number of columns; a number outside the domain gets a hint.
fn locate(path: &Path, hint: &dyn Fn() -> Vec<Advice>, error: Error) -> Error {
    let hint = match error.plain() {
        Error::Domain { value, .. } if value.is_finite() => hint(),
        Error::Columns { .. } | Error::Domain { .. } => Vec::new(),
        _ => return error,
    };
    let own = error.advice().to_vec();
    Error::Data { path: path.into(), problem: error.to_string() }.advise(&hint).advise(&own)
}
