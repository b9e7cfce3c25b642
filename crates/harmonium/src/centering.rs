//! Coordinates of a model: changing the offsets α, β or the coupling does not change the distribution.
//!
//! The offsets enter a lowered model only through its fields, η_v − W̃o_h and η_h − W̃ᵀo_v, where o is the origin of the
//! coupling (the offset; for Goodfellow's coupling μ = a + α). A change of the origins therefore changes the fields by W̃Δo_h and
//! W̃ᵀΔo_v, and the biases compensate for it (Schlüter 2014, section 6, with its errata; Montavon and Müller, *Deep Boltzmann
//! machines and the centering trick*, 2012). W̃ and σ are fixed while the offsets change.
//!
//! A gradient is taken in the same coordinates at fixed α, β: a step of σ or W does not change the other parameters of the centred
//! energy, and the plain biases change as centering implies.

use crate::error::{Error, Result};
use crate::layer::{Layer, Layers};
use crate::layout::{Layout, Site};
use crate::lowered::LoweredModel;
use crate::model::{Gradient, Rbm, check_hidden};
use crate::real::Real;
use crate::scaled_weights::{Products, ScaledWeights, shrink};
use crate::stats::{LayerMeans, Stats};
use ndarray::{Array1, Array2, ArrayView1, Zip};

/// |offset|/σ above which folding the offset into an f32 bias loses more than three of seven digits.
const LARGE_OFFSET: f64 = 1e3;

impl<T: Real> Layers<T> {
    /// The gradient of both layers' parameters from ⟨T⟩_data − ⟨T⟩_model, −Σ_j W̃_ij C_ij and −Σ_i W̃_ij C_ij, and W̃ times a vector.
    ///
    /// With C = ⟨vhᵀ⟩ − ⟨v⟩o_hᵀ − o_v⟨h⟩ᵀ: ∂W = C/(s_v s_hᵀ), ∂η = ⟨T⟩, ∂ln s_i = −Σ_j W̃_ij C_ij, and an origin that follows its
    /// bias adds ∂o_v = −W̃⟨h⟩ to it.
    pub(crate) fn gradient(
        &self,
        difference: &LayerMeans<T>,
        [virial_v, virial_h]: &[Vec<T>; 2],
        times: impl FnOnce(&Array1<f64>) -> Array1<f64>,
        [visible, hidden]: [&mut Array2<T>; 2],
    ) {
        if self.is_plain() {
            visible.assign(&difference.visible);
            hidden.assign(&difference.hidden);
            return;
        }
        pullback(&self.visible, &difference.visible, virial_v, visible);
        pullback(&self.hidden, &difference.hidden, virial_h, hidden);
        if self.moves_with_its_bias() {
            let moved = times(&difference.hidden.row(0).mapv(T::f64));
            self.visible.layout().moving_columns().for_each(|c| visible[[0, c]] -= T::of(moved[c]));
        }
    }

    /// Whether a visible origin follows its bias.
    pub(crate) fn moves_with_its_bias(&self) -> bool {
        self.visible.layout().moving_columns().next().is_some()
    }

    /// Sets the offsets to α = `visible`, β = `hidden` without changing the distribution; `products` are W̃x and W̃ᵀy.
    pub(crate) fn recenter(
        &mut self,
        [visible, hidden]: [ArrayView1<T>; 2],
        products: impl Fn(&Array1<f64>, &Array1<f64>) -> Products,
    ) -> Result<()> {
        let units = self.both().map(|layer| layer.layout().clone());
        for (name, layer, units, offset) in
            [("visible", &self.visible, &units[0], &visible), ("hidden", &self.hidden, &units[1], &hidden)]
        {
            check_chart(name, layer, units, offset)?;
        }
        let old = self.both().map(Layer::origin);
        for (layer, (units, offset)) in self.both_mut().into_iter().zip(units.into_iter().zip([visible, hidden])) {
            set_chart(layer, units, offset);
        }
        self.compensate(old, products);
        Ok(())
    }

    /// Moves the biases so that origins other than the `old` ones leave the distribution as it is. The origin of the hidden layer
    /// never depends on its bias, so Δo_h is known before the visible biases change, and Δo_v (which may depend on them) before the
    /// hidden ones do.
    fn compensate(&mut self, old: [Array1<f64>; 2], products: impl Fn(&Array1<f64>, &Array1<f64>) -> Products) {
        let moved = |layers: &Layers<T>| [layers.visible.origin() - &old[0], layers.hidden.origin() - &old[1]];
        let [d_v, d_h] = moved(self);
        let (field_v, mut field_h) = products(&d_h, &d_v);
        shift(&mut self.visible, &field_v);
        if self.moves_with_its_bias() {
            let [d_v, d_h] = moved(self);
            field_h = products(&Array1::zeros(d_h.len()), &d_v).1;
        }
        shift(&mut self.hidden, &field_h);
    }
}

impl<T: Real> Rbm<T> {
    /// The gradient of the mean log likelihood, from the difference of averaged statistics ⟨·⟩_data − ⟨·⟩_model
    /// (see [`Stats::minus`]), in the centred coordinates of the model. `lowered` is this model lowered.
    pub fn gradient(&self, lowered: &LoweredModel<T>, difference: &Stats<T>) -> Gradient<T> {
        let (mut gradient, mut difference, chart) = (Gradient::zeros(self), difference.clone(), self.layers().chart());
        chart.points().iter().for_each(|points| difference.measure_from(points));
        let virials = shrink(&chart, lowered.weights(), true, &mut difference.cross);
        let Stats { visible, hidden, cross, weight } = difference;
        let times = |x: &Array1<f64>| self.scaled(&chart.scales).products(x, &Array1::zeros(visible.ncols())).0;
        let means = LayerMeans { visible: visible.clone(), hidden, weight };
        let Gradient { visible: out_v, hidden: out_h, .. } = &mut gradient;
        self.layers().gradient(&means, &virials, times, [out_v, out_h]);
        gradient.weights = cross;
        gradient
    }

