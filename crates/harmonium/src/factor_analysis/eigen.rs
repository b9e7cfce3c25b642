//! Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to a tridiagonal matrix, then implicit QL steps
//! (Golub and Van Loan, *Matrix Computations*, sections 8.3.1 and 8.3.3).

use crate::math::{add_scaled, dot};
use ndarray::Array2;

/// QL steps per eigenvalue at most; two or three are usual.
const STEPS: usize = 60;

/// Eigenvalues in descending order, and the eigenvectors as rows in the same order. Only a symmetric matrix has a meaning here.
pub(crate) fn eigen(matrix: &Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let n = matrix.nrows();
    let (mut diagonal, mut off, mut vectors) = tridiagonal(matrix);
    ql(&mut diagonal, &mut off, &mut vectors);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| diagonal[*b].total_cmp(&diagonal[*a]));
    let rows = Array2::from_shape_fn((n, n), |(k, i)| vectors[order[k]][i]);
    (order.iter().map(|k| diagonal[*k]).collect(), rows)
}

/// T = QᵀAQ: its diagonal, its off-diagonal, and the rows of Qᵀ.
fn tridiagonal(matrix: &Array2<f64>) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let n = matrix.nrows();
    let mut a: Vec<Vec<f64>> = matrix.rows().into_iter().map(|row| row.to_vec()).collect();
    // Rows of Q, which become those of Qᵀ at the end.
    let mut q: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for j in 0..n.saturating_sub(2) {
        let Some(v) = reflector(&a, j) else { continue };
        // HAH = A − v pᵀ − p vᵀ with p = 2Av − 2(vᵀAv)v.
        let mut p: Vec<f64> = a.iter().map(|row| 2.0 * dot(row, &v)).collect();
        let half = dot(&v, &p) / 2.0;
        add_scaled(-2.0 * half, &v, &mut p);
        for (i, row) in a.iter_mut().enumerate().skip(j) {
            add_scaled(-v[i], &p, row);
            add_scaled(-p[i], &v, row);
        }
        for row in &mut q {
            let part = dot(row, &v);
            add_scaled(-2.0 * part, &v, row);
        }
    }
    let diagonal = (0..n).map(|i| a[i][i]).collect();
    let off = (0..n).map(|i| if i + 1 < n { a[i + 1][i] } else { 0.0 }).collect();
    let transposed = (0..n).map(|k| q.iter().map(|row| row[k]).collect()).collect();
    (diagonal, off, transposed)
}

/// The unit vector v of the reflection I − 2vvᵀ that clears column j below its first subdiagonal; none if it is clear.
fn reflector(a: &[Vec<f64>], j: usize) -> Option<Vec<f64>> {
    let mut v: Vec<f64> = a.iter().enumerate().map(|(i, row)| if i > j { row[j] } else { 0.0 }).collect();
    if v[j + 2..].iter().all(|x| *x == 0.0) {
        return None;
    }
    v[j + 1] += dot(&v, &v).sqrt().copysign(v[j + 1]);
    let norm = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|x| *x /= norm);
    Some(v)
}

/// Diagonalises a tridiagonal matrix; rows of `vectors` are rotated along.
fn ql(diagonal: &mut [f64], off: &mut [f64], vectors: &mut [Vec<f64>]) {
    let n = diagonal.len();
    for first in 0..n {
        for _ in 0..STEPS {
            let negligible = |m: &usize| off[*m].abs() <= f64::EPSILON * (diagonal[*m].abs() + diagonal[m + 1].abs());
            let last = (first..n - 1).find(negligible).unwrap_or(n - 1);
            if last == first {
                break;
            }
            ql_step(first, last, diagonal, off, vectors);
        }
    }
}

/// One implicit step with Wilkinson's shift on the rows `first` to `last`.
fn ql_step(first: usize, last: usize, diagonal: &mut [f64], off: &mut [f64], vectors: &mut [Vec<f64>]) {
    let ratio = (diagonal[first + 1] - diagonal[first]) / (2.0 * off[first]);
    let shifted = off[first] / (ratio + ratio.hypot(1.0).copysign(ratio));
    let mut g = diagonal[last] - diagonal[first] + shifted;
    let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let (f, b) = (sin * off[i], cos * off[i]);
        let r = f64::hypot(f, g);
        off[i + 1] = r;
        if r == 0.0 {
            diagonal[i + 1] -= p;
            off[last] = 0.0;
            return;
        }
        (sin, cos) = (f / r, g / r);
        g = diagonal[i + 1] - p;
        let r = (diagonal[i] - g) * sin + 2.0 * cos * b;
        p = sin * r;
        diagonal[i + 1] = g + p;
        g = cos * r - b;
        let (lower, upper) = vectors.split_at_mut(i + 1);
        for (x, y) in lower[i].iter_mut().zip(&mut upper[0]) {
            (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
        }
    }
    diagonal[first] -= p;
    off[first] = g;
    off[last] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Key, normal};

    /// A vectors = vectors λ, orthonormal, in descending order; also where eigenvalues are equal or zero.
    #[test]
    fn eigenvectors_satisfy_their_equation() {
        for (n, rank) in [(1, 1), (2, 2), (3, 1), (7, 7), (20, 4), (60, 60)] {
            let half =
                Array2::from_shape_fn((n, rank), |(i, j)| normal::<f64>(Key::root(3).uniforms(i as u64, j as u32)));
            for matrix in [half.dot(&half.t()), Array2::eye(n), Array2::zeros((n, n)), Array2::ones((n, n))] {
                let (values, vectors) = eigen(&matrix);
                let size = values.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
                assert!(values.windows(2).all(|w| w[0] >= w[1]));
                let unit = vectors.dot(&vectors.t()) - Array2::<f64>::eye(n);
                assert!(unit.iter().all(|x| x.abs() < 1e-12 * n as f64), "{n}: not orthonormal");
                for (value, vector) in values.iter().zip(vectors.rows()) {
                    let left = matrix.dot(&vector) - &vector * *value;
                    assert!(left.iter().all(|x| x.abs() < 1e-12 * n as f64 * size), "{n}, {value}: {left}");
                }
            }
        }
    }
}
