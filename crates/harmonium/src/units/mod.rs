//! What a unit is: an exponential family p(x | I) ∝ exp(⟨η, T(x)⟩ + I·x) and a chart of its natural parameters.
//!
//! **To add a unit type: write its file, add its line to `units!` below.** It can then be loaded from files,
//! chosen by name, and every law runs over it. Units after `laws:` are compiled for the laws only (feature `law-units`); users
//! cannot choose them.
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

mod finite;
mod scalar;

pub use finite::Finite;
pub use scalar::Scalar;
use scalar::{BIAS, slice_of};

/// A trainable row of a layer: its name in files, its value in a new model, its domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Name of the tensor, after `visible.` or `hidden.`.
    pub name: &'static str,
    /// Value in a new model.
    pub(crate) default: f64,
    /// Smallest and largest value allowed.
    pub(crate) range: (f64, f64),
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
    /// The trainable rows; the first is the bias. Alone and with one statistic, it is the natural parameter, the scale is 1, and
    /// the reference is the offset.
    fn fields(&self) -> &'static [Field];

    /// Columns per site.
    fn width(&self) -> usize {
        1
    }

    /// Number of statistics per column: T(x) = x, or (x, x²).
    fn n_stats(&self) -> usize;

    /// Number of states of a site, if finite. If it is the number of columns, state k is a 1 in column k (one-hot).
    fn n_states(&self) -> Option<usize>;

    /// Writes state number `state` of a finite site to its columns.
    fn state(&self, state: usize, columns: &mut [T]);

    /// The number of the state whose columns these are; 0 if there is none.
    fn state_of(&self, columns: &[T]) -> usize;

    /// Writes a data value to its site's columns; false if the value is outside the unit's domain.
    fn encode(&self, value: T, columns: &mut [T]) -> bool;

    /// The same for the values of a whole row: one dispatch instead of one per value. Returns the first value outside the domain.
    fn encode_row(&self, values: &[T], columns: &mut [T]) -> Option<usize> {
        let sites = columns.chunks_exact_mut(self.width());
        values.iter().zip(sites).position(|(value, site)| !self.encode(*value, site))
    }

    /// The data value whose columns these are (Potts: the largest).
    fn decode(&self, columns: &[T]) -> T;

    /// The number of the state that a value of a finite unit stands for; none if it is between two.
    fn code(&self, value: T) -> Option<usize> {
        let (mut x, mut state) = (vec![T::zero(); self.width()], vec![T::zero(); self.width()]);
        let code = self.encode(value, &mut x).then(|| self.state_of(&x))?;
        self.state(code, &mut state);
        (x == state).then_some(code)
    }

    /// The value that stands for a state of a finite unit.
    fn value(&self, state: usize) -> T {
        let mut x = vec![T::zero(); self.width()];
        self.state(state, &mut x);
        self.decode(&x)
    }

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

    /// Whether it is for the visible layer only.
    fn visible_only(&self) -> bool {
        false
    }

    /// Variants the laws run over; together they should reach every line.
    fn examples() -> Vec<Self>;
}

/// Options of a unit kind by name: `coupling`, `states`.
pub type Options = BTreeMap<String, String>;

macro_rules! units {
    ($($module:ident :: $name:ident),* $(,)?; laws: $($law:ident :: $law_name:ident),* $(,)?) => {
        $(pub mod $module;)*
        $(#[cfg(feature = "law-units")] pub mod $law;)*

        /// Every unit type: the one list.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Kind {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::$name),)*
            $(#[cfg(feature = "law-units")] #[doc = "For the laws only."] $law_name($law::$law_name),)*
        }

        impl Kind {
            /// Name and one-line description of every kind that users can choose.
            pub const LIST: &'static [(&'static str, &'static str)] =
                &[$((<$module::$name as Spec>::NAME, <$module::$name as Spec>::ABOUT)),*];

            /// The kind called `name` with these options.
            pub fn new(name: &str, options: &Options) -> Result<Kind> {
                let mut rest = options.clone();
                let kind = match name {
                    $(<$module::$name as Spec>::NAME => Kind::$name(Spec::from_options(&mut rest)?),)*
                    $(#[cfg(feature = "law-units")]
                    <$law::$law_name as Spec>::NAME => Kind::$law_name(Spec::from_options(&mut rest)?),)*
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
                match self {
                    $(Kind::$name(_) => <$module::$name as Spec>::NAME,)*
                    $(#[cfg(feature = "law-units")] Kind::$law_name(_) => <$law::$law_name as Spec>::NAME,)*
                }
            }

            /// The options that, with the name, rebuild the kind.
            pub fn options(&self) -> Options {
                match self {
                    $(Kind::$name(u) => u.options(),)*
                    $(#[cfg(feature = "law-units")] Kind::$law_name(u) => u.options(),)*
                }
            }

            /// Whether the kind is for the visible layer only.
            pub fn visible_only(&self) -> bool {
                match self {
                    $(Kind::$name(u) => u.visible_only(),)*
                    $(#[cfg(feature = "law-units")] Kind::$law_name(u) => u.visible_only(),)*
                }
            }

            /// The mathematics of the kind.
            pub fn unit<T: Real>(&self) -> &dyn Unit<T> {
                match self {
                    $(Kind::$name(u) => u,)*
                    $(#[cfg(feature = "law-units")] Kind::$law_name(u) => u,)*
                }
            }

            /// Examples of every kind, for the laws.
            pub fn examples() -> Vec<Kind> {
                let mut all = Vec::new();
                $(all.extend(<$module::$name as Spec>::examples().into_iter().map(Kind::$name));)*
                $(#[cfg(feature = "law-units")]
                all.extend(<$law::$law_name as Spec>::examples().into_iter().map(Kind::$law_name));)*
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
    ;
    laws:
    ternary::Ternary,
    uneven::Uneven,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let options: Vec<String> = self.options().iter().map(|(k, v)| format!("{k} {v}")).collect();
        if options.is_empty() {
            f.write_str(self.name())
        } else {
            write!(f, "{} ({})", self.name(), options.join(", "))
        }
    }
}
