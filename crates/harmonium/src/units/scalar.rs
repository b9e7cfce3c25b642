//! Units with one number per site: functions of one number, from which the rest of [`Unit`] follows.

use super::{Field, Origin, Unit};
use crate::real::Real;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2};

/// A unit with one number per site, and at most two fields and two statistics.
pub trait Scalar: Send + Sync {
    /// The trainable rows, bias first.
    const FIELDS: &'static [Field];

    /// Number of statistics, 1 or 2.
    const STATS: usize;

    /// The states, if finite.
    const STATES: Option<&'static [f64]> = None;

    /// Whether the coupling is measured from the offset or the reference.
    fn origin(&self) -> Origin {
        Origin::Offset
    }

    /// Whether the unit is a Gaussian: T = (x, x²) on the whole line.
    const QUADRATIC: bool = false;

    /// The value that a data value stands for; none if it is outside the unit's domain.
    fn read<T: Real>(&self, value: T) -> Option<T>;

    /// The values `read` accepts, in words.
    fn domain(&self) -> String;

    /// The chart: (η, s). By default the bias is the natural parameter and the scale is 1.
    fn natural<T: Real>(&self, par: [T; 2], _offset: T) -> ([T; 2], T) {
        (par, T::one())
    }

    /// Its adjoint.
    fn pullback<T: Real>(&self, _par: [T; 2], _offset: T, d_eta: [T; 2], _d_ln_s: T) -> [T; 2] {
        d_eta
    }

    /// The point where U(x) = 0: by default the offset, U(x) = −bias·(x − offset).
    fn reference<T: Real>(&self, _par: [T; 2], offset: T) -> T {
        offset
    }

    /// The bias that adds `d_field` to the first natural parameter (in f64: offsets may be large).
    fn shift<T: Real>(&self, par: [T; 2], d_field: f64) -> f64 {
        par[0].f64() + d_field
    }

    /// The bias that keeps η while the offset moves by `d_offset`.
    fn recenter<T: Real>(&self, par: [T; 2], _d_offset: f64) -> f64 {
        par[0].f64()
    }

    /// Parameters with these mean statistics, the inverse of `mean_stats`; see [`Unit::fit`].
    fn fit(&self, means: [f64; 2], rows: f64, offset: f64) -> [f64; 2];

    /// T(x).
    fn stats<T: Real>(&self, x: T) -> [T; 2];

    /// Γ(η, I).
    fn log_norm<T: Real>(&self, eta: [T; 2], input: T) -> T;

    /// ∂Γ/∂η.
    fn mean_stats<T: Real>(&self, eta: [T; 2], input: T) -> [T; 2];

    /// Uniforms that a draw takes, 1 or 2.
    const UNIFORMS: usize = 1;

    /// A draw from p(x | I) with two uniforms in (0, 1), the second only if `UNIFORMS` is 2.
    fn sample<T: Real>(&self, eta: [T; 2], input: T, u: [T; 2]) -> T;

    /// Σ Γ over a row; a unit on a hot path overrides it with a faster loop.
    fn log_norm_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        input.iter().enumerate().map(|(i, &x)| self.log_norm(pick(&eta, i), x).f64()).sum()
    }

    /// ⟨x⟩ of a row; likewise.
    fn means_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        for (i, (x, &input)) in x.iter_mut().zip(input).enumerate() {
            *x = self.mean_stats(pick(&eta, i), input)[0];
        }
    }

    /// A draw of a row; likewise.
    fn sample_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        for (i, (x, u)) in x.iter_mut().zip(u.chunks_exact(Self::UNIFORMS)).enumerate() {
            *x = self.sample(pick(&eta, i), input[i], [u[0], u[Self::UNIFORMS - 1]]);
        }
    }
}

/// Column `i` of a matrix with one or two rows.
fn pick<T: Real>(m: &ArrayView2<T>, i: usize) -> [T; 2] {
    [m[[0, i]], if m.nrows() > 1 { m[[1, i]] } else { T::zero() }]
}

