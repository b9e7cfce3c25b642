//! Completed tables: the unknown cells of rows drawn from p(v_A | v_B), several times and independently, for multiple imputation
//! (Rubin, *Multiple imputation for nonresponse in surveys*, 1987).
//!
//! Draws are exact where the sum is affordable, because chains that miss a mode would show no error here. Otherwise every table has a
//! chain of its own, which starts at infinite temperature.

use super::{Conditional, Row, chains};
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::exact::budget;
use crate::memory;
use crate::rng::Purpose;
use crate::threads;
use ndarray::{Array2, ArrayView2, Axis, s};

/// Numbers of the chains that run at once.
const NUMBERS: usize = 1 << 24;

/// Refuses more completed tables of so many rows and columns than fit in memory.
pub fn check_size(tables: usize, rows: usize, columns: usize) -> Result<()> {
    if tables == 0 {
        return Err(Error::Config { key: "draws", problem: "is 0, but must be at least 1".into() });
    }
    memory::check("draws", tables, 2.0 * 8.0 * tables as f64 * rows as f64 * columns as f64)
}

impl Conditional {
    /// `n` tables of data values, in which the cells of rows of columns that are not `known` are drawn; the others are unchanged. The
    /// random numbers depend on `first`, the number of the first row, and on `n`.
    pub fn complete(&mut self, x: ArrayView2<f64>, known: &Bits, first: u64, n: usize) -> Result<Vec<Array2<f64>>> {
        let sites = self.lowered.visible().sites();
        check_size(n, x.nrows(), sites)?;
        let mut tables = vec![self.lowered.visible().decode(x); n];
        let mut put = |r: usize, draws: ArrayView2<f64>| {
            for (table, draw) in tables.iter_mut().zip(draws.rows()) {
                (0..sites).filter(|i| !known.get(r, *i)).for_each(|i| table[[r, i]] = draw[i]);
            }
        };
        let key = self.key.of(Purpose::Completions);
        let number = |r: usize| key.step(first + r as u64);
        let (some, rest) = self.parted(known, |cost| budget::ROW.allows(cost));
        let some: Vec<usize> = some.into_iter().filter(|r| known.ones(*r) < sites).collect();
        let lowered = &self.lowered;
        let solved = threads::map(some.len() > 1, some.iter(), |&r| {
            Row { lowered, x: x.row(r).to_vec(), known, number: r }.draws(n, number(r))
        });
        for (r, draws) in some.iter().zip(solved) {
            put(*r, draws?.view());
        }
        let at_once = (NUMBERS / (n * self.lowered.visible().columns())).max(1);
        for rows in rest.chunks(at_once) {
            let draws = chains::drawn(self, x.select(Axis(0), rows).view(), &known.select(rows), n, number(rows[0]));
            rows.iter().enumerate().for_each(|(k, r)| put(*r, draws.slice(s![k * n..(k + 1) * n, ..])));
        }
        Ok(tables)
    }
}
