//! The layers of a model, as they are trained and saved: parameters of units, offsets, and what lowering makes of them.

use crate::error::{Error, Result};
use crate::layout::{Block, Layout};
use crate::lowered::LoweredLayer;
use crate::math::dot;
use crate::real::Real;
use crate::scaled_weights::{Chart, Products, Scales};
use crate::units::{Kind, Origin};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

/// One layer: its units, their trainable parameters, and the centering offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T> {
    layout: Layout,
    par: Array2<T>,
    offset: Array1<T>,
}

impl<T: Real> Layer<T> {
    /// A layer of `sites` units with default parameters and offset zero.
    pub fn new(kind: Kind, sites: usize) -> Layer<T> {
        Layer::with_defaults(Layout::new(kind, sites))
    }

    /// A layer with default parameters and offset zero.
    pub fn with_defaults(layout: Layout) -> Layer<T> {
        let mut par = Array2::zeros(layout.parameters());
        for (field, row, columns) in layout.fields() {
            columns.into_iter().for_each(|c| par.slice_mut(s![row, c]).fill(T::of(field.default)));
        }
        Layer { par, offset: Array1::zeros(layout.columns()), layout }
    }

    /// A layer of one kind from its parameters (one row per field, one entry per column) and offset.
    pub fn from_parts(kind: Kind, par: Array2<T>, offset: Array1<T>) -> Result<Layer<T>> {
        let sites = par.ncols() / kind.unit::<T>().width();
        Layer::from_layout(Layout::new(kind, sites), par, offset)
    }

    /// A layer from its parameters and offset. A parameter that a block does not have is 0.
    pub fn from_layout(layout: Layout, par: Array2<T>, offset: Array1<T>) -> Result<Layer<T>> {
        let shape = |what: &str, expected: String, found: String| Error::Shape { what: what.into(), expected, found };
        if par.dim() != layout.parameters() || par.ncols() == 0 {
            let width = layout.single().map_or(1, |b| b.kind().unit::<T>().width());
            let expected = match layout.single() {
                Some(_) => format!("{} x a positive multiple of {width}", layout.parameters().0),
                None => format!("{:?}", layout.parameters()),
            };
            return Err(shape("a layer's parameters", expected, format!("{:?}", par.dim())));
        }
        if offset.len() != par.ncols() {
            return Err(shape("a layer's offset", par.ncols().to_string(), offset.len().to_string()));
        }
        let mut unused = Array2::from_elem(par.dim(), true);
        for (field, row, columns) in layout.fields() {
            let (lo, hi) = field.range;
            for columns in columns {
                let numbers = par.slice(s![row, columns.clone()]);
                check_numbers(
                    field.name,
                    columns.start,
                    numbers,
                    |x| (lo..=hi).contains(&x),
                    || in_words(field.range),
                )?;
                unused.slice_mut(s![row, columns]).fill(false);
            }
        }
        if let Some((at, _)) = par.indexed_iter().find(|(at, x)| unused[*at] && **x != T::zero()) {
            let what = "a parameter that its unit does not have".into();
            return Err(Error::Parameter { what, index: at.1, value: par[at].f64(), domain: "0".into() });
        }
        check_numbers("offset", 0, &offset, f64::is_finite, || "finite".into())?;
        Ok(Layer { layout, par: standard(par), offset: offset.as_standard_layout().into_owned() })
    }

    /// Its units.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The kind of the units, if all are of one kind.
    pub fn kind(&self) -> Option<&Kind> {
        self.layout.kind()
    }

    /// Number of units.
    pub fn sites(&self) -> usize {
        self.layout.sites()
    }

    /// Number of columns: of every unit its columns.
    pub fn columns(&self) -> usize {
        self.layout.columns()
    }

