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
use crate::lowered::LoweredModel;
use crate::math::shrink_row;
use crate::model::{Gradient, Layer, Rbm};
use crate::real::Real;
use crate::scaled_weights::ROWS;
use crate::stats::Stats;
use crate::threads::{self, MANY};
use crate::units::{Kind, Origin};
use ndarray::{Array1, Array2, ArrayView1, Axis, Zip};

/// |offset|/σ above which folding the offset into an f32 bias loses more than three of seven digits.
const LARGE_OFFSET: f64 = 1e3;

impl<T: Real> Rbm<T> {
    /// The gradient of the mean log likelihood, from the difference of averaged statistics ⟨·⟩_data − ⟨·⟩_model
    /// (see [`Stats::minus`]), in the centred coordinates of the model.
    ///
    /// `lowered` is this model lowered. With C = ⟨vhᵀ⟩ − ⟨v⟩o_hᵀ − o_v⟨h⟩ᵀ:
    /// ∂W = C/(s_v s_hᵀ), ∂η = ⟨T⟩, ∂ln s_i = −Σ_j W̃_ij C_ij, and an origin that follows its bias adds
    /// ∂o_v = −W̃⟨h⟩ to it.
    pub fn gradient(&self, lowered: &LoweredModel<T>, difference: &Stats<T>) -> Gradient<T> {
        let (mut gradient, mut difference) = (Gradient::zeros(self), difference.clone());
        if let Some(origins) = self.origins() {
            difference.measure_from(&origins);
        }
        self.gradient_into(lowered, &mut difference, true, &mut gradient);
        gradient
    }

    /// Like [`gradient`](Rbm::gradient), into a gradient of the same shape, from a difference that is already measured from the
    /// origins of the model ([`Stats::measure_from`]) and is overwritten. The gradient of the log-variances, which takes a pass
    /// over the weights, is valid only with `variances`.
    pub fn gradient_into(
        &self,
        lowered: &LoweredModel<T>,
        difference: &mut Stats<T>,
        variances: bool,
        out: &mut Gradient<T>,
    ) {
        std::mem::swap(&mut out.weights, &mut difference.cross);
        if self.is_plain() {
            std::mem::swap(&mut out.visible, &mut difference.visible);
            std::mem::swap(&mut out.hidden, &mut difference.hidden);
            return;
        }
        let (virial_v, virial_h) = self.shrink(lowered, variances, &mut out.weights);
        pullback(self.visible(), &difference.visible, &virial_v, &mut out.visible);
        pullback(self.hidden(), &difference.hidden, &virial_h, &mut out.hidden);
        if self.visible().kind().unit::<T>().origin() == Origin::Reference {
            let moved = lowered.weights().dot(&difference.hidden.row(0));
            out.visible.row_mut(0).scaled_add(-T::one(), &moved);
        }
    }

    /// Turns C into C/(s_v s_hᵀ); returns −Σ_j W̃_ij C_ij and −Σ_i W̃_ij C_ij, or zeros if no unit has a scale, or if all scales are
    /// 1 and `virial` is false.
    fn shrink(&self, lowered: &LoweredModel<T>, virial: bool, cross: &mut Array2<T>) -> (Vec<T>, Vec<T>) {
        let (s_v, s_h) = (self.visible().natural().1, self.hidden().natural().1);
        let has_scale = self.visible().has_scale() || self.hidden().has_scale();
        let scaled = has_scale && (virial || s_v.iter().chain(&s_h).any(|s| *s != T::one()));
        let (n, m) = cross.dim();
        let (mut virial_v, mut virial_h) = (vec![T::zero(); n], vec![T::zero(); m]);
        if !scaled {
            return (virial_v, virial_h);
        }
        let shrink_h: Vec<T> = s_h.iter().map(|s| s.recip()).collect();
        let blocks = cross.axis_chunks_iter_mut(Axis(0), ROWS).zip(virial_v.chunks_mut(ROWS)).enumerate();
        let parts = threads::map(n * m >= MANY, blocks, |(b, (mut block, virial_v))| {
            let mut virial_h = vec![T::zero(); m];
            for (k, (mut c, virial)) in block.rows_mut().into_iter().zip(virial_v).enumerate() {
                let i = b * ROWS + k;
                if let (Some(c), Some(w)) = (c.as_slice_mut(), lowered.weights().row(i).to_slice()) {
                    *virial = -shrink_row(c, w, s_v[i].recip(), &shrink_h, &mut virial_h);
                }
            }
            virial_h
        });
        for part in &parts {
            virial_h.iter_mut().zip(part).for_each(|(v, x)| *v += *x);
        }
        (virial_v, virial_h)
    }

