//! What a unit is: an exponential family p(x | I) ∝ exp(⟨η, T(x)⟩ + I·x) and a chart of its natural parameters.
//!
//! **To add a unit type: write its file, add its line to `units!` below.** It is then loadable from files,
//! selectable by name and under the conformance suite.
//!
//! Words used here. A *site* is one unit. It has [`width`](Unit::width) *columns*: 1, or q for a Potts site (one-hot).
//! Parameters, natural parameters and statistics are matrices with one row per field or statistic and one entry per
//! column; the first statistic is always x itself, so the first row of η is the field that adds to the input I.
//! A layer's own energy is U(x) = −⟨η, T(x) − T(reference)⟩, and it couples to the other layer through
//! φ(x) = (x − origin)/s.

use crate::error::{Error, Result, shown};
use crate::real::Real;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2};
use std::collections::BTreeMap;
use std::fmt;

/// A trainable row of a layer: its name in files, its value in a new machine, its domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Name of the tensor, after `visible.` or `hidden.`.
    pub name: &'static str,
    /// Value in a new machine.
    pub default: f64,
    /// Smallest and largest value allowed.
    pub range: (f64, f64),
}

/// Where a coupling is measured from, φ(x) = (x − origin)/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The layer's offset (α or β).
    Offset,
    /// The reference point of the unit's own energy, which moves with its bias (Goodfellow's coupling).
    Reference,
}

/// One layer's worth of units of one kind: every method works on a whole row, so that dispatch is per row.
pub trait Unit<T: Real>: Send + Sync {
    /// The trainable rows; the first is the bias.
    fn fields(&self) -> &'static [Field];

    /// Columns per site.
    fn width(&self) -> usize {
        1
    }

    /// Number of statistics per column: T(x) = x, or (x, x²).
    fn n_stats(&self) -> usize;

    /// Number of states of a site, if finite.
    fn n_states(&self) -> Option<usize>;

    /// Writes state number `state` of a finite site to its columns.
    fn state(&self, state: usize, columns: &mut [T]);

    /// Writes a data value to its site's columns; false if the value is outside the unit's domain.
    fn encode(&self, value: T, columns: &mut [T]) -> bool;

    /// The data value whose columns these are (Potts: the largest).
    fn decode(&self, columns: &[T]) -> T;

    /// The values `encode` accepts, in words.
    fn domain(&self) -> String;

    /// Where the coupling is measured from.
    fn origin(&self) -> Origin {
        Origin::Offset
    }

    /// Whether the unit is a Gaussian: T = (x, x²) on the whole line.
    fn quadratic(&self) -> bool {
        false
    }

    /// The chart par ↦ (η, s): natural parameters and coupling scale of every column.
    fn natural(&self, par: ArrayView2<T>, offset: ArrayView1<T>, eta: ArrayViewMut2<T>, scale: &mut [T]);

    /// Its adjoint: adds the pullback of (∂/∂η, ∂/∂ln s) to ∂/∂par.
    fn pullback(
        &self,
        par: ArrayView2<T>,
        offset: ArrayView1<T>,
        d_eta: ArrayView2<T>,
        d_ln_s: &[T],
        d_par: ArrayViewMut2<T>,
    );

    /// The point x where U(x) = 0.
    fn reference(&self, par: ArrayView2<T>, offset: ArrayView1<T>, x: &mut [T]);

    /// Adds `d_field` to the first row of η by changing the parameters.
    fn shift(&self, par: ArrayViewMut2<T>, d_field: &[f64]);

    /// Keeps η fixed while the offset moves by `d_offset`.
    fn recenter(&self, par: ArrayViewMut2<T>, d_offset: &[f64]);

    /// Parameters of independent units with these mean statistics over `rows` rows (statistics × columns), at `offset`:
    /// the inverse of `mean_stats`, smoothed so that what was never seen is unlikely and not impossible.
    fn fit(&self, means: ArrayView2<f64>, rows: f64, offset: ArrayView1<T>, par: ArrayViewMut2<T>);

    /// T(x) of a row.
    fn stats(&self, x: &[T], t: ArrayViewMut2<T>);

    /// Σ over sites of Γ(η, I) = log Σₓ exp(⟨η, T(x)⟩ + I·x).
    fn log_norm(&self, eta: ArrayView2<T>, input: &[T]) -> f64;

    /// ⟨T(x)⟩ = ∂Γ/∂η of every site.
    fn mean_stats(&self, eta: ArrayView2<T>, input: &[T], t: ArrayViewMut2<T>);

    /// ⟨x⟩ of every site: the first row of `mean_stats`.
    fn means(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]);

    /// Uniforms that a draw of one site takes.
    fn n_uniforms(&self) -> usize {
        1
    }

    /// Draws every site from p(x | I), each from its own [`n_uniforms`](Unit::n_uniforms) uniforms in (0, 1).
    fn sample(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]);
}

