//! Sparse rows times numbers: each row is a list of the columns where it has a 1, and their strips are added.
//!
//! Lists are cut into blocks of 256 columns, so that an entry is a byte and the strips of a block stay in the first-level
//! cache. Four strips are summed before they meet the total, which shortens the chain of additions that wait for each
//! other.

use super::panels::{Strip, WIDTH, panels_of};
use super::planes::Planes;
use super::simd::dispatch;
use crate::real::Real;
use std::ops::Range;

/// Columns of a block.
const BLOCK: usize = 256;

/// Rows of lists: the entries of row r in block b are `items[starts[b·rows + r] .. starts[b·rows + r + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    rows: usize,
    columns: usize,
    starts: Vec<u32>,
    items: Vec<u8>,
}

impl Lists {
    /// Takes the set bits of some rows.
    pub fn load(&mut self, bits: &Planes, rows: &Range<usize>) {
        const PLANES: usize = BLOCK / WIDTH;
        self.begin(rows.len(), bits.columns());
        let planes = panels_of(bits.columns());
        for first in (0..planes).step_by(PLANES) {
            for r in 0..self.rows {
                for p in first..(first + PLANES).min(planes) {
                    let mut word = bits.plane(p, rows)[r];
                    while word != 0 {
                        self.items.push(((p - first) * WIDTH + word.trailing_zeros() as usize) as u8);
                        word &= word - 1;
                    }
                }
                self.starts.push(self.items.len() as u32);
            }
        }
    }

    /// Takes rows of `sites` codes: a 1 in column site·`states` + code of every site.
    pub fn load_codes(&mut self, codes: &[u16], sites: usize, states: usize) {
        self.begin(codes.len() / sites, sites * states);
        for first in (0..self.columns).step_by(BLOCK) {
            // A site's columns may begin in the block before.
            let within = first / states..(first + BLOCK).min(self.columns).div_ceil(states);
            for row in codes.chunks_exact(sites) {
                for site in within.clone() {
                    let column = site * states + usize::from(row[site]);
                    if (first..first + BLOCK).contains(&column) {
                        self.items.push((column - first) as u8);
                    }
                }
                self.starts.push(self.items.len() as u32);
            }
        }
    }

    fn begin(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.starts.clear();
        self.starts.push(0);
        self.items.clear();
    }

    /// The entries of row `r` in block `b`.
    #[inline(always)]
    fn of(&self, b: usize, r: usize) -> &[u8] {
        let i = b * self.rows + r;
        &self.items[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Makes `out` the transpose: one list of rows for every column.
    pub fn transpose(&self, out: &mut Lists) {
        out.begin(self.columns, self.rows);
        out.items.resize(self.items.len(), 0);
        for first in (0..self.rows).step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(self.rows);
            // Count, add up, fill: the end of each column's list is where the next begins.
            let begin = out.starts.len() - 1;
            let total = out.starts[begin];
            out.starts.resize(begin + 1 + self.columns, 0);
            let ends = &mut out.starts[begin..];
            ends.fill(0);
            self.each(rows.clone(), |_, column| ends[column + 1] += 1);
            ends[0] = total;
            for c in 0..self.columns {
                ends[c + 1] += ends[c];
            }
            // While filling, ends[c] moves from the beginning of list c to its end, the beginning of list c + 1.
            self.each(rows, |r, column| {
                out.items[ends[column] as usize] = (r - first) as u8;
                ends[column] += 1;
            });
            ends.copy_within(..self.columns, 1);
            ends[0] = total;
        }
    }

    /// Calls `f(row, column)` for every entry of some rows, rows in order within a column.
    fn each(&self, rows: Range<usize>, mut f: impl FnMut(usize, usize)) {
        for b in 0..self.columns.div_ceil(BLOCK) {
            for r in rows.clone() {
                for item in self.of(b, r) {
                    f(r, b * BLOCK + usize::from(*item));
                }
            }
        }
    }
}

/// out[r] += Σ panel[k] over the list of row r.
pub fn add_product<T: Real>(level: super::Level, lists: &Lists, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    add(level, lists, panel, out);
}

dispatch! {
    fn add<T>(lists: &Lists, panel: &[Strip<T>], out: &mut [Strip<T>]) => body;
}

#[inline(always)]
fn body<T: Real>(lists: &Lists, panel: &[Strip<T>], out: &mut [Strip<T>]) {
    for (b, strips) in panel.chunks(BLOCK).enumerate() {
        for (r, out) in out.iter_mut().enumerate() {
            let fours = lists.of(b, r).chunks_exact(4);
            let rest = fours.remainder();
            let mut total = *out;
            for i in fours {
                let [p, q, s, t] = [0, 1, 2, 3].map(|k| &strips[usize::from(i[k])].0);
                for c in 0..WIDTH {
                    total.0[c] += (p[c] + q[c]) + (s[c] + t[c]);
                }
            }
            for i in rest {
                for (total, x) in total.0.iter_mut().zip(&strips[usize::from(*i)].0) {
                    *total += *x;
                }
            }
            *out = total;
        }
    }
}
