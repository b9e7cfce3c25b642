//! Models made of a few modes whose masses are chosen.

use super::disguise::Plain;
use super::families::Recipe;
use super::groups::{EQUAL, Groups, Spread, random_signs};
use super::lattice::Block;
use super::numbers::Numbers;
use super::units::{BERNOULLI, SPIN};
use ndarray::{Array1, Array2};

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
        _ => EQUAL,
    }
}

/// Three to five modes of unequal mass that outweigh a broad background.
pub fn unequal(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 100), recipe.r.between(2, 4));
    let copies = recipe.all_copies(k, 10, 20);
    let field = recipe.r.range(3.0, 6.0);
    let mut groups = detectors(recipe, n, &copies, field, spread_of(k));
    let background = groups.background();
    for g in 0..k {
        groups.set_mass(g, background + recipe.r.range(2.0, 7.0));
    }
    Plain::from(groups.block)
}

/// A broad mode and one to three narrow ones of similar mass.
pub fn golf_holes(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 80), recipe.r.between(1, 3));
    let copies = recipe.all_copies(k, 15, 40usize.div_ceil(k).max(20));
    let field = recipe.r.range(5.0, 10.0);
    let mut groups = detectors(recipe, n, &copies, field, spread_of(k));
    let background = groups.background();
    for g in 0..k {
        groups.set_mass(g, background + recipe.r.range(-1.5, 1.5));
    }
    Plain::from(groups.block)
}

/// A correlated background (one direction, 20 to 30 hidden units, random fields) and five to seven rows that two hidden units each
/// have memorised; the rows are typical of the fields.
pub fn memorised_rows(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 80), recipe.r.between(4, 6));
    let broad = recipe.copies(20, 30);
    let r = &mut recipe.r;
    let fields: Vec<f64> = (0..n).map(|_| r.normal()).collect();
    let rows =
        Array2::from_shape_fn((n, k), |(i, _)| if r.chance(1.0 / (1.0 + (-fields[i]).exp())) { 1.0 } else { -1.0 });
    let strength = r.range(2.5, 4.0);
    let directions = Array2::from_shape_fn((n, k + 1), |(i, g)| {
        if g < k { strength * rows[[i, g]] } else { 2.0 * r.normal() / ((n * broad) as f64).sqrt() }
    });
    let mut copies = vec![2; k];
    copies.push(broad);
    let eta = Array2::from_shape_fn((1, n), |(_, i)| fields[i]);
    let mut groups = Groups::new([&BERNOULLI, &BERNOULLI], eta, directions, &copies, r);
    groups.block.bias.slice_mut(ndarray::s![2 * k..]).mapv_inplace(|_| 0.3 * r.normal());
    let background = groups.background();
    // With the background's hidden units off, and so below the mass of the background as a whole.
    for g in 0..k {
        groups.set_mass(g, background + r.range(-2.0, 2.0));
    }
    Plain::from(groups.block)
}

/// Two broad modes joined by a narrow passage. Group 0 pins part A of the visible units, group 1 part B, and part C makes them
/// exclude each other: in each mode one part is pinned and the other free.
pub fn entropic_barrier(recipe: &mut Recipe) -> Plain {
    let (part, control) = (recipe.sites(20, 40), recipe.sites(4, 12));
    let copies = recipe.all_copies(2, 20, 40);
    let r = &mut recipe.r;
    let (pin, exclude) = (r.range(1.0, 3.0), r.range(1.0, 3.0));
    let n = 2 * part + control;
    let directions = Array2::from_shape_fn((n, 2), |(i, g)| {
        let size = if i / part == g {
            pin
        } else if i >= 2 * part {
            exclude * (1.0 - 2.0 * g as f64)
        } else {
            0.0
        };
        size * r.range(0.7, 1.3) / copies[g] as f64
    });
    let kinds = [&SPIN, &BERNOULLI];
    let mut groups =
        Groups::spread(kinds, Array2::zeros((1, n)), directions, &copies, Spread { steps: 3, mixed: 0.1 }, r);
    let passage = groups.background();
    let depth = r.range(2.0, 7.0);
    for g in 0..2 {
        groups.set_mass(g, passage + depth + r.range(-1.0, 1.0));
    }
    let tilt = Array1::from_shape_fn(n, |_| 0.05 * r.normal());
    let mut eta = groups.block.eta.row_mut(0);
    eta += &tilt;
    Plain::from(groups.block)
}
