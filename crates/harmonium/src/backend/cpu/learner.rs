//! The learner of the processor: turns the difference of the phases into a gradient and a step, in place.

use super::small_batch::MOST_ROWS;
use super::statistics::{self, Rows};
use super::{Cpu, Level};
use crate::backend::fixed::{self, FixedSums};
use crate::backend::{Backend, Comm, Learner, Part, Phase, Products, Side, Slope, SlopeOptions, Start, Step};
use crate::error::Result;
use crate::layer::standard;
use crate::math::{all_finite, dot};
use crate::optimize::{self, MOMENTS, Optimizer};
use crate::real::Real;
use crate::scaled_weights::{self, Change, Chart, ScaledWeights};
use crate::stats::{LayerMeans, Stats};
use crate::threads::MANY;
use ndarray::{ArcArray2, Array1, Array2, ArrayView2, ArrayViewMut2, Zip};
use std::ops::Range;
use std::sync::Arc;

/// The processor as a learner.
pub(crate) struct CpuLearner<T> {
    cpu: Cpu<T>,
    /// Shared with the lowered model where W̃ is W.
    weights: ArcArray2<T>,
    chart: Chart,
    /// The origins as numbers of the model, if they are not all zero.
    points: Option<[Vec<T>; 2]>,
    /// Of the layers, and of the weights C, later their gradient.
    difference: Stats<T>,
    optimizer: Box<dyn Optimizer<T>>,
    moments: [Array2<T>; MOMENTS],
    average: Option<Array2<T>>,
    comm: Arc<dyn Comm>,
    /// The process that has Σvhᵀ of the data, if not all do.
    owner: Option<usize>,
    shards: Shards<T>,
}

/// Buffers for phases of several shards.
struct Shards<T> {
    one: Stats<T>,
    /// Of the data and of the model.
    sums: [FixedSums; 2],
    /// The numbers of every part of the sums: each of a layer, each row of Σvhᵀ, the weight.
    lens: Vec<usize>,
}

impl<T: Real> CpuLearner<T> {
    /// A learner on given instructions.
    pub fn new(start: Start<T>, level: Level) -> Result<CpuLearner<T>> {
        let (optimizer, zeros) = (optimize::new(&start.optimizer)?, || Array2::zeros(start.weights.dim()));
        let used = optimizer.moments().len();
        let moments = std::array::from_fn(|k| if k < used { zeros() } else { Array2::zeros((0, 0)) });
        let difference = Stats::zeros(&start.model);
        let mut learner = CpuLearner {
            points: start.chart.points(),
            shards: Shards { one: Stats::empty(), sums: Default::default(), lens: Vec::new() },
            average: start.average.then(|| start.weights.clone()),
            cpu: Cpu::with_level(start.model, level),
            weights: standard(start.weights).into(),
            chart: start.chart,
            difference,
            optimizer,
            moments,
            comm: start.comm,
            owner: None,
        };
        learner.share();
        Ok(learner)
    }

    /// Shares W with the lowered model where they are the same.
    fn share(&mut self) {
        if self.chart.inverse_scales().is_none() {
            *self.cpu.lowered.parts_mut().2 = self.weights.clone();
        }
    }

