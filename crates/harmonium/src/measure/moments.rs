//! ⟨v_i⟩ and ⟨v_i v_j⟩ − ⟨v_i⟩⟨v_j⟩ of the data against those of the model's samples.
//!
//! A model at the maximum of its likelihood has the first moments of the data, and second moments as close as its hidden units
//! allow. The difference expected by chance, from finitely many rows and samples, is reported as well. It follows from the errors
//! of both averages; those of the samples are taken over chains, because states of one chain are not independent.

use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::rng::{Key, Purpose};
use ndarray::{Array2, ArrayView2};

/// Pairs of columns compared at most.
const PAIRS: usize = 500;

const fn difference(name: &'static str, family: &'static str, unit: &'static str, about: &'static str) -> Quantity {
    Quantity { name, family, title: "observed", unit, about, better: Better::Smaller, mean_of_rows: false }
}

const fn chance(name: &'static str, of: Quantity) -> Quantity {
    Quantity { name, title: "noise alone", better: Better::Neither, ..of }
}

const MEAN: (Quantity, Quantity) = {
    let seen = difference(
        "mean_difference",
        "difference of means",
        "standard deviations",
        "Root mean square difference between the column means of the data and of samples, in standard deviations of the data. \
         During training, the samples are the states of the persistent chains. Without such chains (exact gradient, contrastive \
         divergence), and in `harmonium evaluate`, they are states of chains started from data rows. For a model that fits, this falls to the value expected from sampling noise alone.",
    );
    (seen, chance("mean_difference_by_chance", seen))
};

const COVARIANCE: (Quantity, Quantity) = {
    let seen = difference(
        "covariance_difference",
        "difference of covariances",
        "in units of correlation",
        "Root mean square difference between the covariances of the data and of samples, over pairs of columns, divided by the \
         product of the two columns' standard deviations, so 0.1 means that correlations are off by about 0.1. For a model that \
         fits, this falls to the value expected from sampling noise alone.",
    );
    (seen, chance("covariance_difference_by_chance", seen))
};

pub(super) const MEASURE: Measure = Measure {
    name: "moments",
    needs: Needs::Chains,
    quantities: &[
        MEAN.0,
        MEAN.1,
        COVARIANCE.0,
        COVARIANCE.1,
        Quantity {
            name: "covariance_correlation",
            family: "correlation of covariances",
            title: "",
            unit: "(at most 1)",
            about: "Correlation between the covariances of the data and of samples, over pairs of columns. 1 is perfect \
                    agreement; few samples lower it.",
            better: Better::Larger,
            mean_of_rows: false,
        },
    ],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let (rows, chains) = (cx.rows?, cx.chains?);
    let data = MomentTable::new(rows.x.view(), &rows.weights, 1)?;
    let model = MomentTable::new(chains.x.view(), &vec![1.0; chains.x.nrows()], chains.states_per_chain)?;
    let variances: Vec<f64> = (0..rows.x.ncols()).map(|i| data.product(i, i).0).collect();
    let means: Vec<_> = (0..variances.len()).map(|i| (data.mean(i), model.mean(i))).collect();
    let pairs = pairs(&cx.lowered.visible().site_of_columns(), cx.key.of(Purpose::Monitor));
    let products: Vec<_> = pairs.iter().map(|&(i, j)| (data.product(i, j), model.product(i, j))).collect();
    let scale = pairs.iter().map(|&(i, j)| variances[i] * variances[j]).sum();
    let mut values = compare(&means, variances.iter().sum(), &MEAN);
    values.extend(compare(&products, scale, &COVARIANCE));
    values.push(Value::exact("covariance_correlation", correlation(&products)));
    Some(values)
}

/// √(Σ(a − b)²/scale), and the same with the expectation of (a − b)² from the errors of both.
fn compare(both: &[(Estimate, Estimate)], scale: f64, (seen, chance): &(Quantity, Quantity)) -> Vec<Value> {
    let square: f64 = both.iter().map(|(a, b)| (a.0 - b.0).powi(2)).sum();
    let errors: f64 = both.iter().map(|(a, b)| a.1 + b.1).sum();
    vec![Value::exact(seen.name, (square / scale).sqrt()), Value::exact(chance.name, (errors / scale).sqrt())]
}

/// Deviations from the column means, one row per column, and the weight of each row of data in an average.
struct MomentTable {
    means: Vec<f64>,
    deviations: Array2<f64>,
    part: Vec<f64>,
    /// Number of consecutive rows in a group, such as the states of one chain.
    group: usize,
    /// Effective number of groups of equal weight.
    groups: f64,
}

