//! The units of a layer as one: the functions of [`Unit`](crate::units::Unit) for rows of all blocks.

use super::{Block, Layout};
use crate::real::Real;
use crate::units::Origin;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2};

impl Layout {
    /// The chart par ↦ (η, s), see [`Unit::natural`](crate::units::Unit::natural).
    pub(crate) fn natural<T: Real>(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        mut eta: ArrayViewMut2<T>,
        scale: &mut [T],
    ) {
        for b in &self.blocks {
            let scale = &mut scale[b.columns()];
            b.unit().natural(b.fields_of(&par), b.part(&offset), b.stats_mut(&mut eta), scale);
        }
    }

    /// Its adjoint, see [`Unit::pullback`](crate::units::Unit::pullback).
    pub(crate) fn pullback<T: Real>(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        d_eta: ArrayView2<T>,
        d_ln_s: &[T],
        mut d_par: ArrayViewMut2<T>,
    ) {
        for b in &self.blocks {
            let (par, offset, d_eta) = (b.fields_of(&par), b.part(&offset), b.stats_of(&d_eta));
            b.unit().pullback(par, offset, d_eta, &d_ln_s[b.columns()], b.fields_mut(&mut d_par));
        }
    }

    /// The point x where U(x) = 0.
    pub(crate) fn reference<T: Real>(&self, par: ArrayView2<T>, offset: ArrayView1<T>, x: &mut [T]) {
        for b in &self.blocks {
            b.unit().reference(b.fields_of(&par), b.part(&offset), &mut x[b.columns()]);
        }
    }

    /// Adds `d_field` to the first row of η by changing the parameters.
    pub(crate) fn shift<T: Real>(&self, mut par: ArrayViewMut2<T>, d_field: &[f64]) {
        for b in &self.blocks {
            b.unit::<T>().shift(b.fields_mut(&mut par), &d_field[b.columns()]);
        }
    }

    /// Keeps η fixed while the offset moves by `d_offset`.
    pub(crate) fn recenter<T: Real>(&self, mut par: ArrayViewMut2<T>, d_offset: &[f64]) {
        for b in &self.blocks {
            b.unit::<T>().recenter(b.fields_mut(&mut par), &d_offset[b.columns()]);
        }
    }

    /// Parameters of independent units with these mean statistics, see [`Unit::fit`](crate::units::Unit::fit).
    pub(crate) fn fit<T: Real>(
        &self,
        means: ArrayView2<f64>,
        rows: f64,
        offset: ArrayView1<T>,
        mut par: ArrayViewMut2<T>,
    ) {
        for b in &self.blocks {
            let means = b.stats_of(&means);
            b.unit::<T>().fit(means, rows, b.part(&offset), b.fields_mut(&mut par));
        }
    }

    /// Natural parameters of independent units with these mean statistics over `rows` rows.
    pub(crate) fn fitted(&self, means: ArrayView2<f64>, rows: f64) -> Array2<f64> {
        let (mut par, offset) = (Array2::zeros(self.parameters()), Array1::zeros(self.columns()));
        self.fit(means, rows, offset.view(), par.view_mut());
        let mut eta = Array2::zeros(self.statistics());
        self.natural(par.view(), offset.view(), eta.view_mut(), &mut vec![0.0; self.columns()]);
        eta
    }

    /// T(x) of a row.
    pub fn stats<T: Real>(&self, x: &[T], mut t: ArrayViewMut2<T>) {
        for b in &self.blocks {
            b.unit().stats(&x[b.columns()], b.stats_mut(&mut t));
        }
    }

    /// Σ over units of Γ(η, I).
    pub fn log_norm<T: Real>(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        self.blocks.iter().map(|b| b.unit().log_norm(b.stats_of(&eta), &input[b.columns()])).sum()
    }

    /// ⟨T(x)⟩ of every unit.
    pub fn mean_stats<T: Real>(&self, eta: ArrayView2<T>, input: &[T], mut t: ArrayViewMut2<T>) {
        for b in &self.blocks {
            b.unit().mean_stats(b.stats_of(&eta), &input[b.columns()], b.stats_mut(&mut t));
        }
    }

    /// ⟨x⟩ of every unit.
    pub fn means<T: Real>(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        for b in &self.blocks {
            b.unit().means(b.stats_of(&eta), &input[b.columns()], &mut x[b.columns()]);
        }
    }

    /// Uniforms that a draw of a row takes.
    pub fn n_uniforms(&self) -> usize {
        self.blocks.iter().map(|b| b.sites.len() * b.unit::<f64>().n_uniforms()).sum()
    }

    /// Draws every unit, see [`Unit::sample`](crate::units::Unit::sample); the uniforms of the blocks follow one another.
    pub fn sample<T: Real>(&self, eta: ArrayView2<T>, input: &[T], mut u: &[T], x: &mut [T]) {
        for b in &self.blocks {
            let (own, rest) = u.split_at(b.sites.len() * b.unit::<T>().n_uniforms());
            b.unit().sample(b.stats_of(&eta), &input[b.columns()], own, &mut x[b.columns()]);
            u = rest;
        }
    }

    /// Columns whose origin is the reference of their own energy.
    pub(crate) fn moving_columns(&self) -> impl Iterator<Item = usize> {
        let moving = |b: &&Block| b.unit::<f64>().origin() == Origin::Reference;
        self.blocks.iter().filter(moving).flat_map(Block::columns)
    }
}