    fn scaled(&self) -> ScaledWeights<'_, T> {
        ScaledWeights::new(self.weights.view(), &self.chart.scales)
    }

    /// A phase whose rows are a single shard, of the process `owner`. The others get Σvhᵀ with the model's phase: the owner may
    /// compute it of both phases at once.
    fn accumulate_one(&mut self, phase: &Phase<T>, owner: usize) {
        let (model, range) = (phase.side == Side::Model, 0..self.cpu.rows(phase.slot));
        if self.owner != Some(owner) {
            self.settle(phase.side);
        }
        let times = if model { -phase.times } else { phase.times };
        let mine = owner == self.comm.rank();
        if mine {
            let origins = self.points.as_ref().filter(|_| model);
            let rows = Rows { times, mean: true, add: model, may_defer: !model, origins, ..Rows::sums(phase, range) };
            statistics::stats(&mut self.cpu, &rows, &mut self.difference);
        }
        if self.comm.size() > 1 {
            self.share_phase(mine, model);
        }
        self.owner = (!model).then_some(owner);
    }

    /// Gives the means of a phase to all processes; Σvhᵀ with the model's.
    fn share_phase(&mut self, mine: bool, model: bool) {
        let Stats { visible, hidden, cross, weight } = &mut self.difference;
        let cross = if model { cross.as_slice_mut() } else { None };
        let layers = [visible, hidden].map(|m| m.as_slice_mut().unwrap_or(&mut []));
        fixed::send(&*self.comm, mine, layers.into_iter().chain(cross).collect());
        fixed::send(&*self.comm, mine, vec![std::slice::from_mut(weight)]);
    }

    /// A phase of several shards.
    fn accumulate_shards(&mut self, phase: &Phase<T>, shards: usize) {
        self.settle(phase.side);
        let CpuLearner { cpu, shards: Shards { one, sums, lens }, difference, .. } = self;
        let (n, m) = difference.cross.dim();
        let (visible, hidden) = (difference.visible.len(), difference.hidden.len());
        if one.cross.dim() != (n, m) {
            *one = difference.clone();
            *lens = [vec![1; visible + hidden], vec![m; n], vec![1]].concat();
        }
        let (rows, sums) = (cpu.rows(phase.slot), &mut sums[phase.side as usize]);
        let firsts = [0, visible, visible + hidden, visible + hidden + n];
        sums.sum(&*self.comm, lens, shards, |sums| {
            for range in shard_ranges(rows, phase.shard) {
                statistics::stats(cpu, &Rows::sums(phase, range), one);
                let parts = [&one.visible, &one.hidden, &one.cross];
                firsts.into_iter().zip(parts).for_each(|(first, m)| sums.add(first, m.as_slice().unwrap_or(&[])));
                sums.add(firsts[3], &[one.weight]);
            }
        });
        let mut weight = [0.0];
        sums.read(firsts[3], &mut weight);
        for (first, m) in firsts.into_iter().zip([&mut one.visible, &mut one.hidden, &mut one.cross]) {
            sums.read(first, m.as_slice_mut().unwrap_or(&mut []));
        }
        one.weight = weight[0];
        let total = std::mem::replace(one, Stats::empty());
        self.add(phase.side, phase.times / weight[0], &total);
        self.shards.one = total;
    }

    /// Computes what is deferred of the data's phase, and gives it to all processes, before the model's is added; before data it is
    /// dropped.
    fn settle(&mut self, side: Side) {
        let next = (side == Side::Model).then_some(0);
        self.cpu.scratch.flush(self.cpu.level, next, &mut self.difference.cross);
        if let (Some(owner), Side::Model) = (self.owner.take(), side) {
            let cross = self.difference.cross.as_slice_mut().into_iter().collect();
            fixed::send(&*self.comm, owner == self.comm.rank(), cross);
        }
    }

    /// Adds a phase to the difference.
    fn add(&mut self, side: Side, times: f64, sums: &Stats<T>) {
        match side {
            Side::Data => self.difference.set_scaled(times, sums),
            Side::Model => {
                self.difference.add_scaled(-times, sums);
                self.points.iter().for_each(|points| self.difference.measure_from(points));
            }
        }
    }
}

impl<'a, T> Rows<'a, T> {
    /// The plain sums of some rows of a phase.
    fn sums(phase: &Phase<'a, T>, range: Range<usize>) -> Rows<'a, T> {
        let Phase { slot, weights, draw, .. } = *phase;
        Rows { slot, range, weights, draw, times: 1.0, mean: false, add: false, may_defer: false, origins: None }
    }
}

/// Rows in ranges of `shard`.
fn shard_ranges(rows: usize, shard: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(shard.max(1)).map(move |first| first..(first + shard).min(rows))
}

impl<T: Real> Learner<T> for CpuLearner<T> {
    fn backend(&self) -> &dyn Backend<T> {
        &self.cpu
    }

    fn backend_mut(&mut self) -> &mut dyn Backend<T> {
        &mut self.cpu
    }

    fn accumulate(&mut self, phase: &Phase<T>, means: &mut LayerMeans<T>) {
        // A small batch has kernels of its own, and is never a part of the rows.
        debug_assert!(self.comm.size() == 1 || phase.shard > MOST_ROWS, "shards of several processes are large");
        self.cpu.prepare_for_sums(phase.slot);
        let mine = self.cpu.rows(phase.slot).div_ceil(phase.shard.max(1)) as i64;
        let mut all = [mine, mine * self.comm.rank() as i64];
        self.comm.all_sum(&mut all);
        match all {
            [..=1, owner] => self.accumulate_one(phase, owner as usize),
            [shards, _] => self.accumulate_shards(phase, shards as usize),
        }
        means.of(&self.difference);
    }

    fn take(&mut self, side: Side, given: &Stats<T>, means: &mut LayerMeans<T>) {
        self.settle(side);
        self.add(side, 1.0, given);
        means.of(&self.difference);
    }

