//! The lowered model: −E(v,h) = ⟨η_v, T(v)⟩ + ⟨η_h, T(h)⟩ + vᵀW̃h − constant.
//!
//! It has no charts and no offsets, and is what samplers, estimators and log Z work with. Both layers are treated alike, so
//! everything is written once, for a [`Pass`] from one layer to the other.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::real::Real;
use crate::rng::Key;
use crate::stats::{LayerMeans, Stats};
use ndarray::{ArcArray2, Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis};
use std::ops::Deref;

/// One layer in natural parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LoweredLayer<T> {
    layout: Layout,
    eta: Array2<T>,
    two_values: Option<[T; 2]>,
}

impl<T: Real> LoweredLayer<T> {
    pub(crate) fn new(layout: Layout, eta: Array2<T>) -> LoweredLayer<T> {
        LoweredLayer { two_values: layout.two_values(), layout, eta }
    }

    /// Its units.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The two values of a unit that has one column and two states, if all units are of that kind.
    pub(crate) fn two_values(&self) -> Option<[T; 2]> {
        self.two_values
    }

    /// Natural parameters: statistics × columns.
    pub fn eta(&self) -> ArrayView2<'_, T> {
        self.eta.view()
    }

    /// Its natural parameters without fields, the quadratic terms unchanged.
    pub(crate) fn flat(&self) -> Array2<T> {
        let mut eta = self.eta.clone();
        eta.row_mut(0).fill(T::zero());
        eta
    }

    pub(crate) fn eta_mut(&mut self) -> &mut Array2<T> {
        &mut self.eta
    }

    /// ⟨η, T(x)⟩ of one row of columns.
    pub fn log_weight(&self, x: &[T]) -> f64 {
        let mut t = Array2::zeros(self.eta.dim());
        self.stats(x, t.view_mut());
        self.eta.iter().zip(&t).map(|(e, t)| e.f64() * t.f64()).sum()
    }
}

impl<T> Deref for LoweredLayer<T> {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        &self.layout
    }
}

/// A model in natural parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LoweredModel<T> {
    visible: LoweredLayer<T>,
    hidden: LoweredLayer<T>,
    weights: ArcArray2<T>,
    constant: f64,
}

impl<T: Real> LoweredModel<T> {
    pub(crate) fn new(
        visible: LoweredLayer<T>,
        hidden: LoweredLayer<T>,
        weights: impl Into<ArcArray2<T>>,
        constant: f64,
    ) -> LoweredModel<T> {
        LoweredModel { visible, hidden, weights: weights.into(), constant }
    }

    /// The visible layer.
    pub fn visible(&self) -> &LoweredLayer<T> {
        &self.visible
    }

    /// The hidden layer.
    pub fn hidden(&self) -> &LoweredLayer<T> {
        &self.hidden
    }

    /// The visible and the hidden layer.
    pub fn layers(&self) -> [&LoweredLayer<T>; 2] {
        [&self.visible, &self.hidden]
    }

