//! How many factors: the number with the largest likelihood of rows that were left out of the fit.

use super::covariance::Sums;
use super::{Covariance, Effort, FactorAnalysis};
use crate::dataset::Dataset;
use crate::layout::Layout;
use crate::real::Real;
use ndarray::Array1;

/// Parts of the rows, each left out once.
const FOLDS: usize = 5;
/// Cubes of the number of columns, which an iteration costs, that the choice may take.
const WORK: f64 = 3e9;
/// The fits that are compared need not be close to their maximum.
const EFFORT: Effort = Effort { tolerance: 1e-4, iterations: 200 };

/// Factors at most: with as many as columns less one nothing is left to explain, and rows span one dimension less than their
/// number; half of those leave rows to learn the noise from.
pub(crate) fn most_factors(columns: usize, rows: f64) -> usize {
    let rows = ((rows - 1.0) / 2.0).max(1.0) as usize;
    (columns - 1).min(rows).max(1)
}

/// The number of factors with the largest likelihood of held-out rows, or if there are none of parts of the rows that are left out
/// in turn; with missing cells the most.
pub fn default_factors<T: Real>(layer: &Layout, data: &Dataset<T>, held_out: Option<&Dataset<T>>) -> usize {
    if data.known().is_some() {
        // The prior of that fit makes superfluous factors harmless.
        return most_factors(layer.columns(), data.weights().iter().map(|w| w.f64()).sum());
    }
    let complete = held_out.filter(|rows| rows.known().is_none() && !rows.is_empty());
    let parts = Sums::of(layer, data, if complete.is_some() { 1 } else { FOLDS.min(data.len().max(1)) });
    let mut folds = match complete {
        Some(rows) => vec![Fold {
            rest: parts[0].covariance(),
            part: Sums::of(layer, rows, 1)[0].plain_covariance(),
            noise: None,
        }],
        None => folds(&parts),
    };
    let rows = folds.iter().map(|f| f.rest.weight).fold(f64::INFINITY, f64::min);
    let most = most_factors(layer.columns(), rows);
    if folds.is_empty() || most == 1 {
        return 1;
    }
    let cost = 12.0 * (layer.columns() as f64).powi(3) * EFFORT.iterations as f64;
    folds.truncate((WORK / cost).max(1.0) as usize);
    let tried = numbers(most).into_iter().map(|k| (k, left_out(&mut folds, k)));
    tried.fold((1, f64::NEG_INFINITY), |a, b| if b.1 > a.1 { b } else { a }).0
}

/// All numbers up to 12, then 16, 24, 32, 48, … and the most.
fn numbers(most: usize) -> Vec<usize> {
    let powers = (3..usize::BITS - 2).flat_map(|p| [2 << p, 3 << p]);
    let mut numbers: Vec<usize> = (1..=12).chain(powers.take_while(|k| *k < 2 * most)).filter(|k| *k < most).collect();
    numbers.push(most);
    numbers.sort_unstable();
    numbers
}

/// The rows without a part, the part, and the noise of the last fit, where the next begins.
struct Fold {
    rest: Covariance,
    part: Covariance,
    noise: Option<Array1<f64>>,
}

fn folds(parts: &[Sums]) -> Vec<Fold> {
    let fold = |k: usize| {
        let rest = Sums::total(parts.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, part)| part))?;
        let has_rows = rest.weight() > 0.0 && parts[k].weight() > 0.0;
        has_rows.then(|| Fold { rest: rest.covariance(), part: parts[k].plain_covariance(), noise: None })
    };
    (0..parts.len()).filter_map(fold).collect()
}

/// Mean log likelihood of the rows that were left out.
fn left_out(folds: &mut [Fold], factors: usize) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for Fold { rest, part, noise } in folds {
        let found = FactorAnalysis::fit_watched(rest, factors, EFFORT, noise.as_ref(), |_| ());
        sum += part.weight * found.log_likelihood(part);
        weight += part.weight;
        *noise = Some(found.noise);
    }
    sum / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_numbers_of_factors_are_tried() {
        assert_eq!(numbers(1), [1]);
        assert_eq!(numbers(3), [1, 2, 3]);
        assert_eq!(numbers(29), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 24, 29]);
        let most = [(30, 455.0), (30, 20.0), (1, 5.0), (4, 1.0)].map(|(columns, rows)| most_factors(columns, rows));
        assert_eq!(most, [29, 9, 1, 1]);
    }
}
