//! √⟨W̃²⟩: how large the weights are.

use super::{Better, Context, Measure, Needs, Quantity, Value};

pub(super) const MEASURE: Measure = Measure {
    name: "weight-size",
    needs: Needs::Model,
    quantities: &[Quantity {
        name: "weight_size",
        family: "weight size",
        title: "",
        unit: "root mean square",
        about: "How large the weights are, in natural units.",
        better: Better::Neither,
        mean_of_rows: false,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let weights = cx.lowered.weights();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    Some(vec![Value::exact("weight_size", (squares / weights.len() as f64).sqrt())])
}
