//! Places outside of the stable modes that few annealed chains reach, each with a large weight. One such chain in a hundred decides
//! an estimate. So the surroundings of its end are measured from bases of their own, and the weights of all others have no such
//! tail. Places are chosen by the weights that they explain: an estimate that needs them is not called certain.

use super::super::mean_field::{Follow, settle};
use super::survey::Survey;
use crate::averages::median;
use crate::math::log_sum_exp;
use crate::real::Real;

/// A part of all states, in the order in which they are measured where time is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Everything that is in no other region.
    Rest,
    /// The surroundings of a place, by its number.
    Place(usize),
    /// Modes between which chains move, and which they hardly leave.
    Set(usize),
}

/// A mode and how far around it chains of the model go.
pub struct Place {
    pub mode: usize,
    radius: f64,
}

/// Places at most, and new ones in a round.
const MOST: usize = 12;
const NEW: usize = 4;
/// The part of a run's weight that makes a single chain heavy.
const HEAVY: f64 = 0.08;
/// Chains that show how far a place reaches, and to which its base is fitted.
pub const AROUND: usize = 64;
/// The part of these chains that the place holds.
const INSIDE: f64 = 0.9;
/// A place must be smaller than this part of the distance to where other chains end.
const COMPACT: f64 = 0.5;

impl<T: Real> Survey<'_, T> {
    /// The part that a chain belongs to, by the mode where it ended.
    pub(super) fn region(&self, end: Option<usize>) -> Region {
        let Some(mode) = end else { return Region::Rest };
        let set = self.sets.of(mode);
        if self.stable.contains(&set) {
            return Region::Set(set);
        }
        let inside = |place: &Place| self.modes.distance(place.mode, mode) <= place.radius;
        self.places.iter().position(inside).map_or(Region::Rest, Region::Place)
    }

    /// Adds places at the ends of chains that hold much of an estimate of the rest.
    pub(super) fn find_places(&mut self) {
        for mode in self.heavy_ends() {
            let room = self.places.len() < MOST && !self.is_over();
            if room && self.region(Some(mode)) == Region::Rest {
                self.add_place(mode);
            }
        }
    }

    /// The modes where the heaviest chains ended, the heaviest first.
    fn heavy_ends(&self) -> Vec<usize> {
        let others = self.local.iter().filter(|l| l.region == Region::Rest).map(|l| &l.run);
        let mut heavy: Vec<(f64, usize)> = Vec::new();
        for run in self.last_whole().iter().chain(others) {
            let chains = run.weights.iter().zip(&run.ends);
            let rest: Vec<(f64, Option<usize>)> =
                chains.map(|(w, end)| (*w, *end)).filter(|(_, end)| self.region(*end) == Region::Rest).collect();
            let all = log_sum_exp(rest.iter().map(|r| r.0));
            heavy.extend(rest.iter().filter_map(|(w, end)| Some(((w - all).exp(), (*end)?))).filter(|h| h.0 > HEAVY));
        }
        heavy.sort_by(|a, b| b.0.total_cmp(&a.0));
        heavy.into_iter().map(|h| h.1).take(NEW).collect()
    }

    /// Adds the surroundings of a mode, unless chains from there go as far as others.
    fn add_place(&mut self, mode: usize) {
        let ends = self.chains_from(mode, AROUND);
        let points = settle(&self.lowered, ends.view(), Follow::FAR);
        let near = self.modes.add(&points, None);
        self.sets.grow(self.modes.all.len());
        let distances = |modes: Vec<usize>| -> Vec<f64> {
            let mut all: Vec<f64> = modes.iter().map(|k| self.modes.distance(mode, *k)).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let near = distances(near);
        let others = distances(self.last_whole().iter().flat_map(|run| run.ends.iter().flatten().copied()).collect());
        let radius = near[(INSIDE * near.len() as f64) as usize];
        if radius < COMPACT * median(&others) {
            self.places.push(Place { mode, radius });
        }
    }
}
