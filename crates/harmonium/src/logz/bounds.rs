//! Lower bounds of log Z that cost nothing. For finite visible units Z is a sum of positive terms exp(−F(v)), so the sum over any
//! distinct states that were seen is a lower bound: an estimate below it is impossible.

use super::{LogZ, Verdict};
use crate::lowered::LoweredModel;
use crate::math::log_sum_exp;
use ndarray::Array2;
use std::collections::BTreeMap;

/// Standard errors by which an estimate may lie below a bound.
const ERRORS: f64 = 3.0;

/// log Σ exp(−F) over the distinct rows, which are rows of columns; none if they are not states of finite units.
pub fn of_rows(lowered: &LoweredModel<f64>, rows: &Array2<f64>) -> Option<f64> {
    let visible = lowered.visible();
    if !visible.is_finite() {
        return None;
    }
    let states = crate::states::States::of(visible, rows.view()).codes()?;
    let energies = lowered.up().free_energy(rows.view());
    let distinct: BTreeMap<Vec<u16>, f64> = states.rows().into_iter().map(|r| r.to_vec()).zip(energies).collect();
    (!distinct.is_empty()).then(|| log_sum_exp(distinct.values().map(|f| -f)))
}

/// The estimate, not below the bound; one that was significantly below is a disagreement.
pub fn respected(mut z: LogZ, bound: Option<f64>) -> LogZ {
    let Some(bound) = bound.filter(|bound| z.verdict != Verdict::Exact && z.lower < *bound) else { return z };
    if z.value + ERRORS * z.std_err < bound {
        z.verdict = Verdict::Disagree;
        z.reason = format!(
            "the estimate was {:.3} ± {:.3} nats, but the rows given prove that log Z is at least {bound:.3}",
            z.value, z.std_err
        );
        z.std_err = z.std_err.max(bound - z.value);
    }
    z.value = z.value.max(bound);
    (z.lower, z.upper) = (bound, (z.value + 2.0 * z.std_err).max(z.upper));
    z
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;
    use crate::model::Rbm;
    use crate::units::Kind;
    use ndarray::array;

    fn model() -> LoweredModel<f64> {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let weights = array![[1.0, -2.0], [0.5, 3.0]];
        Rbm::from_parts(Layer::new(kind.clone(), 2), Layer::new(kind, 2), weights).unwrap().lower()
    }

    /// All four states of two units: the bound is log Z itself, however often a row is repeated.
    #[test]
    fn the_sum_over_all_distinct_states_is_z() {
        let rows = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]];
        let bound = of_rows(&model(), &rows).unwrap();
        let exact = crate::exact::Solved::new(model(), &|_, _| ()).unwrap().log_z();
        assert!((bound - exact).abs() < 1e-12, "{bound} {exact}");
        assert!(of_rows(&model(), &array![[0.5, 0.0]]).is_none(), "grey values are not states");
    }

    #[test]
    fn an_estimate_below_the_bound_is_a_disagreement_and_never_stands() {
        let low = LogZ { verdict: Verdict::Likely, ..LogZ::plain("ais", 5.0, 0.1) };
        let z = respected(low, Some(8.0));
        assert!(z.verdict == Verdict::Disagree && z.value == 8.0 && z.lower == 8.0 && z.upper > 8.0, "{z:?}");
        let near = LogZ { verdict: Verdict::Likely, ..LogZ::plain("ais", 7.9, 0.1) };
        let z = respected(near, Some(8.0));
        assert!(z.verdict == Verdict::Likely && z.value == 8.0 && z.lower == 8.0 && z.upper >= 8.1, "{z:?}");
    }
}
