//! Γ of a finite layer for a whole block of inputs: Π_sites Σ_s exp(⟨η, T(s)⟩ + I·s) as a product of numbers, one logarithm per
//! state of the block instead of one exponential per site.
//!
//! The inputs of a block are I = base + low, and low is the same in every block. So exp(low·(s − s₀)) is tabulated once,
//! exp(w_s + base·(s − s₀)) is computed once per block, and a site costs a multiplication and an addition per state s ≠ s₀.

use crate::simd::dispatch;
use crate::units::Unit;
use ndarray::{Array2, ArrayView2};

/// Largest exponent in a table: products of two stay finite, and what underflows is below e⁻³⁵⁰ of a factor that is at least 1.
const LARGEST: f64 = 350.0;
/// Largest logarithm of a product before it is taken.
const FULL: f64 = 600.0;

/// The tables that all blocks share.
pub(super) struct Factors {
    /// States of a site but the first.
    others: usize,
    /// Columns of the first state, and of the others less the first.
    first: Vec<f64>,
    differences: Vec<Vec<f64>>,
    /// ⟨η, T(s₀)⟩ summed over the sites, and ⟨η, T(s) − T(s₀)⟩ of every site and other state.
    own_first: f64,
    own: Vec<f64>,
    /// exp(low·(s − s₀)): one row for each site and other state, one column for each input of the block.
    low: Array2<f64>,
    /// The largest of every row.
    largest: Vec<f64>,
    /// low·s₀ summed over the sites.
    low_first: Vec<f64>,
}

/// What one block needs.
#[derive(Default)]
pub(super) struct Scratch {
    factors: Vec<f64>,
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl Factors {
    /// Tables for the rows of inputs `low`; none if the units are not finite or the inputs too large.
    pub fn new(unit: &dyn Unit<f64>, eta: ArrayView2<f64>, low: &Array2<f64>) -> Option<Factors> {
        let (others, width) = (unit.n_states()?.checked_sub(1)?, unit.width());
        let state = |s: usize| {
            let mut x = vec![0.0; width];
            unit.state(s, &mut x);
            x
        };
        let first = state(0);
        let differences: Vec<Vec<f64>> =
            (1..=others).map(|s| state(s).iter().zip(&first).map(|(x, f)| x - f).collect()).collect();
        let sites = eta.ncols() / width;
        let own_of = |s: usize| -> Vec<f64> {
            let mut t = Array2::zeros(eta.dim());
            unit.stats(&state(s).repeat(sites), t.view_mut());
            let columns: Vec<f64> = (&eta * &t).columns().into_iter().map(|c| c.sum()).collect();
            columns.chunks_exact(width).map(|site| site.iter().sum()).collect()
        };
        let own_first = own_of(0);
        let of_states: Vec<Vec<f64>> = (1..=others).map(own_of).collect();
        let mut this = Factors {
            others,
            own: (0..sites * others).map(|k| of_states[k % others][k / others] - own_first[k / others]).collect(),
            own_first: own_first.iter().sum(),
            low: Array2::zeros((sites * others, low.nrows())),
            largest: Vec::new(),
            low_first: low.rows().into_iter().map(|r| sum_of_products(&r.to_vec(), &first)).collect(),
            first,
            differences,
        };
        for (k, row) in low.rows().into_iter().enumerate() {
            let exponents: Vec<f64> = this.exponents(&row.to_vec()).collect();
            if !exponents.iter().all(|x| x.abs() <= LARGEST) {
                return None;
            }
            this.low.column_mut(k).iter_mut().zip(exponents).for_each(|(low, x)| *low = x.exp());
        }
        this.largest = this.low.rows().into_iter().map(|r| r.fold(0.0, |a: f64, b| a.max(*b))).collect();
        Some(this)
    }

    /// input·(s − s₀) of every site and other state.
    fn exponents<'a>(&'a self, input: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let sites = input.chunks_exact(self.first.len());
        sites.flat_map(|site| self.differences.iter().map(move |d| sum_of_products(site, d)))
    }

