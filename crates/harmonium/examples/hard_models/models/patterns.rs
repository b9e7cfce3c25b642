//! Patterns stored by groups of hidden units, as in a Hopfield network.

use super::Recipe;
use super::disguise::Plain;
use super::groups::{EQUAL, Groups, Spread, random_signs};
use super::units::{BERNOULLI, GAUSSIAN, SPIN, potts as potts_kind};
use ndarray::Array2;

/// Spins with random ±1 patterns ξ and W = `weight` ξ.
fn spin(recipe: &mut Recipe, weight: f64, fields: f64) -> Plain {
    let first = recipe.number == 0 && !recipe.reduced;
    // Lattices of five dimensions stay small only if every unit moves along one of them.
    let k = if first || !recipe.number.is_multiple_of(4) { 3 } else { recipe.r.between(4, 5) };
    let (n, copies) = if first {
        (60, vec![15; 3])
    } else {
        (recipe.sites(40, 90), recipe.all_copies(k, if k > 3 { 8 } else { 12 }, if k > 3 { 10 } else { 18 }))
    };
    let mixed = if k > 3 { 0.0 } else { 0.15 };
    let spread = if first { EQUAL } else { Spread { steps: 2, mixed } };
    let directions = weight * random_signs(n, k, &mut recipe.r);
    let mut groups = Groups::spread([&SPIN, &SPIN], Array2::zeros((1, n)), directions, &copies, spread, &mut recipe.r);
    groups.add_fields(fields, &mut recipe.r);
    groups.block.into()
}

/// Number 0 is 60 × 45 with three patterns, W = 0.5 ξ and no fields.
pub fn spin_strong(recipe: &mut Recipe) -> Plain {
    let first = recipe.number == 0;
    let (weight, fields) = if first { (0.5, 0.0) } else { (recipe.r.range(0.3, 0.6), 0.05) };
    let plain = spin(recipe, weight, fields);
    if recipe.number % 3 == 2 { plain.swapped() } else { plain }
}

/// The same with W = 0.12 ξ and small fields.
pub fn spin_weak(recipe: &mut Recipe) -> Plain {
    let weight = if recipe.number == 0 { 0.12 } else { recipe.r.range(0.08, 0.16) };
    spin(recipe, weight, 0.05)
}

/// The same with Bernoulli units in one layer or both.
pub fn bernoulli(recipe: &mut Recipe) -> Plain {
    let weight = recipe.r.range(0.1, 0.5);
    let plain = spin(recipe, weight, 0.05);
    match recipe.number % 3 {
        0 => plain.all_bernoulli(),
        1 => plain.spins_to_bernoulli(),
        _ => plain.swapped().spins_to_bernoulli(),
    }
}

/// One state per Potts site and pattern; patterns of chosen masses against the background where all hidden units are off.
pub fn potts(recipe: &mut Recipe) -> Plain {
    let (n, q, k) = (recipe.sites(40, 60), recipe.r.between(3, 4), recipe.r.between(2, 3));
    let copies = recipe.all_copies(k, 13, 20);
    let r = &mut recipe.r;
    let mut directions = Array2::zeros((n * q, k));
    for g in 0..k {
        let field = r.range(4.0, 9.0) / copies[g] as f64;
        (0..n).for_each(|site| directions[[site * q + r.between(0, q - 1), g]] = field * r.range(0.8, 1.2));
    }
    let eta = Array2::from_shape_fn((1, n * q), |_| 0.3 * r.normal());
    let mut groups =
        Groups::spread([&potts_kind(q), &BERNOULLI], eta, directions, &copies, Spread { steps: 2, mixed: 0.1 }, r);
    let masses: Vec<f64> = (0..k).map(|_| r.range(-1.0, 6.0)).collect();
    groups.balance(&masses);
    let plain = Plain::from(groups.block);
    if recipe.number % 4 == 3 { plain.swapped() } else { plain }
}

/// 150 to 200 units a side, two patterns.
pub fn large(recipe: &mut Recipe) -> Plain {
    let (n, copies) = (recipe.sites(150, 200), recipe.all_copies(2, 75, 100));
    let r = &mut recipe.r;
    let weight = r.range(1.2, 3.0) / ((n * copies[0]) as f64).sqrt();
    let directions = weight * random_signs(n, 2, r);
    let spread = Spread { steps: 3, mixed: 0.3 };
    let mut groups = Groups::spread([&SPIN, &SPIN], Array2::zeros((1, n)), directions, &copies, spread, r);
    groups.add_fields(0.02, r);
    let plain = Plain::from(groups.block);
    if recipe.number.is_multiple_of(2) { plain } else { plain.all_bernoulli() }
}

/// Modes within modes: three directions, each strong on its own part of the visible units and weak on the others, with high, middle
/// and low barriers.
pub fn hierarchy(recipe: &mut Recipe) -> Plain {
    let (part, copies) = (recipe.sites(20, 40), recipe.all_copies(3, 14, 18));
    let r = &mut recipe.r;
    let n = 3 * part;
    let mut directions = random_signs(n, 3, r);
    for g in 0..3 {
        let strength = r.range([2.5, 1.8, 1.2][g], [4.0, 2.5, 1.6][g]) / ((part * copies[g]) as f64).sqrt();
        let weak = r.range(0.05, 0.2);
        let size = |i: usize| strength * if i / part == g { 1.0 } else { weak };
        directions.column_mut(g).iter_mut().enumerate().for_each(|(i, u)| *u *= size(i) * r.range(0.8, 1.2));
    }
    let spread = Spread { steps: 2, mixed: 0.1 };
    let mut groups = Groups::spread([&SPIN, &SPIN], Array2::zeros((1, n)), directions, &copies, spread, r);
    groups.add_fields(0.05, r);
    let plain = Plain::from(groups.block);
    if recipe.number.is_multiple_of(2) { plain } else { plain.all_bernoulli() }
}

/// Gaussian visible units with two or three directions that groups of spins pull along, well above the critical coupling.
pub fn gaussian(recipe: &mut Recipe) -> Plain {
    let (n, k) = (recipe.sites(40, 80), recipe.r.between(2, 3));
    let copies = recipe.all_copies(k, 13, 20);
    let r = &mut recipe.r;
    let variances: Vec<f64> = (0..n).map(|_| r.range(0.5, 2.0)).collect();
    let mut directions = Array2::from_shape_fn((n, k), |_| r.normal());
    for (mut u, copies) in directions.columns_mut().into_iter().zip(&copies) {
        // −F(t) = ½ t² Σ u²σ²: critical where that times the number of spins is 1.
        let size: f64 = u.iter().zip(&variances).map(|(u, v)| u * u * v).sum();
        let strength = r.range(1.3, 3.0);
        u.mapv_inplace(|u| u * (strength / size / *copies as f64).sqrt());
    }
    let eta = Array2::from_shape_fn((2, n), |(f, i)| if f == 0 { 0.5 * r.normal() } else { -0.5 / variances[i] });
    let spread = Spread { steps: 2, mixed: 0.15 };
    let mut groups = Groups::spread([&GAUSSIAN, &SPIN], eta, directions, &copies, spread, r);
    groups.block.bias.mapv_inplace(|_| 0.05 * r.normal());
    let plain = Plain::from(groups.block);
    if recipe.number.is_multiple_of(2) { plain } else { plain.swapped().spins_to_bernoulli().swapped() }
}
