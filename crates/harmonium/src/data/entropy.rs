//! H(q) = −Σ q log q of the empirical distribution q of a table's rows, counted block by block.
//!
//! With the mean log likelihood this gives the divergence KL(q‖p) = −⟨log p⟩ − H(q) without storing the rows.

use crate::layout::{Layout, Site};
use ndarray::{ArrayView1, ArrayView2};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// How often each row occurs; rows are identified by 128 bits of their SHA-256.
pub struct RowCounts {
    /// The possible values of every site, sorted; none for continuous units.
    states: Vec<Vec<f64>>,
    counts: HashMap<[u8; 16], u64>,
    rows: u64,
    all_states: bool,
}

impl RowCounts {
    /// Rows after which counting stops: more would take over 64 MB.
    pub(crate) const MOST_ROWS: u64 = 1_000_000;

    /// For data values of a layer.
    pub fn new(layer: &Layout) -> RowCounts {
        let states = |site: Site| {
            let unit = site.kind.unit::<f64>();
            let mut states: Vec<f64> = site.states::<f64>().iter().map(|x| unit.decode(x)).collect();
            states.sort_by(f64::total_cmp);
            states
        };
        let states = layer.each_site().map(states).collect();
        RowCounts { states, counts: HashMap::new(), rows: 0, all_states: true }
    }

    /// Counts rows of data values.
    pub fn add(&mut self, rows: ArrayView2<f64>) {
        self.rows += rows.nrows() as u64;
        self.all_states = self.all_states && rows.rows().into_iter().all(|row| self.are_states(row));
        if !self.all_states || self.rows > Self::MOST_ROWS {
            self.counts.clear();
            return;
        }
        for row in rows.rows() {
            *self.counts.entry(digest(row)).or_insert(0) += 1;
        }
    }

    /// Whether every value so far is a state of its unit, not a grey or continuous value.
    pub fn all_states(&self) -> bool {
        self.all_states
    }

    /// H(q) in nats; `None` if some values are not states, or if there are too many rows.
    pub fn entropy(&self) -> Option<f64> {
        if !self.all_states || !(1..=Self::MOST_ROWS).contains(&self.rows) {
            return None;
        }
        // Sorted: the order of a hash map differs between runs, and so would the last bits of the sum.
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable();
        let term = |n: u64| n as f64 / self.rows as f64;
        // A single distinct row gives −1·0 = −0; adding zero makes it 0.
        Some(counts.into_iter().map(term).map(|q| -q * q.ln()).sum::<f64>() + 0.0)
    }

    /// Whether every value of a row is a state. Adding zero turns −0 into 0.
    fn are_states(&self, row: ArrayView1<f64>) -> bool {
        let is_state = |states: &Vec<f64>, x: f64| states.binary_search_by(|s| s.total_cmp(&(x + 0.0))).is_ok();
        row.iter().zip(&self.states).all(|(x, states)| is_state(states, *x))
    }
}

fn digest(row: ArrayView1<f64>) -> [u8; 16] {
    let bytes: Vec<u8> = row.iter().flat_map(|x| (x + 0.0).to_le_bytes()).collect();
    let mut short = [0; 16];
    short.copy_from_slice(&Sha256::digest(bytes)[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;
    use crate::{Exact, Rbm};
    use ndarray::{Array1, array, s};

    #[test]
    fn the_entropy_is_the_one_of_the_exact_divergence() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let rows = array![[0.0, 1.0], [-0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]];
        let mut counts = RowCounts::new(&Layout::new(kind.clone(), 2));
        counts.add(rows.slice(s![..2, ..]));
        counts.add(rows.slice(s![2.., ..]));
        let exact = Exact::new(&Rbm::<f64>::new(kind.clone(), 2, kind, 1).unwrap()).unwrap();
        let plain = rows.mapv(|x| x + 0.0);
        let kl = exact.kl(plain.view(), Array1::ones(5).view()).unwrap();
        assert!((counts.entropy().unwrap() - kl.entropy).abs() < 1e-15);
        let cross = -exact.log_likelihood(rows.view()).unwrap().mean().unwrap();
        assert!((cross - kl.entropy - kl.kl).abs() < 1e-14);
    }

    #[test]
    fn equal_rows_have_none_and_grey_or_continuous_rows_no_entropy_at_all() {
        let mut same = RowCounts::new(&Layout::parse("bernoulli*1").unwrap());
        same.add(array![[1.0], [1.0]].view());
        assert_eq!(same.entropy().map(f64::to_bits), Some(0));
        for kind in ["bernoulli", "gaussian"] {
            let mut counts = RowCounts::new(&Layout::parse(&format!("{kind}*2")).unwrap());
            counts.add(array![[0.0, 0.5]].view());
            assert!(!counts.all_states() && counts.entropy().is_none());
        }
    }
}
