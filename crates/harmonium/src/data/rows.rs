//! Rows of a table as input of a model: (x − shift)/scale, binarised, as values of its visible units.

use super::{Binarize, Binarizer, Preprocess, Source, takes_bits, takes_probabilities};
use crate::advice::Advice;
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::layout::{self, Layout, Site};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

/// Numbers per block: 16 MiB, which is enough rows for many threads and little compared with the weights of so wide a model.
pub(super) const BLOCK_CELLS: usize = 1 << 21;
/// Rows per block at most: a thousand per thread on a large computer, and frequent progress reports.
const BLOCK_ROWS: usize = 1 << 14;

/// Rows that one thread processes at a time. Fixed, so that results do not depend on the number of threads.
const CHUNK_ROWS: usize = 128;

/// A block of consecutive rows.
pub struct Block {
    /// Number of the first row, counted from 1.
    pub first: u64,
    /// Prepared data values, one per site.
    pub values: Array2<f64>,
    /// Which cells are known, one bit per site, if some are not; unknown cells hold the first state.
    pub known: Option<Bits>,
    /// The unprepared rows, if cells may be unknown.
    pub raw: Option<Array2<f64>>,
    layout: Layout,
}

impl Block {
    /// The rows as columns, see [`Layout::encode`].
    pub fn columns(&self) -> Result<Array2<f64>> {
        self.layout.encode(self.values.view(), self.first)
    }

    /// Some of the rows, by their numbers from 0; `first` stays that of the whole block.
    pub fn select(&self, rows: &[usize]) -> Block {
        let select = |of: &Array2<f64>| of.select(Axis(0), rows);
        let known = self.known.as_ref().map(|known| known.select(rows));
        let (values, raw, layout) = (select(&self.values), self.raw.as_ref().map(select), self.layout.clone());
        Block { first: self.first, values, known, raw, layout }
    }

    /// Applies `f`, which maps rows to rows of `columns` numbers, on all threads. A result that is not finite is an error that
    /// names its row.
    pub fn map(&self, columns: usize, f: impl Fn(ArrayView2<f64>) -> Array2<f64> + Sync) -> Result<Array2<f64>> {
        let mut result = Array2::zeros((self.values.nrows(), columns));
        let chunks = self.values.axis_chunks_iter(Axis(0), CHUNK_ROWS);
        let mut work: Vec<_> = result.axis_chunks_iter_mut(Axis(0), CHUNK_ROWS).zip(chunks).collect();
        let each = |(k, (result, values)): (usize, &mut (ArrayViewMut2<f64>, ArrayView2<f64>))| -> Result<()> {
            let x = self.layout.encode(values.view(), self.first + (k * CHUNK_ROWS) as u64)?;
            result.assign(&f(x.view()));
            Ok(())
        };
        if work.len() > 1 {
            work.par_iter_mut().enumerate().try_for_each(each)?;
        } else {
            work.iter_mut().enumerate().try_for_each(each)?;
        }
        self.finite(result)
    }

    /// The result, if all of it is finite.
    fn finite(&self, result: Array2<f64>) -> Result<Array2<f64>> {
        match result.indexed_iter().find(|(_, x)| !x.is_finite()) {
            None => Ok(result),
            Some(((row, _), x)) => Err(Error::Undefined(format!(
                "data row {}: the result is {x}, so its values are too large for the model",
                self.first + row as u64
            ))),
        }
    }
}

/// A source whose rows are prepared for the units of a layer.
pub struct PreparedRows<'a> {
    source: Box<dyn Source>,
    layer: &'a Layout,
    preprocess: &'a Preprocess,
    binarizer: Binarizer,
    missing: bool,
    done: u64,
}

