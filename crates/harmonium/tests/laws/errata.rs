//! Errata: where a source prints a formula that is wrong, the printed form fails and the corrected form holds.
//!
//! `docs/errata.md` is the list. The truth is never the formula itself: it is the library's exact log p(v), differentiated
//! numerically or compared before and after, or a plain sum or integral over the definition. Printed and corrected forms
//! are written out by hand, in the letters of NOTATION.md where the source's own letters would clash.

mod corro;

mod exercise;

mod negative_phase;

mod notes;

mod schlueter;

use crate::common::{Numbers, derivative};
use harmonium::units::{Kind, Options};
use harmonium::{Exact, Layer, Rbm};
use ndarray::{arr1, arr2};
use std::array::from_fn;

/// The printed form is wrong by more than 10⁻³ somewhere, the corrected form by no more than 10⁻⁸ anywhere.
#[track_caller]
fn erratum(what: &str, truth: &[f64], printed: &[f64], corrected: &[f64]) {
    let (wrong, right) = (distance(printed, truth), distance(corrected, truth));
    println!("{what}: printed form off by {wrong:.2e}, corrected form by {right:.2e}");
    assert!(wrong > 1e-3, "{what}: the printed form is off by {wrong:e} only");
    assert!(right <= 1e-8, "{what}: the corrected form is off by {right:e}");
}

/// A printed form that is right.
#[track_caller]
fn confirmed(what: &str, truth: &[f64], printed: &[f64]) {
    let off = distance(printed, truth);
    println!("{what}: right, off by {off:.2e}");
    assert!(off <= 1e-8, "{what}: off by {off:e}");
}

/// The largest difference; NaN counts as infinitely far.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let off = x.iter().zip(y).map(|(x, y)| (x - y).abs());
    off.map(|d| if d.is_nan() { f64::INFINITY } else { d }).fold(0.0, f64::max)
}

/// A model with Bernoulli hidden units whose numbers the formulas can be written with.
#[derive(Clone, Copy)]
struct Hand<const N: usize, const M: usize> {
    /// Of a Gaussian visible layer; none for a Bernoulli one.
    coupling: Option<&'static str>,
    a: [f64; N],
    /// log σ².
    z: [f64; N],
    alpha: [f64; N],
    w: [[f64; M]; N],
    b: [f64; M],
    beta: [f64; M],
}

impl<const N: usize, const M: usize> Hand<N, M> {
    fn new(coupling: Option<&'static str>) -> Self {
        let mut r = Numbers::new(41);
        Hand {
            coupling,
            a: from_fn(|_| 0.7 * r.normal()),
            z: from_fn(|_| 0.5 * r.normal()),
            alpha: [0.0; N],
            w: from_fn(|_| from_fn(|_| 0.8 * r.normal())),
            b: from_fn(|_| 0.7 * r.normal()),
            beta: [0.0; M],
        }
    }

    fn centred(coupling: Option<&'static str>) -> Self {
        let mut r = Numbers::new(42);
        let (alpha, beta) = (from_fn(|_| 0.6 * r.normal()), from_fn(|_| r.uniform()));
        Hand { alpha, beta, ..Self::new(coupling) }
    }

    fn variance(&self) -> [f64; N] {
        self.z.map(f64::exp)
    }

    /// Wᵀx.
    fn up(&self, x: [f64; N]) -> [f64; M] {
        from_fn(|j| (0..N).map(|i| x[i] * self.w[i][j]).sum())
    }

    /// Wy.
    fn down(&self, y: [f64; M]) -> [f64; N] {
        from_fn(|i| dot(&self.w[i], &y))
    }

    fn exact(&self) -> Exact {
        let options = self.coupling.map(|c| ("coupling".to_string(), c.to_string()));
        let visible =
            Kind::new(if options.is_some() { "gaussian" } else { "bernoulli" }, &options.into_iter().collect());
        let par = if self.coupling.is_some() { arr2(&[self.a, self.z]) } else { arr2(&[self.a]) };
        let hidden = Kind::new("bernoulli", &Options::new());
        let visible = Layer::from_parts(visible.unwrap(), par, arr1(&self.alpha)).unwrap();
        let hidden = Layer::from_parts(hidden.unwrap(), arr2(&[self.b]), arr1(&self.beta)).unwrap();
        Exact::new(&Rbm::from_parts(visible, hidden, arr2(&self.w)).unwrap()).unwrap()
    }

    /// log p(v) of every row: the truth.
    fn log_p(&self, rows: &[[f64; N]]) -> Vec<f64> {
        self.exact().log_likelihood(arr2(rows).view()).unwrap().to_vec()
    }

    /// The derivative of the mean log p(v) of the rows as `change` moves the model.
    fn slope(&self, rows: &[[f64; N]], change: impl Fn(&mut Self, f64)) -> f64 {
        let mean = |t| {
            let mut moved = *self;
            change(&mut moved, t);
            moved.log_p(rows).iter().sum::<f64>() / rows.len() as f64
        };
        derivative(mean, 0.02)
    }
}

/// All 2ᴷ binary states.
fn states<const K: usize>() -> impl Iterator<Item = [f64; K]> + Clone {
    (0..1u32 << K).map(|k| from_fn(|i| f64::from(k >> i & 1)))
}

fn dot<const K: usize>(x: &[f64; K], y: &[f64; K]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn add<const K: usize>(x: [f64; K], y: [f64; K]) -> [f64; K] {
    from_fn(|k| x[k] + y[k])
}

fn sub<const K: usize>(x: [f64; K], y: [f64; K]) -> [f64; K] {
    from_fn(|k| x[k] - y[k])
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
