//! The draw of Gaussian units after a product: x = (η₁ + I)σ² + σ·normal with σ² = −1/2η₂, while the inputs are in the cache.

use super::epilogue::Draw;
use super::panels::{Strip, WIDTH};
use crate::real::Real;
use crate::rng::normal;
use crate::simd::dispatch;
use ndarray::{ArrayView2, ArrayViewMut2};

/// η₁, σ² and σ of a panel's units.
pub struct Spread<T> {
    field: Strip<T>,
    variance: Strip<T>,
    sigma: Strip<T>,
}

impl<T: Real> Spread<T> {
    /// Of at most 32 units.
    pub fn new(eta: ArrayView2<T>) -> Spread<T> {
        let mut spread = Spread { field: Strip::zero(), variance: Strip::zero(), sigma: Strip::zero() };
        for (i, (a, b)) in eta.row(0).iter().zip(eta.row(1)).enumerate() {
            let variance = (T::of(-2.0) * *b).recip();
            (spread.field.0[i], spread.variance.0[i], spread.sigma.0[i]) = (*a, variance, variance.sqrt());
        }
        spread
    }
}

dispatch! {
    /// Numbers drawn from the inputs, each from two words of its own: the bits that `Unit::sample` gives.
    pub(super) fn draw<T>(level, x: &[Strip<T>], spread: &Spread<T>, draw: Draw, out: ArrayViewMut2<T>) => draw_body;
}

#[inline(always)]
fn draw_body<T: Real>(x: &[Strip<T>], spread: &Spread<T>, draw: Draw, mut out: ArrayViewMut2<T>) {
    let width = out.ncols();
    for (r, (x, mut out)) in x.iter().zip(out.rows_mut()).enumerate() {
        let (chain, group) = (draw.first + r as u64, 2 * draw.panel as u32);
        let words = draw.key.groups([(chain, group), (chain, group + 1)]);
        let (mut u, mut v, mut y) = (Strip::zero(), Strip::zero(), *x);
        for c in 0..WIDTH / 2 {
            u.0[c] = T::from_word(words[0][2 * c]);
            v.0[c] = T::from_word(words[0][2 * c + 1]);
            u.0[WIDTH / 2 + c] = T::from_word(words[1][2 * c]);
            v.0[WIDTH / 2 + c] = T::from_word(words[1][2 * c + 1]);
        }
        for c in 0..WIDTH {
            let mean = (spread.field.0[c] + y.0[c]) * spread.variance.0[c];
            y.0[c] = mean + normal([u.0[c], v.0[c]]) * spread.sigma.0[c];
        }
        let Some(out) = out.as_slice_mut() else { return };
        // The full width is a constant, which needs no call.
        if width == WIDTH {
            out[..WIDTH].copy_from_slice(&y.0);
        } else {
            out.copy_from_slice(&y.0[..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::super::reference::Numbers;
    use super::*;
    use crate::rng::Key;
    use crate::units::Kind;
    use ndarray::Array2;

    /// Reference: one number at a time, from the uniforms of its row as the unit takes them.
    fn draws_equal_their_reference<T: Real>() {
        let (mut r, kind) = (Numbers(31), Kind::new("gaussian", &Default::default()).unwrap());
        for (rows, width, panel, kinds) in [(1, 1, 0, 0), (2, 31, 1, 1), (33, 32, 2, 2), (70, 20, 24, 3)] {
            let x: Vec<Strip<T>> = r.strips(rows, kinds);
            let eta = Array2::from_shape_fn((2, width), |(k, _)| T::of([1.0, -2.0][k] * (0.1 + r.uniform())));
            let (key, first) = (Key::root(8), (1 << 33) + 5);
            for level in Level::available() {
                let mut out = Array2::from_elem((rows, width), T::nan());
                draw(level, &x, &Spread::new(eta.view()), Draw { key, panel, first }, out.view_mut());
                for (i, row) in out.rows().into_iter().enumerate() {
                    let mut uniforms = vec![T::zero(); 2 * (panel * WIDTH + width)];
                    key.fill(first + i as u64, &mut uniforms);
                    for (c, found) in row.iter().enumerate() {
                        let (own, mut want) = (2 * (panel * WIDTH + c), [T::zero()]);
                        let (eta, u) = (eta.slice(ndarray::s![.., c..c + 1]), &uniforms[own..own + 2]);
                        kind.unit::<T>().sample(eta, &x[i].0[c..c + 1], u, &mut want);
                        assert!(*found == want[0], "{i}, {c} of {rows} x {width}, {}", level.name());
                    }
                }
            }
        }
    }

    #[test]
    fn draws_of_gaussian_units_equal_their_scalar_reference() {
        draws_equal_their_reference::<f32>();
        draws_equal_their_reference::<f64>();
    }
}
