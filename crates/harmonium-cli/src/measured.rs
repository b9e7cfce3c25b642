//! Every measure of the library, on data that is read once: a sample of the rows is kept, and chains start there.

use crate::model::Model;
use crate::output::{CommandOutput, with_error};
use harmonium::backend::{self, cpu};
use harmonium::measure::{Chains, Context, MEASURES, Measure, MeasuredRows, Needs, Quantity, Value, measure};
use harmonium::rng::{Key, Purpose};
use harmonium::{Dataset, Result};
use ndarray::Array2;
use serde_json::{Map, Value as Json};

/// Most rows that are kept, and most numbers in them.
const ROWS: usize = 1000;
const NUMBERS: usize = 20_000_000;
/// Deepest rows that are kept: a model that has memorised rows has most of its mass there.
const DEEPEST: usize = 256;
/// Exponentials that a measure may take: below a second.
const TERMS: f64 = 3e8;
/// Most chains, most sweeps, and most multiplications: a few seconds.
const CHAINS: usize = 200;
const SWEEPS: f64 = 400.0;
const PRODUCTS: f64 = 1e11;

/// Free energies of all rows, some of the rows, each equally likely to be kept, and the deepest ones.
pub struct Sample {
    pub energies: Vec<f64>,
    rows: Vec<Vec<f64>>,
    /// Distinct rows with the smallest free energies, the deepest first.
    deepest: Vec<(f64, Vec<f64>)>,
    most: usize,
    seen: u64,
    key: Key,
}

impl Sample {
    pub fn new(model: &Model, seed: u64) -> Sample {
        let most = (NUMBERS / model.lowered.visible().columns()).clamp(10, ROWS);
        let key = Key::root(seed).of(Purpose::Monitor);
        Sample { energies: Vec::new(), rows: Vec::new(), deepest: Vec::new(), most, seen: 0, key }
    }

    /// Row number r is kept with probability most/r, in place of any that was (Vitter, *Random sampling with a reservoir*,
    /// 1985, algorithm R).
    pub fn add(&mut self, columns: &Array2<f64>, energies: impl IntoIterator<Item = f64>) {
        let before = self.energies.len();
        self.energies.extend(energies);
        for (row, energy) in columns.rows().into_iter().zip(&self.energies[before..]) {
            if self.deepest.len() < DEEPEST || self.deepest.last().is_some_and(|d| energy < &d.0) {
                let place = self.deepest.partition_point(|d| d.0 < *energy);
                if self.deepest.get(place).is_none_or(|d| d.1 != row.to_vec()) {
                    self.deepest.insert(place, (*energy, row.to_vec()));
                    self.deepest.truncate(DEEPEST);
                }
            }
        }
        for row in columns.rows() {
            self.seen += 1;
            let place = (self.key.uniforms::<f64>(self.seen, 0)[0] * self.seen as f64) as usize;
            if self.rows.len() < self.most {
                self.rows.push(row.to_vec());
            } else if place < self.most {
                self.rows[place] = row.to_vec();
            }
        }
    }

    /// The rows that were kept, as rows of columns.
    pub fn columns(&self, model: &Model) -> Array2<f64> {
        Array2::from_shape_fn((self.rows.len(), model.lowered.visible().columns()), |(r, c)| self.rows[r][c])
    }

    /// Rows that help an estimate of log Z: those that were kept and the deepest, as rows of columns.
    pub fn for_log_z(&self, model: &Model) -> Array2<f64> {
        let rows: Vec<&Vec<f64>> = self.rows.iter().chain(self.deepest.iter().map(|d| &d.1)).collect();
        Array2::from_shape_fn((rows.len(), model.lowered.visible().columns()), |(r, c)| rows[r][c])
    }

    fn data(&self, model: &Model) -> Dataset<f64> {
        let side = model.lowered.visible();
        let mut data = Dataset::new(side);
        data.push_values(side, side.decode(self.columns(model).view()).view(), None);
        data
    }

    /// The measures' view of the rows; free energies are of all of them.
    fn measured_rows(&self, backend: &mut dyn backend::Chains<f64>, data: &Dataset<f64>) -> MeasuredRows {
        let rows = MeasuredRows::new(backend, data, usize::MAX);
        MeasuredRows { free_energies: self.energies.clone().into(), weights: vec![1.0; self.energies.len()], ..rows }
    }
}