/// The names, options and examples of a unit type: what the list needs besides the mathematics.
pub trait Spec: Sized + Clone + PartialEq + fmt::Debug {
    /// Name in files, on the command line, in Python.
    const NAME: &'static str;

    /// One line for help and documentation tables.
    const ABOUT: &'static str;

    /// Builds the unit from its options (strings, as in a model file); takes those it knows out of `options`.
    fn from_options(options: &mut Options) -> Result<Self>;

    /// The options that rebuild it.
    fn options(&self) -> Options {
        Options::new()
    }

    /// Whether it may stand only in the visible layer.
    fn visible_only(&self) -> bool {
        false
    }

    /// Variants the conformance suite runs over; together they should reach every line.
    fn examples() -> Vec<Self>;
}

/// Options of a unit kind by name: `coupling`, `states`.
pub type Options = BTreeMap<String, String>;

macro_rules! units {
    ($($module:ident :: $name:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// Every unit type: the one list.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Kind { $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::$name)),* }

        impl Kind {
            /// Name and one-line description of every kind.
            pub const LIST: &'static [(&'static str, &'static str)] =
                &[$((<$module::$name as Spec>::NAME, <$module::$name as Spec>::ABOUT)),*];

            /// The kind called `name` with these options.
            pub fn new(name: &str, options: &Options) -> Result<Kind> {
                let mut rest = options.clone();
                let kind = match name {
                    $(<$module::$name as Spec>::NAME => Kind::$name(Spec::from_options(&mut rest)?),)*
                    _ => {
                        let known = Kind::LIST.iter().map(|k| k.0).collect::<Vec<_>>().join(", ");
                        return Err(Error::UnknownKind { name: shown(name), known });
                    }
                };
                match rest.pop_first() {
                    None => Ok(kind),
                    Some((key, _)) => {
                        Err(Error::UnitOption { kind: kind.name(), problem: format!("there is no option '{}'", shown(&key)) })
                    }
                }
            }

            /// Name in files and commands.
            pub fn name(&self) -> &'static str {
                match self { $(Kind::$name(_) => <$module::$name as Spec>::NAME),* }
            }

            /// The options that, with the name, rebuild the kind.
            pub fn options(&self) -> Options {
                match self { $(Kind::$name(u) => u.options()),* }
            }

            /// Whether the kind may stand only in the visible layer.
            pub fn visible_only(&self) -> bool {
                match self { $(Kind::$name(u) => u.visible_only()),* }
            }

            /// The mathematics of the kind.
            pub fn unit<T: Real>(&self) -> &dyn Unit<T> {
                match self { $(Kind::$name(u) => u),* }
            }

            /// Examples of every kind, for the conformance suite.
            pub fn examples() -> Vec<Kind> {
                let mut all = Vec::new();
                $(all.extend(<$module::$name as Spec>::examples().into_iter().map(Kind::$name));)*
                all
            }
        }
    };
}

units! {
    bernoulli::Bernoulli,
    spin::Spin,
    gaussian::Gaussian,
    potts::Potts,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let options: Vec<String> = self.options().iter().map(|(k, v)| format!("{k} {v}")).collect();
        match options.is_empty() {
            true => f.write_str(self.name()),
            false => write!(f, "{} ({})", self.name(), options.join(", ")),
        }
    }
}

/// The easy road: a unit with one number per site, and at most two fields and two statistics.
/// Write these functions of one number and the rest of [`Unit`] follows.
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

    /// Whether a data value is one the unit can have.
    fn admits<T: Real>(&self, value: T) -> bool;

    /// The values `admits` accepts, in words.
    fn domain(&self) -> &'static str;

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

    /// Σ Γ over a row; a unit on a hot path may do better than one at a time.
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
    for (row, value) in m.column_mut(i).iter_mut().zip(value) {
        *row = value;
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
    fn encode(&self, value: T, columns: &mut [T]) -> bool {
        columns[0] = value;
        self.admits(value)
    }
    fn decode(&self, columns: &[T]) -> T {
        columns[0]
    }
    fn domain(&self) -> String {
        Scalar::domain(self).into()
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
const BIAS: Field = Field { name: "bias", default: 0.0, range: (-f64::MAX, f64::MAX) };

/// First row of a matrix as a slice, for the whole-row functions.
fn field_row<'a, T: Real>(eta: &'a ArrayView2<'a, T>, row: &'a mut Vec<T>) -> &'a [T] {
    match eta.row(0).to_slice() {
        Some(s) => s,
        None => {
            row.extend(eta.row(0));
            row
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// A whole-row function is its one-number twin, repeated.
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
    fn whole_row_functions_equal_their_one_number_twins() {
        rows_are_repeated_sites(&bernoulli::Bernoulli);
        rows_are_repeated_sites(&spin::Spin);
        for unit in gaussian::Gaussian::examples() {
            rows_are_repeated_sites(&unit);
        }
    }
}
