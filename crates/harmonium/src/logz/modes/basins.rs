//! The list of modes, and the basin that a state belongs to: the mode that the state flows to, or the rest.

use super::super::mean_field::{FixedPoints, Follow, scales, settle};
use crate::lowered::LoweredModel;
use crate::real::Real;
use ndarray::{Array1, ArrayView1, ArrayView2};

/// Fixed points whose columns all differ by less than this, in units of the columns' ranges, are the same.
const SAME: f64 = 0.05;

/// Where a mode was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the weights.
    Weights,
    /// By sampling.
    Sampling,
    /// From a data row.
    Data,
}

/// A fixed point, the bound of log Z it gives, and how often each search has found it.
#[derive(Clone, Debug)]
pub struct Mode<T> {
    pub visible: Array1<T>,
    pub hidden: Array1<T>,
    pub bound: f64,
    pub found: [usize; 3],
}

impl<T> Mode<T> {
    /// Whether a search has found it.
    pub fn found_by(&self, source: Source) -> bool {
        self.found[source as usize] > 0
    }

    /// Whether any search has found it. Other modes only tell where a chain ended.
    pub fn found(&self) -> bool {
        self.found.iter().any(|n| *n > 0)
    }
}

/// All modes found.
pub struct Modes<T> {
    pub all: Vec<Mode<T>>,
    scales: Vec<f64>,
}

impl<T: Real> Modes<T> {
    pub fn new(lowered: &LoweredModel<T>) -> Modes<T> {
        Modes { all: Vec::new(), scales: scales(lowered.visible()) }
    }

    /// The mode with these visible means.
    pub fn find(&self, visible: ArrayView1<T>) -> Option<usize> {
        self.all.iter().position(|mode| self.same(mode.visible.view(), visible))
    }

    /// The largest lower bound of log Z; −∞ without modes.
    pub fn bound(&self) -> f64 {
        self.all.iter().map(|mode| mode.bound).fold(f64::NEG_INFINITY, f64::max)
    }

    /// How far two modes are apart: the mean square over the columns, in units of their ranges.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.all[a].visible, &self.all[b].visible);
        let squares = a.iter().zip(b).zip(&self.scales).map(|((a, b), s)| ((a.f64() - b.f64()) / s).powi(2));
        squares.sum::<f64>() / a.len() as f64
    }

    fn same(&self, a: ArrayView1<T>, b: ArrayView1<T>) -> bool {
        a.iter().zip(b).zip(&self.scales).all(|((a, b), s)| (a.f64() - b.f64()).abs() < SAME * s)
    }

    /// Adds the fixed points that are new, and counts those that a search has found; returns the mode of every row.
    pub fn add(&mut self, points: &FixedPoints<T>, source: Option<Source>) -> Vec<usize> {
        let mut numbers = Vec::with_capacity(points.bounds.len());
        for (r, bound) in points.bounds.iter().enumerate() {
            let k = self.find(points.visible.row(r)).unwrap_or_else(|| {
                let (visible, hidden) = (points.visible.row(r).to_owned(), points.hidden.row(r).to_owned());
                self.all.push(Mode { visible, hidden, bound: *bound, found: [0; 3] });
                self.all.len() - 1
            });
            if let Some(source) = source {
                self.all[k].found[source as usize] += 1;
            }
            numbers.push(k);
        }
        numbers
    }

    /// The mode of each of these states, if it is among those found.
    pub fn of_states(&self, lowered: &LoweredModel<T>, states: ArrayView2<T>) -> Vec<Option<usize>> {
        let points = settle(lowered, states, Follow::FAR);
        points.visible.rows().into_iter().map(|row| self.find(row)).collect()
    }
}

/// Sets of modes between which Gibbs sampling moves, by the number of the set.
#[derive(Default)]
pub struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    /// Adds modes, each in its own set, up to so many.
    pub fn grow(&mut self, modes: usize) {
        self.parent.extend(self.parent.len()..modes);
    }

    /// The number of the set of a mode.
    pub fn of(&self, mut mode: usize) -> usize {
        while self.parent[mode] != mode {
            mode = self.parent[mode];
        }
        mode
    }

    /// Joins the sets of two modes.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second] = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;
    use crate::model::Rbm;
    use crate::units::Kind;
    use ndarray::array;

    /// A mode where a chain ended is known from then on, but only a search finds modes.
    #[test]
    fn the_end_of_a_chain_is_no_find_of_a_search() {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let rbm =
            Rbm::<f64>::from_parts(Layer::new(kind.clone(), 2), Layer::new(kind, 1), array![[0.5], [0.5]]).unwrap();
        let mut modes = Modes::new(&rbm.lower());
        let points = settle(&rbm.lower(), array![[1.0, 0.0]].view(), Follow::FAR);
        assert_eq!(modes.add(&points, None), [0]);
        assert!(!modes.all[0].found());
        assert_eq!(modes.add(&points, Some(Source::Sampling)), [0]);
        assert!(
            modes.all[0].found() && modes.all[0].found_by(Source::Sampling) && !modes.all[0].found_by(Source::Data)
        );
    }
}
