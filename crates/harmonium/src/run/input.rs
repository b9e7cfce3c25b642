//! From tables to rows packed for the units: one pass to survey them where that is needed, one to pack them.

use super::front::{Front, Note, Stage, Tables};
use super::row_weights::RowWeights;
use super::spec::Spec;
use crate::advice::Advice;
use crate::data::{Binarize, PreparedRows, Preprocess, ReadOptions, Source, similarity_weights, takes_probabilities};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::schema::{Moments, Schema, Unseen};
use crate::units::{Kind, Options};
use ndarray::Array1;
use std::path::Path;

/// Rows that a survey reads at a time.
const SURVEY_ROWS: usize = 4096;
/// Number of states up to which Potts units are suggested.
const MOST_SUGGESTED_STATES: f64 = 256.0;
/// Side of the smallest square that rows are taken for an image of.
const SMALLEST_SQUARE: usize = 8;

/// The rows of a run.
pub struct Input {
    /// Training rows.
    pub train: Dataset<f32>,
    /// Held-out rows.
    pub valid: Option<Dataset<f32>>,
}

impl Input {
    /// Whether there are held-out rows.
    pub(crate) fn has_valid(&self) -> bool {
        self.valid.as_ref().is_some_and(|v| !v.is_empty())
    }
}

/// Reads tables for a run.
pub struct Reader<'a> {
    /// Where tables are opened.
    pub tables: &'a dyn Tables,
    /// Who is informed.
    pub front: &'a dyn Front,
    /// What the columns are, if they are described one by one.
    pub(super) schema: Option<Schema>,
    /// What is done with words that the schema does not know.
    pub(super) unseen: Unseen,
}

impl<'a> Reader<'a> {
    /// Reads tables of numbers.
    pub fn new(tables: &'a dyn Tables, front: &'a dyn Front) -> Reader<'a> {
        Reader { tables, front, schema: None, unseen: Unseen::Error }
    }

    /// The same for tables whose words a schema, if there is one, turns into codes.
    pub fn with_schema(self, schema: Option<Schema>, unseen: Unseen) -> Reader<'a> {
        Reader { schema, unseen, ..self }
    }
}

