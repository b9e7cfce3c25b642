//! The model E(v,h) = U_v(v) + U_h(h) − φ_v(v)ᵀ W φ_h(h), as it is trained and saved.

use crate::error::{Error, Result};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::math::{add_times, dot};
use crate::memory;
use crate::real::Real;
use crate::scaled_weights::{ScaledWeights, Scales, Stepping};
use crate::threads::{self, MANY};
use crate::units::{Kind, Origin};
use ndarray::{ArcArray2, Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Zip};

/// One layer: the kind of its units, their trainable parameters, and the centering offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T> {
    kind: Kind,
    par: Array2<T>,
    offset: Array1<T>,
}

impl<T: Real> Layer<T> {
    /// A layer of `sites` units with default parameters and offset zero.
    pub fn new(kind: Kind, sites: usize) -> Layer<T> {
        let unit = kind.unit::<T>();
        let columns = sites * unit.width();
        let default = |(f, _): (usize, usize)| T::of(unit.fields()[f].default);
        let par = Array2::from_shape_fn((unit.fields().len(), columns), default);
        Layer { par, offset: Array1::zeros(columns), kind }
    }

    /// A layer from its parameters (one row per field, one entry per column) and offset.
    pub fn from_parts(kind: Kind, par: Array2<T>, offset: Array1<T>) -> Result<Layer<T>> {
        let unit = kind.unit::<T>();
        let shape = |what: &str, expected: String, found: String| Error::Shape { what: what.into(), expected, found };
        if par.nrows() != unit.fields().len() || !par.ncols().is_multiple_of(unit.width()) || par.ncols() == 0 {
            let expected = format!("{} x a positive multiple of {}", unit.fields().len(), unit.width());
            return Err(shape("a layer's parameters", expected, format!("{:?}", par.dim())));
        }
        if offset.len() != par.ncols() {
            return Err(shape("a layer's offset", par.ncols().to_string(), offset.len().to_string()));
        }
        for (field, row) in unit.fields().iter().zip(par.rows()) {
            let (lo, hi) = field.range;
            check_numbers(field.name, row.iter(), |x| (lo..=hi).contains(&x), || in_words(field.range))?;
        }
        check_numbers("offset", offset.iter(), f64::is_finite, || "finite".into())?;
        Ok(Layer { kind, par: standard(par), offset: offset.as_standard_layout().into_owned() })
    }

    /// The kind of the units.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Number of units.
    pub fn sites(&self) -> usize {
        self.columns() / self.kind.unit::<T>().width()
    }

    /// Number of columns: sites × width.
    pub fn columns(&self) -> usize {
        self.par.ncols()
    }

    /// Trainable parameters, one row per field of the unit.
    pub fn par(&self) -> ArrayView2<'_, T> {
        self.par.view()
    }

    /// The parameters of the field called `name`, if the unit has it.
    pub fn field(&self, name: &str) -> Option<ArrayView1<'_, T>> {
        let row = self.kind.unit::<T>().fields().iter().position(|f| f.name == name)?;
        Some(self.par.row(row))
    }

    /// The offset α or β.
    pub fn offset(&self) -> ArrayView1<'_, T> {
        self.offset.view()
    }

    /// The origin of the coupling, in f64.
    pub(crate) fn origin(&self) -> Array1<f64> {
        match self.kind.unit::<T>().origin() {
            Origin::Offset => self.offset.mapv(T::f64),
            Origin::Reference => self.reference(),
        }
    }

    /// Whether its parameters are the natural ones: biases only, with offset zero.
    fn is_plain(&self) -> bool {
        // No early exit, so that this compiles to SIMD code.
        let moved = self.offset.as_slice().unwrap_or(&[]).iter().fold(false, |any, x| any | (*x != T::zero()));
        let unit = self.kind.unit::<T>();
        unit.fields().len() == 1 && unit.n_stats() == 1 && unit.origin() == Origin::Offset && !moved
    }

    /// Whether its coupling can have a scale; see [`Unit::fields`](crate::units::Unit::fields).
    pub(crate) fn has_scale(&self) -> bool {
        let unit = self.kind.unit::<T>();
        unit.fields().len() > 1 || unit.n_stats() > 1
    }

    /// The point where U(x) = 0, in f64.
    fn reference(&self) -> Array1<f64> {
        self.widen().own_reference().into()
    }

    /// The chart: η and the coupling scale s of every column.
    pub(crate) fn natural(&self) -> (Array2<T>, Array1<T>) {
        let unit = self.kind.unit::<T>();
        let mut eta = Array2::zeros((unit.n_stats(), self.columns()));
        let mut scale = vec![T::zero(); self.columns()];
        unit.natural(self.par.view(), self.offset.view(), eta.view_mut(), &mut scale);
        (eta, scale.into())
    }

    /// The point where U(x) = 0.
    fn own_reference(&self) -> Vec<T> {
        let mut x = vec![T::zero(); self.columns()];
        self.kind.unit::<T>().reference(self.par.view(), self.offset.view(), &mut x);
        x
    }

    /// The same layer in f64.
    pub(crate) fn widen(&self) -> Layer<f64> {
        Layer { kind: self.kind.clone(), par: self.par.mapv(T::f64), offset: self.offset.mapv(T::f64) }
    }

    /// The layer in another number type, rounded to nearest.
    fn cast<S: Real>(&self) -> Layer<S> {
        let to = |x: T| S::of(x.f64());
        Layer { kind: self.kind.clone(), par: self.par.mapv(to), offset: self.offset.mapv(to) }
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Kind, &mut Array2<T>, &mut Array1<T>) {
        (&mut self.kind, &mut self.par, &mut self.offset)
    }
}

