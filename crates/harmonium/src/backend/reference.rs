//! The formulas as they stand, one row after another: what other backends are compared with, and what a new one may start from.

use super::fixed::FixedSums;
use super::{Backend, Chains, Chart, Comm, Device, Learner, Makes, Part, Phase, Products, Side, Slope, SlopeOptions};
use super::{Slot, Start, Step, Sweeps};
use crate::bits::Bits;
use crate::error::Result;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::optimize::{self, MOMENTS, Optimizer};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::stats::{LayerMeans, Stats};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The formulas as a device, which counts what crosses to it and back.
#[derive(Debug, Default)]
pub struct Reference {
    copies: Arc<AtomicU64>,
}

impl Reference {
    /// How many matrices as large as the weights were copied to it or from it, since it was made.
    pub fn copies(&self) -> u64 {
        self.copies.load(Ordering::Relaxed)
    }
}

impl Device for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }
}

impl<T: Real> Makes<T> for Reference {
    fn make_backend(&self, model: LoweredModel<T>) -> Result<Box<dyn Backend<T>>> {
        Ok(Box::new(self.plain(model)))
    }

    fn make_learner(&self, start: Start<T>) -> Result<Box<dyn Learner<T>>> {
        Ok(Box::new(PlainLearner::new(self, start)?))
    }
}

/// Rows of columns.
#[derive(Clone, Debug, Default)]
struct ChainRows<T> {
    visible: Array2<T>,
    hidden: Option<Array2<T>>,
    clamped: Option<(Bits, Array2<T>)>,
    first: u64,
}

/// A model and its chains.
struct Plain<T> {
    model: LoweredModel<T>,
    base: Option<[Array2<T>; 2]>,
    slots: Vec<ChainRows<T>>,
    copies: Arc<AtomicU64>,
}

impl Reference {
    fn plain<T: Real>(&self, model: LoweredModel<T>) -> Plain<T> {
        Plain { model, base: None, slots: Vec::new(), copies: self.copies.clone() }
    }
}

impl<T: Real> Plain<T> {
    /// A matrix as large as the weights crosses.
    fn count(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    fn slot(&mut self, slot: Slot) -> &mut ChainRows<T> {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, ChainRows::default);
        }
        &mut self.slots[slot]
    }

    /// The model at the inverse temperature of row r.
    fn at(&self, beta: Option<&[T]>, r: usize) -> LoweredModel<T> {
        let base = || self.base.clone().unwrap_or_else(|| self.model.flat());
        beta.map_or_else(|| self.model.clone(), |beta| self.model.tempered(&base(), beta[r]))
    }

    /// What `each` makes of rows with their model and the number of the first.
    fn rows(
        &self,
        of: &Array2<T>,
        beta: Option<&[T]>,
        each: impl Fn(&LoweredModel<T>, ArrayView2<T>, u64) -> Array2<T>,
    ) -> Array2<T> {
        if beta.is_none() {
            return each(&self.model, of.view(), 0);
        }
        let row = |r| each(&self.at(beta, r), of.slice(s![r..=r, ..]), r as u64);
        let rows: Vec<_> = (0..of.nrows()).map(row).collect();
        let views: Vec<_> = rows.iter().map(|row| row.view()).collect();
        concatenate(Axis(0), &views).unwrap_or_else(|_| of.clone())
    }

    fn sweep(&self, chains: &mut ChainRows<T>, step: u64, sweeps: Sweeps<T>) {
        let key = |purpose| sweeps.key.of(purpose).step(step);
        let (first, visible) = (chains.first, &chains.visible);
        let up = |m: &LoweredModel<T>, v: ArrayView2<T>, r| m.up().sample(v, key(Purpose::Hidden), first + r);
        let hidden = chains.hidden.take().unwrap_or_else(|| self.rows(visible, sweeps.beta, up));
        let down = |m: &LoweredModel<T>, h: ArrayView2<T>, r| m.down().sample(h, key(Purpose::Visible), first + r);
        let drawn = self.rows(&hidden, sweeps.beta, down);
        let site_of = self.model.visible().site_of_columns();
        chains.visible = match &chains.clamped {
            None => drawn,
            Some((known, values)) => Array2::from_shape_fn(drawn.dim(), |(r, c)| {
                if known.get(r, site_of[c]) { values[[r, c]] } else { drawn[[r, c]] }
            }),
        };
    }
}

impl<T: Real> Chains<T> for Plain<T> {
    fn layers(&self) -> [&LoweredLayer<T>; 2] {
        self.model.layers()
    }

    fn model(&self) -> LoweredModel<T> {
        self.count();
        self.model.clone()
    }

