//! ⟨v_i⟩ and ⟨v_i v_j⟩ − ⟨v_i⟩⟨v_j⟩ of the data against those of the machine's samples.
//!
//! A machine at the maximum of its likelihood has the data's first moments, and second ones as close as its hidden units allow.
//! What chance alone makes of finitely many rows and samples is subtracted, so that equal distributions give about 0.

use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::rng::{Key, Purpose};
use ndarray::{Array2, ArrayView2};

/// Pairs of columns compared at most.
const PAIRS: usize = 2000;

pub(super) const MEASURE: Measure = Measure {
    name: "moments",
    about: "Means and covariances of the columns, data against samples of the machine: its persistent chains during a run, chains \
            that began at the rows in `evaluate`. Differences are root mean squares, less what chance makes of finitely many \
            samples; the correlation of covariances is over pairs of columns, 1 if they agree, less with few samples.",
    needs: Needs::Chains,
    quantities: &[
        Quantity {
            name: "mean_difference",
            title: "difference of means",
            unit: "standard deviations",
            better: Better::Smaller,
            mean_of_rows: false,
        },
        Quantity {
            name: "covariance_difference",
            title: "difference of covariances",
            unit: "as correlation",
            better: Better::Smaller,
            mean_of_rows: false,
        },
        Quantity {
            name: "covariance_correlation",
            title: "correlation of covariances",
            unit: "-1 to 1",
            better: Better::Larger,
            mean_of_rows: false,
        },
    ],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let (rows, chains) = (cx.rows?, cx.chains?);
    let (data, model) =
        (Table::new(rows.x.view(), &rows.weights)?, Table::new(chains.x.view(), &vec![1.0; chains.x.nrows()])?);
    let variances: Vec<f64> = (0..rows.x.ncols()).map(|i| data.product(i, i).0).collect();
    let means: f64 = (0..variances.len()).map(|i| excess(data.mean(i), model.mean(i))).sum();
    let mut values = vec![Value::exact("mean_difference", root_ratio(means, variances.iter().sum()))];
    let pairs = pairs(rows.x.ncols(), cx.machine.visible().unit().width(), cx.key.of(Purpose::Monitor));
    let both: Vec<_> = pairs.iter().map(|&(i, j)| (data.product(i, j), model.product(i, j))).collect();
    let covariances: f64 = both.iter().map(|&(a, b)| excess(a, b)).sum();
    let scale = pairs.iter().map(|&(i, j)| variances[i] * variances[j]).sum();
    values.push(Value::exact("covariance_difference", root_ratio(covariances, scale)));
    values.push(Value::exact("covariance_correlation", correlation(&both)));
    Some(values)
}

/// (a − b)², less what the errors of both make of it on average.
fn excess((a, error_a): (f64, f64), (b, error_b): (f64, f64)) -> f64 {
    (a - b).powi(2) - error_a - error_b
}

/// √(square/scale); squares below zero, which chance makes, count as zero.
fn root_ratio(square: f64, scale: f64) -> f64 {
    (square.max(0.0) / scale).sqrt()
}

/// Deviations from the column means, one line per column, and the part of each row in an average.
struct Table {
    means: Vec<(f64, f64)>,
    deviations: Array2<f64>,
    part: Vec<f64>,
    /// Number of rows of equal weight that would be as good.
    rows: f64,
}

impl Table {
    /// `None` if there are fewer than two rows.
    fn new(x: ArrayView2<f64>, weights: &[f64]) -> Option<Table> {
        let total: f64 = weights.iter().take(x.nrows()).sum();
        let part: Vec<f64> = weights.iter().take(x.nrows()).map(|w| w / total).collect();
        let rows = part.iter().map(|p| p * p).sum::<f64>().recip();
        let mut deviations = x.t().as_standard_layout().into_owned();
        let mut means = Vec::with_capacity(x.ncols());
        for mut column in deviations.rows_mut() {
            let mean: f64 = column.iter().zip(&part).map(|(x, p)| x * p).sum();
            column.mapv_inplace(|x| x - mean);
            means.push((mean, 0.0));
        }
        let mut table = Table { means, deviations, part, rows };
        for i in 0..x.ncols() {
            table.means[i].1 = table.squares(table.deviations.row(i).iter().copied());
        }
        (rows > 1.0 + 1e-9).then_some(table)
    }

