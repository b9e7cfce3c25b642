//! ⟨F(v)⟩ = −⟨log p(v)⟩ − log Z, the mean free energy of the rows.

use super::{Better, Context, Measure, Needs, Quantity, Value};

pub(super) const MEASURE: Measure = Measure {
    name: "free-energy",
    needs: Needs::Rows,
    quantities: &[Quantity {
        name: "free_energy",
        family: "free energy",
        title: "",
        unit: "nats per row",
        about: "Mean free energy F(v) of the rows, as training computes it. log Z changes as well, so its level means nothing: \
                log p(v) = −F(v) − log Z. With centering it differs by a constant from F(v) of the stored model, whose \
                offsets are zero.",
        better: Better::Neither,
        mean_of_rows: true,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let rows = cx.rows?;
    Some(vec![Value::mean("free_energy", rows.free_energies.iter().copied(), &rows.weights)])
}