/// Row-major, without a copy if it is already.
fn standard<T: Real>(m: Array2<T>) -> Array2<T> {
    if m.is_standard_layout() { m } else { m.as_standard_layout().into_owned() }
}

/// A range as text: "finite", or "between lo and hi".
fn in_words((lo, hi): (f64, f64)) -> String {
    if lo == -f64::MAX && hi == f64::MAX { "finite".into() } else { format!("between {lo} and {hi}") }
}

/// Returns an error for the first number that is not valid.
fn check_numbers<'a, T: Real>(
    what: &str,
    numbers: impl Iterator<Item = &'a T>,
    valid: impl Fn(f64) -> bool,
    domain: impl Fn() -> String,
) -> Result<()> {
    for (index, x) in numbers.enumerate() {
        if !valid(x.f64()) {
            return Err(Error::Parameter { what: what.into(), index, value: x.f64(), domain: domain() });
        }
    }
    Ok(())
}

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
    visible: Layer<T>,
    hidden: Layer<T>,
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

/// Sites of a layer at most; the limit on hidden units is the same.
const MOST_SITES: usize = 1 << 24;

/// Numbers per task.
const PIECE: usize = 1 << 15;

/// The numbers of a matrix in pieces; every matrix of parameters is in standard layout.
fn pieces<T>(m: ArrayViewMut2<'_, T>) -> impl Iterator<Item = &mut [T]> {
    m.into_slice().unwrap_or(&mut []).chunks_mut(PIECE)
}

impl<T: Real> Gradient<T> {
    /// Zeros of the shapes of `rbm`.
    pub fn zeros(rbm: &Rbm<T>) -> Gradient<T> {
        Gradient {
            visible: Array2::zeros(rbm.visible.par.dim()),
            hidden: Array2::zeros(rbm.hidden.par.dim()),
            weights: Array2::zeros(rbm.weights.dim()),
        }
    }

    /// Its three matrices.
    pub(crate) fn parts(&self) -> [&Array2<T>; 3] {
        [&self.visible, &self.hidden, &self.weights]
    }

    /// Its three matrices.
    pub(crate) fn parts_mut(&mut self) -> [&mut Array2<T>; 3] {
        [&mut self.visible, &mut self.hidden, &mut self.weights]
    }

    /// Calls `f` with pieces of its numbers and the corresponding ones of `other`.
    pub(crate) fn zip(&mut self, other: &mut Gradient<T>, f: impl Fn(&mut [T], &mut [T]) + Sync + Send) {
        for (a, b) in self.parts_mut().into_iter().zip(other.parts_mut()) {
            let many = a.len() >= MANY;
            threads::each(many, pieces(a.view_mut()).zip(pieces(b.view_mut())), |(a, b)| f(a, b));
        }
    }

    /// Calls `f` with pieces of its numbers and the corresponding ones of two others.
    pub(crate) fn zip3(
        &mut self,
        b: &mut Gradient<T>,
        c: &mut Gradient<T>,
        f: impl Fn(&mut [T], &mut [T], &mut [T]) + Sync + Send,
    ) {
        for ((a, b), c) in self.parts_mut().into_iter().zip(b.parts_mut()).zip(c.parts_mut()) {
            let many = a.len() >= MANY;
            let all = pieces(a.view_mut()).zip(pieces(b.view_mut())).zip(pieces(c.view_mut()));
            threads::each(many, all, |((a, b), c)| f(a, b, c));
        }
    }

