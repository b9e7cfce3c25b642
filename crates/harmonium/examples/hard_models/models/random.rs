//! Models with random weights: weak, critical, frustrated, glassy.

use super::Recipe;
use super::disguise::Plain;
use super::lattice::Block;
use super::numbers::Numbers;
use super::units::{BERNOULLI, GAUSSIAN, SPIN};
use harmonium::units::Kind;
use ndarray::{Array1, Array2};

/// Normal weights of this size, every hidden unit with its own column: the lattice is that of all hidden states.
pub fn enumerated([visible, hidden]: [&Kind; 2], n: usize, m: usize, size: f64, fields: f64, r: &mut Numbers) -> Block {
    Block {
        visible: visible.clone(),
        hidden: hidden.clone(),
        eta: Array2::from_shape_fn((1, n), |_| fields * r.normal()),
        bias: Array1::from_shape_fn(m, |_| fields * r.normal()),
        directions: Array2::from_shape_fn((n, m), |_| size * r.normal()),
        steps: Array2::from_shape_fn((m, m), |(j, g)| i32::from(j == g)),
    }
}

/// The same as [`enumerated`] with Bernoulli hidden units, in place of which spins can be asked for afterwards.
fn binary(recipe: &mut Recipe, n: usize, m: usize, size: f64, fields: f64) -> Plain {
    let r = &mut recipe.r;
    let visible = if recipe.number.is_multiple_of(2) { BERNOULLI } else { SPIN };
    // A spin's two values differ by 2, and the mean of a Bernoulli unit is ½: fields in its place.
    let scale = if visible == SPIN { 1.0 } else { 2.0 };
    let mut block = enumerated([&visible, &BERNOULLI], n, m, scale * size, fields, r);
    let inputs = block.directions.sum_axis(ndarray::Axis(1));
    block.eta.row_mut(0).scaled_add(-0.5, &inputs);
    if visible == BERNOULLI {
        let inputs = block.directions.sum_axis(ndarray::Axis(0));
        block.bias.scaled_add(-0.5, &inputs);
    }
    block.into()
}

/// 100 to 200 visible units, 14 to 18 hidden ones, below the critical coupling.
pub fn weak(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(100, 200), recipe.sites(14, 18));
    let size = recipe.r.range(0.3, 0.9) * 2.0 / ((n as f64).sqrt() + (m as f64).sqrt());
    binary(recipe, n, m, size, 0.5)
}

/// The same far above it: many modes of unequal mass.
pub fn glassy(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(100, 200), recipe.sites(14, 18));
    let size = recipe.r.range(1.5, 6.0) * 2.0 / ((n as f64).sqrt() + (m as f64).sqrt());
    binary(recipe, n, m, size, 0.3)
}

/// Gaussian visible units; 10 to 16 hidden units along random directions, each on or off with similar mass: modes far apart.
pub fn gaussian_modes(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(40, 100), recipe.sites(10, 16));
    let r = &mut recipe.r;
    let length = r.range(2.0, 6.0) / (n as f64).sqrt();
    let mut block = enumerated([&GAUSSIAN, &BERNOULLI], n, m, length, 0.0, r);
    block.eta =
        Array2::from_shape_fn((2, n), |(f, _)| if f == 0 { 0.3 * r.normal() } else { -0.5 / r.range(0.5, 2.0) });
    for j in 0..m {
        let off = block.log_mass(&Array1::zeros(m));
        let on = Array1::from_shape_fn(m, |k| if k == j { 1.0 } else { 0.0 });
        block.bias[j] = off - block.log_mass(&on) + r.normal();
    }
    block.into()
}

/// A ferromagnet near the critical point: wide, but not yet two modes.
pub fn critical(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(60, 200), recipe.sites(60, 150));
    let r = &mut recipe.r;
    let steps = Array2::from_shape_fn((m, 1), |_| r.between(1, 3) as i32);
    let mut directions = Array2::from_shape_fn((n, 1), |_| r.range(0.6, 1.4));
    let squares = |x: &Array2<f64>| x.iter().map(|x| x * x).sum::<f64>();
    directions *= r.range(0.9, 1.25) / (squares(&directions) * squares(&steps.mapv(f64::from))).sqrt();
    let field = if recipe.number.is_multiple_of(2) { 0.0 } else { 0.02 };
    let plain = Plain::from(Block {
        visible: SPIN,
        hidden: SPIN,
        eta: Array2::from_shape_fn((1, n), |_| field * r.normal()),
        bias: Array1::from_shape_fn(m, |_| field * r.normal()),
        directions,
        steps,
    });
    if recipe.number % 4 < 2 { plain } else { plain.all_bernoulli() }
}

/// Two directions, cos and sin of an angle per visible unit, and hidden units at all angles: one long closed valley.
pub fn ring(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(60, 120), recipe.sites(50, 80));
    let r = &mut recipe.r;
    let angles: Vec<f64> = (0..n).map(|_| r.range(0.0, std::f64::consts::TAU)).collect();
    let steps = Array2::from_shape_fn((m, 2), |(j, g)| {
        let angle = std::f64::consts::TAU * j as f64 / m as f64;
        (3.0 * if g == 0 { angle.cos() } else { angle.sin() }).round() as i32
    });
    // Σ steps² = 9m/2 and Σ cos² = n/2 in each direction.
    let size = r.range(1.3, 4.0) / (2.25 * (n * m) as f64).sqrt();
    let plain = Plain::from(Block {
        visible: SPIN,
        hidden: SPIN,
        eta: Array2::from_shape_fn((1, n), |_| 0.02 * r.normal()),
        bias: Array1::from_shape_fn(m, |_| 0.02 * r.normal()),
        directions: Array2::from_shape_fn((n, 2), |(i, g)| {
            size * if g == 0 { angles[i].cos() } else { angles[i].sin() }
        }),
        steps,
    });
    if recipe.number.is_multiple_of(2) { plain } else { plain.all_bernoulli() }
}

/// Weights of rank three and both signs: normal directions, and steps −1, 0 and 1 along each.
pub fn mixed_signs(recipe: &mut Recipe) -> Plain {
    let (n, m) = (recipe.sites(50, 100), recipe.sites(40, 60));
    let r = &mut recipe.r;
    let size = r.range(0.8, 3.0) / ((n * m) as f64 * 2.0 / 3.0).sqrt();
    let plain = Plain::from(Block {
        visible: SPIN,
        hidden: SPIN,
        eta: Array2::from_shape_fn((1, n), |_| 0.1 * r.normal()),
        bias: Array1::from_shape_fn(m, |_| 0.1 * r.normal()),
        directions: Array2::from_shape_fn((n, 3), |_| size * r.normal()),
        steps: Array2::from_shape_fn((m, 3), |_| r.between(0, 2) as i32 - 1),
    });
    if recipe.number.is_multiple_of(2) { plain } else { plain.all_bernoulli() }
}
