//! Σ_i (v_i − ⟨v_i|⟨h|v⟩⟩)²/n: the squared distance of a row from its mean-field reconstruction, per column.

use super::{Better, Context, Measure, Needs, Quantity, Value};

pub(super) const MEASURE: Measure = Measure {
    name: "reconstruction",
    needs: Needs::Rows,
    quantities: &[Quantity {
        name: "reconstruction_error",
        family: "reconstruction error",
        title: "",
        unit: "mean square per column",
        about: "Mean squared difference between rows and their mean-field reconstruction. Training does not minimise this; \
                it can get worse while the likelihood improves.",
        better: Better::Smaller,
        mean_of_rows: true,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let rows = cx.rows?;
    let n = rows.x.ncols() as f64;
    let both = rows.x.rows().into_iter().zip(rows.reconstruction.rows());
    let each: Vec<f64> = both.map(|(x, y)| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / n).collect();
    Some(vec![Value::mean("reconstruction_error", each.iter().copied(), &rows.weights)])
}
