//! Exact conditionals: the model of the unknown cells, solved. Its visible layer has their distribution.

use super::Answer;
use crate::bits::Bits;
use crate::error::Result;
use crate::exact::Solved;
use crate::lowered::LoweredModel;
use crate::rng::Key;
use crate::stats::Stats;
use ndarray::{Array1, Array2, Axis, s};

/// Independent draws that intervals are computed from.
const DRAWS: usize = 1000;

/// One row: its columns, and which of its sites are known.
pub(crate) struct Row<'a> {
    pub lowered: &'a LoweredModel<f64>,
    pub x: Vec<f64>,
    pub known: &'a Bits,
    /// Which row of `known` it is.
    pub number: usize,
}

impl Row<'_> {
    /// log p*(v_B).
    pub fn log_p(&self) -> Result<f64> {
        if self.free().is_empty() {
            Ok(-self.lowered.up().free_energy(self.one().view())[0])
        } else {
            Ok(self.solved()?.log_z())
        }
    }

    /// As a matrix of one row.
    fn one(&self) -> Array2<f64> {
        Array1::from(self.x.clone()).insert_axis(Axis(0))
    }

    /// The model of the cells that are not known, solved.
    fn solved(&self) -> Result<Solved> {
        Solved::new(self.lowered.clamped(&self.x, |site| self.known.get(self.number, site)), &|_, _| ())
    }

    /// Columns of the cells that are not known.
    fn free(&self) -> Vec<usize> {
        self.free_sites().into_iter().flat_map(|site| self.lowered.visible().columns_of(site)).collect()
    }

    /// Sites that are not known.
    fn free_sites(&self) -> Vec<usize> {
        (0..self.lowered.visible().sites()).filter(|site| !self.known.get(self.number, *site)).collect()
    }

    /// ⟨T(v)⟩, ⟨T(h)⟩ and ⟨vhᵀ⟩ given the known cells.
    pub fn stats(&self) -> Result<Stats<f64>> {
        if self.free().is_empty() {
            return Ok(self.lowered.up().stats(self.one().view(), Array1::ones(1).view()));
        }
        let (found, mut all) = (self.solved()?.stats(), Stats::zeros(self.lowered));
        self.lowered.visible().stats(&self.x, all.visible.view_mut());
        for (x, mut row) in self.x.iter().zip(all.cross.rows_mut()) {
            row.assign(&(&found.hidden.row(0) * *x));
        }
        let rows = found.visible.nrows();
        for (k, c) in self.free().into_iter().enumerate() {
            all.visible.slice_mut(s![..rows, c]).assign(&found.visible.column(k));
            all.cross.row_mut(c).assign(&found.cross.row(k));
        }
        Ok(Stats { hidden: found.hidden, weight: 1.0, ..all })
    }

    /// ⟨h⟩ given the known cells.
    pub(super) fn hidden_means(&self) -> Result<Array1<f64>> {
        if self.free().is_empty() {
            return Ok(self.lowered.up().means(self.one().view()).row(0).to_owned());
        }
        Ok(self.solved()?.stats().hidden.row(0).to_owned())
    }

    /// The result for its cells, with draws under a key if they are wanted.
    pub(super) fn answer(&self, draws: Option<Key>) -> Result<Answer> {
        let free = self.free();
        let (mut means, std_err) = (Array1::from(self.x.clone()), Array1::zeros(self.x.len()));
        if free.is_empty() {
            return Ok(Answer { means, std_err, off: 0.0, draws: None });
        }
        let solved = self.solved()?;
        let stats = solved.stats();
        free.iter().enumerate().for_each(|(k, c)| means[*c] = stats.visible[[0, k]]);
        let draws = draws.map(|key| self.drawn(&solved, DRAWS, key));
        Ok(Answer { means, std_err, off: 0.0, draws })
    }

    /// Independent draws of the data values of its unknown cells, draws × sites; known cells are 0.
    fn drawn(&self, solved: &Solved, n: usize, key: Key) -> Array2<f64> {
        let (drawn, _) = solved.sample(n, key);
        let mut all = Array2::zeros((n, self.lowered.visible().sites()));
        for (k, site) in self.free_sites().into_iter().enumerate() {
            all.column_mut(site).assign(&drawn.column(k));
        }
        all
    }

    /// The same of the row.
    pub(super) fn draws(&self, n: usize, key: Key) -> Result<Array2<f64>> {
        Ok(self.drawn(&self.solved()?, n, key))
    }
}
