//! Gaussian unit, x ∈ ℝ: U(x) = (x − μ)²/2σ² with μ = bias + offset and σ² = e^z.
//!
//! Natural form η = (μ/σ², −1/2σ²), T = (x, x²); Γ = (η₁ + I)²σ²/2 + ½log(2πσ²).
//! The couplings of Schlüter 2014 are charts of this one family, φ(x) = (x − origin)/s:
//!
//! | coupling | s | origin | source |
//! |---|---|---|---|
//! | krizhevsky | σ | offset | Schlüter 2014, section 3 |
//! | cho | σ² | offset | Schlüter 2014, section 4; Corro, *Lab Exercise 2* |
//! | goodfellow | σ² | μ | Schlüter 2014, section 5 |

use super::{Field, Options, Origin, Scalar, Spec, slice_of};
use crate::error::{Error, Result, shown};
use crate::math::draw_normal_row;
use crate::real::Real;
use crate::rng::normal;
use ndarray::ArrayView2;

/// How the unit couples to the other layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// (x − offset)/σ².
    Cho,
    /// (x − offset)/σ.
    Krizhevsky,
    /// (x − bias − offset)/σ².
    Goodfellow,
}

impl Coupling {
    /// Every coupling with its name.
    pub const LIST: [(&'static str, Coupling); 3] =
        [("cho", Coupling::Cho), ("krizhevsky", Coupling::Krizhevsky), ("goodfellow", Coupling::Goodfellow)];

    /// Name in files and commands.
    pub(crate) fn name(self) -> &'static str {
        Self::LIST.iter().find(|c| c.1 == self).map_or("", |c| c.0)
    }
}

/// A real-valued unit with a learned mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaussian {
    /// How it couples to the other layer.
    pub coupling: Coupling,
}

impl Gaussian {
    /// s = σᵏ = e^{kz/2}.
    fn power<T: Real>(&self) -> T {
        T::of(if self.coupling == Coupling::Krizhevsky { 1.0 } else { 2.0 })
    }
}

impl Spec for Gaussian {
    const NAME: &'static str = "gaussian";
    const ABOUT: &'static str = "real-valued, mean and variance learned";
    fn from_options(options: &mut Options) -> Result<Self> {
        let name = options.remove("coupling").unwrap_or_else(|| "cho".into());
        let coupling = Coupling::LIST.iter().find(|c| c.0 == name).map(|c| c.1).ok_or_else(|| Error::UnitOption {
            kind: Self::NAME,
            problem: format!(
                "there is no coupling '{}'; known are {}",
                shown(&name),
                Coupling::LIST.map(|c| c.0).join(", ")
            ),
        })?;
        Ok(Gaussian { coupling })
    }
    fn options(&self) -> Options {
        [("coupling".into(), self.coupling.name().into())].into()
    }
    fn visible_only(&self) -> bool {
        self.coupling == Coupling::Goodfellow
    }
    fn examples() -> Vec<Self> {
        Coupling::LIST.map(|c| Gaussian { coupling: c.1 }).into()
    }
}

/// Precision and mean of p(x | I).
fn conditional<T: Real>(eta: [T; 2], input: T) -> (T, T) {
    let precision = T::of(-2.0) * eta[1];
    (precision, (eta[0] + input) / precision)
}

impl Scalar for Gaussian {
    /// e^{±80} and its square root are still numbers in f32.
    const FIELDS: &'static [Field] = &[super::BIAS, Field { name: "log_variance", default: 0.0, range: (-80.0, 80.0) }];
    const STATS: usize = 2;
    const QUADRATIC: bool = true;
    const UNIFORMS: usize = 2;
    fn origin(&self) -> Origin {
        if self.coupling == Coupling::Goodfellow { Origin::Reference } else { Origin::Offset }
    }
    fn read<T: Real>(&self, value: T) -> Option<T> {
        value.is_finite().then_some(value)
    }
    fn domain(&self) -> String {
        "a finite number".into()
    }
    fn natural<T: Real>(&self, par: [T; 2], offset: T) -> ([T; 2], T) {
        let precision = (-par[1]).exp();
        ([(par[0] + offset) * precision, T::of(-0.5) * precision], (T::of(0.5) * self.power::<T>() * par[1]).exp())
    }
    fn pullback<T: Real>(&self, par: [T; 2], offset: T, d_eta: [T; 2], d_ln_s: T) -> [T; 2] {
        let (precision, half) = ((-par[1]).exp(), T::of(0.5));
        let mean = par[0] + offset;
        let d_z = precision * (half * d_eta[1] - mean * d_eta[0]) + half * self.power::<T>() * d_ln_s;
        [d_eta[0] * precision, d_z]
    }
    fn reference<T: Real>(&self, par: [T; 2], offset: T) -> T {
        par[0] + offset
    }
    fn shift<T: Real>(&self, par: [T; 2], d_field: f64) -> f64 {
        par[0].f64() + d_field * par[1].f64().exp()
    }
    fn recenter<T: Real>(&self, par: [T; 2], d_offset: f64) -> f64 {
        par[0].f64() - d_offset
    }
    /// Mean and log variance. A constant column has no variance to learn from and gets 1; a variance that is rounding
    /// of the mean counts as none.
    fn fit(&self, means: [f64; 2], _: f64, offset: f64) -> [f64; 2] {
        let variance = means[1] - means[0] * means[0];
        let constant = variance <= 1e-12 * means[1];
        [means[0] - offset, if constant { 0.0 } else { variance.ln().clamp(-79.0, 79.0) }]
    }
    fn stats<T: Real>(&self, x: T) -> [T; 2] {
        [x, x * x]
    }
    fn log_norm<T: Real>(&self, eta: [T; 2], input: T) -> T {
        let (precision, mean) = conditional(eta, input);
        T::of(0.5) * (precision * mean * mean + (T::TAU() / precision).ln())
    }
    fn mean_stats<T: Real>(&self, eta: [T; 2], input: T) -> [T; 2] {
        let (precision, mean) = conditional(eta, input);
        [mean, mean * mean + precision.recip()]
    }
    fn sample<T: Real>(&self, eta: [T; 2], input: T, u: [T; 2]) -> T {
        let variance = (T::of(-2.0) * eta[1]).recip();
        (eta[0] + input) * variance + normal(u) * variance.sqrt()
    }
    fn sample_row<T: Real>(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        let (mut a, mut c) = (Vec::new(), Vec::new());
        draw_normal_row(slice_of(eta.row(0), &mut a), input, slice_of(eta.row(1), &mut c), u, x);
    }
}
