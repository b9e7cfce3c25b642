//! Regularisation: weight decay (L1, L2), max-norm, sparse hidden units, gradient clipping.

use crate::error::{Error, Result, number};
use crate::layer::Layer;
use crate::real::Real;
use ndarray::{ArrayView1, ArrayViewMut1, Zip};
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
        let Some(target) = self.sparsity else { return Ok(()) };
        // A Gaussian unit can have any mean.
        let states: Vec<f64> = hidden.layout().each_site().flat_map(|site| site.states::<f64>()).flatten().collect();
        let (least, most) =
            (states.iter().copied().fold(f64::MAX, f64::min), states.iter().copied().fold(f64::MIN, f64::max));
        if states.is_empty() {
            return Ok(());
        }
        if (least..=most).contains(&target) {
            return Ok(());
        }
        let problem =
            format!("is {}, but the mean of {} units is between {least} and {most}", number(target), hidden.layout());
        Err(Error::Config { key: "train.penalty.sparsity", problem })
    }

    /// Adds the sparsity target to the gradient of the hidden biases; `hidden` are the means of the hidden units over the batch.
    ///
    /// The target ρ acts on the hidden biases only, by cost·(ρ − ⟨h⟩) (Hinton, *A practical guide to training RBMs*, 2010, section 11).
    pub(crate) fn pull<T: Real>(&self, hidden: ArrayView1<T>, biases: ArrayViewMut1<T>) {
        let Some(target) = self.sparsity else { return };
        let (target, cost) = (T::of(target), T::of(self.sparsity_cost));
        Zip::from(biases).and(hidden).for_each(|g, &mean| *g += cost * (target - mean));
    }

    /// The factor that shortens a gradient of this norm, if it is too long.
    pub(crate) fn clipping(&self, norm: f64) -> Option<f64> {
        self.clip.filter(|longest| norm > *longest).map(|longest| longest / norm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr1;

    #[test]
    fn sparsity_pulls_hidden_biases_to_the_target_activity() {
        let mut biases = arr1(&[0.0, 1.0]);
        let penalty = Penalty { sparsity: Some(0.5), sparsity_cost: 2.0, ..Default::default() };
        penalty.pull(arr1(&[0.25, 0.75]).view(), biases.view_mut());
        assert_eq!(biases, arr1(&[0.5, 0.5]));
    }

    #[test]
    fn clipping_shortens_long_gradients_only() {
        let clip = |longest| Penalty { clip: longest, ..Default::default() }.clipping(10.0);
        assert_eq!([clip(Some(5.0)), clip(Some(20.0)), clip(None)], [Some(0.5), None, None]);
    }
}
