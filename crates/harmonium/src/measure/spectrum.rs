//! Singular values of W̃, by Lanczos' method on the smaller of W̃W̃ᵀ and W̃ᵀW̃.
//!
//! Learning starts when a singular value grows beyond the random ones (Decelle, Fissore and Furtlehner, *Spectral dynamics of
//! learning in restricted Boltzmann machines*, 2017); the large ones are the patterns that the model has learned.

use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::math::{add_scaled, dot};
use crate::rng::{Key, normal};
use ndarray::{Array2, ArrayView2};

/// Most Lanczos steps, each of two passes over W̃. The largest values converge first.
const STEPS: usize = 30;
/// Power iterations for the leading modes, each of two passes over W̃. They need not be exact.
const POWERS: usize = 20;
/// A residual this small relative to the first is rounding error: the subspace is complete.
const COMPLETE: f64 = 1e-12;

const fn singular(name: &'static str, title: &'static str) -> Quantity {
    Quantity {
        name,
        family: "weight spectrum",
        title,
        unit: "(singular values of W)",
        about: "The largest singular values (up to five) of the weight matrix. Weights of Gaussian units are first divided by \
                the scale of their coupling (1, the standard deviation or the variance). Values that rise above the rest \
                indicate learned patterns.",
        better: Better::Neither,
        mean_of_rows: false,
    }
}

/// The quantities that are reported.
const TOP: &[Quantity] = &[
    singular("singular_value_1", "largest"),
    singular("singular_value_2", "2nd"),
    singular("singular_value_3", "3rd"),
    singular("singular_value_4", "4th"),
    singular("singular_value_5", "5th"),
    Quantity {
        family: "stable rank",
        unit: "(effective number of directions in W)",
        about: "Sum of the squared singular values of the weight matrix, divided by the largest square: the effective number of \
                directions in it.",
        ..singular("stable_rank", "")
    },
];

pub(super) const MEASURE: Measure = Measure { name: "weight-spectrum", needs: Needs::Model, quantities: TOP, run };

fn run(cx: &Context) -> Option<Vec<Value>> {
    let weights = cx.lowered.weights();
    let found = singular_values(weights, STEPS);
    let largest = found.first().copied().filter(|s| *s > 0.0)?;
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    let top = TOP.iter().filter(|q| q.name != "stable_rank").zip(&found).map(|(q, s)| Value::exact(q.name, *s));
    Some(top.chain([Value::exact("stable_rank", squares / (largest * largest))]).collect())
}

/// The largest singular values in descending order: all if the smaller dimension is at most `steps`, otherwise `steps` values by
/// Lanczos' method, of which the first have converged.
pub fn singular_values(w: ArrayView2<f64>, steps: usize) -> Vec<f64> {
    let w = if w.nrows() <= w.ncols() { w } else { w.reversed_axes() };
    let w = w.as_standard_layout();
    let (diagonal, off) = tridiagonal(w.view(), steps.min(w.nrows()));
    eigenvalues(&diagonal, &off).into_iter().map(|e| e.max(0.0).sqrt()).collect()
}

/// The left singular vectors of the `k` largest nonzero singular values, as unit rows, by power iteration of WWᵀ on random
/// vectors that are kept orthogonal. Vectors of close values may be mixed.
pub fn leading_modes(w: ArrayView2<f64>, k: usize) -> Array2<f64> {
    let w = w.as_standard_layout();
    let k = k.min(w.nrows()).min(w.ncols());
    let mut modes: Vec<Vec<f64>> = (0..k).map(|i| random(w.nrows(), i as u64)).collect();
    let mut squares = vec![0.0; k];
    for _ in 0..POWERS {
        for i in 0..k {
            let mut next = gram(w.view(), &modes[i]);
            orthogonalize(&mut next, &modes[..i]);
            squares[i] = dot(&next, &next).sqrt();
            if squares[i] > 0.0 {
                next.iter_mut().for_each(|x| *x /= squares[i]);
            }
            modes[i] = next;
        }
    }
    // A direction outside the range of W is left with rounding errors only and is not a mode.
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let found = squares.iter().take_while(|s| **s > COMPLETE * largest).count();
    Array2::from_shape_fn((found, w.nrows()), |(i, c)| modes[i][c])
}

/// W Wᵀ x.
fn gram(w: ArrayView2<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; w.ncols()];
    let rows = || w.rows().into_iter().filter_map(|row| row.to_slice());
    rows().zip(x).for_each(|(row, x)| add_scaled(*x, row, &mut y));
    rows().map(|row| dot(row, &y)).collect()
}

/// Diagonal and off-diagonal of QᵀWWᵀQ, where Q spans x, WWᵀx, (WWᵀ)²x, …; every new vector is orthogonalised twice against
/// all others, and a random vector follows when the subspace is complete.
fn tridiagonal(w: ArrayView2<f64>, steps: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut basis, mut diagonal, mut off): (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = random(w.nrows(), 0);
    let mut size = 0.0f64;
    for step in 0..steps {
        orthogonalize(&mut next, &basis);
        let mut length = dot(&next, &next).sqrt();
        if length <= COMPLETE * size {
            next = random(w.nrows(), step as u64 + 1);
            orthogonalize(&mut next, &basis);
            length = dot(&next, &next).sqrt();
            off.push(0.0);
        } else if step > 0 {
            off.push(length);
        }
        next.iter_mut().for_each(|x| *x /= length);
        basis.push(next);
        next = gram(w, &basis[step]);
        diagonal.push(dot(&next, &basis[step]));
        size = size.max(dot(&next, &next).sqrt());
    }
    (diagonal, off)
}

fn random(n: usize, number: u64) -> Vec<f64> {
    (0..n).map(|i| normal(Key::root(number).uniforms(i as u64, 0))).collect()
}

fn orthogonalize(x: &mut [f64], basis: &[Vec<f64>]) {
    for q in basis.iter().chain(basis) {
        let part = dot(x, q);
        add_scaled(-part, q, x);
    }
}

/// Eigenvalues of a symmetric tridiagonal matrix in descending order, by bisection of the Sturm sequence.
fn eigenvalues(diagonal: &[f64], off: &[f64]) -> Vec<f64> {
    let at = |k: Option<usize>| k.and_then(|k| off.get(k)).map_or(0.0, |b| b.abs());
    let radius = |i: usize| at(Some(i)) + at(i.checked_sub(1));
    let bound = diagonal.iter().enumerate().map(|(i, d)| d.abs() + radius(i)).fold(0.0, f64::max);
    let nth = |n: usize| {
        let (mut lo, mut hi) = (-bound, bound);
        for _ in 0..100 {
            let middle = 0.5 * (lo + hi);
            if above(diagonal, off, middle) > n { lo = middle } else { hi = middle }
        }
        0.5 * (lo + hi)
    };
    (0..diagonal.len()).map(nth).collect()
}

/// The number of eigenvalues larger than `x`: the positive pivots of T − x.
fn above(diagonal: &[f64], off: &[f64], x: f64) -> usize {
    let (mut count, mut pivot) = (0, 1.0);
    for (i, d) in diagonal.iter().enumerate() {
        let b = if i > 0 { off[i - 1] } else { 0.0 };
        pivot = d - x - b * b / pivot;
        if pivot == 0.0 {
            pivot = -f64::MIN_POSITIVE;
        }
        count += usize::from(pivot > 0.0);
    }
    count
}
