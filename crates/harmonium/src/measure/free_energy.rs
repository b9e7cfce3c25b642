//! ⟨F(v)⟩ = −⟨log p(v)⟩ − log Z, the mean free energy of the rows.

use super::{Better, Context, Measure, Needs, Quantity, Value};

pub(super) const MEASURE: Measure = Measure {
    name: "free-energy",
    about: "Mean free energy of the rows. Only differences have a meaning: between rows, or to -log Z.",
    needs: Needs::Rows,
    quantities: &[Quantity {
        name: "free_energy",
        title: "free energy",
        unit: "nats per row",
        better: Better::Neither,
        mean_of_rows: true,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let rows = cx.rows?;
    Some(vec![Value::mean("free_energy", rows.free_energies.iter().copied(), &rows.weights)])
}
