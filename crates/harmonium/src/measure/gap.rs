//! ⟨F⟩_held-out − ⟨F⟩_training: log Z cancels, so the gap shows overfitting for models of any size (Hinton, *A practical guide to
//! training restricted Boltzmann machines*, 2010, section 6).

use super::{Better, Context, Measure, MeasuredRows, Needs, Quantity, Value};

const NAME: &str = "free_energy_gap";

pub(super) const MEASURE: Measure = Measure {
    name: "free-energy-gap",
    needs: Needs::HeldOut,
    quantities: &[Quantity {
        name: NAME,
        family: "free energy gap",
        title: "",
        unit: "nats per row",
        about: "Mean free energy of held-out rows minus that of training rows. It stays near 0 while the model generalises and \
                grows when the model overfits.",
        better: Better::Neither,
        mean_of_rows: false,
    }],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let mean = |rows: &MeasuredRows| Value::mean(NAME, rows.free_energies.iter().copied(), &rows.weights);
    let (train, held_out) = (mean(cx.rows?), mean(cx.held_out?));
    let std_err = train.std_err.zip(held_out.std_err).map(|(a, b)| a.hypot(b));
    Some(vec![Value { name: NAME, value: held_out.value - train.value, std_err }])
}
