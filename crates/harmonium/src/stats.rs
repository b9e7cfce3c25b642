//! Sufficient statistics {ΣT(v), ΣT(h), Σvhᵀ, weight}, which estimators pass to gradients.
//!
//! They are sums, not averages, so that batches, shards and processes add up. Each phase is divided by its own weight, so the number
//! of chains need not be the number of rows.

use crate::math::subtract_two;
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{Array2, Axis, Zip};

/// Means of the sufficient statistics of both layers: statistics × columns.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerMeans<T> {
    /// ⟨T(v)⟩.
    pub visible: Array2<T>,
    /// ⟨T(h)⟩.
    pub hidden: Array2<T>,
    /// The weight of the rows.
    pub weight: f64,
}

impl<T: Real> LayerMeans<T> {
    /// Takes the means of both layers from statistics that are means.
    pub(crate) fn of(&mut self, stats: &Stats<T>) {
        self.visible.assign(&stats.visible);
        self.hidden.assign(&stats.hidden);
        self.weight = stats.weight;
    }

    /// Visible and hidden.
    pub fn layers(&self) -> [&Array2<T>; 2] {
        [&self.visible, &self.hidden]
    }
}

/// Weighted sums of the sufficient statistics of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats<T> {
    /// Σ w T(v): statistics × visible columns.
    pub visible: Array2<T>,
    /// Σ w T(h): statistics × hidden columns.
    pub hidden: Array2<T>,
    /// Σ w v hᵀ: visible columns × hidden columns.
    pub cross: Array2<T>,
    /// Σ w.
    pub weight: f64,
}

impl<T: Real> Stats<T> {
    /// Adds other rows.
    pub fn add(&mut self, other: &Stats<T>) {
        self.add_scaled(1.0, other);
    }

    /// Adds other rows with the factor `times`.
    pub fn add_scaled(&mut self, times: f64, other: &Stats<T>) {
        self.visible.scaled_add(T::of(times), &other.visible);
        self.hidden.scaled_add(T::of(times), &other.hidden);
        self.cross.scaled_add(T::of(times), &other.cross);
        self.weight += times * other.weight;
    }

    /// Becomes other rows with the factor `times`.
    pub(crate) fn set_scaled(&mut self, times: f64, other: &Stats<T>) {
        for m in [&mut self.visible, &mut self.hidden, &mut self.cross] {
            m.fill(T::zero());
        }
        self.weight = 0.0;
        self.add_scaled(times, other);
    }

    /// Statistics of no model.
    pub(crate) fn empty() -> Stats<T> {
        let none = || Array2::zeros((0, 0));
        Stats { visible: none(), hidden: none(), cross: none(), weight: 0.0 }
    }

    /// The averages: sums divided by the weight, weight 1.
    pub fn mean(&self) -> Stats<T> {
        let f = T::of(self.weight.recip());
        let scaled = |m: &Array2<T>| m.mapv(|x| x * f);
        Stats { visible: scaled(&self.visible), hidden: scaled(&self.hidden), cross: scaled(&self.cross), weight: 1.0 }
    }

    /// ⟨·⟩_self − ⟨·⟩_other, each averaged by its own weight; the result has weight 0.
    pub fn minus(&self, other: &Stats<T>) -> Stats<T> {
        let mut difference = self.clone();
        difference.subtract(other);
        difference
    }

    /// Replaces itself by ⟨·⟩_self − ⟨·⟩_other, see [`minus`](Stats::minus).
    pub(crate) fn subtract(&mut self, other: &Stats<T>) {
        let (f, g) = (T::of(self.weight.recip()), T::of(other.weight.recip()));
        for (a, b) in
            [(&mut self.visible, &other.visible), (&mut self.hidden, &other.hidden), (&mut self.cross, &other.cross)]
        {
            let parallel = a.len() >= MANY;
            let zip = Zip::from(a).and(b);
            let step = |a: &mut T, b: &T| *a = *a * f - *b * g;
            if parallel { zip.par_for_each(step) } else { zip.for_each(step) }
        }
        self.weight = 0.0;
    }

    /// For a difference ⟨·⟩ − ⟨·⟩′: replaces ⟨vhᵀ⟩ by that of v − o_v and h − o_h, which is ⟨vhᵀ⟩ − ⟨v⟩o_hᵀ − o_v⟨h⟩ᵀ.
    ///
    /// # Panics
    /// If the origins do not have one number per visible and hidden column.
    pub fn measure_from(&mut self, [o_v, o_h]: &[Vec<T>; 2]) {
        assert_eq!((o_v.len(), o_h.len()), self.cross.dim(), "an origin has one number per column");
        let (t_v, t_h) = (self.visible.row(0), self.hidden.row(0).to_vec());
        let parallel = self.cross.len() >= MANY;
        let rows = self.cross.axis_iter_mut(Axis(0)).zip(t_v).zip(o_v);
        threads::each(parallel, rows, |((mut cross, t), o)| match cross.as_slice_mut() {
            Some(cross) => subtract_two(cross, *t, o_h, *o, &t_h),
            None => cross.iter_mut().zip(o_h).zip(&t_h).for_each(|((c, o_h), t_h)| *c -= *t * *o_h + *o * *t_h),
        });
    }

    /// The same statistics with the layers exchanged.
    pub(crate) fn mirrored(self) -> Stats<T> {
        Stats {
            visible: self.hidden,
            hidden: self.visible,
            cross: self.cross.t().as_standard_layout().into_owned(),
            weight: self.weight,
        }
    }
}