    /// Sets the offsets to α = `visible`, β = `hidden` without changing the distribution.
    /// The energy changes by a constant; see [`LoweredModel::constant`].
    pub fn recenter(&mut self, visible: ArrayView1<T>, hidden: ArrayView1<T>) -> Result<()> {
        let (kind_v, kind_h) = (self.visible().kind().clone(), self.hidden().kind().clone());
        self.rechart(kind_v, kind_h, visible, hidden)
    }

    /// The plain model with the same distribution: both offsets zero.
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

    /// Changes coupling and offsets at once; W is rescaled so that W̃ stays the same, and the biases compensate for the rest.
    pub fn rechart(
        &mut self,
        kind_v: Kind,
        kind_h: Kind,
        offset_v: ArrayView1<T>,
        offset_h: ArrayView1<T>,
    ) -> Result<()> {
        for (name, layer, kind, offset) in
            [("visible", self.visible(), &kind_v, &offset_v), ("hidden", self.hidden(), &kind_h, &offset_h)]
        {
            check_chart(name, layer, kind, offset)?;
        }
        if kind_h.visible_only() {
            let problem = format!("{kind_h} is for visible layers only");
            return Err(Error::UnitOption { kind: kind_h.name(), problem });
        }
        self.move_chart(kind_v, kind_h, offset_v, offset_h);
        Ok(())
    }

    /// The origin of the hidden layer never depends on its bias, so Δo_h is known before the visible biases change, and Δo_v (which
    /// may depend on them) before the hidden ones do.
    fn move_chart(&mut self, kind_v: Kind, kind_h: Kind, offset_v: ArrayView1<T>, offset_h: ArrayView1<T>) {
        let (old_v, old_h) = (self.visible().origin(), self.hidden().origin());
        let (visible, hidden, weights) = self.parts_mut();
        let (ratio_v, ratio_h) = (set_chart(visible, kind_v, offset_v), set_chart(hidden, kind_h, offset_h));
        if ratio_v.iter().chain(&ratio_h).any(|r| *r != 1.0) {
            Zip::indexed(weights.view_mut()).for_each(|(i, j), w| *w = T::of(w.f64() * ratio_v[i] * ratio_h[j]));
        }
        let moved = |rbm: &Rbm<T>| [rbm.visible().origin() - &old_v, rbm.hidden().origin() - &old_h];
        let [d_v, d_h] = moved(self);
        let (field_v, mut field_h) = self.scaled_weights().products(&d_h, &d_v);
        shift(self.parts_mut().0, &field_v);
        if self.visible().kind().unit::<T>().origin() == Origin::Reference {
            let [d_v, d_h] = moved(self);
            field_h = self.scaled_weights().products(&Array1::zeros(d_h.len()), &d_v).1;
        }
        shift(self.parts_mut().1, &field_h);
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
    layer.kind().unit::<T>().pullback(layer.par(), layer.offset(), d_eta.view(), d_ln_s, d_par.view_mut());
}

/// Refuses a chart of another kind, and an offset that is not one finite number per column.
fn check_chart<T: Real>(name: &str, layer: &Layer<T>, kind: &Kind, offset: &ArrayView1<T>) -> Result<()> {
    if kind.name() != layer.kind().name() || kind.unit::<T>().width() != layer.kind().unit::<T>().width() {
        return Err(Error::Undefined(format!("the {name} layer is {}, it cannot become {kind}", layer.kind())));
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
