//! log Z ≥ log Σ exp(−F(v)) over distinct visible states: what has been seen is there. No estimate below it can be right, and no
//! mean log probability of discrete rows is positive.

use crate::lowered::LoweredLayer;
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::states::States;
use std::collections::BTreeMap;

/// States that a run has seen.
pub(crate) struct Seen<'a, T> {
    /// Measured rows with their free energies.
    pub rows: Vec<(&'a States<T>, &'a [f64])>,
    /// The persistent chains.
    pub persistent: Option<&'a States<T>>,
}

impl<'a, T: Real> Seen<'a, T> {
    /// The `n` rows of lowest free energy, and `n` others at equal distances in the order of energies; rows of equal energy once.
    pub fn deepest_and_others(&self, n: usize) -> Vec<(&'a States<T>, usize)> {
        let each = |(states, energies): &(&'a States<T>, &'a [f64])| {
            let states = *states;
            energies.iter().enumerate().map(move |(r, f)| (*f, states, r)).collect::<Vec<_>>()
        };
        let mut all: Vec<(f64, &States<T>, usize)> = self.rows.iter().flat_map(each).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.dedup_by(|a, b| a.0 == b.0);
        let others = all.len().saturating_sub(n);
        let spread = (0..n.min(others)).map(|k| n + k * others / n.min(others));
        (0..n.min(all.len())).chain(spread).map(|k| (all[k].1, all[k].2)).collect()
    }
}

/// The bound of these states with their free energies; none if the units are not finite.
pub(super) fn log_z_at_least<T: Real>(layer: &LoweredLayer<T>, seen: &[(&States<T>, &[f64])]) -> Option<f64> {
    if !layer.is_finite() {
        return None;
    }
    let mut distinct = BTreeMap::new();
    // Between states (grey values) −F is below its largest value at a state.
    let mut largest = f64::NEG_INFINITY;
    for (states, energies) in seen {
        let codes = states.codes();
        for (r, f) in energies.iter().enumerate() {
            match &codes {
                Some(codes) => _ = distinct.insert(codes.row(r).to_vec(), -f),
                None => largest = largest.max(-f),
            }
        }
    }
    Some(log_sum_exp(distinct.values().copied()).max(largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rbm;
    use crate::units::Kind;
    use ndarray::array;

    #[test]
    fn distinct_states_count_once_and_deep_rows_come_first() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let rbm: Rbm<f64> = Rbm::new(kind.clone(), 2, kind, 3).unwrap();
        let lowered = rbm.lower();
        let layer = lowered.visible();
        let one = States::of(layer, array![[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]].view());
        let two = States::of(layer, array![[1.0, 1.0]].view());
        let (energies, other) = ([-1.0, -2.0, -1.0], [-5.0]);
        let seen = Seen { rows: vec![(&one, &energies[..]), (&two, &other[..])], persistent: None };
        let bound = log_z_at_least(layer, &seen.rows).unwrap();
        assert!((bound - (1f64.exp() + 2f64.exp() + 5f64.exp()).ln()).abs() < 1e-12);
        let rows: Vec<(bool, usize)> =
            seen.deepest_and_others(1).into_iter().map(|(s, r)| (std::ptr::eq(s, &two), r)).collect();
        assert_eq!(rows, [(true, 0), (false, 1)]);
    }
}