/// Sets column `i` of a matrix with one or two rows.
fn put<T: Real>(m: &mut ArrayViewMut2<T>, i: usize, value: [T; 2]) {
    m[[0, i]] = value[0];
    if m.nrows() > 1 {
        m[[1, i]] = value[1];
    }
}

impl<T: Real, S: Scalar> Unit<T> for S {
    fn fields(&self) -> &'static [Field] {
        S::FIELDS
    }
    fn n_stats(&self) -> usize {
        S::STATS
    }
    fn n_states(&self) -> Option<usize> {
        S::STATES.map(<[f64]>::len)
    }
    fn state(&self, state: usize, columns: &mut [T]) {
        columns[0] = S::STATES.map_or(T::nan(), |s| T::of(s[state]));
    }
    fn state_of(&self, columns: &[T]) -> usize {
        S::STATES.and_then(|s| s.iter().position(|s| T::of(*s) == columns[0])).unwrap_or(0)
    }
    fn encode(&self, value: T, columns: &mut [T]) -> bool {
        let read = self.read(value);
        columns[0] = read.unwrap_or(value);
        read.is_some()
    }
    fn decode(&self, columns: &[T]) -> T {
        columns[0]
    }
    fn domain(&self) -> String {
        Scalar::domain(self)
    }
    fn origin(&self) -> Origin {
        Scalar::origin(self)
    }
    fn quadratic(&self) -> bool {
        S::QUADRATIC
    }
    fn natural(&self, par: ArrayView2<T>, offset: ArrayView1<T>, mut eta: ArrayViewMut2<T>, scale: &mut [T]) {
        for (i, scale) in scale.iter_mut().enumerate() {
            let (e, s) = Scalar::natural(self, pick(&par, i), offset[i]);
            put(&mut eta, i, e);
            *scale = s;
        }
    }
    fn pullback(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        d_eta: ArrayView2<T>,
        d_ln_s: &[T],
        mut d_par: ArrayViewMut2<T>,
    ) {
        for (i, &d_ln_s) in d_ln_s.iter().enumerate() {
            let d = Scalar::pullback(self, pick(&par, i), offset[i], pick(&d_eta, i), d_ln_s);
            let old = pick(&d_par.view(), i);
            put(&mut d_par, i, [old[0] + d[0], old[1] + d[1]]);
        }
    }
    fn reference(&self, par: ArrayView2<T>, offset: ArrayView1<T>, x: &mut [T]) {
        for (i, x) in x.iter_mut().enumerate() {
            *x = Scalar::reference(self, pick(&par, i), offset[i]);
        }
    }
    fn shift(&self, mut par: ArrayViewMut2<T>, d_field: &[f64]) {
        for (i, &d) in d_field.iter().enumerate() {
            par[[0, i]] = T::of(Scalar::shift(self, pick(&par.view(), i), d));
        }
    }
    fn recenter(&self, mut par: ArrayViewMut2<T>, d_offset: &[f64]) {
        for (i, &d) in d_offset.iter().enumerate() {
            par[[0, i]] = T::of(Scalar::recenter(self, pick(&par.view(), i), d));
        }
    }
    fn fit(&self, means: ArrayView2<f64>, rows: f64, offset: ArrayView1<T>, mut par: ArrayViewMut2<T>) {
        for (i, offset) in offset.iter().enumerate() {
            put(&mut par, i, Scalar::fit(self, pick(&means, i), rows, offset.f64()).map(T::of));
        }
    }
    fn stats(&self, x: &[T], mut t: ArrayViewMut2<T>) {
        for (i, &x) in x.iter().enumerate() {
            put(&mut t, i, Scalar::stats(self, x));
        }
    }
    fn log_norm(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        self.log_norm_row(eta, input)
    }
    fn mean_stats(&self, eta: ArrayView2<T>, input: &[T], mut t: ArrayViewMut2<T>) {
        if S::STATS == 1
            && let Some(t) = t.as_slice_mut()
        {
            return self.means_row(eta, input, t);
        }
        for (i, &input) in input.iter().enumerate() {
            put(&mut t, i, Scalar::mean_stats(self, pick(&eta, i), input));
        }
    }
    fn means(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        self.means_row(eta, input, x);
    }
    fn n_uniforms(&self) -> usize {
        S::UNIFORMS
    }
    fn sample(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        self.sample_row(eta, input, u, x);
    }
}