impl<'a> PreparedRows<'a> {
    /// Refuses a source whose number of columns is not the number of sites of the layer. `binarize` overrides the binarisation
    /// of `preprocess`; `seed` is for binarisation by sampling.
    pub fn new(
        source: Box<dyn Source>,
        layer: &'a Layout,
        preprocess: &'a Preprocess,
        binarize: Option<Binarize>,
        seed: u64,
    ) -> Result<PreparedRows<'a>> {
        if source.columns() != layer.sites() {
            return Err(Error::Columns { expected: layer.sites(), found: source.columns() });
        }
        let wanted = binarize.filter(|rule| *rule != Binarize::None);
        if wanted.is_some() && !layer.single().is_some_and(|b| takes_bits(b.unit())) {
            let problem = format!("needs units with the values 0 and 1, but the visible units are {layer}");
            return Err(Error::Config { key: "data.binarize", problem });
        }
        let binarizer = Binarizer::new(binarize, preprocess.binarize, layer.single().map(layout::Block::unit), seed);
        Ok(PreparedRows { source, layer, preprocess, binarizer, missing: false, done: 0 })
    }

    /// Sets whether NaN cells are treated as unknown; otherwise they are errors.
    pub fn with_missing(mut self, missing: bool) -> Self {
        self.missing = missing;
        self
    }

    /// Number of rows, if it is known.
    pub fn rows(&self) -> Option<u64> {
        self.source.rows()
    }

    /// Number of rows read so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The binarisation that was chosen because of the data so far, which a user should know.
    pub fn decided_by_data(&self) -> Option<Binarize> {
        self.binarizer.decided_by_data()
    }

    /// The next block; `None` at the end. A value outside the domain of the units is an error that names row and column.
    pub fn read(&mut self) -> Result<Option<Block>> {
        let Some(mut values) = self.source.read(self.block_rows())? else { return Ok(None) };
        let first = self.done + 1;
        self.done += values.nrows() as u64;
        let raw = self.missing.then(|| values.clone());
        self.preprocess.standardize(&mut values);
        let known = if self.missing { self.take_missing(&mut values) } else { None };
        self.binarizer.apply(&mut values, first);
        self.layer.check(values.view(), first).map_err(|e| self.advised(e))?;
        Ok(Some(Block { first, values, known, raw, layout: self.layer.clone() }))
    }

    /// The next block as bits, if its cells are the two states of the units, nothing changes them, and the source reads them
    /// so; otherwise `None`, and `read` gives the block.
    pub(crate) fn read_bits(&mut self) -> Option<Bits> {
        let values = self.layer.two_values().filter(|values| self.binarizer.keeps(*values))?;
        if self.preprocess.shift.is_some() || self.preprocess.scale.is_some() {
            return None;
        }
        let rows = self.source.read_bits(self.block_rows(), values)?;
        self.done += rows.rows() as u64;
        Some(rows)
    }

    fn block_rows(&self) -> usize {
        (BLOCK_CELLS / self.layer.columns()).clamp(1, BLOCK_ROWS)
    }

    /// Counts the column of a value outside the domain as the file does, and adds what to do about it.
    fn advised(&self, mut error: Error) -> Error {
        if let Error::Domain { column, .. } = &mut error {
            *column = self.source.file_column(*column);
        }
        match error {
            Error::Domain { value, .. } if value.is_nan() => error.advise(&[Advice::MissingCells]),
            Error::Domain { value: -1.0, .. } if self.layer.two_values() == Some([0.0, 1.0]) => {
                error.advise(&[Advice::SpinsToBits])
            }
            Error::Domain { value: 0.0, .. } if self.layer.two_values() == Some([-1.0, 1.0]) => {
                error.advise(&[Advice::BitsToSpins])
            }
            Error::Domain { value, .. }
                if value.is_finite() && self.layer.single().is_some_and(|b| takes_probabilities(b.unit())) =>
            {
                error.advise(&[Advice::Binarize])
            }
            _ => error,
        }
    }

    /// Sets every NaN cell to the first state and returns which cells were known, unless all were.
    fn take_missing(&self, values: &mut Array2<f64>) -> Option<Bits> {
        if !values.iter().any(|x| x.is_nan()) {
            return None;
        }
        let first_state = |site: Site| {
            let unit = site.kind.unit::<f64>();
            if unit.n_states().is_some() { unit.value(0) } else { unit.decode(&[0.0]) }
        };
        let first_states: Vec<f64> = self.layer.each_site().map(first_state).collect();
        let mut known = Bits::new(values.ncols());
        for mut row in values.rows_mut() {
            known.push(row.iter().map(|x| !x.is_nan()));
            row.iter_mut().zip(&first_states).filter(|(x, _)| x.is_nan()).for_each(|(x, first)| *x = *first);
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rbm;
    use crate::units::Kind;
    use ndarray::{Array1, array};

    struct Memory(Vec<Array2<f64>>);

    impl Source for Memory {
        fn columns(&self) -> usize {
            2
        }
        fn rows(&self) -> Option<u64> {
            None
        }
        fn read(&mut self, _: usize) -> Result<Option<Array2<f64>>> {
            Ok(self.0.pop())
        }
    }

    fn lowered(kind: &str) -> crate::LoweredModel<f64> {
        let kind = Kind::new(kind, &Default::default()).unwrap();
        let sites = if kind.name() == "spin" { 3 } else { 2 };
        Rbm::new(kind.clone(), sites, kind, 1).unwrap().lower()
    }

    #[test]
    fn shift_and_scale_come_before_the_units() {
        let lowered = lowered("gaussian");
        let numbers = |x: f64| Some(Array1::from_elem(2, x));
        let preprocess = Preprocess { binarize: None, shift: numbers(1.0), scale: numbers(2.0) };
        let source = Box::new(Memory(vec![array![[5.0, 1.0]]]));
        let mut rows = PreparedRows::new(source, lowered.visible(), &preprocess, None, 0).unwrap();
        assert_eq!(rows.read().unwrap().unwrap().values, array![[2.0, 0.0]]);
        assert!(rows.read().unwrap().is_none());
    }

    #[test]
    fn nan_and_values_outside_the_domain_are_refused_by_row_and_column() {
        let lowered = lowered("bernoulli");
        for (bad, text) in [
            (f64::NAN, "NaN means that the cell is missing"),
            (2.0, "2 is not a number from 0 to 1"),
            (f64::INFINITY, "inf is not a number from 0 to 1"),
        ] {
            let source = Box::new(Memory(vec![array![[0.0, 1.0], [1.0, bad]], array![[0.3, 1.0]]]));
            let preprocess = Preprocess::default();
            let mut rows = PreparedRows::new(source, lowered.visible(), &preprocess, None, 0).unwrap();
            assert_eq!(rows.read().unwrap().unwrap().values, array![[0.0, 1.0]]);
            assert_eq!(rows.decided_by_data(), Some(Binarize::Threshold(0.5)));
            let message = rows.read().err().unwrap().to_string();
            assert!(message.starts_with(&format!("data row 3, column 2: {text}")), "{message}");
        }
    }

    #[test]
    fn missing_cells_are_marked_and_never_seen_by_the_units() {
        for (kind, first) in [("bernoulli", 0.0), ("gaussian", 0.0), ("spin", -1.0)] {
            let lowered = lowered(kind);
            let row = array![[1.0, f64::NAN, 1.0]];
            let source = Box::new(Memory(vec![row.slice(ndarray::s![.., ..lowered.visible().sites()]).to_owned()]));
            let source: Box<dyn Source> = if kind == "spin" { Box::new(Three(Some(row))) } else { source };
            let preprocess = Preprocess::default();
            let mut rows =
                PreparedRows::new(source, lowered.visible(), &preprocess, None, 0).unwrap().with_missing(true);
            let block = rows.read().unwrap().unwrap();
            let known = block.known.unwrap();
            assert_eq!((known.get(0, 0), known.get(0, 1)), (true, false));
            assert_eq!((block.values[[0, 0]], block.values[[0, 1]]), (1.0, first), "{kind}");
        }
    }

    struct Three(Option<Array2<f64>>);

    impl Source for Three {
        fn columns(&self) -> usize {
            3
        }
        fn rows(&self) -> Option<u64> {
            None
        }
        fn read(&mut self, _: usize) -> Result<Option<Array2<f64>>> {
            Ok(self.0.take())
        }
    }

    #[test]
    fn another_number_of_columns_is_refused_before_reading() {
        let lowered = lowered("spin");
        let preprocess = Preprocess::default();
        let refused = PreparedRows::new(Box::new(Memory(vec![])), lowered.visible(), &preprocess, None, 0);
        assert_eq!(refused.err().unwrap().to_string(), "the data has 2 columns, but the model has 3 visible units");
    }
}
