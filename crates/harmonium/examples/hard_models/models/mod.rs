//! Families of hard models whose log Z is known. **To add a family: write a function from [`Recipe`] to [`Plain`], add its line to
//! [`FAMILIES`].**
//!
//! | file | idea |
//! |---|---|
//! | `modes`, `patterns`, `blocks`, `random`, `traps` | the families |
//! | `lattice`, `groups` | the closed form, and models of patterns in it |
//! | `disguise` | exact changes of coordinates, after which equal units do not look alike |

mod blocks;
mod disguise;
mod groups;
mod lattice;
mod modes;
mod numbers;
mod patterns;
mod random;
mod traps;
mod units;

use disguise::Plain;
use harmonium::{Exact, Rbm, Result};
use numbers::Numbers;

/// A family of models.
pub struct Family {
    pub name: &'static str,
    /// How many models it has.
    pub models: usize,
    make: fn(&mut Recipe) -> Plain,
}

/// What decides a model: its number in the family, random numbers, and whether it must be small enough to enumerate.
pub struct Recipe {
    pub number: usize,
    pub reduced: bool,
    pub r: Numbers,
}

impl Recipe {
    /// Sites of a layer.
    pub fn sites(&mut self, low: usize, high: usize) -> usize {
        let full = self.r.between(low, high);
        if self.reduced { 4 + full % 4 } else { full }
    }

    /// Hidden units of a group, of which there are several.
    pub fn copies(&mut self, low: usize, high: usize) -> usize {
        let full = self.r.between(low, high);
        if self.reduced { 1 + full % 2 } else { full }
    }

    /// Hidden units per group, for `groups` groups.
    pub fn all_copies(&mut self, groups: usize, low: usize, high: usize) -> Vec<usize> {
        (0..groups).map(|_| self.copies(low, high)).collect()
    }
}

/// Models per ordinary family, and per family of traps.
const MODELS: usize = 8;
const TRAPS: usize = 6;

/// Traps are made to mislead the method; no promise is made about them.
pub const TRAP: &str = "trap-";

/// The list.
pub const FAMILIES: &[Family] = &[
    Family { name: "two-modes", models: MODELS, make: modes::two },
    Family { name: "unequal-modes", models: MODELS, make: modes::unequal },
    Family { name: "golf-holes", models: MODELS, make: modes::golf_holes },
    Family { name: "memorised-rows", models: MODELS, make: modes::memorised_rows },
    Family { name: "entropic-barrier", models: MODELS, make: modes::entropic_barrier },
    Family { name: "spin-patterns-strong", models: MODELS, make: patterns::spin_strong },
    Family { name: "spin-patterns-weak", models: MODELS, make: patterns::spin_weak },
    Family { name: "bernoulli-patterns", models: MODELS, make: patterns::bernoulli },
    Family { name: "potts-patterns", models: MODELS, make: patterns::potts },
    Family { name: "large-patterns", models: MODELS, make: patterns::large },
    Family { name: "hierarchy", models: MODELS, make: patterns::hierarchy },
    Family { name: "gaussian-groups", models: MODELS, make: patterns::gaussian },
    Family { name: "gaussian-modes", models: MODELS, make: random::gaussian_modes },
    Family { name: "bernoulli-blocks", models: MODELS, make: blocks::bernoulli },
    Family { name: "spin-blocks", models: MODELS, make: blocks::spin },
    Family { name: "potts-blocks", models: MODELS, make: blocks::potts },
    Family { name: "critical", models: MODELS, make: random::critical },
    Family { name: "ring", models: MODELS, make: random::ring },
    Family { name: "mixed-signs", models: MODELS, make: random::mixed_signs },
    Family { name: "weak-random", models: MODELS, make: random::weak },
    Family { name: "glassy", models: MODELS, make: random::glassy },
    Family { name: "trap-needle", models: TRAPS, make: traps::needle },
    Family { name: "trap-decoys", models: TRAPS, make: traps::decoys },
    Family { name: "trap-combination", models: TRAPS, make: traps::combination },
    Family { name: "trap-broad", models: TRAPS, make: traps::broad },
];

/// Whether a model is not one of the usual ones of its family, which constants of the method were chosen by.
pub fn is_held_out(family: &str, number: usize) -> bool {
    FAMILIES.iter().any(|f| f.name == family && number >= f.models)
}

impl Family {
    /// The model with this number and its log Z; `reduced` for a small one of the same form.
    pub fn model(&self, number: usize, reduced: bool) -> Result<(Rbm<f64>, f64)> {
        let mut recipe = Recipe { number, reduced, r: Numbers::new(self.name, number) };
        let plain = (self.make)(&mut recipe);
        // Every second model has its offsets elsewhere.
        plain.disguised(&mut recipe.r).build(number % 2 == 1, &mut recipe.r)
    }
    /// The largest difference between the closed form and enumeration over small models of the family, in nats.
    pub fn largest_difference(&self) -> Result<f64> {
        let mut largest: f64 = 0.0;
        for number in 0..self.models {
            let (rbm, truth) = self.model(number, true)?;
            largest = largest.max((Exact::new(&rbm)?.log_z() - truth).abs());
        }
        Ok(largest)
    }
}
