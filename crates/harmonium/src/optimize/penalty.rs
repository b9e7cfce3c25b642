//! Regularisation: weight decay (L1, L2), max-norm, sparse hidden units, gradient clipping.

use crate::error::{Error, Result, number};
use crate::model::{Gradient, Layer, Rbm};
use crate::real::Real;
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

/// Regularisation; by default none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// L1 weight decay: λ₁ Σ|W| is subtracted from the objective.
    pub l1: f64,
    /// L2 weight decay: ½λ₂ ΣW² is subtracted from the objective.
    pub l2: f64,
    /// Largest norm of the weight vector of a hidden unit, if limited.
    pub max_norm: Option<f64>,
    /// Target mean activity of the hidden units, if any.
    pub sparsity: Option<f64>,
    /// Strength of the sparsity target: the weight of ½(target − mean)² per unit.
    pub sparsity_cost: f64,
    /// Norm to which the gradient is clipped, if any.
    pub clip: Option<f64>,
}

impl Penalty {
    /// Refuses a target activity that the hidden units cannot have.
    pub(crate) fn check<T: Real>(&self, hidden: &Layer<T>) -> Result<()> {
        let unit = hidden.kind().unit::<T>();
        let (Some(target), Some(states)) = (self.sparsity, unit.n_states()) else { return Ok(()) };
        let mut columns = vec![T::zero(); unit.width()];
        let mut values = |state| {
            unit.state(state, &mut columns);
            columns.iter().map(|x| x.f64()).collect::<Vec<_>>()
        };
        // States are in the order of their values; those of several columns are one-hot.
        let ends = [values(0), values(states - 1)].concat();
        let (least, most) =
            (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(f64::MIN, f64::max));
        if (least..=most).contains(&target) {
            return Ok(());
        }
        let problem =
            format!("is {}, but the mean of {} units is between {least} and {most}", number(target), hidden.kind());
        Err(Error::Config { key: "train.penalty.sparsity", problem })
    }

    /// Changes the gradient of the likelihood into that of the regularised objective. `hidden` are the means of the hidden units
    /// over the batch.
    ///
    /// The sparsity target ρ acts on the hidden biases only, by cost·(ρ − ⟨h⟩) (Hinton, *A practical guide to training RBMs*, 2010,
    /// section 11).
    pub(crate) fn apply<T: Real>(&self, rbm: &Rbm<T>, hidden: ArrayView1<T>, gradient: &mut Gradient<T>) {
        if self.l1 != 0.0 || self.l2 != 0.0 {
            let (l1, l2) = (T::of(self.l1), T::of(self.l2));
            // signum(0) is 1 in Rust; a weight of zero must stay zero.
            let sign = |w: T| if w == T::zero() { w } else { w.signum() };
            gradient.weights.zip_mut_with(&rbm.weights(), |g, &w| *g -= l1 * sign(w) + l2 * w);
        }
        if let Some(target) = self.sparsity {
            let (target, cost) = (T::of(target), T::of(self.sparsity_cost));
            gradient.hidden.row_mut(0).zip_mut_with(&hidden, |g, &mean| *g += cost * (target - mean));
        }
        if let Some(longest) = self.clip {
            let length = gradient.norm();
            if length > longest {
                gradient.scale(T::of(longest / length));
            }
        }
    }

    /// Rescales weight vectors that exceed the max-norm.
    pub fn project<T: Real>(&self, rbm: &mut Rbm<T>) {
        let Some(longest) = self.max_norm else { return };
        let (_, _, weights) = rbm.parts_mut();
        for mut column in weights.columns_mut() {
            let norm = column.iter().map(|w| w.f64().powi(2)).sum::<f64>().sqrt();
            if norm > longest {
                column.mapv_inplace(|w| w * T::of(longest / norm));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;
    use ndarray::{Array1, Array2, arr1, arr2};

    fn example() -> (Rbm<f64>, Array1<f64>, Gradient<f64>) {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let plain: Rbm<f64> = Rbm::new(kind.clone(), 2, kind, 2).unwrap();
        let weights = arr2(&[[3.0, 0.0], [4.0, -0.5]]);
        let rbm = Rbm::from_parts(plain.visible().clone(), plain.hidden().clone(), weights).unwrap();
        let gradient = Gradient::zeros(&rbm);
        (rbm, arr1(&[0.25, 0.75]), gradient)
    }

    #[test]
    fn decay_pulls_weights_to_zero_and_leaves_zeros_and_biases() {
        let (rbm, hidden, mut g) = example();
        Penalty { l1: 0.1, l2: 0.01, ..Default::default() }.apply(&rbm, hidden.view(), &mut g);
        let want = arr2(&[[-0.13, 0.0], [-0.14, 0.105]]);
        assert!((&g.weights - &want).iter().all(|d| d.abs() < 1e-15), "{}", g.weights);
        assert!(g.visible.iter().chain(&g.hidden).all(|x| *x == 0.0));
    }

    #[test]
    fn sparsity_pulls_hidden_biases_to_the_target_activity() {
        let (rbm, hidden, mut g) = example();
        Penalty { sparsity: Some(0.5), sparsity_cost: 2.0, ..Default::default() }.apply(&rbm, hidden.view(), &mut g);
        assert_eq!(g.hidden, arr2(&[[0.5, -0.5]]));
        assert!(g.weights.iter().all(|x| *x == 0.0));
    }

    #[test]
    fn clipping_shortens_long_gradients_only() {
        for (clip, length) in [(5.0, 5.0), (20.0, 10.0)] {
            let (rbm, hidden, mut g) = example();
            g.weights = Array2::from_elem((2, 2), 5.0);
            Penalty { clip: Some(clip), ..Default::default() }.apply(&rbm, hidden.view(), &mut g);
            assert!((g.norm() - length).abs() < 1e-12);
        }
    }

    #[test]
    fn max_norm_shortens_long_weight_vectors_only() {
        let (mut rbm, ..) = example();
        Penalty { max_norm: Some(2.5), ..Default::default() }.project(&mut rbm);
        let want = arr2(&[[1.5, 0.0], [2.0, -0.5]]);
        assert!((&rbm.weights() - &want).iter().all(|d| d.abs() < 1e-15), "{}", rbm.weights());
    }
}
