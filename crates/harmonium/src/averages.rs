//! Mean, variance and median of some numbers.

/// The mean; NaN for no numbers.
pub(crate) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// The variance Σ (x − mean)²/(n − 1); 0 for fewer than two numbers.
pub(crate) fn variance(x: &[f64]) -> f64 {
    if x.len() < 2 {
        return 0.0;
    }
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (x.len() as f64 - 1.0)
}

/// The median of at least one number.
pub(crate) fn median(x: &[f64]) -> f64 {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    0.5 * (x[(x.len() - 1) / 2] + x[x.len() / 2])
}
