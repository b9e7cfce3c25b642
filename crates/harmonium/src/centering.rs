//! Coordinates of a machine: moving the offsets α, β or changing the coupling never moves the distribution.
//!
//! The offsets enter a lowered machine only through its fields, η_v − W̃o_h and η_h − W̃ᵀo_v, where o is the point a
//! coupling is measured from (the offset; for Goodfellow's coupling μ = a + α). Moving the origins therefore moves the
//! fields by W̃Δo_h and W̃ᵀΔo_v, and the biases take that up (Schlüter 2014, section 6, with its errata; Montavon and
//! Müller, *Deep Boltzmann machines and the centering trick*, 2012). W̃ and σ are held fixed while offsets move.
//!
//! A gradient is taken in the same coordinates at fixed α, β: stepping σ or W there leaves the centred energy's other
//! parameters alone, and the plain biases move by what centering implies.

use crate::error::{Error, Result};
use crate::model::{Gradient, Layer, Rbm};
use crate::natural::Natural;
use crate::real::Real;
use crate::stats::Stats;
use crate::units::{Kind, Origin};
use ndarray::{Array1, Array2, ArrayView1, Zip};

/// |offset|/σ beyond which folding it into an f32 bias loses more than three of seven digits.
pub const LARGE_OFFSET: f64 = 1e3;

impl<T: Real> Rbm<T> {
    /// The gradient of the mean log likelihood, from the difference of averaged statistics ⟨·⟩_data − ⟨·⟩_model
    /// (see [`Stats::minus`]), in the machine's own centred coordinates.
    ///
    /// `machine` is this machine lowered. With C = ⟨vhᵀ⟩ − ⟨v⟩o_hᵀ − o_v⟨h⟩ᵀ:
    /// ∂W = C/(s_v s_hᵀ), ∂η = ⟨T⟩, ∂ln s_i = −Σ_j W̃_ij C_ij, and an origin that follows its bias adds
    /// ∂o_v = −W̃⟨h⟩ to it.
    pub fn gradient(&self, machine: &Natural<T>, difference: &Stats<T>) -> Gradient<T> {
        let round = |o: Array1<f64>| o.mapv(T::of);
        let (o_v, o_h) = (round(self.visible().origin()), round(self.hidden().origin()));
        let (s_v, s_h) = (self.visible().natural().1, self.hidden().natural().1);
        let (t_v, t_h) = (difference.visible.row(0), difference.hidden.row(0));

        let mut weights = difference.cross.clone();
        let (mut virial_v, mut virial_h) = (vec![T::zero(); s_v.len()], vec![T::zero(); s_h.len()]);
        Zip::indexed(&mut weights).and(machine.weights()).for_each(|(i, j), c, &w| {
            *c = *c - t_v[i] * o_h[j] - o_v[i] * t_h[j];
            virial_v[i] -= w * *c;
            virial_h[j] -= w * *c;
            *c /= s_v[i] * s_h[j];
        });

        let mut visible = pullback(self.visible(), &difference.visible, &virial_v);
        let hidden = pullback(self.hidden(), &difference.hidden, &virial_h);
        if self.visible().kind().unit::<T>().origin() == Origin::Reference {
            visible.row_mut(0).scaled_add(-T::one(), &machine.weights().dot(&t_h));
        }
        Gradient { visible, hidden, weights }
    }

    /// Moves the offsets to α = `visible`, β = `hidden` without moving the distribution.
    /// The energy changes by a constant; see [`Natural::constant`].
    pub fn recenter(&mut self, visible: ArrayView1<T>, hidden: ArrayView1<T>) -> Result<()> {
        let (kind_v, kind_h) = (self.visible().kind().clone(), self.hidden().kind().clone());
        self.rechart(kind_v, kind_h, visible, hidden)
    }

    /// The plain machine with the same distribution: both offsets zero.
    pub fn folded(&self) -> Rbm<T> {
        let mut plain = self.clone();
        plain.move_chart(
            self.visible().kind().clone(),
            self.hidden().kind().clone(),
            Array1::zeros(self.visible().columns()).view(),
            Array1::zeros(self.hidden().columns()).view(),
        );
        plain
    }

