//! The list of learning curves: titles, captions, and where their values come from.

use crate::axis::Axis;
use crate::text::capital;
use harmonium::events::Progress;
use harmonium::measure::{Better, MEASURES, Measure, Needs, Quantity};

/// A figure of one or more measures over the run.
pub struct Curve {
    /// File name without its extension.
    pub name: String,
    /// Title of the figure.
    pub title: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Caption: what it shows, and what is good.
    pub about: String,
    /// Whether the values are positive by nature; the axis is then logarithmic if they vary a lot.
    pub positive: bool,
    /// Where the values come from.
    pub value: Value,
}

/// Where the values of a figure come from.
pub enum Value {
    /// One measure of training rows and of held-out rows.
    Rows(&'static str),
    /// Several measures of training rows.
    Several(Vec<&'static Quantity>),
    /// Measures of the model, which need not be part of every measurement.
    Model(Vec<&'static Quantity>),
    /// A number of the training itself.
    Run(fn(&Progress) -> f64),
}

impl Curve {
    /// The unit of an axis, and its scale.
    pub fn unit_on(&self, axis: &Axis) -> String {
        let scale = if axis.is_log() { "log scale" } else { "" };
        let comma = if self.unit.is_empty() || scale.is_empty() { "" } else { ", " };
        format!("{}{comma}{scale}", self.unit)
    }

    /// A figure that is not one of the registered measures.
    fn of_run(name: &str, title: &str, unit: &'static str, about: &str, value: Value) -> Curve {
        let positive = name == "gradient-norm";
        Curve { name: name.into(), title: title.into(), unit, about: about.into(), positive, value }
    }

    /// The figure of a family of measures.
    fn of_family(measure: &Measure, family: Vec<&'static Quantity>) -> Curve {
        let first = family[0];
        let better = match first.better.in_words() {
            "" => String::new(),
            words => format!(" {}.", capital(words)),
        };
        Curve {
            name: first.family.replace(' ', "-"),
            title: capital(first.family),
            unit: first.unit,
            about: format!("{}{better}", first.about),
            positive: first.better == Better::Smaller,
            value: match measure.needs {
                Needs::Rows if family.len() == 1 => Value::Rows(first.name),
                Needs::Rows => Value::Several(family),
                _ => Value::Model(family),
            },
        }
    }
}

/// The likelihood, the measures that are means over rows, the gradient norm and the learning rate.
pub fn learning() -> Vec<Curve> {
    let mut curves = vec![Curve::of_run(
        "log-likelihood",
        "Log likelihood",
        "nats per row",
        "Mean log likelihood of the rows; higher is better. Dashed: a baseline that treats every column as independent.",
        Value::Rows("log_likelihood"),
    )];
    curves.extend(of_measures(true));
    curves.push(Curve::of_run(
        "gradient-norm",
        "Gradient norm",
        "",
        "Euclidean norm of the estimated gradient. It falls as training converges, down to the level of the noise.",
        Value::Run(|p| p.gradient_norm),
    ));
    let about = "Step size of the optimizer. With sgd it multiplies the gradient; with adam it is about how far a parameter \
                 moves in one update.";
    curves.push(Curve::of_run("learning-rate", "Learning rate", "per update", about, Value::Run(|p| p.learning_rate)));
    curves
}

/// Figures of the library's measures: those that are means over rows, or all others.
pub fn of_measures(mean_of_rows: bool) -> impl Iterator<Item = Curve> {
    let families = MEASURES.iter().flat_map(|m| m.families().into_iter().map(move |f| (m, f)));
    families.filter(move |(_, f)| f[0].mean_of_rows == mean_of_rows).map(|(m, f)| Curve::of_family(m, f))
}
