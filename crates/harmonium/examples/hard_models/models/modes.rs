//! Models made of a few modes whose masses are chosen.

use super::Recipe;
use super::disguise::Plain;
use super::groups::{Groups, Spread, random_signs};
use super::lattice::Block;
use super::numbers::Numbers;
use super::units::{BERNOULLI, SPIN};
use ndarray::{Array2, s};

/// All units off or all units on, with weights 1 : eᵈ: E is symmetric but for the field d/n. `strength` is the coupling relative
/// to the critical one.
pub fn two_modes(n: usize, m: usize, strength: f64, d: f64, spread: bool, r: &mut Numbers) -> Block {
    let steps = Array2::from_shape_fn((m, 1), |_| if spread { r.between(1, 3) as i32 } else { 1 });
    let shape = Array2::from_shape_fn((n, 1), |_| if spread { r.range(0.6, 1.4) } else { 1.0 });
    let squares = |x: &Array2<f64>| x.iter().map(|x| x * x).sum::<f64>();
    let w = 4.0 * strength / (squares(&shape) * squares(&steps.mapv(f64::from))).sqrt();
    let directions = w * shape;
    let steps_sum = f64::from(steps.sum());
    Block {
        visible: BERNOULLI,
        hidden: BERNOULLI,
        eta: Array2::from_shape_fn((1, n), |(_, i)| -0.5 * directions[[i, 0]] * steps_sum + d / n as f64),
        bias: steps.column(0).mapv(|c| -0.5 * f64::from(c) * directions.sum()),
        directions,
        steps,
    }
}

/// Two modes; number 0 is 48 × 46 with all weights 1.
pub fn two(recipe: &mut Recipe) -> Plain {
    if recipe.number == 0 && !recipe.reduced {
        return two_modes(48, 46, (48f64 * 46.0).sqrt() / 4.0, 3.0, false, &mut recipe.r).into();
    }
    let (n, m) = (recipe.sites(40, 120), recipe.sites(40, 80));
    let r = &mut recipe.r;
    let (strength, d) = (r.range(1.5, 10.0), r.range(0.0, 4.0));
    two_modes(n, m, strength, d, recipe.number != 1, r).into()
}

/// Bernoulli or spin visible units with `k` groups of Bernoulli hidden units. A group that is on puts fields of size `field` on
/// all visible units; its pattern is random.
fn detectors(recipe: &mut Recipe, n: usize, copies: &[usize], field: f64, spread: Spread) -> Groups {
    let r = &mut recipe.r;
    let visible = if recipe.number.is_multiple_of(2) { BERNOULLI } else { SPIN };
    // Two values of a spin differ by 2.
    let field = if visible == SPIN { 0.5 * field } else { field };
    let mut directions = random_signs(n, copies.len(), r);
    for (mut column, copies) in directions.columns_mut().into_iter().zip(copies) {
        column.mapv_inplace(|s| s * field / *copies as f64 * r.range(0.8, 1.2));
    }
    Groups::spread([&visible, &BERNOULLI], Array2::zeros((1, n)), directions, copies, spread, r)
}

/// Steps that keep the lattice small.
fn spread_of(groups: usize) -> Spread {
    match groups {
        0..=2 => Spread { steps: 3, mixed: 0.2 },
        3 => Spread { steps: 2, mixed: 0.1 },
        _ => Spread { steps: 2, mixed: 0.0 },
    }
}

/// Log masses of `k` modes.
fn masses(k: usize, low: f64, high: f64, r: &mut Numbers) -> Vec<f64> {
    (0..k).map(|_| r.range(low, high)).collect()
}

/// Two to four modes of unequal mass that outweigh a broad background.
pub fn unequal(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 100), recipe.r.between(2, 4));
    let copies = recipe.all_copies(k, 40 / k, 48 / k);
    let field = recipe.r.range(3.0, 6.0);
    let mut groups = detectors(recipe, n, &copies, field, spread_of(k));
    groups.balance(&masses(k, 2.0, 7.0, &mut recipe.r));
    groups.block.into()
}

/// A broad mode and one to three narrow ones of similar mass.
pub fn golf_holes(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(50, 100), recipe.r.between(1, 3));
    let copies = recipe.all_copies(k, 40 / k, 48 / k);
    let field = recipe.r.range(5.0, 10.0);
    let mut groups = detectors(recipe, n, &copies, field, spread_of(k));
    groups.balance(&masses(k, -1.5, 1.5, &mut recipe.r));
    groups.block.into()
}

/// A correlated background (one direction, 28 to 34 hidden units, random fields) and four to six rows that two hidden units each
/// have memorised; the rows are typical of the fields.
pub fn memorised_rows(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 80), recipe.r.between(4, 6));
    let broad = recipe.copies(28, 34);
    let r = &mut recipe.r;
    let fields: Vec<f64> = (0..n).map(|_| r.normal()).collect();
    let on = |field: f64| 1.0 / (1.0 + (-field).exp());
    let rows = Array2::from_shape_fn((n, k), |(i, _)| if r.chance(on(fields[i])) { 1.0 } else { -1.0 });
    let strength = r.range(2.5, 4.0);
    let directions = Array2::from_shape_fn((n, k + 1), |(i, g)| {
        if g < k { strength * rows[[i, g]] } else { 2.0 * r.normal() / ((n * broad) as f64).sqrt() }
    });
    let mut copies = vec![2; k];
    copies.push(broad);
    let eta = Array2::from_shape_fn((1, n), |(_, i)| fields[i]);
    let mut groups =
        Groups::spread([&BERNOULLI, &BERNOULLI], eta, directions, &copies, Spread { steps: 2, mixed: 0.0 }, r);
    groups.block.bias.slice_mut(s![2 * k..]).mapv_inplace(|_| 0.3 * r.normal());
    groups.balance(&masses(k, -2.0, 2.0, r));
    groups.block.into()
}

/// Two broad modes joined by a narrow passage. Group 0 pins part A of the visible units, group 1 part B, and part C makes them
/// exclude each other: in each mode one part is pinned and the other free. The passage is where neither group is on; the hidden
/// layer must be small against the visible one, or the entropy of half active groups fills the barrier.
pub fn entropic_barrier(recipe: &mut Recipe) -> Plain {
    let (part, control) = (recipe.sites(50, 70), recipe.sites(15, 30));
    let copies = recipe.all_copies(2, 20, 24);
    let r = &mut recipe.r;
    let (pin, exclude) = (r.range(2.0, 4.0), r.range(2.0, 4.0));
    let n = 2 * part + control;
    let directions = Array2::from_shape_fn((n, 2), |(i, g)| {
        let size = match i / part {
            own if own == g => pin,
            0 | 1 => 0.0,
            _ => exclude * (1.0 - 2.0 * g as f64),
        };
        size * r.range(0.7, 1.3) / copies[g] as f64
    });
    let eta = Array2::from_shape_fn((1, n), |_| 0.05 * r.normal());
    let mut groups = Groups::spread([&SPIN, &BERNOULLI], eta, directions, &copies, Spread { steps: 3, mixed: 0.1 }, r);
    let depth = r.range(2.0, 7.0);
    groups.balance(&masses(2, depth - 1.0, depth + 1.0, r));
    groups.block.into()
}
