//! From DATA to rows packed for the units, read block by block: first what must be known of all of them, then they.

use super::settings::{Settings, Weights};
use crate::args::DataOptions;
use crate::progress::Meter;
use crate::stream::Stream;
use anyhow::{Context, Result, bail};
use harmonium::data::{Preprocess, similarity_weights};
use harmonium::units::{Kind, Options};
use harmonium::{Advice, Dataset, Error, LoweredLayer, LoweredModel, Rbm};
use ndarray::Array1;
use std::path::Path;

/// Rows that are looked through at a time before they are packed.
const LOOK_ROWS: usize = 4096;
/// Number of states up to which Potts units are worth suggesting.
const MOST_SUGGESTED_STATES: f64 = 256.0;
/// LoweredLayer of a square from which so many columns are taken for an image.
const SMALLEST_SQUARE: usize = 8;
/// Standard deviation over |mean| below which a column is constant but for rounding.
const ROUNDING: f64 = 1e-12;

/// The rows of a run.
pub struct Input {
    pub train: Dataset<f32>,
    pub valid: Option<Dataset<f32>>,
}

/// Packs the rows of a run. Binarisation that the data bring about is remembered in `preprocess`.
pub fn read(settings: &Settings, visible: &Kind, columns: usize, preprocess: &mut Preprocess) -> Result<Input> {
    let (data, seed) = (&settings.data, settings.train.seed);
    let options = data.options()?;
    let units = Units::new(visible, columns)?;
    preprocess.binarize = options.binarize().or(preprocess.binarize);
    let (mut train, decided) = units.read(&data.source, &options, preprocess, seed)?;
    preprocess.binarize = preprocess.binarize.or(decided);
    weigh(&mut train, &data.weights()?, false)?;
    let (train, valid) = match (&data.valid, data.valid_fraction) {
        (Some(valid), _) => {
            let mut valid = units.read(valid, &options, preprocess, seed)?.0;
            weigh(&mut valid, &data.weights()?, true)?;
            (train, Some(valid))
        }
        (None, Some(fraction)) => {
            let (train, valid) = train.split(fraction, seed)?;
            (train, Some(valid))
        }
        (None, None) => (train, None),
    };
    Ok(Input { train, valid })
}

/// A model of no importance, whose visible side tells how rows are encoded.
struct Units {
    wide: LoweredModel<f64>,
    narrow: LoweredModel<f32>,
}

impl Units {
    fn new(visible: &Kind, columns: usize) -> Result<Units> {
        let hidden = Kind::new("bernoulli", &Options::new())?;
        let rbm: Rbm<f64> = Rbm::new(visible.clone(), columns, hidden, 1)?;
        Ok(Units { wide: rbm.lower(), narrow: rbm.cast::<f32>().lower() })
    }

    fn read(
        &self,
        source: &str,
        options: &DataOptions,
        preprocess: &Preprocess,
        seed: u64,
    ) -> Result<(Dataset<f32>, Option<harmonium::data::Binarize>)> {
        let (wide, narrow) = (self.wide.visible(), self.narrow.visible());
        let hint = || suggestion(source, options, wide);
        let mut stream = Stream::new(wide, preprocess, source, options, seed, Box::new(hint))?;
        let mut rows = Dataset::new(narrow);
        while let Some(block) = stream.read()? {
            rows.push_block(narrow, &block).map_err(|e| e.in_file(Path::new(source)))?;
        }
        Ok((rows, stream.decided_by_data()))
    }
}

/// What is known of a table before it is packed.
pub struct Look {
    pub largest: f64,
    pub mean: Array1<f64>,
    /// Standard deviation; 1 for constant columns.
    pub deviation: Array1<f64>,
}

/// Looks through a whole table: mean and variance of every column by Welford's update, and the largest number.
pub fn look(source: &str, options: &DataOptions) -> Result<Look> {
    let mut table = options.open(source)?;
    let mut mean = Array1::<f64>::zeros(table.columns());
    let mut square = mean.clone();
    let mut known = mean.clone();
    let (mut rows, mut largest) = (0u64, f64::NEG_INFINITY);
    while let Some(block) = table.read(LOOK_ROWS)? {
        for row in block.rows() {
            rows += 1;
            for (c, &x) in row.iter().enumerate() {
                if options.missing && x.is_nan() {
                    continue;
                }
                if !x.is_finite() {
                    let problem = format!("data row {rows}, column {}: {x} is not a finite number", c + 1);
                    return Err(Error::Data { path: source.into(), problem }.into());
                }
                let before = x - mean[c];
                known[c] += 1.0;
                mean[c] += before / known[c];
                square[c] += before * (x - mean[c]);
                largest = largest.max(x);
            }
        }
    }
    let deviation = square.iter().zip(&mean).zip(&known).map(|((s, m), known): ((&f64, &f64), &f64)| {
        let deviation = (s / known).sqrt();
        if deviation > ROUNDING * m.abs() && deviation.is_finite() { deviation } else { 1.0 }
    });
    Ok(Look { largest, deviation: deviation.collect(), mean })
}

