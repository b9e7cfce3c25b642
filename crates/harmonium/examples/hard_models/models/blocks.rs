//! Independent blocks, each with modes of its own: the number of modes is that of the blocks' product.

use super::Recipe;
use super::disguise::Plain;
use super::groups::{Groups, Spread};
use super::lattice::Block;
use super::modes::two_modes;
use super::units::{BERNOULLI, potts as potts_kind};
use ndarray::Array2;

/// Five to nine blocks; two if the model must be small.
fn several(recipe: &mut Recipe, block: impl Fn(&mut Recipe) -> Block) -> Plain {
    let count = if recipe.reduced { 2 } else { recipe.r.between(5, 9) };
    (0..count).map(|_| block(recipe)).collect::<Vec<_>>().into()
}

/// Sites of a layer of one block.
fn small(recipe: &mut Recipe, low: usize, high: usize) -> usize {
    if recipe.reduced { 3 } else { recipe.r.between(low, high) }
}

fn two_modes_block(recipe: &mut Recipe) -> Block {
    let (n, m) = (small(recipe, 7, 14), small(recipe, 7, 12));
    let r = &mut recipe.r;
    let (strength, d) = (r.range(1.5, 4.0), r.range(-2.0, 2.0));
    two_modes(n, m, strength, d, true, r)
}

/// Two modes per block.
pub fn bernoulli(recipe: &mut Recipe) -> Plain {
    several(recipe, two_modes_block)
}

/// Random ± couplings within a block, every hidden unit with its own column.
pub fn spin(recipe: &mut Recipe) -> Plain {
    several(recipe, |recipe| {
        let (n, m) = (small(recipe, 8, 16), small(recipe, 7, 12));
        let r = &mut recipe.r;
        let size = r.range(1.0, 2.5) / ((n * m) as f64).sqrt().sqrt();
        super::random::enumerated([&super::units::SPIN, &super::units::SPIN], n, m, size, 0.1, r)
    })
}

/// Six Potts sites with four states (or three) and eight hidden units per block, on or off with similar mass.
pub fn potts(recipe: &mut Recipe) -> Plain {
    let q = if recipe.number.is_multiple_of(3) { 4 } else { 3 };
    several(recipe, |recipe| {
        let (n, m) = (small(recipe, 5, 8), small(recipe, 6, 10));
        let r = &mut recipe.r;
        let field = r.range(3.0, 7.0) / m as f64;
        let mut directions = Array2::zeros((n * q, 1));
        (0..n).for_each(|site| directions[[site * q + r.between(0, q - 1), 0]] = field * r.range(0.7, 1.3));
        let eta = Array2::from_shape_fn((1, n * q), |_| 0.2 * r.normal());
        let spread = Spread { steps: 3, mixed: 0.0 };
        let mut groups = Groups::spread([&potts_kind(q), &BERNOULLI], eta, directions, &[m], spread, r);
        groups.balance(&[r.range(-1.5, 1.5)]);
        groups.block
    })
}
