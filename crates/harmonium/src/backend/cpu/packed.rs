//! A model as the kernels read it: two-valued units as bits, weights in panels for both directions.
//!
//! A two-valued unit is x = low + d·b with a bit b. Its value enters the other layer's input as low·ΣW + d·Σ b W, and
//! the odds of its own bit are exp(d·I + ⟨η, T(high) − T(low)⟩). So spins are bits with other weights and fields, and
//! kernels need not distinguish them.

use super::bit_values;
use super::epilogue::{Heat, Odds};
use super::panels::{self, Panel, Panels, Strip, WIDTH, panels_of};
use super::rounded::rounded;
use crate::lowered::{LoweredLayer, LoweredModel, Pass};
use crate::math::add_times;
use crate::real::Real;
use crate::scaled_weights::{Block, Change, Chart, Products, ROWS, Stepping};
use crate::simd::Level;
use ndarray::{ArcArray2, Array1, Array2, ArrayView2};

// Blocks of a stepping W are those of panels.
const _: () = assert!(ROWS == WIDTH);

/// Both directions of a model.
#[derive(Default)]
pub struct PackedModel<T> {
    pub up: Direction<T>,
    pub down: Direction<T>,
    /// Made when first needed.
    tail: Option<Tail<T>>,
}

/// The last panels of the way up with two more columns, the visible fields at β = 1 and at β = 0, so that ⟨η, v⟩ and
/// ⟨base, v⟩ come out of the product that gives the hidden inputs. For visible units with one statistic.
pub struct Tail<T> {
    /// Panels before these.
    first: usize,
    panels: Vec<Vec<Strip<T>>>,
    /// ⟨η, v⟩ and ⟨base, v⟩ where all bits are 0.
    pub at_low: [f64; 2],
}

impl<T: Real> Tail<T> {
    /// Panel `p` of the whole, if it is one of the last.
    pub fn panel(&self, p: usize) -> Option<Panel<'_, T>> {
        Some(Panel::from(self.panels.get(p.checked_sub(self.first)?)?.as_slice()))
    }

    fn new(up: &Direction<T>, base: Option<&Array2<T>>, lowered: &LoweredModel<T>) -> Tail<T> {
        let (n, m) = lowered.weights().dim();
        let [low, high] = bit_values(lowered.visible());
        let none = Array2::zeros(lowered.visible().eta().dim());
        let fields = [lowered.visible().eta(), base.unwrap_or(&none).view()];
        let first = m / WIDTH;
        let mut panels: Vec<_> = (first..panels_of(m + 2)).map(|_| vec![Strip::zero(); n]).collect();
        if m % WIDTH > 0 {
            panels[0].copy_from_slice(up.panels.panel(first).strips);
        }
        for (k, eta) in fields.iter().enumerate() {
            let (p, c) = ((m + k) / WIDTH - first, (m + k) % WIDTH);
            panels[p].iter_mut().zip(eta.row(0)).for_each(|(strip, x)| strip.0[c] = (high - low) * *x);
        }
        let at_low = fields.map(|eta| eta.row(0).iter().map(|x| x.f64()).sum::<f64>() * low.f64());
        Tail { first, panels, at_low }
    }
}

/// One direction: how the bits or numbers of one layer, the given one, act on the other.
#[derive(Default)]
pub struct Direction<T> {
    /// Weights, times d of the given layer, times d of the other if its units are bits.
    pub panels: Panels<T>,
    /// Log odds of the other layer's bits at input zero; empty if they are not bits.
    pub field: Vec<Strip<T>>,
    /// Natural parameters of the other layer, the low values of the given one absorbed.
    pub eta: Array2<T>,
    /// The other layer's natural parameters and log odds at inverse temperature 0, if they were set.
    pub base: Option<(Array2<T>, Vec<Strip<T>>)>,
    /// What divides an input in the panels' units to give one in the unit's own: d of the other layer, or 1.
    pub gain: T,
}

impl<T: Real> PackedModel<T> {
    /// Takes a model's numbers.
    pub fn set(&mut self, level: Level, lowered: &LoweredModel<T>) {
        // A model's weights are in standard layout.
        let weights = lowered.weights().to_slice().unwrap_or(&[]);
        let blocks = weights.chunks(WIDTH * lowered.hidden().columns());
        self.set_panels(level, lowered.visible(), lowered.hidden(), blocks, |w| w);
        self.set_fields(lowered);
    }

    /// Takes weights in a chart, after a change if there is one, and returns their products with the origins. The fields must be
    /// [set](PackedModel::set_fields) next.
    pub fn follow(
        &mut self,
        level: Level,
        weights: &mut ArcArray2<T>,
        chart: &Chart,
        change: Option<Change<T>>,
        lowered: &mut LoweredModel<T>,
    ) -> Option<Products> {
        let (visible, hidden, out, _) = lowered.parts_mut();
        let mut stepping = Stepping::new(weights, chart, out);
        let is_plain = stepping.is_plain();
        self.set_panels(level, visible, hidden, stepping.blocks(change), Block::stepped);
        let products = stepping.finish();
        if is_plain {
            *out = weights.clone();
        }
        products
    }