/// The kinds of visible units that would take every number of a table, as advice.
fn suggestion(source: &str, options: &DataOptions, side: &LoweredLayer<f64>) -> Vec<Advice> {
    let Ok(found) = look(source, options) else { return Vec::new() };
    let states = if found.largest < MOST_SUGGESTED_STATES { (found.largest as u64 + 1).max(2) } else { 2 };
    let with_states: Options = [("states".to_string(), states.to_string())].into();
    let make = |name: &str| Kind::new(name, &Options::new()).or_else(|_| Kind::new(name, &with_states)).ok();
    let mut kinds: Vec<Kind> = Kind::LIST.iter().filter_map(|k| make(k.0)).collect();
    kinds.retain(|k| k.name() != side.kind().name());
    let Ok(mut table) = options.open(source) else { return Vec::new() };
    while let Ok(Some(block)) = table.read(LOOK_ROWS) {
        kinds.retain(|kind| {
            let unit = kind.unit::<f64>();
            let mut site = vec![0.0; unit.width()];
            block.iter().all(|x| (options.missing && x.is_nan()) || unit.encode(*x, &mut site))
        });
    }
    kinds.iter().map(|k| Advice::VisibleKind(k.name())).collect()
}

/// Gives rows their weights. Those of a file belong to the rows to learn from; similarity is one of any rows.
fn weigh(rows: &mut Dataset<f32>, weights: &Weights, held_out: bool) -> Result<()> {
    match weights {
        Weights::None => Ok(()),
        Weights::File(_) if held_out => Ok(()),
        Weights::File(file) => rows.set_weights(&one_column(file)?).map_err(|e| refused(file, e)),
        Weights::Similarity(identity) => {
            let Some(codes) = rows.states().codes() else {
                bail!("weights: similarity is one of codes, but these rows are numbers");
            };
            let meter = Meter::new("similar rows");
            let numbers = similarity_weights(codes.view(), *identity, &|done, all| meter.tell(done, Some(all)))?;
            Ok(rows.set_weights(&numbers)?)
        }
    }
}

/// The numbers of a table of one column, or of one row.
fn one_column(source: &str) -> Result<Vec<f64>> {
    let mut table = DataOptions::default().open(source)?;
    let columns = table.columns();
    let mut numbers = Vec::new();
    while let Some(block) = table.read(LOOK_ROWS)? {
        numbers.extend(block);
    }
    if columns != 1 && numbers.len() != columns {
        bail!("{source}: row weights are one column of numbers, but this table has {columns} columns");
    }
    Ok(numbers)
}

fn refused(source: &str, error: Error) -> anyhow::Error {
    anyhow::Error::from(error).context(source.to_string())
}

/// What a table says of itself before its rows are read.
pub struct Shape {
    pub columns: usize,
    /// Height and width, if the rows are images.
    pub image: Option<(usize, usize)>,
    /// The letters of the codes, if the rows are sequences.
    pub alphabet: Option<String>,
    pub names: Option<Vec<String>>,
}

impl Shape {
    pub fn of(source: &str, options: &DataOptions) -> Result<Shape> {
        let table = options.open(source)?;
        let (alphabet, names) = (table.alphabet().map(String::from), table.names().map(<[String]>::to_vec));
        Ok(Shape { columns: table.columns(), image: table.image(), alphabet, names })
    }
}

/// Height and width of the rows: as asked, as the source says, or a square that is large enough to be no accident.
pub fn image(settings: &Settings, columns: usize, own: Option<(usize, usize)>) -> Result<Option<(usize, usize)>> {
    if let Some((h, w)) = settings.image()? {
        if h.checked_mul(w) != Some(columns) {
            bail!("image: {h}x{w} has {} pixels, but the data has {columns} columns", h.saturating_mul(w));
        }
        return Ok(Some((h, w)));
    }
    let side = columns.isqrt();
    let square = (side >= SMALLEST_SQUARE && side * side == columns).then_some((side, side));
    Ok(own.filter(|(h, w)| h.checked_mul(*w) == Some(columns)).or(square))
}

/// (x − mean)/deviation for every column; only where numbers have units.
pub fn standardization(settings: &Settings, visible: &Kind) -> Result<Preprocess> {
    if !settings.data.standardize {
        return Ok(Preprocess::default());
    }
    if visible.unit::<f64>().n_states().is_some() {
        bail!("standardize: is for continuous visible units such as gaussian, but these are {visible}");
    }
    let found = look(&settings.data.source, &settings.data.options()?).context("standardize")?;
    // In the precision of the model file, so that what it remembers is what was done, to the bit.
    let shift = found.mean.mapv(|x| f64::from(x as f32));
    let scale = found.deviation.mapv(|x| f64::from((x as f32).clamp(f32::MIN_POSITIVE, f32::MAX)));
    Ok(Preprocess { binarize: None, shift: Some(shift), scale: Some(scale) })
}