    fn set_base(&mut self, base: [Array2<T>; 2]) {
        self.base = Some(base);
    }

    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>) {
        let chosen = which.map_or_else(|| rows.clone(), |which| rows.select(which));
        let visible = chosen.columns(self.model.visible(), 0, chosen.rows());
        *self.slot(slot) = ChainRows { visible, hidden: None, clamped: None, first: 0 };
    }

    fn get(&self, slot: Slot) -> States<T> {
        States::of(self.model.visible(), self.slots[slot].visible.view())
    }

    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>) {
        let mut chains = std::mem::take(self.slot(slot));
        (sweeps.first..sweeps.first + sweeps.steps).for_each(|step| self.sweep(&mut chains, step, sweeps));
        self.slots[slot] = chains;
    }

    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], _: Option<(Key, u64)>) -> Array2<f64> {
        let x = &self.slots[slot].visible;
        let one = |r: usize, k: usize| -self.at(betas[k], r).up().free_energy(x.slice(s![r..=r, ..]))[0];
        Array2::from_shape_fn((x.nrows(), betas.len()), |(r, k)| one(r, k))
    }

    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64> {
        self.model.up().free_energy(rows.columns(self.model.visible(), 0, rows.rows()).view())
    }

    fn layer_means(&mut self, slot: Slot, weights: Option<&[T]>) -> LayerMeans<T> {
        let sums = sums(&self.model, &self.slots[slot].visible, weights);
        let Stats { visible, hidden, .. } = sums.mean();
        LayerMeans { visible, hidden, weight: sums.weight }
    }
}

/// The sums of some rows.
fn sums<T: Real>(model: &LoweredModel<T>, rows: &Array2<T>, weights: Option<&[T]>) -> Stats<T> {
    let weights = weights.map_or_else(|| Array1::ones(rows.nrows()), |w| Array1::from(w.to_vec()));
    model.up().stats(rows.view(), weights.view())
}

impl<T: Real> Backend<T> for Plain<T> {
    fn load(&mut self, model: &LoweredModel<T>) {
        self.count();
        self.model = model.clone();
    }

    fn number(&mut self, slot: Slot, first: u64) {
        self.slot(slot).first = first;
    }

    fn clamp(&mut self, slot: Slot, known: Option<&Bits>) {
        let chains = self.slot(slot);
        chains.clamped = known.map(|known| (known.clone(), chains.visible.clone()));
    }

    fn put_hidden(&mut self, slot: Slot, rows: &States<T>) {
        let hidden = rows.columns(self.model.hidden(), 0, rows.rows());
        self.slot(slot).hidden = Some(hidden);
    }

    fn hidden(&self, slot: Slot) -> Option<States<T>> {
        self.slots[slot].hidden.as_ref().map(|rows| States::of(self.model.hidden(), rows.view()))
    }
}

/// A model whose weights learn.
struct PlainLearner<T> {
    plain: Plain<T>,
    weights: Array2<T>,
    chart: Chart,
    difference: Stats<T>,
    optimizer: Box<dyn Optimizer<T>>,
    moments: [Array2<T>; MOMENTS],
    average: Array2<T>,
    comm: Arc<dyn Comm>,
    sums: [FixedSums; 2],
}

impl<T: Real> PlainLearner<T> {
    fn new(device: &Reference, start: Start<T>) -> Result<PlainLearner<T>> {
        let Start { model, weights, chart, optimizer, comm, .. } = start;
        let zeros = || Array2::zeros(weights.dim());
        Ok(PlainLearner {
            difference: Stats::zeros(&model),
            plain: device.plain(model),
            chart,
            optimizer: optimize::new(&optimizer)?,
            moments: [zeros(), zeros()],
            average: weights.clone(),
            weights,
            comm,
            sums: Default::default(),
        })
    }

    /// s_v s_hᵀ for a visible and a hidden column.
    fn scale(&self, i: usize, j: usize) -> f64 {
        self.chart.inverse_scales().map_or(1.0, |[v, h]| 1.0 / (v[i] * h[j]))
    }

    /// Adds a phase.
    fn add(&mut self, side: Side, times: f64, sums: &Stats<T>, means: &mut LayerMeans<T>) {
        if side == Side::Data {
            self.difference = Stats::zeros(&self.plain.model);
        }
        self.difference.add_scaled(if side == Side::Data { times } else { -times }, sums);
        if let (Side::Model, Some(points)) = (side, self.chart.points()) {
            self.difference.measure_from(&points);
        }
        means.of(&self.difference);
    }

    /// W̃ of the weights and the chart.
    fn lower(&mut self) {
        let lowered =
            Array2::from_shape_fn(self.weights.dim(), |(i, j)| T::of(self.weights[[i, j]].f64() / self.scale(i, j)));
        *self.plain.model.parts_mut().2 = lowered.into();
    }
}

impl<T: Real> Learner<T> for PlainLearner<T> {
    fn backend(&self) -> &dyn Backend<T> {
        &self.plain
    }

    fn backend_mut(&mut self) -> &mut dyn Backend<T> {
        &mut self.plain
    }

