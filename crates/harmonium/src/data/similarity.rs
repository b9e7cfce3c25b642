//! Weights of similar rows: w = 1/(number of rows with at least the identity θ, itself included).
//!
//! Sequences of one family are not independent samples: close relatives are sampled more often. Counting a row and its
//! relatives as one is common since Morcos et al., *Direct-coupling analysis of residue coevolution captures native contacts
//! across many protein families*, 2011. The identity is the fraction of equal sites, gaps included.

use crate::error::{Error, Result};
use ndarray::ArrayView2;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Sites that are compared at once; rows are padded to a multiple of it.
const LANES: usize = 32;
/// Rows that stay in the cache while they are compared with all others.
const BLOCK: usize = 64;
/// Rounding error of θ·sites, in sites.
const ROUNDING: f64 = 1e-9;

/// The weight of every row of codes; `identity` is θ in (0, 1]. `progress` is called with the pairs compared so far and in all.
pub(crate) fn similarity_weights(
    codes: ArrayView2<u16>,
    identity: f64,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<f64>> {
    if !(identity > 0.0 && identity <= 1.0) {
        return Err(Error::RowWeights(format!(
            "the identity of similar rows is {identity}, but must be above 0 and at most 1"
        )));
    }
    let sites = codes.ncols();
    let needed = (identity * sites as f64 - ROUNDING).ceil().max(0.0) as usize;
    let allowed = sites - needed.min(sites);
    let counts = if codes.iter().all(|c| *c < 256) {
        relatives(&padded(codes, |c| c as u8), allowed as u32, progress)
    } else {
        relatives(&padded(codes, |c| c), allowed as u32, progress)
    };
    Ok(counts.into_iter().map(|n| 1.0 / f64::from(n)).collect())
}

/// Rows in chunks of equal length; the padding is equal in all of them.
struct Padded<T> {
    chunks: Vec<[T; LANES]>,
    per_row: usize,
    rows: usize,
}

fn padded<T: Copy + Default>(codes: ArrayView2<u16>, narrow: impl Fn(u16) -> T) -> Padded<T> {
    let per_row = codes.ncols().div_ceil(LANES);
    let mut chunks = vec![[T::default(); LANES]; per_row * codes.nrows()];
    for ((r, c), code) in codes.indexed_iter() {
        chunks[r * per_row + c / LANES][c % LANES] = narrow(*code);
    }
    Padded { chunks, per_row, rows: codes.nrows() }
}

impl<T: Copy + PartialEq> Padded<T> {
    fn row(&self, r: usize) -> &[[T; LANES]] {
        &self.chunks[r * self.per_row..(r + 1) * self.per_row]
    }
}

/// Whether at most `allowed` sites differ; most pairs differ enough in their first sites.
fn similar<T: Copy + PartialEq>(a: &[[T; LANES]], b: &[[T; LANES]], allowed: u32) -> bool {
    let mut different = 0;
    for (a, b) in a.iter().zip(b) {
        // A byte holds the count of a chunk, so that the compiler can count in bytes.
        let here = a.iter().zip(b).fold(0u8, |sum, (x, y)| sum.wrapping_add(u8::from(x != y)));
        different += u32::from(here);
        if different > allowed {
            return false;
        }
    }
    true
}

/// For every row the number of similar rows, itself included. Integer counts, so the order of summation does not matter.
fn relatives<T: Copy + PartialEq + Sync>(
    rows: &Padded<T>,
    allowed: u32,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Vec<u32> {
    let n = rows.rows;
    let counts: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(1)).collect();
    let (done, all) = (AtomicU64::new(0), (n as u64 * n.saturating_sub(1) as u64) / 2);
    (0..n.div_ceil(BLOCK)).into_par_iter().for_each(|block| {
        let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(n));
        let mut pairs = 0;
        for j in first + 1..n {
            for i in first..last.min(j) {
                if similar(rows.row(i), rows.row(j), allowed) {
                    counts[i].fetch_add(1, Relaxed);
                    counts[j].fetch_add(1, Relaxed);
                }
            }
            pairs += (last.min(j) - first) as u64;
        }
        progress(done.fetch_add(pairs, Relaxed) + pairs, all);
    });
    counts.into_iter().map(AtomicU32::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Key;
    use ndarray::{Array2, array};

    fn weights(codes: &Array2<u16>, identity: f64) -> Vec<f64> {
        similarity_weights(codes.view(), identity, &|_, _| ()).unwrap()
    }

    #[test]
    fn relatives_share_one_count() {
        let codes = array![[0, 1, 2, 3, 4], [0, 1, 2, 3, 9], [0, 1, 2, 8, 9], [7, 7, 7, 7, 7]];
        assert_eq!(weights(&codes, 0.8), [1.0 / 2.0, 1.0 / 3.0, 1.0 / 2.0, 1.0]);
        assert_eq!(weights(&codes, 1.0), [1.0; 4]);
        assert_eq!(weights(&codes, 0.81), [1.0; 4]);
        assert_eq!(weights(&codes, 0.6), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0]);
        assert_eq!(weights(&array![[1], [1], [2]], 1.0), [0.5, 0.5, 1.0]);
    }

    /// Against the definition, pair by pair, for rows shorter and longer than a chunk, few and many codes, several blocks.
    #[test]
    fn the_fast_way_counts_what_the_definition_says() {
        for (rows, sites, q, identity) in [(150, 5, 2, 0.7), (70, 70, 2, 0.6), (130, 33, 2, 0.55), (90, 40, 2000, 0.3)]
        {
            let key = Key::root(sites as u64);
            let draw = |r: usize, c: usize| key.words(r as u64, c as u32)[0];
            // Rows in pairs that differ little.
            let codes = Array2::from_shape_fn((rows, sites), |(r, c)| {
                let from = if draw(r, 1000 + c).is_multiple_of(3) { r } else { r / 2 * 2 };
                (draw(from, c) % q) as u16
            });
            let identical = |i: usize, j: usize| (0..sites).filter(|c| codes[[i, *c]] == codes[[j, *c]]).count() as f64;
            let expected: Vec<f64> = (0..rows)
                .map(|i| 1.0 / (0..rows).filter(|j| identical(i, *j) >= identity * sites as f64 - 1e-6).count() as f64)
                .collect();
            assert!(expected.iter().any(|w| *w < 1.0), "no relatives among {rows} rows");
            assert_eq!(weights(&codes, identity), expected);
        }
    }

    #[test]
    fn identities_that_make_no_sense_are_refused() {
        for identity in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(similarity_weights(array![[1u16]].view(), identity, &|_, _| ()).is_err());
        }
    }
}
