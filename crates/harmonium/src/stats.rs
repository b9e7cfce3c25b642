//! Stats {ΣT(v), ΣT(h), Σvhᵀ, weight}: the only currency between estimators and gradients.
//!
//! Sums, not averages: batches, shards and processes just add. A gradient divides each phase by its own weight, so the
//! number of chains need not be the number of rows.

use crate::math::subtract_two;
use crate::real::Real;
use crate::threads::{self, MANY};
use ndarray::{Array2, Axis, Zip};

/// What becomes of the sums of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// They are wanted as they are.
    Sums,
    /// As they are, and the next rows that are asked for will be taken from them, in the same place: until then Σvhᵀ may be
    /// anything.
    SumsFirst,
    /// Their averages are wanted: sums divided by the weight.
    Means,
    /// Their averages, likewise.
    MeansFirst,
    /// They are taken from what is there.
    LessSums,
    /// Their averages are taken from what is there.
    LessMeans,
}

impl Take {
    /// What sums of this weight are multiplied by, and whether they are added to what is there.
    pub fn factor(self, weight: f64) -> (f64, bool) {
        match self {
            Take::Sums | Take::SumsFirst => (1.0, false),
            Take::Means | Take::MeansFirst => (weight.recip(), false),
            Take::LessSums => (-1.0, true),
            Take::LessMeans => (-weight.recip(), true),
        }
    }

    /// Whether Σvhᵀ may wait for the rows that will be taken from it.
    pub fn may_wait(self) -> bool {
        matches!(self, Take::SumsFirst | Take::MeansFirst)
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

    /// Adds other rows, counted `times` times.
    pub fn add_scaled(&mut self, times: f64, other: &Stats<T>) {
        self.visible.scaled_add(T::of(times), &other.visible);
        self.hidden.scaled_add(T::of(times), &other.hidden);
        self.cross.scaled_add(T::of(times), &other.cross);
        self.weight += times * other.weight;
    }

    /// Becomes what `take` says of these sums.
    pub fn take(&mut self, take: Take, sums: &Stats<T>) {
        let (factor, add) = take.factor(sums.weight);
        if !add {
            for sums in [&mut self.visible, &mut self.hidden, &mut self.cross] {
                sums.fill(T::zero());
            }
            self.weight = 0.0;
        }
        self.add_scaled(factor, sums);
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

    /// Becomes ⟨·⟩_self − ⟨·⟩_other, see [`minus`](Stats::minus).
    pub fn subtract(&mut self, other: &Stats<T>) {
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

    /// Of a difference ⟨·⟩ − ⟨·⟩′: from here on ⟨vhᵀ⟩ is that of v − o_v and h − o_h, ⟨vhᵀ⟩ − ⟨v⟩o_hᵀ − o_v⟨h⟩ᵀ.
    ///
    /// # Panics
    /// If the point does not have as many numbers as there are visible and hidden columns.
    pub fn measure_from(&mut self, [o_v, o_h]: &[Vec<T>; 2]) {
        assert_eq!((o_v.len(), o_h.len()), self.cross.dim(), "a point has a number for every column");
        let (t_v, t_h) = (self.visible.row(0), self.hidden.row(0).to_vec());
        let parallel = self.cross.len() >= MANY;
        let rows = self.cross.axis_iter_mut(Axis(0)).zip(t_v).zip(o_v);
        threads::each(parallel, rows, |((mut cross, t), o)| match cross.as_slice_mut() {
            Some(cross) => subtract_two(cross, *t, o_h, *o, &t_h),
            None => cross.iter_mut().zip(o_h).zip(&t_h).for_each(|((c, o_h), t_h)| *c -= *t * *o_h + *o * *t_h),
        });
    }

    /// The same statistics with the layers exchanged.
    pub fn mirrored(self) -> Stats<T> {
        Stats {
            visible: self.hidden,
            hidden: self.visible,
            cross: self.cross.t().as_standard_layout().into_owned(),
            weight: self.weight,
        }
    }
}