    fn accumulate(&mut self, phase: &Phase<T>, means: &mut LayerMeans<T>) {
        let PlainLearner { plain: Plain { model, slots, .. }, sums: fixed, comm, .. } = self;
        let rows = &slots[phase.slot].visible;
        let fixed = &mut fixed[phase.side as usize];
        let starts = (0..rows.nrows()).step_by(phase.shard.max(1)).map(|a| (a, rows.nrows().min(a + phase.shard)));
        let shards: Vec<_> = starts
            .map(|(a, b)| sums(model, &rows.slice(s![a..b, ..]).to_owned(), phase.weights.map(|w| &w[a..b])))
            .collect();
        let mut count = [shards.len() as i64];
        comm.all_sum(&mut count);
        let numbers = |sums: &Stats<T>| -> Vec<T> {
            sums.visible.iter().chain(&sums.hidden).chain(&sums.cross).copied().collect()
        };
        let mut all = Stats::zeros(model);
        let len = numbers(&all).len();
        fixed.sum(&**comm, &vec![1; len + 1], count[0] as usize, |fixed| {
            shards.iter().for_each(|shard| (fixed.add(0, &numbers(shard)), fixed.add(len, &[shard.weight])).0);
        });
        let (mut read, mut weight) = (vec![T::zero(); len], [0.0]);
        fixed.read(0, &mut read);
        fixed.read(len, &mut weight);
        let parts = all.visible.iter_mut().chain(&mut all.hidden).chain(&mut all.cross);
        parts.zip(read).for_each(|(x, read)| *x = read);
        all.weight = weight[0];
        self.add(phase.side, phase.times / weight[0], &all, means);
    }

    fn take(&mut self, side: Side, given: &Stats<T>, means: &mut LayerMeans<T>) {
        self.plain.count();
        self.add(side, 1.0, given, means);
    }

    fn slope(&mut self, options: SlopeOptions) -> Slope<T> {
        let (n, m) = self.weights.dim();
        let mut slope = Slope { virials: [n, m].map(|len| vec![T::zero(); len]), energy: 0.0, square: 0.0 };
        for ((i, j), w) in self.weights.indexed_iter() {
            let (scale, lowered) = (self.scale(i, j), self.plain.model.weights()[[i, j]]);
            let c = &mut self.difference.cross[[i, j]];
            slope.virials[0][i] -= lowered * *c;
            slope.virials[1][j] -= lowered * *c;
            slope.energy += lowered.f64() * c.f64();
            let sign = if *w == T::zero() { *w } else { w.signum() };
            *c = T::of(c.f64() / scale) - T::of(options.l1) * sign - T::of(options.l2) * *w;
            slope.square += c.f64().powi(2);
        }
        slope
    }

    fn step(&mut self, step: Option<Step>, chart: Chart) -> Option<Products> {
        if let Some(Step { rate, count, clip, max_norm }) = step {
            let gradient = &mut self.difference.cross;
            gradient.mapv_inplace(|g| g * T::of(clip.unwrap_or(1.0)));
            let moments = self.moments.each_mut().map(|m| m.as_slice_mut().unwrap_or(&mut []));
            self.optimizer.direction(count, gradient.as_slice_mut().unwrap_or(&mut []), moments);
            self.weights.scaled_add(T::of(rate), gradient);
            max_norm.iter().for_each(|longest| optimize::limit_norms(self.weights.view_mut(), *longest));
        }
        self.chart = chart;
        self.lower();
        self.chart.origins().map(|[o_v, o_h]| self.products(o_h, o_v))
    }

    fn set_origins(&mut self, origins: Option<[Array1<f64>; 2]>) -> Option<Products> {
        self.chart.origins = origins;
        self.chart.origins().map(|[o_v, o_h]| self.products(o_h, o_v))
    }

    fn products(&self, x: &Array1<f64>, y: &Array1<f64>) -> Products {
        let lowered = self.plain.model.weights().mapv(T::f64);
        (lowered.dot(x), lowered.t().dot(y))
    }

    fn set_layers(&mut self, layers: [ArrayView2<T>; 2], constant: f64) {
        let (visible, hidden, _, own) = self.plain.model.parts_mut();
        visible.eta_mut().assign(&layers[0]);
        hidden.eta_mut().assign(&layers[1]);
        *own = constant;
    }

    fn is_finite(&self) -> bool {
        self.weights.iter().all(|w| w.is_finite())
    }

    fn average(&mut self, rate: f64) {
        self.average.zip_mut_with(&self.weights, |mean, w| *mean += T::of(rate) * (*w - *mean));
    }

    fn read(&self, part: Part) -> Array2<T> {
        self.plain.count();
        match part {
            Part::Weights => self.weights.clone(),
            Part::Difference => self.difference.cross.clone(),
            Part::Moment(k) => self.moments[k].clone(),
            Part::Average => self.average.clone(),
        }
    }

    fn write(&mut self, part: Part, matrix: Array2<T>) {
        self.plain.count();
        match part {
            Part::Weights => self.weights = matrix,
            Part::Difference => self.difference.cross = matrix,
            Part::Moment(k) => self.moments[k] = matrix,
            Part::Average => self.average = matrix,
        }
    }
}