    /// Multiplies every number.
    pub(crate) fn scale(&mut self, factor: T) {
        self.parts_mut().into_iter().for_each(|m| m.mapv_inplace(|x| x * factor));
    }

    /// Euclidean norm.
    pub(crate) fn norm(&self) -> f64 {
        let square = |m: &Array2<T>| m.as_slice().map_or(0.0, |m| dot(m, m));
        self.parts().into_iter().map(square).sum::<f64>().sqrt()
    }
}

impl<T: Real> Rbm<T> {
    /// A model of independent units: default parameters, weights zero.
    pub fn new(visible: Kind, n_visible: usize, hidden: Kind, n_hidden: usize) -> Result<Rbm<T>> {
        let columns = |kind: &Kind, sites: usize| kind.unit::<T>().width() as f64 * sites as f64;
        let (v, h) = (columns(&visible, n_visible), columns(&hidden, n_hidden));
        if let Some(sites) = [n_visible, n_hidden].into_iter().find(|n| *n > MOST_SITES) {
            let found = format!("{sites} sites");
            return Err(Error::Shape {
                what: "a layer".into(),
                expected: format!("at most {MOST_SITES} sites"),
                found,
            });
        }
        memory::check("n_hidden", n_hidden, size_of::<T>() as f64 * (v * h + v + h))?;
        let (visible, hidden) = (Layer::new(visible, n_visible), Layer::new(hidden, n_hidden));
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
        if hidden.kind.visible_only() {
            let problem = format!("{} is for visible layers only", hidden.kind);
            return Err(Error::UnitOption { kind: hidden.kind.name(), problem });
        }
        let expected = (visible.columns(), hidden.columns());
        if weights.dim() != expected {
            let (expected, found) = (format!("{expected:?}"), format!("{:?}", weights.dim()));
            return Err(Error::Shape { what: "weights".into(), expected, found });
        }
        check_numbers("weights", weights.iter(), f64::is_finite, || "finite".into())?;
        Ok(Rbm { visible, hidden, weights: standard(weights).into() })
    }

    /// The visible layer.
    pub fn visible(&self) -> &Layer<T> {
        &self.visible
    }

    /// The hidden layer.
    pub fn hidden(&self) -> &Layer<T> {
        &self.hidden
    }

