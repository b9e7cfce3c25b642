//! Models of patterns: groups of hidden units, each group for one direction in the space of visible units.

use super::lattice::Block;
use super::numbers::Numbers;
use harmonium::units::Kind;
use ndarray::{Array1, Array2};

/// Hidden units in groups; group g acts along direction g.
pub struct Groups {
    /// The group of every hidden unit.
    group: Vec<usize>,
    pub block: Block,
}

/// How the units of a group differ.
#[derive(Clone, Copy)]
pub struct Spread {
    /// Steps of a unit along its direction: 1 to this.
    pub steps: usize,
    /// Chance of a further step of ±1 along another direction.
    pub mixed: f64,
}

/// All units of a group are equal.
pub const EQUAL: Spread = Spread { steps: 1, mixed: 0.0 };

/// Rounds of [`Groups::balance`], and the largest change of a group's log mass in one.
const ROUNDS: usize = 6;
const LARGEST: f64 = 5.0;

impl Groups {
    /// `copies` units per group. A group's total effect on the visible layer is that of as many units of weight 1 along its
    /// direction, whatever the steps of its units.
    pub fn new(
        kinds: [&Kind; 2],
        eta: Array2<f64>,
        directions: Array2<f64>,
        copies: &[usize],
        r: &mut Numbers,
    ) -> Groups {
        Groups::spread(kinds, eta, directions, copies, EQUAL, r)
    }

    pub fn spread(
        [visible, hidden]: [&Kind; 2],
        eta: Array2<f64>,
        mut directions: Array2<f64>,
        copies: &[usize],
        spread: Spread,
        r: &mut Numbers,
    ) -> Groups {
        let group: Vec<usize> = copies.iter().enumerate().flat_map(|(g, n)| std::iter::repeat_n(g, *n)).collect();
        let mut steps = Array2::zeros((group.len(), copies.len()));
        for (j, &g) in group.iter().enumerate() {
            steps[[j, g]] = r.between(1, spread.steps) as i32;
            if copies.len() > 1 && r.chance(spread.mixed) {
                let other = (g + r.between(1, copies.len() - 1)) % copies.len();
                steps[[j, other]] = r.sign() as i32;
            }
        }
        for (g, n) in copies.iter().enumerate() {
            let own: i32 = (0..group.len()).filter(|j| group[*j] == g).map(|j| steps[[j, g]]).sum();
            directions.column_mut(g).mapv_inplace(|u| u * *n as f64 / f64::from(own));
        }
        let block = Block {
            visible: visible.clone(),
            hidden: hidden.clone(),
            eta,
            bias: Array1::zeros(group.len()),
            directions,
            steps,
        };
        Groups { group, block }
    }

    /// The group of every hidden unit.
    pub fn group(&self) -> &[usize] {
        &self.group
    }

    /// The hidden state with only the Bernoulli units of group g on.
    fn on(&self, group: Option<usize>) -> Array1<f64> {
        self.group.iter().map(|g| if Some(*g) == group { 1.0 } else { 0.0 }).collect()
    }

    /// Adds to the biases of group g, in proportion to the steps of its units.
    fn raise(&mut self, g: usize, by: f64) {
        let own: Vec<usize> = (0..self.group.len()).filter(|j| self.group[*j] == g).collect();
        let total: i32 = own.iter().map(|j| self.block.steps[[*j, g]]).sum();
        for j in own {
            self.block.bias[j] += by * f64::from(self.block.steps[[j, g]]) / f64::from(total);
        }
    }

    /// Sets the biases of the first groups so that the hidden states with more than half of one group on, and less than half of
    /// the others, have these log masses relative to those with less than half of all of them on.
    pub fn balance(&mut self, log_masses: &[f64]) {
        let background = self.block.log_mass(&self.on(None));
        for (g, wanted) in log_masses.iter().enumerate() {
            let missing = background + wanted - self.block.log_mass(&self.on(Some(g)));
            self.raise(g, missing);
        }
        // A bias also moves the mass next to the fully active state, so the first answer is only near.
        for _ in 0..ROUNDS {
            let found = self.block.log_masses(log_masses.len());
            for (g, wanted) in log_masses.iter().enumerate() {
                let missing = (wanted + found[0] - found[1 << g]).clamp(-LARGEST, LARGEST);
                self.raise(g, missing);
            }
        }
    }

    /// Random fields of this size on the first statistic of the visible layer and on the hidden layer.
    pub fn add_fields(&mut self, size: f64, r: &mut Numbers) {
        self.block.eta.row_mut(0).mapv_inplace(|x| x + size * r.normal());
        self.block.bias.mapv_inplace(|x| x + size * r.normal());
    }
}

/// Columns of random signs.
pub fn random_signs(n: usize, k: usize, r: &mut Numbers) -> Array2<f64> {
    Array2::from_shape_fn((n, k), |_| r.sign())
}
