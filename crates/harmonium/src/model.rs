//! The model E(v,h) = U_v(v) + U_h(h) − φ_v(v)ᵀ W φ_h(h), as it is trained and saved.

use crate::error::{Error, Result};
use crate::layer::{Layer, Layers, check_numbers, standard};
use crate::layout::{Layout, MOST_SITES};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::memory;
use crate::real::Real;
use crate::scaled_weights::{ScaledWeights, Scales};
use crate::units::Kind;
use ndarray::{ArcArray2, Array2, ArrayView2};

/// A Restricted Boltzmann Machine.
///
/// ```
/// use harmonium::{Exact, Rbm, units::Kind};
/// let bernoulli = Kind::new("bernoulli", &Default::default())?;
/// let rbm = Rbm::<f64>::new(bernoulli.clone(), 3, bernoulli, 2)?;
/// assert!((Exact::new(&rbm)?.log_z() - 32f64.ln()).abs() < 1e-12);
/// # Ok::<(), harmonium::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rbm<T> {
    layers: Layers<T>,
    /// Shared with the lowered model where W̃ is W; copied when it changes while it is shared.
    weights: ArcArray2<T>,
}

/// A change of all trainable parameters of a model: a gradient or a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient<T> {
    /// One row per field of the visible unit.
    pub visible: Array2<T>,
    /// One row per field of the hidden unit.
    pub hidden: Array2<T>,
    /// Visible columns × hidden columns.
    pub weights: Array2<T>,
}

impl<T: Real> Gradient<T> {
    /// Zeros of the shapes of `rbm`.
    pub fn zeros(rbm: &Rbm<T>) -> Gradient<T> {
        Gradient {
            visible: Array2::zeros(rbm.visible().par().dim()),
            hidden: Array2::zeros(rbm.hidden().par().dim()),
            weights: Array2::zeros(rbm.weights.dim()),
        }
    }

    /// Its three matrices.
    pub(crate) fn parts(&self) -> [&Array2<T>; 3] {
        [&self.visible, &self.hidden, &self.weights]
    }
}

impl<T: Real> Rbm<T> {
    /// A model of independent units: default parameters, weights zero.
    pub fn new(visible: Kind, n_visible: usize, hidden: Kind, n_hidden: usize) -> Result<Rbm<T>> {
        Rbm::with_layouts(Layout::new(visible, n_visible), Layout::new(hidden, n_hidden))
    }

    /// The same with layers that may have units of several kinds.
    pub fn with_layouts(visible: Layout, hidden: Layout) -> Result<Rbm<T>> {
        let (v, h) = (visible.columns() as f64, hidden.columns() as f64);
        if let Some(sites) = [visible.sites(), hidden.sites()].into_iter().find(|n| *n > MOST_SITES) {
            let found = format!("{sites} sites");
            return Err(Error::Shape {
                what: "a layer".into(),
                expected: format!("at most {MOST_SITES} sites"),
                found,
            });
        }
        memory::check("n_hidden", hidden.sites(), size_of::<T>() as f64 * (v * h + v + h))?;
        let (visible, hidden) = (Layer::with_defaults(visible), Layer::with_defaults(hidden));
        let weights = Array2::zeros((visible.columns(), hidden.columns()));
        Self::from_parts(visible, hidden, weights)
    }

    /// A model from its layers and weights (visible columns × hidden columns).
    pub fn from_parts(visible: Layer<T>, hidden: Layer<T>, weights: Array2<T>) -> Result<Rbm<T>> {
        for (name, layer) in [("visible", &visible), ("hidden", &hidden)] {
            if layer.columns() == 0 {
                let expected = "at least 1 site".into();
                return Err(Error::Shape { what: format!("the {name} layer"), expected, found: "0 sites".into() });
            }
        }
        check_hidden(hidden.layout())?;
        let expected = (visible.columns(), hidden.columns());
        if weights.dim() != expected {
            let (expected, found) = (format!("{expected:?}"), format!("{:?}", weights.dim()));
            return Err(Error::Shape { what: "weights".into(), expected, found });
        }
        check_numbers("weights", 0, &weights, f64::is_finite, || "finite".into())?;
        Ok(Rbm::assembled(Layers { visible, hidden }, standard(weights)))
    }

    /// A model from layers and weights that are known to fit.
    pub(crate) fn assembled(layers: Layers<T>, weights: impl Into<ArcArray2<T>>) -> Rbm<T> {
        Rbm { layers, weights: weights.into() }
    }

    /// Both layers.
    pub(crate) fn layers(&self) -> &Layers<T> {
        &self.layers
    }

    /// The visible layer.
    pub fn visible(&self) -> &Layer<T> {
        &self.layers.visible
    }

    /// The hidden layer.
    pub fn hidden(&self) -> &Layer<T> {
        &self.layers.hidden
    }

    /// W, visible columns × hidden columns.
    pub fn weights(&self) -> ArrayView2<'_, T> {
        self.weights.view()
    }

    /// The model in another number type, rounded to nearest.
    pub fn cast<S: Real>(&self) -> Rbm<S> {
        let weights = self.weights.mapv(|x| S::of(x.f64())).into();
        let Layers { visible, hidden } = &self.layers;
        Rbm { layers: Layers { visible: visible.cast(), hidden: hidden.cast() }, weights }
    }

    /// Lowers the model: η and W̃ = W/(s_v s_hᵀ) without offsets, and the constant of the energy.
    pub fn lower(&self) -> LoweredModel<T> {
        let chart = self.layers.chart();
        let scaled = self.scaled(&chart.scales);
        let products = chart.origins.as_ref().map(|[o_v, o_h]| scaled.products(o_h, o_v));
        let ([eta_v, eta_h], constant) = self.layers.lower(products);
        let layer = |layer: &Layer<T>, eta| LoweredLayer::new(layer.layout().clone(), eta);
        let weights = if scaled.is_plain() { self.weights.clone() } else { scaled.whole().into() };
        LoweredModel::new(layer(self.visible(), eta_v), layer(self.hidden(), eta_h), weights, constant)
    }

    /// W̃, from W and the scales.
    pub(crate) fn scaled<'a>(&'a self, scales: &'a Scales) -> ScaledWeights<'a, T> {
        ScaledWeights::new(self.weights.view(), scales)
    }

    /// Takes a step: adds `scale`·`step` to every parameter, in the (centred) coordinates of the model.
    pub fn step(&mut self, scale: T, step: &Gradient<T>) {
        self.layers.step(scale, [&step.visible, &step.hidden]);
        self.weights.scaled_add(scale, &step.weights);
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Layers<T>, &mut ArcArray2<T>) {
        (&mut self.layers, &mut self.weights)
    }
}

/// Refuses units that are for visible layers only.
pub(crate) fn check_hidden(hidden: &Layout) -> Result<()> {
    match hidden.blocks().iter().find(|b| b.kind().visible_only()) {
        Some(block) => {
            let problem = format!("{} is for visible layers only", block.kind());
            Err(Error::UnitOption { kind: block.kind().name(), problem })
        }
        None => Ok(()),
    }
}
