//! Where learning begins for real-valued columns: at their factor analysis, v = μ + Λz + ε.
//!
//! With z Gaussian, that is a model with Gaussian hidden units. In units of their conditional deviations h = z·√e, with e the ratios of
//! the factor analysis: σ_v² = Ψ, σ_h = 1, W̃ = Ψ^−½ U √((e − 1)/e), and both layers are measured from their means. The model is
//! 1/e from where it ceases to exist, so W̃ is computed from the variances as they are after rounding.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::factor_analysis::{Covariance, Effort, FactorAnalysis, most_factors};
use crate::layer::Layer;
use crate::layout::Layout;
use crate::model::Rbm;
use crate::real::Real;
use crate::units::Kind;
use ndarray::{Array1, Array2};

/// Columns at most: an iteration costs twelve times the cube of their number.
const MOST_COLUMNS: usize = 256;

/// Why the columns cannot be analysed: they must be continuous, and not too many.
pub(crate) fn no_factors(visible: &Layout) -> Option<String> {
    let columns = visible.sites();
    if visible.single().is_none() || !visible.is_quadratic() {
        Some(format!("the visible units are {visible}, not continuous"))
    } else {
        (columns > MOST_COLUMNS).then(|| format!("there are {columns} columns, the limit is {MOST_COLUMNS}"))
    }
}

/// The maximum of the likelihood of a model with Gaussian hidden units; with missing cells, of the posterior. Units that the rows cannot teach begin without weights.
pub fn factor_model<T: Real>(
    visible: &Kind,
    hidden: &Kind,
    n_hidden: usize,
    data: &Dataset<T>,
    centred: bool,
) -> Result<Rbm<T>> {
    let plain: Rbm<T> = Rbm::new(visible.clone(), data.states().sites(), hidden.clone(), n_hidden)?;
    let (layer, weight) = (plain.visible().layout(), data.weights().iter().map(|w| w.f64()).sum());
    let factors = n_hidden.min(most_factors(layer.columns(), weight));
    let (columns, found) = match data.known() {
        Some(_) => {
            let found = FactorAnalysis::of_known(layer, data, factors);
            (Covariance { mean: found.mean.clone(), covariance: found.covariance(), weight }, found)
        }
        None => {
            let columns = Covariance::of(layer, data);
            let found = FactorAnalysis::fit(&columns, factors, Effort::FULL);
            (columns, found)
        }
    };
    let rounded = found.noise.mapv(|x| T::of(x.ln()).f64().exp());
    let found = FactorAnalysis::at_noise(&columns, rounded, factors);
    let rbm = gaussian_model(visible, hidden, n_hidden, &found)?;
    if centred {
        return Ok(rbm);
    }
    Ok(rbm.folded())
}

/// The model with Gaussian hidden units and the same p(v) as a factor analysis of at most as many factors.
pub fn gaussian_model<T: Real>(
    visible: &Kind,
    hidden: &Kind,
    n_hidden: usize,
    found: &FactorAnalysis,
) -> Result<Rbm<T>> {
    let n = found.mean.len();
    if !(visible.unit::<T>().quadratic() && hidden.unit::<T>().quadratic()) || found.ratios.len() > n_hidden {
        return Err(Error::Undefined("a factor analysis needs Gaussian units, one hidden one for every factor".into()));
    }
    let mut par = Array2::zeros((2, n));
    par.row_mut(1).assign(&found.noise.mapv(|x| T::of(x.ln())));
    let visible = Layer::from_parts(visible.clone(), par, found.mean.mapv(T::of))?;
    let hidden = Layer::new(hidden.clone(), n_hidden);
    let (s_v, s_h): (Array1<f64>, Array1<f64>) = (visible.widen().natural().1, hidden.widen().natural().1);
    let weight = |(i, j): (usize, usize)| {
        let Some(e) = found.ratios.get(j) else { return T::zero() };
        let scaled = found.directions[[j, i]] * ((e - 1.0) / e).sqrt() / found.noise[i].sqrt();
        T::of(scaled * s_v[i] * s_h[j])
    };
    let weights = Array2::from_shape_fn((n, n_hidden), weight);
    Rbm::from_parts(visible, hidden, weights)
}
