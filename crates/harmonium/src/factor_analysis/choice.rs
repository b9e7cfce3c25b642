//! How many factors: the number with the largest likelihood of rows that were left out of the fit.

use super::covariance::Sums;
use super::{Covariance, Effort, FactorAnalysis};
use crate::dataset::Dataset;
use crate::lowered::LoweredLayer;
use crate::real::Real;

/// Parts of the rows, each left out once.
const FOLDS: usize = 5;
/// Cubes of the number of columns, which an iteration costs, that the choice may take.
const WORK: f64 = 3e9;
/// The fits that are compared need not be close to their maximum.
const EFFORT: Effort = Effort { tolerance: 1e-3, iterations: 100 };

/// Factors at most: with as many as columns less one nothing is left to explain, and rows span one dimension less than their
/// number; half of those leave rows to learn the noise from.
pub fn most_factors(columns: usize, rows: f64) -> usize {
    let rows = ((rows - 1.0) / 2.0).max(1.0) as usize;
    (columns - 1).min(rows).max(1)
}

/// The number of factors with the largest likelihood of left-out rows: of about eight between 1 and the most possible, then of
/// the neighbours of the best.
pub fn default_factors<T: Real>(layer: &LoweredLayer<T>, data: &Dataset<T>) -> usize {
    let parts = Sums::of(layer, data, FOLDS.min(data.len().max(1)));
    let Some(total) = Sums::total(parts.iter()) else { return 1 };
    let most = most_factors(layer.columns(), total.weight() * (1.0 - 1.0 / parts.len() as f64));
    let folds = folds(&parts);
    if folds.is_empty() || most == 1 {
        return 1;
    }
    let cost = (layer.columns() as f64).powi(3);
    let affordable = (WORK / cost / EFFORT.iterations as f64 / 12.0).clamp(1.0, folds.len() as f64) as usize;
    let mut tried: Vec<(usize, f64)> = Vec::new();
    for factors in first_numbers(most) {
        tried.push((factors, left_out(&folds[..affordable], factors)));
    }
    // Between the best number and those next to it there may be a better one.
    for _ in 0..2 {
        let best = best_of(&tried);
        let below = tried.iter().map(|t| t.0).filter(|k| *k < best).max();
        let above = tried.iter().map(|t| t.0).filter(|k| *k > best).min();
        for other in [below, above].into_iter().flatten() {
            let middle = (best + other) / 2;
            if tried.iter().all(|t| t.0 != middle) {
                tried.push((middle, left_out(&folds[..affordable], middle)));
            }
        }
    }
    best_of(&tried)
}

/// 1, 2, 3, 4, 6, 8, 12, 16, 24, … up to the most.
fn first_numbers(most: usize) -> Vec<usize> {
    let powers = (0..usize::BITS - 2).flat_map(|p| [1 << p, 3 << p]);
    let mut numbers: Vec<usize> = powers.take_while(|k| *k < 2 * most).filter(|k| *k < most).chain([most]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn best_of(tried: &[(usize, f64)]) -> usize {
    let best = |a: &(usize, f64), b: &(usize, f64)| if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) { *b } else { *a };
    tried.iter().fold((1, f64::NEG_INFINITY), |a, b| best(&a, b)).0
}

/// The rows without each part, and the part.
fn folds(parts: &[Sums]) -> Vec<(Covariance, Covariance)> {
    let fold = |k: usize| {
        let rest = Sums::total(parts.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, part)| part))?;
        (rest.weight() > 0.0 && parts[k].weight() > 0.0).then(|| (rest.covariance(), parts[k].plain_covariance()))
    };
    (0..parts.len()).filter_map(fold).collect()
}

/// Mean log likelihood of the rows that were left out.
fn left_out(folds: &[(Covariance, Covariance)], factors: usize) -> f64 {
    let one = |(rest, part): &(Covariance, Covariance)| {
        part.weight * FactorAnalysis::fit(rest, factors, EFFORT).log_likelihood(part)
    };
    let weight: f64 = folds.iter().map(|f| f.1.weight).sum();
    folds.iter().map(one).sum::<f64>() / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_numbers_of_factors_are_tried() {
        assert_eq!(first_numbers(1), [1]);
        assert_eq!(first_numbers(3), [1, 2, 3]);
        assert_eq!(first_numbers(29), [1, 2, 3, 4, 6, 8, 12, 16, 24, 29]);
        assert_eq!([most_factors(30, 455.0), most_factors(30, 20.0), most_factors(1, 5.0), most_factors(4, 1.0)], [29, 9, 1, 1]);
    }
}
