//! How many digits rounding leaves: a sum of terms of size M is wrong by about M·2⁻⁵², however exact its formula is.
//!
//! log Z and −F(v) are sums over the units. Where large positive terms occur, either the result is large too or negative
//! terms cancel them; in both cases −F(v) − log Z has lost what lies below M·2⁻⁵². Large negative terms alone do no harm:
//! they belong to states of probability 0.

use crate::error::{Error, Result};
use crate::layout::Block;
use crate::lowered::{LoweredLayer, LoweredModel, Pass};
use ndarray::Array1;

/// Largest rounding error of a number that is called exact, in nats: six decimals are printed.
const LARGEST: f64 = 1e-6;

/// Refuses a model whose log Z, exact or estimated, would not have the digits that are printed. What is not known of log Z yet is 0.
pub(crate) fn check(lowered: &LoweredModel<f64>, log_z: f64) -> Result<()> {
    let error = size_of_terms(lowered, log_z) * f64::EPSILON;
    if error <= LARGEST {
        return Ok(());
    }
    Err(Error::NotNormalisable(format!(
        "the parameters are so large that log Z cannot be computed accurately (rounding error about {error:.0e} nats)"
    )))
}

/// The largest terms that can meet in one sum.
fn size_of_terms(lowered: &LoweredModel<f64>, log_z: f64) -> f64 {
    let passes = [lowered.up(), lowered.down()];
    let finite = passes.iter().filter(|pass| pass.from.is_finite());
    let largest = finite.map(|pass| positive_terms(*pass)).fold(0.0, f64::max);
    let squares: f64 = [lowered.visible(), lowered.hidden()].into_iter().map(squares).sum();
    // Negative terms are at most as large as the positive ones they cancel.
    2.0 * (largest + squares) + log_z.abs() + lowered.constant().abs()
}

/// The largest ⟨η, T(x)⟩ of a finite layer, and Γ of the other layer where its inputs are largest.
fn positive_terms(pass: Pass<f64>) -> f64 {
    let eta = pass.from.eta();
    let mut own = 0.0;
    let mut reach = Array1::zeros(pass.from.columns());
    for site in pass.from.each_site() {
        let (unit, columns) = (site.kind.unit::<f64>(), site.columns);
        let (mut best, rows): (f64, _) = (0.0, unit.n_stats());
        for k in 0..unit.n_states().unwrap_or(0) {
            let mut x = vec![0.0; columns.len()];
            unit.state(k, &mut x);
            let mut t = ndarray::Array2::zeros((rows, columns.len()));
            unit.stats(&x, t.view_mut());
            best = best.max((&eta.slice(ndarray::s![..rows, columns.clone()]) * &t).sum());
            x.iter().zip(columns.clone()).for_each(|(x, c)| reach[c] = x.abs().max(reach[c]));
        }
        own += best;
    }
    let inputs = pass.weights.mapv(f64::abs).t().dot(&reach);
    let log_norm = |sign: f64| pass.to.log_norm(pass.to.eta(), &(&inputs * sign).to_vec()).abs();
    own + log_norm(1.0).max(log_norm(-1.0))
}

/// ½ Σ θ²/γ of a Gaussian layer, the square that its means add to log Z; 0 for other units.
fn squares(layer: &LoweredLayer<f64>) -> f64 {
    let gaussian = layer.blocks().iter().filter(|b| b.unit::<f64>().quadratic());
    gaussian
        .flat_map(Block::columns)
        .map(|c| layer.eta().column(c).to_owned())
        .map(|e| 0.25 * e[0] * e[0] / -e[1])
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::Rbm;
    use crate::exact::Exact;
    use crate::layer::Layer;
    use crate::units::{Kind, Options};
    use ndarray::{Array2, array};

    /// One visible and one hidden unit, with these biases and weight.
    fn pair(a: f64, b: f64, w: f64) -> Rbm<f64> {
        let layer = |bias: f64| {
            let kind = Kind::new("bernoulli", &Options::new()).unwrap();
            Layer::from_parts(kind, array![[bias]], array![0.0]).unwrap()
        };
        Rbm::from_parts(layer(a), layer(b), Array2::from_elem((1, 1), w)).unwrap()
    }

    #[test]
    fn large_parameters_that_leave_digits_give_the_closed_form() {
        // log(1 + eᵃ + eᵇ + eᵃ⁺ᵇ⁺ʷ)
        for (a, b, w) in [(0.3, 1e3, 0.5), (0.3, 1e6, 0.5), (-2.0, -1e6, 3.0), (0.3, -1e20, 1.0), (-1e20, 0.1, 1.0)] {
            let exact = Exact::new(&pair(a, b, w)).unwrap_or_else(|e| panic!("{a} {b} {w}: {e}"));
            let terms = [0.0, a, b, a + b + w];
            let log_z = crate::math::log_sum_exp(terms.into_iter());
            assert!((exact.log_z() - log_z).abs() <= 1e-9 * log_z.abs().max(1e-3), "{} {log_z}", exact.log_z());
            // p(v = 1) = (eᵃ + eᵃ⁺ᵇ⁺ʷ)/Z
            let log_p = crate::math::log_sum_exp([a, a + b + w].into_iter()) - log_z;
            let found = exact.log_likelihood(array![[1.0]].view()).unwrap()[0];
            assert!((found - log_p).abs() <= 1e-9 * log_p.abs().max(1.0), "{a} {b} {w}: {found}, {log_p}");
        }
    }

    #[test]
    fn parameters_that_leave_no_digits_are_refused() {
        for (a, b, w) in [(0.3, 1e20, 0.5), (1e20, 0.0, 0.5), (-1e20, 0.0, 1e20), (0.3, 1e11, 0.0), (0.0, -1e12, 1e12)]
        {
            let refused = Exact::new(&pair(a, b, w)).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains("cannot be computed accurately (rounding error about"), "{a} {b} {w}: {refused}");
        }
    }
}