impl MomentTable {
    /// `None` if there are fewer than two groups.
    fn new(x: ArrayView2<f64>, weights: &[f64], group: usize) -> Option<MomentTable> {
        let total: f64 = weights.iter().take(x.nrows()).sum();
        let part: Vec<f64> = weights.iter().take(x.nrows()).map(|w| w / total).collect();
        let groups = part.chunks(group).map(|p| p.iter().sum::<f64>().powi(2)).sum::<f64>().recip();
        let mut deviations = x.t().as_standard_layout().into_owned();
        let mut means = Vec::with_capacity(x.ncols());
        for mut column in deviations.rows_mut() {
            let mean: f64 = column.iter().zip(&part).map(|(x, p)| x * p).sum();
            column.mapv_inplace(|x| x - mean);
            means.push(mean);
        }
        (groups > 1.0 + 1e-9).then_some(MomentTable { means, deviations, part, group, groups })
    }

    /// Average of the terms, and its squared standard error Σ_groups (Σ p(x − mean))²·n/(n − 1).
    fn average(&self, mut terms: impl Iterator<Item = f64>) -> Estimate {
        let (mut mean, mut squares, mut cross, mut parts) = (0.0, 0.0, 0.0, 0.0);
        for part in self.part.chunks(self.group) {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (p, x) in part.iter().zip(&mut terms) {
                (sum, weight) = (sum + p * x, weight + p);
            }
            (mean, squares) = (mean + sum, squares + sum * sum);
            (cross, parts) = (cross + sum * weight, parts + weight * weight);
        }
        let error = squares - 2.0 * mean * cross + mean * mean * parts;
        (mean, error.max(0.0) * self.groups / (self.groups - 1.0))
    }

    /// Mean of a column.
    fn mean(&self, i: usize) -> Estimate {
        (self.means[i], self.average(self.deviations.row(i).iter().copied()).1)
    }

    /// Covariance of two columns.
    fn product(&self, i: usize, j: usize) -> Estimate {
        let (a, b) = (self.deviations.row(i), self.deviations.row(j));
        let (mean, error) = self.average(a.iter().zip(b).map(|(a, b)| a * b));
        (mean * self.groups / (self.groups - 1.0), error)
    }
}

/// A covariance or a mean, and its squared standard error.
type Estimate = (f64, f64);

/// Pearson's correlation of the numbers of the data with those of the samples.
fn correlation(both: &[(Estimate, Estimate)]) -> f64 {
    let n = both.len() as f64;
    let mean = |of: fn(&(Estimate, Estimate)) -> f64| both.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|p| p.0.0), mean(|p| p.1.0));
    let sum = |of: &dyn Fn(f64, f64) -> f64| both.iter().map(|p| of(p.0.0 - a, p.1.0 - b)).sum::<f64>();
    // Two pairs always correlate perfectly.
    if both.len() < 3 {
        return f64::NAN;
    }
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

/// Pairs of columns of different sites: all, or a random sample if there are many.
fn pairs(site_of: &[usize], key: Key) -> Vec<(usize, usize)> {
    let (columns, apart) = (site_of.len(), |&(i, j): &(usize, usize)| site_of[i] != site_of[j]);
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
        let some = MomentTable::new(array![[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]].view(), &[2.0, 1.0, 1.0], 1).unwrap();
        let all =
            MomentTable::new(array![[1.0, 2.0], [1.0, 2.0], [3.0, -1.0], [0.0, 5.0]].view(), &[1.0; 4], 1).unwrap();
        assert_eq!(some.mean(0).0, 1.25);
        let plain = |t: &MomentTable| t.product(0, 1).0 * (t.groups - 1.0) / t.groups;
        assert!((plain(&some) - plain(&all)).abs() < 1e-14);
        // By hand: ⟨xy⟩ − ⟨x⟩⟨y⟩ = ¼ − 1.25·2, times 4/3.
        assert!((all.product(0, 1).0 - (0.25 - 2.5) * 4.0 / 3.0).abs() < 1e-14);
    }

    /// Repeating every row within its group changes nothing: the same mean and the same error.
    #[test]
    fn what_belongs_together_counts_once() {
        let once = MomentTable::new(array![[1.0], [3.0], [0.0]].view(), &[1.0; 3], 1).unwrap();
        let twice = MomentTable::new(array![[1.0], [1.0], [3.0], [3.0], [0.0], [0.0]].view(), &[1.0; 6], 2).unwrap();
        // Variance 7/3 of three rows: the squared error of their mean is 7/9.
        for (mean, error) in [once.mean(0), twice.mean(0)] {
            assert!((mean - 4.0 / 3.0).abs() < 1e-14 && (error - 7.0 / 9.0).abs() < 1e-14, "{mean} {error}");
        }
    }

    #[test]
    fn pairs_are_of_different_sites_and_not_too_many() {
        let sites = |columns: usize, width: usize| (0..columns).map(|c| c / width).collect::<Vec<_>>();
        assert_eq!(pairs(&sites(4, 2), Key::root(1)), [(0, 2), (1, 2), (0, 3), (1, 3)]);
        let many = pairs(&sites(3000, 3), Key::root(1));
        assert!(many.len() > PAIRS - 20 && many.iter().all(|(i, j)| i / 3 < j / 3 && *j < 3000));
    }
}
