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
        about: "Mean free energy of the rows. Its absolute level means nothing, because log Z also changes during training \
                (log p(v) = −F(v) − log Z); compare only curves at the same update. With centering, which measures units from \
                their means, it differs by a constant from what `harmonium free-energy` prints.",
        better: Better::Neither,
        mean_of_rows: true,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let rows = cx.rows?;
    Some(vec![Value::mean("free_energy", rows.free_energies.iter().copied(), &rows.weights)])
}