    /// Trainable parameters, one row per field of the unit.
    pub fn par(&self) -> ArrayView2<'_, T> {
        self.par.view()
    }

    /// The parameters of the field called `name`, if a unit has it; 0 for units that do not.
    pub fn field(&self, name: &str) -> Option<ArrayView1<'_, T>> {
        self.layout.fields().into_iter().find(|(field, ..)| field.name == name).map(|(_, row, _)| self.par.row(row))
    }

    /// The offset α or β.
    pub fn offset(&self) -> ArrayView1<'_, T> {
        self.offset.view()
    }

    /// The origin of the coupling, in f64.
    pub(crate) fn origin(&self) -> Array1<f64> {
        let mut origin = self.offset.mapv(T::f64);
        let mut moving = self.layout.moving_columns().peekable();
        if moving.peek().is_some() {
            let reference = self.reference();
            moving.for_each(|c| origin[c] = reference[c]);
        }
        origin
    }

    /// Whether its parameters are the natural ones: biases only, with offset zero.
    fn is_plain(&self) -> bool {
        // No early exit, so that this compiles to SIMD code.
        let moved = self.offset.as_slice().unwrap_or(&[]).iter().fold(false, |any, x| any | (*x != T::zero()));
        let plain = |b: &Block| {
            let unit = b.unit::<T>();
            unit.fields().len() == 1 && unit.n_stats() == 1 && unit.origin() == Origin::Offset
        };
        self.layout.blocks().iter().all(plain) && !moved
    }

    /// Whether its coupling can have a scale; see [`Unit::fields`](crate::units::Unit::fields).
    pub(crate) fn has_scale(&self) -> bool {
        self.layout.blocks().iter().any(|b| b.unit::<T>().fields().len() > 1 || b.unit::<T>().n_stats() > 1)
    }

    /// The point where U(x) = 0, in f64.
    fn reference(&self) -> Array1<f64> {
        self.widen().own_reference().into()
    }

    /// The chart: η and the coupling scale s of every column.
    pub(crate) fn natural(&self) -> (Array2<T>, Array1<T>) {
        let mut eta = Array2::zeros(self.layout.statistics());
        let mut scale = vec![T::zero(); self.columns()];
        self.layout.natural(self.par.view(), self.offset.view(), eta.view_mut(), &mut scale);
        (eta, scale.into())
    }

    /// The layer by itself, in natural parameters.
    pub(crate) fn lowered(&self) -> LoweredLayer<T> {
        LoweredLayer::new(self.layout.clone(), self.natural().0)
    }

    /// The point where U(x) = 0.
    fn own_reference(&self) -> Vec<T> {
        let mut x = vec![T::zero(); self.columns()];
        self.layout.reference(self.par.view(), self.offset.view(), &mut x);
        x
    }

    /// The same layer in f64.
    pub(crate) fn widen(&self) -> Layer<f64> {
        Layer { layout: self.layout.clone(), par: self.par.mapv(T::f64), offset: self.offset.mapv(T::f64) }
    }

    /// The layer in another number type, rounded to nearest.
    pub(crate) fn cast<S: Real>(&self) -> Layer<S> {
        let to = |x: T| S::of(x.f64());
        Layer { layout: self.layout.clone(), par: self.par.mapv(to), offset: self.offset.mapv(to) }
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Layout, &mut Array2<T>, &mut Array1<T>) {
        (&mut self.layout, &mut self.par, &mut self.offset)
    }
}

/// Row-major, without a copy if it is already.
pub(crate) fn standard<T: Real>(m: Array2<T>) -> Array2<T> {
    if m.is_standard_layout() { m } else { m.as_standard_layout().into_owned() }
}

/// A range as text: "finite", or "between lo and hi".
fn in_words((lo, hi): (f64, f64)) -> String {
    if lo == -f64::MAX && hi == f64::MAX { "finite".into() } else { format!("between {lo} and {hi}") }
}