    /// Changes coupling and offsets at once; W is rescaled so that W̃ stays, the biases take up the rest.
    pub fn rechart(
        &mut self,
        kind_v: Kind,
        kind_h: Kind,
        offset_v: ArrayView1<T>,
        offset_h: ArrayView1<T>,
    ) -> Result<()> {
        for (side, layer, kind, offset) in
            [("visible", self.visible(), &kind_v, &offset_v), ("hidden", self.hidden(), &kind_h, &offset_h)]
        {
            check_chart(side, layer, kind, offset)?;
        }
        if kind_h.visible_only() {
            let problem = format!("{kind_h} is for visible layers only");
            return Err(Error::UnitOption { kind: kind_h.name(), problem });
        }
        self.move_chart(kind_v, kind_h, offset_v, offset_h);
        Ok(())
    }

    /// The hidden layer's origin never follows its bias, so Δo_h is known before the visible biases move, and Δo_v
    /// (which may follow them) before the hidden ones do.
    fn move_chart(&mut self, kind_v: Kind, kind_h: Kind, offset_v: ArrayView1<T>, offset_h: ArrayView1<T>) {
        let coupling = self.coupling();
        let (old_v, old_h) = (self.visible().origin(), self.hidden().origin());
        let (visible, hidden, weights) = self.parts_mut();
        let (ratio_v, ratio_h) = (set_chart(visible, kind_v, offset_v), set_chart(hidden, kind_h, offset_h));
        Zip::indexed(weights).for_each(|(i, j), w| {
            let ratio = ratio_v[i] * ratio_h[j];
            if ratio != 1.0 {
                *w = T::of(w.f64() * ratio);
            }
        });
        shift(visible, &coupling.dot(&(hidden.origin() - old_h)));
        shift(hidden, &coupling.t().dot(&(visible.origin() - old_v)));
    }

    /// A sentence about offsets so large against σ that folding them loses digits in this number type, if any.
    pub fn offset_warning(&self) -> Option<String> {
        for (name, layer) in [("visible", self.visible()), ("hidden", self.hidden())] {
            let Some(z) = layer.field("log_variance") else { continue };
            for (i, (o, z)) in layer.offset().iter().zip(z).enumerate() {
                let ratio = o.f64().abs() / (0.5 * z.f64()).exp();
                if ratio > LARGE_OFFSET {
                    return Some(format!(
                        "{name} offset {i} is {ratio:.0} standard deviations from zero (limit {LARGE_OFFSET:.0}): \
                         in single precision folding it loses digits; standardise the data or keep the offsets"
                    ));
                }
            }
        }
        None
    }
}

/// Pullback of one layer's (∂/∂η, ∂/∂ln s) to its parameters.
fn pullback<T: Real>(layer: &Layer<T>, d_eta: &Array2<T>, d_ln_s: &[T]) -> Array2<T> {
    let mut d_par = Array2::zeros(layer.par().dim());
    layer.kind().unit::<T>().pullback(layer.par(), layer.offset(), d_eta.view(), d_ln_s, d_par.view_mut());
    d_par
}

/// A chart fits a layer when it is of the same family and the offset has one finite number per column.
fn check_chart<T: Real>(side: &str, layer: &Layer<T>, kind: &Kind, offset: &ArrayView1<T>) -> Result<()> {
    if kind.name() != layer.kind().name() || kind.unit::<T>().width() != layer.kind().unit::<T>().width() {
        return Err(Error::Undefined(format!("the {side} layer is {}, it cannot become {kind}", layer.kind())));
    }
    if offset.len() != layer.columns() {
        let (expected, found) = (layer.columns().to_string(), offset.len().to_string());
        return Err(Error::Shape { what: format!("the {side} offset"), expected, found });
    }
    match offset.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::Parameter {
            what: format!("{side}.offset"),
            index,
            value: offset[index].f64(),
            domain: "finite".into(),
        }),
    }
}

/// Gives a layer a new kind and offset while keeping its own η; returns s_new/s_old of every column.
fn set_chart<T: Real>(layer: &mut Layer<T>, new_kind: Kind, new_offset: ArrayView1<T>) -> Array1<f64> {
    let old_scale = layer.widen().natural().1;
    let (kind, par, offset) = layer.parts_mut();
    let moved: Vec<f64> = new_offset.iter().zip(offset.iter()).map(|(n, o)| n.f64() - o.f64()).collect();
    kind.unit::<T>().recenter(par.view_mut(), &moved);
    offset.assign(&new_offset);
    *kind = new_kind;
    layer.widen().natural().1 / old_scale
}

/// Adds `d_field` to a layer's field.
fn shift<T: Real>(layer: &mut Layer<T>, d_field: &Array1<f64>) {
    let (kind, par, _) = layer.parts_mut();
    kind.unit::<T>().shift(par.view_mut(), &d_field.to_vec());
}