/// The bias: any finite number.
pub(super) const BIAS: Field = Field { name: "bias", default: 0.0, range: (-f64::MAX, f64::MAX) };

/// A row as a slice, copied if it is not one.
pub(super) fn slice_of<'a, T: Real>(row: ArrayView1<'a, T>, copy: &'a mut Vec<T>) -> &'a [T] {
    match row.to_slice() {
        Some(s) => s,
        None => {
            copy.extend(row);
            copy
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Spec, bernoulli, gaussian, spin};
    use ndarray::Array2;

    /// A whole-row function is the one-number function, repeated.
    fn rows_are_repeated_sites<S: Scalar>(unit: &S) {
        let n = 21;
        let input: Vec<f64> = (0..n).map(|i| 6.0 * (i as f64 * 1.7).sin()).collect();
        let mut eta = Array2::from_shape_fn((S::STATS, n), |(_, i)| (i as f64 * 0.9).cos());
        if S::QUADRATIC {
            eta.row_mut(1).mapv_inplace(|x| -0.7 - 0.5 * x * x);
        }
        let u: Vec<f64> = (0..n * S::UNIFORMS).map(|i| (i as f64 * 0.618 + 0.1).fract()).collect();
        let (mut means, mut draws) = (vec![0.0; n], vec![0.0; n]);
        unit.means_row(eta.view(), &input, &mut means);
        unit.sample_row(eta.view(), &input, &u, &mut draws);
        let mut sum = 0.0;
        for i in 0..n {
            let e = pick(&eta.view(), i);
            let own = &u[i * S::UNIFORMS..(i + 1) * S::UNIFORMS];
            sum += unit.log_norm(e, input[i]);
            assert!((means[i] - unit.mean_stats(e, input[i])[0]).abs() < 1e-15);
            assert_eq!(draws[i], unit.sample(e, input[i], [own[0], own[S::UNIFORMS - 1]]));
        }
        assert!((unit.log_norm_row(eta.view(), &input) - sum).abs() < 1e-13 * sum.abs());
        if S::STATES.is_some() {
            rows_step_where_sites_step(unit, &eta, &input);
        }
    }

    /// The uniform at which the one-number draw changes is where the row's draw changes, to 1e-12.
    fn rows_step_where_sites_step<S: Scalar>(unit: &S, eta: &Array2<f64>, input: &[f64]) {
        let first = |i: usize, u: f64| unit.sample(pick(&eta.view(), i), input[i], [u, 0.5]);
        let steps: Vec<f64> = (0..input.len())
            .map(|i| {
                let (mut lo, mut hi) = (0.0, 1.0);
                for _ in 0..60 {
                    let mid = 0.5 * (lo + hi);
                    if first(i, mid) == first(i, 0.0) { lo = mid } else { hi = mid }
                }
                lo
            })
            .collect();
        for shift in [-1e-12, 1e-12] {
            let u: Vec<f64> = steps.iter().map(|u| u + shift).collect();
            let mut draws = vec![0.0; input.len()];
            unit.sample_row(eta.view(), input, &u, &mut draws);
            for (i, draw) in draws.iter().enumerate() {
                assert_eq!(*draw, first(i, u[i]), "site {i} at {}", u[i]);
            }
        }
    }

    #[test]
    fn whole_row_functions_equal_the_functions_of_one_number() {
        rows_are_repeated_sites(&bernoulli::Bernoulli);
        rows_are_repeated_sites(&spin::Spin);
        for unit in gaussian::Gaussian::examples() {
            rows_are_repeated_sites(&unit);
        }
    }
}