    /// Squared standard error of an average whose terms have these deviations.
    fn squares(&self, deviations: impl Iterator<Item = f64>) -> f64 {
        self.part.iter().zip(deviations).map(|(p, d)| (p * d).powi(2)).sum::<f64>() * self.rows / (self.rows - 1.0)
    }

    /// Mean of a column and its squared standard error.
    fn mean(&self, i: usize) -> (f64, f64) {
        self.means[i]
    }

    /// Covariance of two columns and its squared standard error.
    fn product(&self, i: usize, j: usize) -> (f64, f64) {
        let (a, b) = (self.deviations.row(i), self.deviations.row(j));
        let products = || a.iter().zip(b).map(|(a, b)| a * b);
        let mean: f64 = products().zip(&self.part).map(|(x, p)| x * p).sum();
        (mean * self.rows / (self.rows - 1.0), self.squares(products().map(|x| x - mean)))
    }
}

/// A covariance or a mean, and its squared standard error.
type Estimate = (f64, f64);

/// Pearson's correlation of the numbers of both sides.
fn correlation(both: &[(Estimate, Estimate)]) -> f64 {
    let n = both.len() as f64;
    let mean = |of: fn(&(Estimate, Estimate)) -> f64| both.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|p| p.0.0), mean(|p| p.1.0));
    let sum = |of: &dyn Fn(f64, f64) -> f64| both.iter().map(|p| of(p.0.0 - a, p.1.0 - b)).sum::<f64>();
    // Fewer than three pairs always agree.
    if both.len() < 3 {
        return f64::NAN;
    }
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

/// Pairs of columns of different sites: all, or some drawn at random if there are many.
fn pairs(columns: usize, width: usize, key: Key) -> Vec<(usize, usize)> {
    let apart = |&(i, j): &(usize, usize)| i / width != j / width;
    if columns * columns.saturating_sub(1) / 2 <= PAIRS {
        return (0..columns).flat_map(|j| (0..j).map(move |i| (i, j))).filter(apart).collect();
    }
    let draw = |k: u64| key.uniforms::<f64>(k, 1).map(|u| ((u * columns as f64) as usize).min(columns - 1));
    (0..PAIRS as u64).map(draw).map(|[i, j]| (i.min(j), i.max(j))).filter(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Rows counted twice are two rows: weights and repetition give the same mean and covariance.
    #[test]
    fn a_weight_is_a_repetition() {
        let some = Table::new(array![[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]].view(), &[2.0, 1.0, 1.0]).unwrap();
        let all = Table::new(array![[1.0, 2.0], [1.0, 2.0], [3.0, -1.0], [0.0, 5.0]].view(), &[1.0; 4]).unwrap();
        assert_eq!(some.mean(0).0, 1.25);
        let plain = |t: &Table| t.product(0, 1).0 * (t.rows - 1.0) / t.rows;
        assert!((plain(&some) - plain(&all)).abs() < 1e-14);
        // By hand: ⟨xy⟩ − ⟨x⟩⟨y⟩ = ¼ − 1.25·2, times 4/3.
        assert!((all.product(0, 1).0 - (0.25 - 2.5) * 4.0 / 3.0).abs() < 1e-14);
    }

    #[test]
    fn pairs_are_of_different_sites_and_not_too_many() {
        assert_eq!(pairs(4, 2, Key::root(1)), [(0, 2), (1, 2), (0, 3), (1, 3)]);
        let many = pairs(3000, 3, Key::root(1));
        assert!(many.len() > PAIRS - 20 && many.iter().all(|(i, j)| i / 3 < j / 3 && *j < 3000));
    }
}