    /// W̃: visible columns × hidden columns.
    pub fn weights(&self) -> ArrayView2<'_, T> {
        self.weights.view()
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut LoweredLayer<T>, &mut LoweredLayer<T>, &mut ArcArray2<T>, &mut f64) {
        (&mut self.visible, &mut self.hidden, &mut self.weights, &mut self.constant)
    }

    /// The constant of the energy; it makes log Z that of the model in its own coordinates.
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// The default distribution at inverse temperature 0: fields are 0 and quadratic terms unchanged, so that it stays
    /// normalisable. Natural parameters, visible and hidden.
    pub fn flat(&self) -> [Array2<T>; 2] {
        self.layers().map(LoweredLayer::flat)
    }

    /// The model at inverse temperature `beta`: independent units with natural parameters `base` at 0, this model at 1, and the
    /// energy interpolated linearly between them.
    pub fn tempered(&self, base: &[Array2<T>; 2], beta: T) -> LoweredModel<T> {
        let mut lowered = self.clone();
        for (layer, base) in [&mut lowered.visible, &mut lowered.hidden].into_iter().zip(base) {
            layer.eta.zip_mut_with(base, |x, b| *x = *b + beta * (*x - *b));
        }
        lowered.weights.mapv_inplace(|w| beta * w);
        lowered.constant *= beta.f64();
        lowered
    }

    /// The model at temperature `t`, p(v, h)^(1/t) normalised: the whole energy divided by t, quadratic terms included. At 1, it
    /// is the same to the bit. A temperature that is no positive number is refused, and one so low that parameters overflow.
    pub fn at_temperature(&self, t: f64) -> Result<LoweredModel<T>> {
        let problem = |text: &str| Error::Config { key: "temperature", problem: format!("is {t:?}{text}") };
        if !(t > 0.0 && t.is_finite()) {
            return Err(problem(", but must be a finite number greater than 0"));
        }
        let colder = LoweredModel { constant: self.constant / t, ..self.scaled(1.0 / t) };
        let in_range = |x: &T| x.f64().abs() < f64::from(f32::MAX);
        let etas = colder.layers().into_iter().flat_map(|layer| layer.eta.iter());
        if etas.chain(&colder.weights).all(in_range) {
            Ok(colder)
        } else {
            Err(problem(", at which the parameters of the model are too large"))
        }
    }

    /// All natural parameters times a factor.
    fn scaled(&self, factor: f64) -> LoweredModel<T> {
        let mut lowered = self.clone();
        let (visible, hidden, weights, _) = lowered.parts_mut();
        let scale = |x: T| T::of(factor * x.f64());
        [&mut visible.eta, &mut hidden.eta].into_iter().for_each(|eta| eta.mapv_inplace(scale));
        weights.mapv_inplace(scale);
        lowered
    }

    /// The model of the visible sites that are not `known`, with the others clamped to a row of columns. The clamped sites become
    /// fields of the hidden layer and a constant, so that log Z of the result is log Σ exp(−E) over everything that is not clamped.
    pub(crate) fn clamped(&self, x: &[T], known: impl Fn(usize) -> bool) -> LoweredModel<T> {
        let free_sites: Vec<usize> = (0..self.visible.sites()).filter(|i| !known(*i)).collect();
        let site_of = self.visible.site_of_columns();
        let (clamped, free): (Vec<usize>, Vec<usize>) = (0..self.visible.columns()).partition(|c| known(site_of[*c]));
        let mut t = Array2::zeros(self.visible.eta.dim());
        self.visible.stats(x, t.view_mut());
        let (mut hidden, mut constant) = (self.hidden.clone(), self.constant);
        for &c in &clamped {
            constant -= self.visible.eta.column(c).iter().zip(t.column(c)).map(|(e, t)| e.f64() * t.f64()).sum::<f64>();
            hidden.eta.row_mut(0).scaled_add(x[c], &self.weights.row(c));
        }
        let layout = self.visible.layout.select(&free_sites);
        // Fewer kinds of units may need fewer statistics.
        let rows: Vec<usize> = (0..layout.statistics().0).collect();
        let visible = LoweredLayer::new(layout, self.visible.eta.select(Axis(1), &free).select(Axis(0), &rows));
        LoweredModel::new(visible, hidden, self.weights.select(Axis(0), &free), constant)
    }

    /// The same model with its layers exchanged.
    pub(crate) fn swapped(&self) -> LoweredModel<T> {
        let weights = self.weights.t().as_standard_layout().into_owned();
        LoweredModel::new(self.hidden.clone(), self.visible.clone(), weights, self.constant)
    }

    /// Sets itself to the linear interpolation between `a` (`part` = 0) and `b` (`part` = 1), which have the same shape.
    pub(crate) fn set_between(&mut self, a: &LoweredModel<T>, b: &LoweredModel<T>, part: T) {
        let mix = |out: ArrayViewMut2<T>, a: ArrayView2<T>, b: ArrayView2<T>| {
            ndarray::Zip::from(out).and(a).and(b).for_each(|out, a, b| *out = *a + part * (*b - *a));
        };
        mix(self.visible.eta.view_mut(), a.visible.eta.view(), b.visible.eta.view());
        mix(self.hidden.eta.view_mut(), a.hidden.eta.view(), b.hidden.eta.view());
        mix(self.weights.view_mut(), a.weights.view(), b.weights.view());
        self.constant = a.constant + part.f64() * (b.constant - a.constant);
    }

    /// The same model in f64.
    pub fn widen(&self) -> LoweredModel<f64> {
        self.cast()
    }

    /// The model in another number type, rounded to nearest.
    pub(crate) fn cast<S: Real>(&self) -> LoweredModel<S> {
        let to = |x: T| S::of(x.f64());
        let layer = |s: &LoweredLayer<T>| LoweredLayer::new(s.layout.clone(), s.eta.mapv(to));
        LoweredModel::new(layer(&self.visible), layer(&self.hidden), self.weights.mapv(to), self.constant)
    }

    /// From visible to hidden.
    pub fn up(&self) -> Pass<'_, T> {
        Pass { from: &self.visible, to: &self.hidden, weights: self.weights.view(), constant: self.constant }
    }

    /// From hidden to visible.
    pub fn down(&self) -> Pass<'_, T> {
        Pass { from: &self.hidden, to: &self.visible, weights: self.weights.t(), constant: self.constant }
    }

    /// E(v, h) of one pair of rows of columns.
    pub fn energy(&self, v: ArrayView1<T>, h: ArrayView1<T>) -> f64 {
        let (v, h) = (v.to_vec(), h.to_vec());
        let mut coupled = 0.0;
        for (v, row) in v.iter().zip(self.weights.rows()) {
            coupled += v.f64() * row.iter().zip(&h).map(|(w, h)| w.f64() * h.f64()).sum::<f64>();
        }
        self.constant - self.visible.log_weight(&v) - self.hidden.log_weight(&h) - coupled
    }
}