    /// Sets the offsets to α = `visible`, β = `hidden` without changing the distribution.
    /// The energy changes by a constant; see [`LoweredModel::constant`].
    pub fn recenter(&mut self, visible: ArrayView1<T>, hidden: ArrayView1<T>) -> Result<()> {
        let (units_v, units_h) = (self.visible().layout().clone(), self.hidden().layout().clone());
        self.rechart(units_v, units_h, visible, hidden)
    }

    /// The plain model with the same distribution: both offsets zero.
    pub fn folded(&self) -> Rbm<T> {
        let mut plain = self.clone();
        plain.move_chart(
            self.visible().layout().clone(),
            self.hidden().layout().clone(),
            Array1::zeros(self.visible().columns()).view(),
            Array1::zeros(self.hidden().columns()).view(),
        );
        plain
    }

    /// Changes coupling and offsets at once; W is rescaled so that W̃ stays the same, and the biases compensate for the rest.
    pub fn rechart(
        &mut self,
        units_v: Layout,
        units_h: Layout,
        offset_v: ArrayView1<T>,
        offset_h: ArrayView1<T>,
    ) -> Result<()> {
        for (name, layer, units, offset) in
            [("visible", self.visible(), &units_v, &offset_v), ("hidden", self.hidden(), &units_h, &offset_h)]
        {
            check_chart(name, layer, units, offset)?;
        }
        check_hidden(&units_h)?;
        self.move_chart(units_v, units_h, offset_v, offset_h);
        Ok(())
    }

    fn move_chart(&mut self, units_v: Layout, units_h: Layout, offset_v: ArrayView1<T>, offset_h: ArrayView1<T>) {
        let old = self.layers().both().map(Layer::origin);
        let (layers, weights) = self.parts_mut();
        let ratio_v = set_chart(&mut layers.visible, units_v, offset_v);
        let ratio_h = set_chart(&mut layers.hidden, units_h, offset_h);
        if ratio_v.iter().chain(&ratio_h).any(|r| *r != 1.0) {
            Zip::indexed(weights.view_mut()).for_each(|(i, j), w| *w = T::of(w.f64() * ratio_v[i] * ratio_h[j]));
        }
        let scales = layers.chart().scales;
        layers.compensate(old, |x, y| ScaledWeights::new(weights.view(), &scales).products(x, y));
    }

    /// A warning if an offset is so large relative to σ that folding it loses digits in single precision.
    pub fn offset_warning(&self) -> Option<String> {
        for (name, layer) in [("visible", self.visible()), ("hidden", self.hidden())] {
            let Some(z) = layer.field("log_variance") else { continue };
            for (i, (o, z)) in layer.offset().iter().zip(z).enumerate() {
                let ratio = o.f64().abs() / (0.5 * z.f64()).exp();
                if ratio > LARGE_OFFSET {
                    return Some(format!(
                        "{name} offset {i} is {ratio:.0} standard deviations from zero, above the limit of {LARGE_OFFSET:.0}: \
                         single precision loses digits; standardise the data"
                    ));
                }
            }
        }
        None
    }
}

/// Pullback of one layer's (∂/∂η, ∂/∂ln s) to its parameters.
fn pullback<T: Real>(layer: &Layer<T>, d_eta: &Array2<T>, d_ln_s: &[T], d_par: &mut Array2<T>) {
    d_par.fill(T::zero());
    layer.layout().pullback(layer.par(), layer.offset(), d_eta.view(), d_ln_s, d_par.view_mut());
}

/// Refuses a chart of other units, and an offset that is not one finite number per column.
fn check_chart<T: Real>(name: &str, layer: &Layer<T>, units: &Layout, offset: &ArrayView1<T>) -> Result<()> {
    let old = layer.layout();
    let same = |(a, b): (Site, Site)| a.kind.name() == b.kind.name() && a.columns == b.columns;
    if old.sites() != units.sites() || !old.each_site().zip(units.each_site()).all(same) {
        return Err(Error::Undefined(format!("the {name} layer is {}, it cannot become {units}", layer.layout())));
    }
    if offset.len() != layer.columns() {
        let (expected, found) = (layer.columns().to_string(), offset.len().to_string());
        return Err(Error::Shape { what: format!("the {name} offset"), expected, found });
    }
    match offset.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::Parameter {
            what: format!("{name}.offset"),
            index,
            value: offset[index].f64(),
            domain: "finite".into(),
        }),
    }
}

/// Gives a layer new units and a new offset while keeping its own η; returns s_new/s_old of every column.
fn set_chart<T: Real>(layer: &mut Layer<T>, new_units: Layout, new_offset: ArrayView1<T>) -> Array1<f64> {
    let old_scale = layer.widen().natural().1;
    let (layout, par, offset) = layer.parts_mut();
    let moved: Vec<f64> = new_offset.iter().zip(offset.iter()).map(|(n, o)| n.f64() - o.f64()).collect();
    layout.recenter(par.view_mut(), &moved);
    offset.assign(&new_offset);
    *layout = new_units;
    layer.widen().natural().1 / old_scale
}

/// Adds `d_field` to a layer's field.
fn shift<T: Real>(layer: &mut Layer<T>, d_field: &Array1<f64>) {
    let (layout, par, _) = layer.parts_mut();
    layout.shift(par.view_mut(), &d_field.to_vec());
}
