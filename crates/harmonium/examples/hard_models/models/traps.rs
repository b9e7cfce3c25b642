//! Models made to mislead the method: modes that neither the weights nor short chains show.

use super::Recipe;
use super::disguise::Plain;
use super::groups::{Groups, Spread, random_signs};
use super::random::enumerated;
use super::units::BERNOULLI;
use ndarray::{Array1, Array2, Axis};

/// Sets the hidden biases so that the hidden state `on` has this log mass.
fn balance(block: &mut super::lattice::Block, on: &Array1<f64>, log_mass: f64) {
    let missing = log_mass - block.log_mass(on);
    block.bias.scaled_add(missing / on.sum(), on);
}

/// A narrow mode where a random half of the hidden units is on. Their columns add up to one pattern, but each of them is mostly
/// noise that cancels in the sum.
pub fn needle(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(60, 100), recipe.sites(14, 18));
    let r = &mut recipe.r;
    let mut block = enumerated([&BERNOULLI, &BERNOULLI], n, m, r.range(0.8, 1.5), 0.0, r);
    let half: Vec<usize> = r.order(m).into_iter().take(m / 2).collect();
    let mean = block.directions.select(Axis(1), &half).sum_axis(Axis(1)) / half.len() as f64;
    let field = r.range(5.0, 9.0) / half.len() as f64;
    let pattern = random_signs(n, 1, r).column(0).mapv(|s| s * field);
    for &j in &half {
        let mut column = block.directions.column_mut(j);
        column += &(&pattern - &mean);
    }
    block.bias.fill(-0.5);
    let inputs = block.directions.sum_axis(Axis(0));
    block.bias.scaled_add(-0.5, &inputs);
    let on = Array1::from_shape_fn(m, |j| if half.contains(&j) { 1.0 } else { 0.0 });
    let background = block.log_mass(&Array1::zeros(m));
    balance(&mut block, &on, background + r.range(2.0, 6.0));
    block.into()
}

/// A deep narrow mode with small weights among decoys with large weights and little mass.
pub fn decoys(recipe: &mut Recipe) -> Plain {
    let n = recipe.sites(50, 90);
    let mut copies = vec![recipe.copies(24, 30)];
    copies.extend(vec![3; if recipe.reduced { 2 } else { 6 }]);
    let r = &mut recipe.r;
    let mut directions = random_signs(n, copies.len(), r);
    for (g, mut u) in directions.columns_mut().into_iter().enumerate() {
        let field = if g == 0 { 7.0 } else { 9.0 };
        u.mapv_inplace(|s| s * field / copies[g] as f64);
    }
    let mut groups = Groups::new([&BERNOULLI, &BERNOULLI], Array2::zeros((1, n)), directions, &copies, r);
    let mass = |g| if g == 0 { r.range(1.0, 4.0) } else { r.range(-5.0, -3.0) };
    groups.balance(&(0..copies.len()).map(mass).collect::<Vec<_>>());
    groups.block.into()
}

/// A mode where three groups are on at once. Each group alone, with a noisy copy of the mode's pattern, has next to no mass; a
/// fourth group is a decoy.
pub fn combination(recipe: &mut Recipe) -> Plain {
    let (n, copies) = (recipe.sites(90, 130), recipe.all_copies(4, 9, 11));
    let r = &mut recipe.r;
    let (pattern, field, flipped) = (random_signs(n, 2, r), r.range(1.4, 2.0), r.range(0.05, 0.12));
    let directions = Array2::from_shape_fn((n, 4), |(i, g)| {
        let sign = if g < 3 && r.chance(flipped) { -1.0 } else { 1.0 };
        sign * pattern[[i, g / 3]] * (if g < 3 { field } else { 6.0 }) / copies[g] as f64
    });
    let mut groups = Groups::new([&BERNOULLI, &BERNOULLI], Array2::zeros((1, n)), directions, &copies, r);
    let off = groups.block.log_mass(&Array1::zeros(groups.block.bias.len()));
    let joint = |g: &usize| *g < 3;
    let on: Array1<f64> = groups.group().iter().map(|g| if joint(g) { 1.0 } else { 0.0 }).collect();
    let decoy = on.mapv(|x| 1.0 - x);
    balance(&mut groups.block, &on, off + r.range(1.0, 4.0));
    balance(&mut groups.block, &decoy, off - 1.0);
    groups.block.into()
}

/// Strong fields hold all units in one state, where a search would look; most of the mass is broad, where a group of hidden units
/// cancels the fields.
pub fn broad(recipe: &mut Recipe) -> Plain {
    let (n, copies) = (recipe.sites(90, 130), recipe.copies(40, 50));
    let r = &mut recipe.r;
    let field = r.range(3.0, 6.0);
    let eta = random_signs(n, 1, r).t().mapv(|s| field * s).to_owned();
    let directions = Array2::from_shape_fn((n, 1), |(i, _)| -eta[[0, i]] * r.range(0.9, 1.1) / copies as f64);
    let spread = Spread { steps: 3, mixed: 0.0 };
    let mut groups = Groups::spread([&BERNOULLI, &BERNOULLI], eta, directions, &[copies], spread, r);
    groups.balance(&[r.range(0.0, 3.0)]);
    groups.block.into()
}
