//! Cheap measures of how well a model is doing. **To add a measure: write its file, add its line to [`MEASURES`].**
//!
//! It then appears in `harmonium evaluate`, in the events of a run and in its report. Measures take numbers in f64 and return
//! named numbers; nothing here changes a model or a chain.

mod autocorrelation;
mod conditional;
mod free_energy;
mod gap;
mod hidden_units;
mod inputs;
mod moments;
mod pseudo_likelihood;
mod reconstruction;
mod spectrum;
/// The example of CONTRIBUTING.md, for its test alone.
#[cfg(test)]
mod weight_size;

pub use autocorrelation::{IntegratedTime, autocorrelations, integrated_time};
pub use hidden_units::Idle;
pub use inputs::{Chains, MeasuredRows};
pub use pseudo_likelihood::{pseudo_log_likelihood, sampled_pseudo_log_likelihood};
pub(crate) use spectrum::leading_modes;
pub use spectrum::singular_values;

use crate::lowered::LoweredModel;
use crate::rng::Key;

/// The list.
pub const MEASURES: &[Measure] = &[
    pseudo_likelihood::MEASURE,
    free_energy::MEASURE,
    reconstruction::MEASURE,
    gap::MEASURE,
    moments::MEASURE,
    spectrum::MEASURE,
    hidden_units::MEASURE,
    autocorrelation::MEASURE,
];

/// A measure: its name, what it needs, and the numbers it returns.
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// The numbers it may return.
    pub quantities: &'static [Quantity],
    run: fn(&Context) -> Option<Vec<Value>>,
}

/// What a measure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Rows: it is measured once for the training rows and once for the held-out rows.
    Rows,
    /// Training rows and held-out rows.
    HeldOut,
    /// Rows and samples of the model.
    Chains,
    /// The free energies of chains, sweep by sweep.
    Trace,
    /// The model alone.
    Model,
}

/// One number of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in events and JSON.
    pub name: &'static str,
    /// What it is. Numbers of one family share a figure and a unit.
    pub family: &'static str,
    /// Which of the family it is.
    pub title: &'static str,
    /// A description in a sentence or two.
    pub about: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Whether it is a mean over the rows; `harmonium evaluate` then prefixes its name with `mean_`.
    pub mean_of_rows: bool,
}

impl Quantity {
    /// Whether it is what chance alone makes of the quantity before it in its family.
    pub fn is_by_chance(&self) -> bool {
        self.name.ends_with("_by_chance")
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Larger is better.
    Larger,
    /// Smaller is better.
    Smaller,
    /// Neither is better by itself.
    Neither,
}

impl Better {
    /// Text for a caption; empty for neither.
    pub fn in_words(self) -> &'static str {
        match self {
            Better::Larger => "larger is better",
            Better::Smaller => "smaller is better",
            Better::Neither => "",
        }
    }
}

/// The input of measures; a measure returns nothing if its input is missing.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The model.
    pub lowered: &'a LoweredModel<f64>,
    /// Added to every log density, for the units of the data.
    pub log_jacobian: f64,
    /// The rows; the training rows if there are held-out rows.
    pub rows: Option<&'a MeasuredRows>,
    /// Held-out rows.
    pub held_out: Option<&'a MeasuredRows>,
    /// Samples of the model.
    pub chains: Option<&'a Chains>,
    /// Random choices, such as which pairs of columns are compared.
    pub key: Key,
    /// About how many exponentials a measure may compute; beyond that it is estimated.
    pub terms: f64,
}

/// A measured number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Name of its [`Quantity`].
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Its standard error, if it is an estimate and the error is known.
    pub std_err: Option<f64>,
}

impl Value {
    /// A number without an error bar.
    pub fn exact(name: &'static str, value: f64) -> Value {
        Value { name, value, std_err: None }
    }

    /// The weighted mean of `each` and its standard error; numbers without a weight, and weights without a number, are ignored.
    pub fn mean(name: &'static str, each: impl Iterator<Item = f64> + Clone, weights: &[f64]) -> Value {
        let (mut sum, mut total, mut n) = (0.0, 0.0, 0.0);
        for (x, w) in each.clone().zip(weights).filter(|(_, w)| **w > 0.0) {
            (sum, total, n) = (sum + w * x, total + w, n + 1.0);
        }
        let mean = sum / total;
        let squares: f64 = each.zip(weights).map(|(x, w)| (w * (x - mean)).powi(2)).sum();
        let std_err = (squares * n / (n - 1.0)).sqrt() / total;
        Value { name, value: mean, std_err: Some(std_err).filter(|e| e.is_finite()) }
    }
}

impl Measure {
    /// Its numbers, if any; numbers that are not finite are dropped.
    pub fn values(&self, cx: &Context) -> Vec<Value> {
        let values = (self.run)(cx).unwrap_or_default();
        values.into_iter().filter(|v| v.value.is_finite()).collect()
    }

    /// Its quantities, grouped by family.
    pub fn families(&self) -> Vec<Vec<&'static Quantity>> {
        let mut families: Vec<Vec<&'static Quantity>> = Vec::new();
        for quantity in self.quantities {
            match families.iter_mut().find(|f| f[0].family == quantity.family) {
                Some(family) => family.push(quantity),
                None => families.push(vec![quantity]),
            }
        }
        families
    }

    /// The quantity called `name`.
    pub fn quantity(&self, name: &str) -> Option<&'static Quantity> {
        self.quantities.iter().find(|q| q.name == name)
    }
}

/// Every measure with one of these needs, with its numbers.
pub fn measure(cx: &Context, needs: &[Needs]) -> Vec<(&'static Measure, Vec<Value>)> {
    let wanted = MEASURES.iter().filter(|m| needs.contains(&m.needs));
    wanted.map(|m| (m, m.values(cx))).filter(|(_, values)| !values.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;
    use crate::{Layer, Rbm};

    #[test]
    fn the_measure_of_contributing_is_the_root_mean_square_of_the_weights() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let weights = ndarray::arr2(&[[3.0, 0.0], [0.0, -4.0]]);
        let rbm = Rbm::from_parts(Layer::<f64>::new(kind.clone(), 2), Layer::new(kind, 2), weights).unwrap();
        let lowered = &rbm.lower();
        let nothing = Context {
            lowered,
            log_jacobian: 0.0,
            rows: None,
            held_out: None,
            chains: None,
            key: Key::root(1),
            terms: f64::INFINITY,
        };
        let values = weight_size::MEASURE.values(&nothing);
        assert_eq!(values, [Value::exact("weight_size", 2.5)]);
        assert_eq!(weight_size::MEASURE.needs, Needs::Model);
    }
}