/// One direction through a model: from a given layer to the other layer.
/// States are rows of columns, see [`Layout::encode`].
#[derive(Clone, Copy)]
pub struct Pass<'a, T> {
    /// The given layer.
    pub(crate) from: &'a LoweredLayer<T>,
    /// The other layer.
    pub to: &'a LoweredLayer<T>,
    /// From-columns × to-columns.
    pub(crate) weights: ArrayView2<'a, T>,
    constant: f64,
}

impl<T: Real> Pass<'_, T> {
    /// The constant of the energy.
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// I = xᵀW̃: the input of the other layer.
    pub fn inputs(&self, x: ArrayView2<T>) -> Array2<T> {
        let mut out = Array2::zeros((x.nrows(), self.to.columns()));
        ndarray::linalg::general_mat_mul(T::one(), &x, &self.weights, T::zero(), &mut out);
        out
    }

    /// ⟨y | x⟩: the conditional means of the other layer, one entry per column.
    pub fn means(&self, x: ArrayView2<T>) -> Array2<T> {
        self.map_rows(x, |input, out| self.to.means(self.to.eta(), input, out))
    }

    /// y ∼ p(y | x); row r is chain `first_chain + r` under `key`.
    pub fn sample(&self, x: ArrayView2<T>, key: Key, first_chain: u64) -> Array2<T> {
        let mut chain = first_chain;
        let mut u = vec![T::zero(); self.to.n_uniforms()];
        self.map_rows(x, |input, out| {
            key.fill(chain, &mut u);
            self.to.sample(self.to.eta(), input, &u, out);
            chain += 1;
        })
    }

    fn map_rows(&self, x: ArrayView2<T>, mut f: impl FnMut(&[T], &mut [T])) -> Array2<T> {
        let inputs = self.inputs(x);
        let mut out = Array2::zeros(inputs.dim());
        for (input, mut out) in inputs.rows().into_iter().zip(out.rows_mut()) {
            if let (Some(input), Some(out)) = (input.as_slice(), out.as_slice_mut()) {
                f(input, out);
            }
        }
        out
    }

    /// F(x) = −log Σ_y exp(−E(x, y)) of every row.
    pub fn free_energy(&self, x: ArrayView2<T>) -> Array1<f64> {
        let inputs = self.inputs(x);
        let row = |(x, input): (ArrayView1<T>, ArrayView1<T>)| {
            self.constant - self.from.log_weight(&x.to_vec()) - self.to.log_norm(self.to.eta(), &input.to_vec())
        };
        x.rows().into_iter().zip(inputs.rows()).map(row).collect()
    }

    /// Statistics of rows of the given layer, with weights, and the other layer averaged out (Rao–Blackwell); `visible` of the
    /// result is the given layer.
    pub fn stats(&self, x: ArrayView2<T>, weights: ArrayView1<T>) -> Stats<T> {
        let (visible, hidden, weighted) = self.row_stats(x, &weights.to_vec());
        let mut cross = Array2::zeros(self.weights.dim());
        ndarray::linalg::general_mat_mul(T::one(), &x.t(), &weighted, T::zero(), &mut cross);
        Stats { visible, hidden, cross, weight: weights.iter().map(|w| w.f64()).sum() }
    }

    /// Σ w T(x), Σ w ⟨T(y)|x⟩, and the rows w ⟨y|x⟩ whose product with x is Σ w x yᵀ.
    pub(crate) fn row_stats(&self, x: ArrayView2<T>, weights: &[T]) -> (Array2<T>, Array2<T>, Array2<T>) {
        let mut weighted = self.inputs(x);
        let (mut t_x, mut t_y) = (Array2::zeros(self.from.eta().dim()), Array2::zeros(self.to.eta().dim()));
        let (mut sum_x, mut sum_y) = (t_x.clone(), t_y.clone());
        for ((x, mut input), &w) in x.rows().into_iter().zip(weighted.rows_mut()).zip(weights) {
            self.from.stats(&x.to_vec(), t_x.view_mut());
            self.to.mean_stats(self.to.eta(), &input.to_vec(), t_y.view_mut());
            sum_x.scaled_add(w, &t_x);
            sum_y.scaled_add(w, &t_y);
            input.assign(&(&t_y.row(0) * w));
        }
        (sum_x, sum_y, weighted)
    }
}

impl<T: Real> LayerMeans<T> {
    /// Zeros of the shapes of these layers.
    pub fn zeros(layers: [&LoweredLayer<T>; 2]) -> LayerMeans<T> {
        let [visible, hidden] = layers.map(|layer| Array2::zeros(layer.eta().dim()));
        LayerMeans { visible, hidden, weight: 0.0 }
    }
}

impl<T: Real> Stats<T> {
    /// No rows yet.
    pub fn zeros(lowered: &LoweredModel<T>) -> Stats<T> {
        Stats {
            visible: Array2::zeros(lowered.visible().eta().dim()),
            hidden: Array2::zeros(lowered.hidden().eta().dim()),
            cross: Array2::zeros(lowered.weights().dim()),
            weight: 0.0,
        }
    }
}
