//! R̂ of every visible column along the chains, of which the largest is reported with its site.

use super::diagnose::r_hat;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

/// Numbers that are recorded at most; beyond, every other state is dropped. Sorting them takes half a second.
const MOST_NUMBERS: usize = 1 << 22;

/// The visible site whose chains agree the least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstSite {
    /// The site, counted from 0 among those that are drawn.
    pub site: usize,
    /// The largest R̂ of its columns.
    pub r_hat: f64,
}

/// Columns of the states of all chains, one recorded state after another.
pub(super) struct ColumnTraces {
    chains: usize,
    columns: usize,
    numbers: Vec<f64>,
    /// Draws between two recorded states, and draws so far.
    apart: u64,
    seen: u64,
}

impl ColumnTraces {
    pub fn new(chains: usize, columns: usize) -> ColumnTraces {
        ColumnTraces { chains, columns, numbers: Vec::new(), apart: 1, seen: 0 }
    }

    /// Records the states of all chains as rows of columns.
    pub fn record(&mut self, x: ArrayView2<f64>) {
        self.seen += 1;
        let block = self.chains * self.columns;
        if 2 * block > MOST_NUMBERS || !(self.seen - 1).is_multiple_of(self.apart) {
            return;
        }
        self.numbers.extend(x.iter());
        if self.numbers.len() + block > MOST_NUMBERS {
            self.apart *= 2;
            self.numbers = self.numbers.chunks(2 * block).flat_map(|pair| &pair[..block]).copied().collect();
        }
    }

    /// The site with the largest R̂, if any varies; `site_of` has the site of every column.
    pub fn worst(&self, site_of: &[usize]) -> Option<WorstSite> {
        let of = |column: usize| Some(WorstSite { site: site_of[column], r_hat: r_hat(self.trace(column).view())? });
        let found: Vec<WorstSite> = (0..self.columns).into_par_iter().filter_map(of).collect();
        found.into_iter().max_by(|a, b| a.r_hat.total_cmp(&b.r_hat).then(b.site.cmp(&a.site)))
    }

    /// Chains × recorded states of one column.
    fn trace(&self, column: usize) -> Array2<f64> {
        let places = self.numbers.len() / (self.chains * self.columns);
        Array2::from_shape_fn((self.chains, places), |(chain, place)| {
            self.numbers[(place * self.chains + chain) * self.columns + column]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One chain of four is elsewhere in the last column; as many states as make the recorder drop some.
    #[test]
    fn the_column_whose_chains_differ_is_named() {
        let (chains, columns) = (4, 5000);
        let mut traces = ColumnTraces::new(chains, columns);
        for t in 0..500u64 {
            let bit = |k: u64| f64::from(u8::from(k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1));
            traces.record(
                Array2::from_shape_fn((chains, columns), |(chain, column)| match (chain, column) {
                    (0, 4999) => 1.0,
                    (_, 0) => 0.0,
                    _ => bit(t * 104_729 + (chain * columns + column) as u64 * 15_485_863),
                })
                .view(),
            );
        }
        assert!(traces.apart > 1 && traces.numbers.len() <= MOST_NUMBERS);
        let sites: Vec<usize> = (0..columns).map(|c| c / 2).collect();
        let worst = traces.worst(&sites).unwrap();
        assert!(worst.site == 2499 && worst.r_hat > 1.1, "{worst:?}");
        let same = r_hat(traces.trace(4999).view()).unwrap();
        assert_eq!(worst.r_hat, same);
        assert_eq!(ColumnTraces::new(4, 3).worst(&[0, 1, 2]), None);
    }
}