impl Reader<'_> {
    /// Opens a table of rows; words become codes.
    fn open(&self, name: &str, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let source = self.tables.open(name, options)?;
        match &self.schema {
            Some(schema) => schema.coded(source, Path::new(name), self.unseen),
            None => Ok(source),
        }
    }

    /// Packs the rows of a run. A binarisation that the data cause is added to `preprocess`.
    pub(crate) fn read(&self, spec: &Spec, layout: &Layout, preprocess: &mut Preprocess) -> Result<Input> {
        let (data, seed) = (&spec.data, spec.train.seed);
        preprocess.binarize = data.binarize()?.or(preprocess.binarize);
        let (mut train, decided) = self.pack(layout, &data.source, &data.options(), preprocess, seed)?;
        preprocess.binarize = preprocess.binarize.or(decided);
        self.weigh(&mut train, &data.weights()?, false)?;
        let (train, valid) = match (&data.valid, data.valid_fraction) {
            (Some(valid), _) => {
                let mut valid = self.pack(layout, valid, &data.options(), preprocess, seed)?.0;
                self.weigh(&mut valid, &data.weights()?, true)?;
                (train, Some(valid))
            }
            (None, Some(fraction)) if fraction > 0.0 => {
                let (train, valid) = train.split(fraction, seed)?;
                (train, Some(valid))
            }
            (None, _) => (train, None),
        };
        Ok(Input { train, valid })
    }

    /// The rows of a table, packed, and the binarisation that they caused.
    pub fn pack(
        &self,
        layout: &Layout,
        name: &str,
        options: &ReadOptions,
        preprocess: &Preprocess,
        seed: u64,
    ) -> Result<(Dataset<f32>, Option<Binarize>)> {
        let path = Path::new(name);
        let source = self.open(name, options)?;
        if let Some(text) = source.note() {
            self.front.note(&Note::Reading { path: path.into(), text });
        }
        let located = |e: Error| self.located(name, options, layout, e);
        let rows = PreparedRows::new(source, layout, preprocess, preprocess.binarize, seed).map_err(located)?;
        let mut rows = rows.with_missing(options.missing);
        let (mut packed, mut noted) = (Dataset::new(layout), false);
        loop {
            if let Some(bits) = rows.read_bits() {
                packed.push_bits(layout, bits);
                self.front.progress(Stage::Rows, rows.done(), rows.rows());
                continue;
            }
            let Some(block) = rows.read().map_err(located)? else { break };
            if let Some(rule) = rows.decided_by_data().filter(|_| !noted) {
                noted = true;
                self.front.note(&Note::Binarized { path: path.into(), rule });
            }
            packed.push_block(layout, &block).map_err(|e| e.in_file(path))?;
            self.front.progress(Stage::Rows, rows.done(), rows.rows());
        }
        Ok((packed, rows.decided_by_data()))
    }

    /// Names the table in errors that know only a row or a number of columns; a value that does not fit gets advice.
    fn located(&self, name: &str, options: &ReadOptions, side: &Layout, error: Error) -> Error {
        let advice = match error.plain() {
            Error::Domain { value, .. } if value.is_nan() => vec![Advice::MissingCells],
            Error::Domain { value, .. } if value.is_finite() => {
                let binarize = side.single().is_some_and(|b| takes_probabilities(b.unit())).then_some(Advice::Binarize);
                self.kinds_that_fit(name, options, side).into_iter().chain(binarize).collect()
            }
            // The model was made for the training rows, so that these are others.
            Error::Columns { found, expected } => {
                let problem = format!("has {found} columns, but the training data has {expected}");
                return Error::Data { path: name.into(), problem };
            }
            Error::Domain { .. } => Vec::new(),
            _ => return error,
        };
        Error::Data { path: name.into(), problem: error.to_string() }.advise(&advice)
    }

    /// Surveys a whole table: mean and variance of every column, and the largest number.
    pub(crate) fn survey(&self, name: &str, options: &ReadOptions) -> Result<Survey> {
        let mut table = self.open(name, options)?;
        let mut columns = vec![Moments::default(); table.columns()];
        let (mut rows, mut largest) = (0u64, f64::NEG_INFINITY);
        while let Some(block) = table.read(SURVEY_ROWS)? {
            for row in block.rows() {
                rows += 1;
                for (c, &x) in row.iter().enumerate() {
                    if options.missing && x.is_nan() {
                        continue;
                    }
                    if !x.is_finite() {
                        let column = table.file_column(c + 1);
                        let problem = format!("data row {rows}, column {column}: {x} is not a finite number");
                        let advice = x.is_nan().then_some(Advice::MissingCells);
                        return Err(Error::Data { path: name.into(), problem }.advise(advice.as_slice()));
                    }
                    columns[c].push(x);
                    largest = largest.max(x);
                }
            }
        }
        Ok(Survey { largest, columns })
    }

    /// The kinds of visible units that would take every value of a table.
    fn kinds_that_fit(&self, name: &str, options: &ReadOptions, side: &Layout) -> Vec<Advice> {
        let Ok(found) = self.survey(name, options) else { return Vec::new() };
        let states = if found.largest < MOST_SUGGESTED_STATES { (found.largest as u64 + 1).max(2) } else { 2 };
        let with_states: Options = [("states".to_string(), states.to_string())].into();
        let make = |name: &str| Kind::new(name, &Options::new()).or_else(|_| Kind::new(name, &with_states)).ok();
        let mut kinds: Vec<(&'static str, Kind)> = Kind::LIST.iter().filter_map(|k| Some((k.0, make(k.0)?))).collect();
        kinds.retain(|k| side.kind().is_none_or(|kind| k.0 != kind.name()));
        let Ok(mut table) = self.open(name, options) else { return Vec::new() };
        while let Ok(Some(block)) = table.read(SURVEY_ROWS) {
            kinds.retain(|(_, kind)| {
                let unit = kind.unit::<f64>();
                let mut site = vec![0.0; unit.width()];
                block.iter().all(|x| (options.missing && x.is_nan()) || unit.encode(*x, &mut site))
            });
        }
        kinds.iter().map(|k| Advice::VisibleKind(k.0)).collect()
    }

    /// Sets the weights of rows. A table of weights is for the training rows; similarity is for any rows.
    fn weigh(&self, rows: &mut Dataset<f32>, weights: &RowWeights, held_out: bool) -> Result<()> {
        match weights {
            RowWeights::None => Ok(()),
            RowWeights::Table(_) if held_out => Ok(()),
            RowWeights::Table(name) => {
                rows.set_weights(&self.one_column(name)?).map_err(|e| e.in_file(Path::new(name)))
            }
            RowWeights::Similarity(identity) => {
                let Some(codes) = rows.states().codes() else {
                    let problem = "similarity needs rows of codes, but these rows are real numbers".into();
                    return Err(Error::Config { key: "data.weights", problem });
                };
                let progress = |done, all| self.front.progress(Stage::Similarity, done, Some(all));
                rows.set_weights(&similarity_weights(codes.view(), *identity, &progress)?)
            }
        }
    }

    /// The numbers of a table of one column, or of one row.
    fn one_column(&self, name: &str) -> Result<Vec<f64>> {
        let mut table = self.tables.open(name, &ReadOptions::default())?;
        let columns = table.columns();
        let mut numbers = Vec::new();
        while let Some(block) = table.read(SURVEY_ROWS)? {
            numbers.extend(block);
        }
        if columns != 1 && numbers.len() != columns {
            let problem = format!("row weights must be one column of numbers, but this table has {columns} columns");
            return Err(Error::Data { path: name.into(), problem });
        }
        Ok(numbers)
    }

    /// What a table says about itself before its rows are read.
    pub(crate) fn shape(&self, name: &str, options: &ReadOptions) -> Result<Shape> {
        let table = self.open(name, options)?;
        let (alphabet, names) = (table.alphabet().map(String::from), table.names().map(<[String]>::to_vec));
        Ok(Shape { columns: table.columns(), image: table.image(), alphabet, names })
    }

    /// (x − mean)/deviation for every column; only where numbers have units.
    pub(crate) fn standardization(&self, spec: &Spec, visible: &Layout) -> Result<Preprocess> {
        if !spec.data.standardize {
            return Ok(Preprocess::default());
        }
        if visible.is_finite() {
            let problem = format!("needs continuous visible units such as gaussian, but these are {visible}");
            return Err(Error::Config { key: "data.standardize", problem });
        }
        let (shift, scale): (Vec<f64>, Vec<f64>) = match &self.schema {
            Some(schema) => schema.standards(),
            None => {
                let found = self.survey(&spec.data.source, &spec.data.options())?;
                found.columns.iter().map(Moments::standard).unzip()
            }
        };
        let (mut shift, mut scale) = (Array1::from(shift), Array1::from(scale));
        for site in visible.each_site().filter(|site| site.n_states().is_some()) {
            (shift[site.index], scale[site.index]) = (0.0, 1.0);
        }
        Ok(Preprocess { binarize: None, shift: Some(shift), scale: Some(scale) })
    }
}

/// Facts about a table before it is packed.
pub struct Survey {
    /// The largest number.
    pub largest: f64,
    columns: Vec<Moments>,
}

/// What a table says about itself before its rows are read.
pub struct Shape {
    pub columns: usize,
    /// Height and width, if the rows are images.
    pub image: Option<(usize, usize)>,
    /// The letters of the codes, if the rows are sequences.
    pub alphabet: Option<String>,
    pub names: Option<Vec<String>>,
}

/// Height and width of the rows: as asked, as the table says, or a square that is large enough to be no accident.
pub fn image(spec: &Spec, columns: usize, own: Option<(usize, usize)>) -> Result<Option<(usize, usize)>> {
    if let Some((h, w)) = spec.data.image()? {
        if h.checked_mul(w) != Some(columns) {
            let problem =
                format!("is {h}x{w}, which makes {} pixels, but the data has {columns} columns", h.saturating_mul(w));
            return Err(Error::Config { key: "data.image", problem });
        }
        return Ok(Some((h, w)));
    }
    let side = columns.isqrt();
    let square = (side >= SMALLEST_SQUARE && side * side == columns).then_some((side, side));
    Ok(own.filter(|(h, w)| h.checked_mul(*w) == Some(columns)).or(square))
}