/// What was measured of a model with so many hidden units.
pub struct Measured {
    all: Vec<(&'static Measure, Vec<Value>)>,
    hidden: usize,
}

/// Measures a model on rows, and on training rows beside them if there are some.
pub fn measured(model: &Model, rows: &Sample, train: Option<&Sample>, seed: u64) -> Result<Measured> {
    let mut backend = cpu().backend(model.lowered.clone())?;
    let data = rows.data(model);
    let shown = rows.measured_rows(&mut *backend, &data);
    let some: Vec<usize> = (0..data.len().min(CHAINS)).collect();
    let work = (some.len() * model.lowered.weights().len()).max(1) as f64;
    let sweeps = (PRODUCTS / work).clamp(50.0, SWEEPS) as u64;
    let key = Key::root(seed).of(Purpose::Monitor);
    let chains = Chains::watched(&mut *backend, 0, &data.states().select(&some), sweeps, key);
    let cx = Context {
        lowered: &model.lowered,
        log_jacobian: model.file.preprocess.log_jacobian(model.lowered.visible()),
        rows: Some(&shown),
        held_out: None,
        chains: Some(&chains),
        key,
        terms: TERMS,
    };
    let mut all = measure(&cx, &[Needs::Rows, Needs::Chains, Needs::Trace, Needs::Model]);
    if let Some(train) = train {
        let train = train.measured_rows(&mut *backend, &train.data(model));
        all.extend(measure(&Context { rows: Some(&train), held_out: Some(&shown), ..cx }, &[Needs::HeldOut]));
    }
    Ok(Measured { all, hidden: model.lowered.hidden().sites() })
}

impl Measured {
    /// One line for every family of numbers.
    pub fn lines(&self, mut report: CommandOutput) -> CommandOutput {
        for (measure, values) in &self.all {
            for family in measure.families() {
                let known: Vec<(&Quantity, &Value)> =
                    family.iter().filter_map(|q| Some((*q, values.iter().find(|v| v.name == q.name)?))).collect();
                let Some(first) = known.first() else { continue };
                let text = match measure.name {
                    "hidden-units" => units_in_words(&known, self.hidden),
                    _ => family_in_words(&known, family[0]),
                };
                report = report.line(first.0.family, text);
            }
        }
        report
    }

    /// Every registered number by name, null where it was not measured; means over rows begin with `mean_`.
    pub fn fields(&self) -> Map<String, Json> {
        let values: Vec<&Value> = self.all.iter().flat_map(|m| &m.1).collect();
        let mut fields = Map::new();
        for quantity in MEASURES.iter().flat_map(|m| m.quantities) {
            let name = format!("{}{}", if quantity.mean_of_rows { "mean_" } else { "" }, quantity.name);
            let value = values.iter().find(|v| v.name == quantity.name);
            if let Some(error) = value.and_then(|v| v.std_err) {
                fields.insert(format!("{name}_std_err"), error.into());
            }
            fields.insert(name, value.map_or(Json::Null, |v| v.value.into()));
        }
        fields
    }
}

/// The numbers of a family and their unit; what noise alone would give stands in parentheses.
fn family_in_words(known: &[(&Quantity, &Value)], first: &Quantity) -> String {
    match known {
        [(q, v)] if *q == first => format!("{} {}", number(v), q.unit),
        [(q, v), (noise, by_chance)] if noise.is_by_chance() => {
            format!("{} {} (noise alone would give {})", number(v), q.unit, number(by_chance))
        }
        _ => {
            let each = known.iter().map(|(q, v)| format!("{} {}", q.title, number(v)));
            format!("{} {}", each.collect::<Vec<_>>().join(", "), first.unit)
        }
    }
}

/// Fractions of the hidden units as their numbers.
fn units_in_words(known: &[(&Quantity, &Value)], hidden: usize) -> String {
    let each = known.iter().map(|(q, v)| format!("{} {:.0}", q.title, v.value * hidden as f64));
    format!("{} (of {hidden})", each.collect::<Vec<_>>().join(", "))
}

fn number(value: &Value) -> String {
    match value.std_err {
        None if value.value.abs() >= 1.0 => format!("{:.2}", value.value),
        error => with_error(value.value, error.unwrap_or(0.0)),
    }
}