/// Returns an error for the first number that is not valid; `first` is the index of the first one.
pub(crate) fn check_numbers<'a, T: Real>(
    what: &str,
    first: usize,
    numbers: impl IntoIterator<Item = &'a T>,
    valid: impl Fn(f64) -> bool,
    domain: impl Fn() -> String,
) -> Result<()> {
    for (index, x) in (first..).zip(numbers) {
        if !valid(x.f64()) {
            return Err(Error::Parameter { what: what.into(), index, value: x.f64(), domain: domain() });
        }
    }
    Ok(())
}

/// Both layers of a model, without the weights between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers<T> {
    /// The visible layer.
    pub visible: Layer<T>,
    /// The hidden layer.
    pub hidden: Layer<T>,
}

impl<T: Real> Layers<T> {
    /// Visible and hidden.
    pub(crate) fn both(&self) -> [&Layer<T>; 2] {
        [&self.visible, &self.hidden]
    }

    /// Visible and hidden.
    pub(crate) fn both_mut(&mut self) -> [&mut Layer<T>; 2] {
        [&mut self.visible, &mut self.hidden]
    }

    /// Whether lowering changes nothing: both layers have biases only, with offset zero.
    pub(crate) fn is_plain(&self) -> bool {
        self.visible.is_plain() && self.hidden.is_plain()
    }

    /// The origins of v and h; none for a plain model.
    pub(crate) fn origins(&self) -> Option<[Array1<f64>; 2]> {
        (!self.is_plain()).then(|| self.both().map(Layer::origin))
    }

    /// The coordinates of the weights.
    pub(crate) fn chart(&self) -> Chart {
        let has_scale = self.visible.has_scale() || self.hidden.has_scale();
        let [s_v, s_h] = self.both().map(|layer| if has_scale { layer.widen().natural().1 } else { Array1::zeros(0) });
        let scales = if has_scale { Scales::new(&s_v, &s_h) } else { Scales::NONE };
        Chart { scales, origins: self.origins(), has_scale }
    }

    /// Lowers both layers, with W̃o_h and W̃ᵀo_v unless the model is plain: natural parameters, visible and hidden, and the constant
    /// of the energy.
    ///
    /// −(v−o_v)ᵀW̃(h−o_h) = −vᵀW̃h + vᵀ(W̃o_h) + (W̃ᵀo_v)ᵀh − o_vᵀW̃o_h, so the fields take −W̃o_h and −W̃ᵀo_v; and
    /// U(x) = −⟨η, T(x)⟩ + ⟨η, T(reference)⟩. Fields and constant are summed in f64, because offsets may be large.
    pub(crate) fn lower(&self, products: Option<Products>) -> ([Array2<T>; 2], f64) {
        let Some((d_v, d_h)) = products else { return (self.both().map(|layer| layer.par.clone()), 0.0) };
        let (visible, own_v) = lower_layer(&self.visible.widen(), &d_v);
        let (hidden, own_h) = lower_layer(&self.hidden.widen(), &d_h);
        ([visible, hidden], own_v + own_h - self.visible.origin().dot(&d_v))
    }

    /// Takes a step: adds `scale`·`step` to every parameter, visible and hidden.
    pub(crate) fn step(&mut self, scale: T, step: [&Array2<T>; 2]) {
        self.both_mut().into_iter().zip(step).for_each(|(layer, step)| layer.par.scaled_add(scale, step));
    }
}

/// Lowers a layer with its field reduced by `taken`; returns its natural parameters and its part ⟨η, T(reference)⟩ of the constant of
/// the energy.
fn lower_layer<T: Real>(layer: &Layer<f64>, taken: &Array1<f64>) -> (Array2<T>, f64) {
    let mut eta = layer.natural().0;
    let mut t = Array2::zeros(eta.dim());
    layer.layout.stats(&layer.own_reference(), t.view_mut());
    let constant = eta.as_slice().zip(t.as_slice()).map_or(f64::NAN, |(eta, t)| dot(eta, t));
    let mut field = eta.row_mut(0);
    field -= taken;
    (eta.mapv(T::of), constant)
}