    /// W, visible columns × hidden columns.
    pub fn weights(&self) -> ArrayView2<'_, T> {
        self.weights.view()
    }

    /// The model in another number type, rounded to nearest.
    pub fn cast<S: Real>(&self) -> Rbm<S> {
        let weights = self.weights.mapv(|x| S::of(x.f64())).into();
        Rbm { visible: self.visible.cast(), hidden: self.hidden.cast(), weights }
    }

    /// Lowers the model: η and W̃ = W/(s_v s_hᵀ) without offsets, and the constant of the energy.
    ///
    /// −(v−o_v)ᵀW̃(h−o_h) = −vᵀW̃h + vᵀ(W̃o_h) + (W̃ᵀo_v)ᵀh − o_vᵀW̃o_h, so the fields take −W̃o_h and −W̃ᵀo_v; and
    /// U(x) = −⟨η, T(x)⟩ + ⟨η, T(reference)⟩. Fields and constant are summed in f64, because offsets may be large.
    pub fn lower(&self) -> LoweredModel<T> {
        let lower = |layer: &Layer<T>| LoweredLayer::new(layer.kind.clone(), layer.natural().0);
        let mut lowered = LoweredModel::new(lower(&self.visible), lower(&self.hidden), self.weights.clone(), 0.0);
        self.lower_into(&mut lowered);
        lowered
    }

    /// Like [`lower`](Rbm::lower), into a model of the same shape.
    pub(crate) fn lower_into(&self, out: &mut LoweredModel<T>) {
        let weights = self.scaled_weights();
        if weights.is_plain() {
            self.share_weights(out);
        } else {
            weights.write(out.parts_mut().2.view_mut());
        }
        self.lower_layers(None, out);
    }

    /// 1/s of every column.
    fn scales(&self) -> Scales {
        if !self.visible.has_scale() && !self.hidden.has_scale() {
            return Scales::NONE;
        }
        let scale = |layer: &Layer<T>| layer.widen().natural().1;
        Scales::new(&scale(&self.visible), &scale(&self.hidden))
    }

    /// W̃, from W and the scales.
    pub(crate) fn scaled_weights(&self) -> ScaledWeights<'_, T> {
        ScaledWeights::new(self.weights.view(), self.scales())
    }

    /// The weights while they take a step; W̃ goes to `lowered`, see [`Stepping::new`].
    pub(crate) fn stepping<'a>(
        &'a mut self,
        step: Option<(T, &'a Array2<T>)>,
        lowered: &'a mut ArcArray2<T>,
    ) -> Stepping<'a, T> {
        let origins = (!self.is_plain()).then(|| [self.visible.origin(), self.hidden.origin()]);
        let scales = self.scales();
        Stepping::new(&mut self.weights, scales, origins, step, lowered)
    }

    /// Shares W with a lowered model whose W̃ is W.
    pub(crate) fn share_weights(&self, out: &mut LoweredModel<T>) {
        *out.parts_mut().2 = self.weights.clone();
    }

    /// Whether a lowered model shares this W.
    pub(crate) fn shares_weights(&self, with: &LoweredModel<T>) -> bool {
        self.weights.dim() == with.weights().dim() && self.weights.as_ptr() == with.weights().as_ptr()
    }

    /// Lowers everything except W̃; `products` are W̃o_h and W̃ᵀo_v, if they are known.
    pub(crate) fn lower_layers(&self, products: Option<(Array1<f64>, Array1<f64>)>, out: &mut LoweredModel<T>) {
        let (visible, hidden, _, constant) = out.parts_mut();
        if self.is_plain() {
            visible.eta_mut().assign(&self.visible.par);
            hidden.eta_mut().assign(&self.hidden.par);
            *constant = 0.0;
            return;
        }
        let (o_v, o_h) = (self.visible.origin(), self.hidden.origin());
        let (wide_v, wide_h) = (self.visible.widen(), self.hidden.widen());
        let (eta_v, eta_h) = (wide_v.natural().0, wide_h.natural().0);
        let (d_v, d_h) = products.unwrap_or_else(|| self.scaled_weights().products(&o_h, &o_v));
        let own = lower_layer(&wide_v, eta_v, &d_v, visible) + lower_layer(&wide_h, eta_h, &d_h, hidden);
        *constant = own - o_v.dot(&d_v);
    }

    /// Whether lowering changes nothing: both layers have biases only, with offset zero.
    pub(crate) fn is_plain(&self) -> bool {
        self.visible.is_plain() && self.hidden.is_plain()
    }

    /// The origins of v and h, if they are not all zero.
    pub(crate) fn origins(&self) -> Option<[Vec<T>; 2]> {
        if self.is_plain() {
            return None;
        }
        let origins =
            [&self.visible, &self.hidden].map(|layer| layer.origin().iter().map(|o| T::of(*o)).collect::<Vec<_>>());
        origins.iter().flatten().any(|o| *o != T::zero()).then_some(origins)
    }

    /// Takes a step: adds `scale`·`step` to every parameter, in the (centred) coordinates of the model.
    pub fn step(&mut self, scale: T, step: &Gradient<T>) {
        self.step_layers(scale, step);
        self.step_weights(scale, &step.weights);
    }

    /// Takes the step of the layers; a backend may take that of the weights, see [`follow`](crate::backend::Backend::follow).
    pub fn step_layers(&mut self, scale: T, step: &Gradient<T>) {
        self.visible.par.scaled_add(scale, &step.visible);
        self.hidden.par.scaled_add(scale, &step.hidden);
    }

    /// Takes the step of the weights.
    pub(crate) fn step_weights(&mut self, scale: T, step: &Array2<T>) {
        let parallel = self.weights.len() >= MANY;
        let steps = step.as_slice().unwrap_or(&[]).chunks(PIECE);
        threads::each(parallel, pieces(self.weights.view_mut()).zip(steps), |(w, s)| add_times(scale, s, w));
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Layer<T>, &mut Layer<T>, &mut ArcArray2<T>) {
        (&mut self.visible, &mut self.hidden, &mut self.weights)
    }
}

/// Lowers a layer with natural parameters `eta` and its field reduced by `taken`; returns its part ⟨η, T(reference)⟩ of the
/// constant of the energy.
fn lower_layer<T: Real>(
    layer: &Layer<f64>,
    mut eta: Array2<f64>,
    taken: &Array1<f64>,
    out: &mut LoweredLayer<T>,
) -> f64 {
    let mut t = Array2::zeros(eta.dim());
    layer.kind.unit::<f64>().stats(&layer.own_reference(), t.view_mut());
    let constant = eta.as_slice().zip(t.as_slice()).map_or(f64::NAN, |(eta, t)| dot(eta, t));
    let mut field = eta.row_mut(0);
    field -= taken;
    Zip::from(out.eta_mut()).and(&eta).for_each(|out, eta| *out = T::of(*eta));
    constant
}