    /// Takes weights, of which `rows` makes 32 rows at a time.
    fn set_panels<'a, P: Send>(
        &mut self,
        level: Level,
        visible: &LoweredLayer<T>,
        hidden: &LoweredLayer<T>,
        blocks: impl Iterator<Item = P>,
        rows: impl Fn(P) -> &'a [T] + Sync + Send,
    ) {
        let shape = (visible.columns(), hidden.columns());
        let up = (&mut self.up.panels, scale(visible, hidden));
        let down = (&mut self.down.panels, scale(hidden, visible));
        panels::set(level, shape, blocks, rows, up, down);
    }

    /// Takes everything else.
    pub fn set_fields(&mut self, lowered: &LoweredModel<T>) {
        self.tail = None;
        self.up.set(&lowered.up());
        self.down.set(&lowered.down());
    }

    /// Both directions of a model whose weights are rounded to 16 bits, if its units are bits and that is faster.
    pub fn rounded(level: Level, lowered: &LoweredModel<T>, base: Option<[Array2<T>; 2]>) -> Option<PackedModel<T>> {
        let d = |side: &LoweredLayer<T>| side.two_values().map(|[low, high]| high - low);
        let gain = d(lowered.visible())? * d(lowered.hidden())?;
        let (short, step) = rounded(lowered)?;
        let mut packed = PackedModel::default();
        packed.set(level, &short);
        if let Some(base) = base {
            packed.set_base(&short, base);
        }
        for direction in [&mut packed.up, &mut packed.down] {
            direction.panels.shorten(gain * step);
        }
        Some(packed)
    }

    /// The natural parameters at inverse temperature 0, visible and hidden, if they were set.
    pub fn base(&self) -> Option<[Array2<T>; 2]> {
        let [down, up] = [&self.down, &self.up].map(|direction| direction.base.as_ref().map(|base| base.0.clone()));
        Some([down?, up?])
    }

    /// The panels that give the hidden inputs and, for visible units with one statistic, ⟨η, v⟩ and ⟨base, v⟩ beside them.
    pub fn make_tail(&mut self, lowered: &LoweredModel<T>) {
        if self.tail.is_none() && lowered.visible().statistics().0 == 1 {
            self.tail = Some(Tail::new(&self.up, self.down.base.as_ref().map(|b| &b.0), lowered));
        }
    }

    /// What [`PackedModel::make_tail`] made.
    pub fn tail(&self) -> Option<&Tail<T>> {
        self.tail.as_ref()
    }

    /// Panel `p` of the way up, the tail's where there is one.
    pub fn up_panel(&self, p: usize) -> Panel<'_, T> {
        self.tail.as_ref().and_then(|tail| tail.panel(p)).unwrap_or_else(|| self.up.panels.panel(p))
    }

    /// Takes the natural parameters at inverse temperature 0.
    pub fn set_base(&mut self, lowered: &LoweredModel<T>, [visible, hidden]: [Array2<T>; 2]) {
        self.tail = None;
        self.up.set_base(lowered.hidden(), hidden);
        self.down.set_base(lowered.visible(), visible);
    }
}

impl<T: Real> Direction<T> {
    /// Natural parameters at inverse temperature β.
    pub fn tempered(&self, beta: T, out: &mut Array2<T>) {
        out.assign(&self.eta);
        match &self.base {
            None => out.row_mut(0).mapv_inplace(|x| beta * x),
            Some((base, _)) => out.zip_mut_with(base, |x, b| *x = *b + beta * (*x - *b)),
        }
    }

    /// The log odds of a panel's bits, at every row's inverse temperature if given.
    pub fn odds<'a>(&'a self, panel: usize, beta: Option<&'a [T]>) -> Odds<'a, T> {
        let base = self.base.as_ref().map(|b| &b.1[panel]);
        Odds { field: &self.field[panel], heat: beta.map(|beta| Heat { beta, base }) }
    }

    fn set_base(&mut self, to: &LoweredLayer<T>, base: Array2<T>) {
        let mut odds = Vec::new();
        if let Some(values) = to.two_values() {
            log_odds(values, &base, &mut odds);
        }
        self.base = Some((base, odds));
    }

    /// Takes everything but the weights.
    fn set(&mut self, pass: &Pass<T>) {
        let [low, _] = bit_values(pass.from);
        if self.eta.dim() == pass.to.eta().dim() {
            self.eta.assign(&pass.to.eta());
        } else {
            self.eta = pass.to.eta().to_owned();
        }
        if low != T::zero() {
            let sums = column_sums(pass.weights);
            self.eta.row_mut(0).zip_mut_with(&sums, |e, s| *e += T::of(low.f64() * s));
        }
        let values = bit_values(pass.to);
        self.gain = values[1] - values[0];
        self.field.clear();
        if pass.to.two_values().is_some() {
            log_odds(values, &self.eta, &mut self.field);
        }
    }
}

/// The factor of the weights in panels from one layer to the other.
fn scale<T: Real>(from: &LoweredLayer<T>, to: &LoweredLayer<T>) -> T {
    let ([low, high], [bottom, top]) = (bit_values(from), bit_values(to));
    (top - bottom) * (high - low)
}

/// ⟨η, T(high) − T(low)⟩ of every column, with T(x) = x or (x, x²).
fn log_odds<T: Real>([low, high]: [T; 2], eta: &Array2<T>, out: &mut Vec<Strip<T>>) {
    out.clear();
    out.resize(panels_of(eta.ncols()), Strip::zero());
    let rows = eta.as_standard_layout();
    let rows = rows.as_slice().unwrap_or(&[]).chunks(eta.ncols());
    for (eta, difference) in rows.zip([high - low, high * high - low * low]) {
        for (out, eta) in out.iter_mut().zip(eta.chunks(WIDTH)) {
            add_times(difference, eta, &mut out.0[..eta.len()]);
        }
    }
}

/// Σ_i W_ij in f64.
fn column_sums<T: Real>(weights: ArrayView2<T>) -> Array1<f64> {
    let mut sums = Array1::zeros(weights.ncols());
    for row in weights.rows() {
        sums.zip_mut_with(&row, |s: &mut f64, w| *s += w.f64());
    }
    sums
}
