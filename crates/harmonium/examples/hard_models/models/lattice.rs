//! log Z in closed form if the weights are W = U Cᵀ with few directions U and whole numbers C.
//!
//! The hidden layer acts on the visible one only through t = Cᵀh, a point of a lattice of K dimensions. So
//! Z = Σ_t ω(t) exp(Σᵢ Γᵢ(ηᵢ + (U t)ᵢ)), where ω(t) = Σ exp(b·h) over the hidden states with Cᵀh = t is found by adding one hidden
//! unit at a time. All terms are positive, so nothing cancels. Identical hidden units (a sum over counts) and enumeration (C the
//! identity) are special cases, but the columns of W need be neither equal nor parallel.

use super::units::{log_add, states};
use harmonium::units::Kind;
use ndarray::{Array1, Array2};
use rayon::prelude::*;

/// Most points of a lattice.
const MOST_POINTS: usize = 20_000_000;

/// A model whose log Z is known.
#[derive(Clone)]
pub struct Block {
    pub visible: Kind,
    pub hidden: Kind,
    /// Natural parameters of the visible layer: statistics × columns.
    pub eta: Array2<f64>,
    /// Biases of the hidden columns.
    pub bias: Array1<f64>,
    /// U: visible columns × K.
    pub directions: Array2<f64>,
    /// C: hidden columns × K.
    pub steps: Array2<i32>,
}

impl Block {
    pub fn weights(&self) -> Array2<f64> {
        self.directions.dot(&self.steps.mapv(f64::from).t())
    }

    /// log Σᵥ exp(−E(v, h)) of one hidden state, given as a row of columns.
    pub fn log_mass(&self, h: &Array1<f64>) -> f64 {
        self.bias.dot(h) + self.log_norm(&self.steps.mapv(f64::from).t().dot(h))
    }

    /// Σᵢ Γᵢ(ηᵢ + (U t)ᵢ).
    fn log_norm(&self, t: &Array1<f64>) -> f64 {
        self.visible.unit::<f64>().log_norm(self.eta.view(), &self.directions.dot(t).to_vec())
    }

    /// The states of every hidden site: their steps on the lattice and log weights.
    fn moves(&self) -> Vec<Vec<(Vec<i32>, f64)>> {
        let width = self.hidden.unit::<f64>().width();
        let site = |j: usize| {
            let columns = j * width..(j + 1) * width;
            let one = |x: Vec<f64>| {
                let sum = |f: &dyn Fn(usize) -> f64| columns.clone().zip(&x).map(|(c, x)| f(c) * x).sum::<f64>();
                let step = |g: usize| sum(&|c| f64::from(self.steps[[c, g]])) as i32;
                ((0..self.steps.ncols()).map(step).collect(), sum(&|c| self.bias[c]))
            };
            states(&self.hidden).into_iter().map(one).collect()
        };
        (0..self.bias.len() / width).map(site).collect()
    }

    pub fn log_z(&self) -> f64 {
        log_sum(&self.terms().1)
    }

    /// log mass of the hidden states in which every one of the first `groups` dimensions is in its upper half (1) or not (0),
    /// by number: dimension g is bit g.
    pub fn log_masses(&self, groups: usize) -> Vec<f64> {
        let (lattice, terms) = self.terms();
        let mut split = vec![Vec::new(); 1 << groups];
        terms.iter().enumerate().for_each(|(i, t)| split[lattice.half_of(i, groups)].push(*t));
        split.iter().map(|terms| log_sum(terms)).collect()
    }

    /// The log mass of every point of the lattice.
    fn terms(&self) -> (Lattice, Vec<f64>) {
        let moves = self.moves();
        let lattice = Lattice::new(self.steps.ncols(), &moves);
        let omega = lattice.log_counts(&moves);
        let term = |(i, &w): (usize, &f64)| {
            if w == f64::NEG_INFINITY { w } else { w + self.log_norm(&lattice.point(i)) }
        };
        let terms = omega.par_iter().enumerate().map(term).collect();
        (lattice, terms)
    }
}

fn log_sum(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln() }
}

/// The points that the hidden layer can reach, and those between them, in a box.
struct Lattice {
    low: Vec<i32>,
    /// Distance of neighbouring points in every dimension: the two values of a spin are two apart.
    spacing: Vec<i32>,
    sizes: Vec<usize>,
}

/// Greatest common divisor.
fn gcd(a: i32, b: i32) -> i32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The smallest step of a site in dimension g.
fn lowest(site: &[(Vec<i32>, f64)], g: usize) -> i32 {
    site.iter().map(|s| s.0[g]).min().unwrap_or(0)
}

impl Lattice {
    fn new(dimensions: usize, moves: &[Vec<(Vec<i32>, f64)>]) -> Lattice {
        let above = |site: &'_ [(Vec<i32>, f64)], g: usize| -> Vec<i32> {
            site.iter().map(|s| s.0[g] - lowest(site, g)).collect()
        };
        let low = (0..dimensions).map(|g| moves.iter().map(|site| lowest(site, g)).sum()).collect();
        let spacing: Vec<i32> =
            (0..dimensions).map(|g| moves.iter().flat_map(|site| above(site, g)).fold(0, gcd).max(1)).collect();
        let range = |g: usize| moves.iter().map(|site| above(site, g).into_iter().max().unwrap_or(0)).sum::<i32>();
        let sizes: Vec<usize> = (0..dimensions).map(|g| (range(g) / spacing[g] + 1) as usize).collect();
        let points = sizes.iter().product::<usize>();
        assert!(points <= MOST_POINTS, "{points} points of a lattice {sizes:?}");
        Lattice { low, spacing, sizes }
    }

    /// How far the index moves if a site is in this state and not in its lowest.
    fn shift(&self, site: &[(Vec<i32>, f64)], step: &[i32]) -> usize {
        let points = |g: usize| ((step[g] - lowest(site, g)) / self.spacing[g]) as usize;
        (0..step.len()).fold(0, |i, g| i * self.sizes[g] + points(g))
    }

    fn point(&self, mut index: usize) -> Array1<f64> {
        let mut t = Array1::zeros(self.sizes.len());
        for g in (0..self.sizes.len()).rev() {
            t[g] = f64::from(self.low[g] + self.spacing[g] * (index % self.sizes[g]) as i32);
            index /= self.sizes[g];
        }
        t
    }

    /// The halves of the first `groups` dimensions in which a point is.
    fn half_of(&self, mut index: usize, groups: usize) -> usize {
        let mut bits = 0;
        for g in (0..self.sizes.len()).rev() {
            let upper = 2 * (index % self.sizes[g]) >= self.sizes[g];
            bits |= usize::from(upper && g < groups) << g;
            index /= self.sizes[g];
        }
        bits
    }

    /// log ω of every point. Indices are counted from the lowest sum of the units added so far, so no step is negative.
    fn log_counts(&self, moves: &[Vec<(Vec<i32>, f64)>]) -> Vec<f64> {
        let points = self.sizes.iter().product();
        let mut old = vec![f64::NEG_INFINITY; points];
        old[0] = 0.0;
        for site in moves {
            let shifts: Vec<(usize, f64)> = site.iter().map(|s| (self.shift(site, &s.0), s.1)).collect();
            let mut new = vec![f64::NEG_INFINITY; points];
            for (i, &w) in old.iter().enumerate().filter(|(_, w)| **w > f64::NEG_INFINITY) {
                for &(shift, b) in &shifts {
                    new[i + shift] = log_add(new[i + shift], w + b);
                }
            }
            old = new;
        }
        old
    }
}
