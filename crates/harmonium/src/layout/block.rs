//! Units of one kind that stand next to each other, and their parts of a layer's numbers.

use crate::error::Error;
use crate::real::Real;
use crate::units::{Kind, Unit};
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, s};
use std::ops::Range;

/// Units of one kind that stand next to each other in a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub(super) kind: Kind,
    pub(super) sites: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl Block {
    /// The kind of the units.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The mathematics of the units.
    pub fn unit<T: Real>(&self) -> &dyn Unit<T> {
        self.kind.unit::<T>()
    }

    /// Their places among the units of the layer.
    pub fn sites(&self) -> Range<usize> {
        self.sites.clone()
    }

    /// Their places among the columns of the layer.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Columns of a unit.
    pub fn width(&self) -> usize {
        self.columns.len() / self.sites.len().max(1)
    }

    /// The columns of a unit, by its place in the layer.
    pub(super) fn columns_of(&self, site: usize) -> Range<usize> {
        let first = self.columns.start + (site - self.sites.start) * self.width();
        first..first + self.width()
    }

    /// The natural parameters of the block among those of the layer.
    pub(super) fn stats_of<'a, T: Real>(&self, all: &'a ArrayView2<T>) -> ArrayView2<'a, T> {
        all.slice(s![..self.unit::<T>().n_stats(), self.columns()])
    }

    /// The same, to be written.
    pub(super) fn stats_mut<'a, T: Real>(&self, all: &'a mut ArrayViewMut2<T>) -> ArrayViewMut2<'a, T> {
        all.slice_mut(s![..self.unit::<T>().n_stats(), self.columns()])
    }

    /// The parameters of the block among those of the layer.
    pub(super) fn fields_of<'a, T: Real>(&self, all: &'a ArrayView2<T>) -> ArrayView2<'a, T> {
        all.slice(s![..self.unit::<T>().fields().len(), self.columns()])
    }

    /// The same, to be written.
    pub(super) fn fields_mut<'a, T: Real>(&self, all: &'a mut ArrayViewMut2<T>) -> ArrayViewMut2<'a, T> {
        all.slice_mut(s![..self.unit::<T>().fields().len(), self.columns()])
    }

    /// The part of a row of columns.
    pub(super) fn part<'a, T: Real>(&self, row: &ArrayView1<'a, T>) -> ArrayView1<'a, T> {
        (*row).slice_move(s![self.columns()])
    }
}

impl Block {
    pub(super) fn refused<T: Real>(&self, row: ArrayView1<T>, site: usize, number: u64) -> Error {
        let (value, domain) = (row[site].f64(), self.unit::<T>().domain());
        let column = self.sites.start + site + 1;
        Error::Domain { row: number, column, value, domain, kind: self.kind.to_string() }
    }
}