    /// Adds Γ(η, base + low) of every row of `low` to `out`; false, and nothing is added, if the inputs are too large.
    pub fn add_log_norms(&self, base: &[f64], scratch: &mut Scratch, out: &mut [f64]) -> bool {
        scratch.factors.clear();
        for (exponent, own) in self.exponents(base).zip(&self.own) {
            let exponent = exponent + own;
            if exponent.is_nan() || exponent.abs() > LARGEST {
                return false;
            }
            scratch.factors.push(exponent.exp());
        }
        let first = self.own_first + sum_of_products(base, &self.first);
        out.iter_mut().zip(&self.low_first).for_each(|(out, low)| *out += first + low);
        let (mut bound, n) = (0.0, out.len());
        scratch.products.clear();
        scratch.products.resize(n, 1.0);
        let sites = scratch.factors.chunks_exact(self.others).zip(self.largest.chunks_exact(self.others));
        for (site, (factors, largest)) in sites.enumerate() {
            let most = (1.0 + factors.iter().zip(largest).map(|(a, b)| a * b).sum::<f64>()).ln();
            if bound + most > FULL {
                take_logs(&mut scratch.products, out);
                bound = 0.0;
            }
            bound += most;
            let row = |s: usize| self.low.row(site * self.others + s).to_slice().unwrap_or_default();
            if let [factor] = factors {
                times_one_plus(&mut scratch.products, *factor, row(0));
                continue;
            }
            scratch.sums.clear();
            scratch.sums.resize(n, 1.0);
            for (s, factor) in factors.iter().enumerate() {
                add_times(&mut scratch.sums, *factor, row(s));
            }
            scratch.products.iter_mut().zip(&scratch.sums).for_each(|(p, sum)| *p *= sum);
        }
        take_logs(&mut scratch.products, out);
        true
    }
}

dispatch! {
    /// out ← out·(1 + factor·x).
    fn times_one_plus(out: &mut [f64], factor: f64, x: &[f64]) => times_one_plus_body;
}

#[inline(always)]
fn times_one_plus_body(out: &mut [f64], factor: f64, x: &[f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out *= 1.0 + factor * x);
}

dispatch! {
    /// out ← out + factor·x.
    fn add_times(out: &mut [f64], factor: f64, x: &[f64]) => add_times_body;
}

#[inline(always)]
fn add_times_body(out: &mut [f64], factor: f64, x: &[f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
}

fn take_logs(products: &mut [f64], out: &mut [f64]) {
    for (product, out) in products.iter_mut().zip(out) {
        *out += product.ln();
        *product = 1.0;
    }
}

/// Σ x·y, with y repeated for every site.
fn sum_of_products(x: &[f64], y: &[f64]) -> f64 {
    x.chunks_exact(y.len()).map(|site| site.iter().zip(y).map(|(a, b)| a * b).sum::<f64>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;

    /// Every finite kind of unit, with inputs small and large: within rounding of Γ as the unit computes it.
    #[test]
    fn products_of_factors_are_the_log_norms_of_the_units() {
        let mut tested = 0;
        for kind in Kind::examples() {
            let unit = kind.unit::<f64>();
            let (width, sites) = (unit.width(), 7);
            let number = |k: usize| ((k * 7919 + 13) % 101) as f64 / 50.0 - 1.0;
            for scale in [0.1, 3.0, 90.0] {
                let eta = Array2::from_shape_fn((unit.n_stats(), sites * width), |(r, c)| -number(r + 3 * c).abs());
                let low = Array2::from_shape_fn((16, sites * width), |(r, c)| scale * number(r * 31 + c));
                let base: Vec<f64> = (0..sites * width).map(|c| scale * number(c + 77)).collect();
                let Some(factors) = Factors::new(unit, eta.view(), &low) else { continue };
                let mut found = vec![1.0; 16];
                if !factors.add_log_norms(&base, &mut Scratch::default(), &mut found) {
                    continue;
                }
                tested += 1;
                for (found, low) in found.iter().zip(low.rows()) {
                    let input: Vec<f64> = base.iter().zip(low).map(|(a, b)| a + b).collect();
                    let direct = 1.0 + unit.log_norm(eta.view(), &input);
                    assert!((found - direct).abs() <= 1e-12 * (1.0 + direct.abs()), "{kind}: {found} {direct}");
                }
            }
        }
        assert!(tested >= 6, "{tested}");
    }
}