    fn slope(&mut self, options: SlopeOptions) -> Slope<T> {
        let (cross, lowered) = (&mut self.difference.cross, self.cpu.lowered.weights());
        let energy = if options.energy { product(lowered, cross.view()) } else { 0.0 };
        let virials = scaled_weights::shrink(&self.chart, lowered, options.virials, cross);
        decay(options, self.weights.view(), cross);
        let square = if options.norm { product(cross.view(), cross.view()) } else { 0.0 };
        Slope { virials, energy, square }
    }

    fn step(&mut self, step: Option<Step>, chart: Chart) -> Option<Products> {
        self.cpu.drop_derived();
        self.points = chart.points();
        self.chart = chart;
        // Nothing else may share W while it steps.
        if self.chart.inverse_scales().is_none() {
            *self.cpu.lowered.parts_mut().2 = ArcArray2::default((0, 0));
        }
        let mut change = step.map(|step| Change {
            rate: T::of(step.rate),
            count: step.count,
            clip: step.clip.map(T::of),
            gradient: self.difference.cross.as_slice_mut().unwrap_or(&mut []),
            moments: self.moments.each_mut().map(|m| m.as_slice_mut().unwrap_or(&mut [])),
            optimizer: &*self.optimizer,
        });
        if let Some(longest) = step.and_then(|step| step.max_norm) {
            if let (Some(change), Some(weights)) = (change.take(), self.weights.as_slice_mut()) {
                scaled_weights::change(weights, change);
            }
            optimize::limit_norms(self.weights.view_mut(), longest);
        }
        let Cpu { level, packed, lowered, .. } = &mut self.cpu;
        packed.follow(*level, &mut self.weights, &self.chart, change, lowered)
    }

    fn set_origins(&mut self, origins: Option<[Array1<f64>; 2]>) -> Option<Products> {
        let products = origins.as_ref().map(|[o_v, o_h]| self.scaled().products(o_h, o_v));
        self.chart.origins = origins;
        self.points = self.chart.points();
        products
    }

    fn products(&self, x: &Array1<f64>, y: &Array1<f64>) -> Products {
        self.scaled().products(x, y)
    }

    fn set_layers(&mut self, layers: [ArrayView2<T>; 2], constant: f64) {
        self.cpu.drop_derived();
        let (visible, hidden, _, own) = self.cpu.lowered.parts_mut();
        for (layer, eta) in [visible, hidden].into_iter().zip(layers) {
            layer.eta_mut().assign(&eta);
        }
        *own = constant;
        self.cpu.packed.set_fields(&self.cpu.lowered);
    }

    fn is_finite(&self) -> bool {
        self.weights.as_slice().is_some_and(all_finite)
    }

    fn average(&mut self, rate: f64) {
        let rate = T::of(rate);
        let towards = |mean: &mut T, new: &T| *mean = *mean + rate * (*new - *mean);
        if let Some(average) = &mut self.average {
            each(average.view_mut(), self.weights.view(), towards);
        }
    }

    fn read(&self, part: Part) -> Array2<T> {
        match part {
            Part::Weights => self.weights.to_owned(),
            Part::Difference => self.difference.cross.clone(),
            Part::Moment(k) => self.moments[k].clone(),
            Part::Average => self.average.clone().unwrap_or_else(|| self.weights.to_owned()),
        }
    }

    fn write(&mut self, part: Part, matrix: Array2<T>) {
        let matrix = standard(matrix);
        match part {
            Part::Weights => self.weights = matrix.into(),
            Part::Difference => self.difference.cross = matrix,
            Part::Moment(k) => self.moments[k] = matrix,
            Part::Average => self.average = Some(matrix),
        }
    }
}

/// Σ_ij a_ij b_ij.
fn product<T: Real>(a: ArrayView2<T>, b: ArrayView2<T>) -> f64 {
    a.as_slice().zip(b.as_slice()).map_or(f64::NAN, |(a, b)| dot(a, b))
}

/// Calls `f` with the numbers of two matrices of one shape.
fn each<T: Real>(a: ArrayViewMut2<T>, b: ArrayView2<T>, f: impl Fn(&mut T, &T) + Sync + Send) {
    let (parallel, zip) = (a.len() >= MANY, Zip::from(a).and(b));
    if parallel { zip.par_for_each(f) } else { zip.for_each(f) }
}

/// Subtracts the gradient of the weight decay.
fn decay<T: Real>(options: SlopeOptions, weights: ArrayView2<T>, gradient: &mut Array2<T>) {
    if options.l1 != 0.0 || options.l2 != 0.0 {
        let (l1, l2) = (T::of(options.l1), T::of(options.l2));
        // signum(0) is 1 in Rust; a weight of zero must stay zero.
        let sign = |w: T| if w == T::zero() { w } else { w.signum() };
        each(gradient.view_mut(), weights, |g, &w| *g -= l1 * sign(w) + l2 * w);
    }
}
