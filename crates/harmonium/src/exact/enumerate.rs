//! log Z = log Σ_x exp(−F(x)) over every state x of the cheaper layer.
//!
//! States are visited in blocks that differ in the first few sites only. The contribution of those sites to the input of the
//! other layer is tabulated once, so that a state costs one addition and one Γ per column, or less: see [`factors`] and
//! [`quadratic`]. Blocks are grouped in shards of fixed size: threads process shards, sums are taken in shard order, and the bits do not depend on the number of threads.

use super::factors::{self, Factors};
use super::quadratic::{self, Quadratic};
use super::{MOST_STATES_LOG2, Progress};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::lowered::{LoweredModel, Pass};
use crate::math::{exp_row, log_sum_exp};
use crate::real::Real;
use crate::rng::Key;
use crate::stats::Stats;
use crate::threads;
use ndarray::{Array1, Array2, ArrayView1, s};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// States per block at most, and bytes of the table of inputs at most, which should stay in the second-level cache.
const BLOCK_STATES: usize = 256;
const TABLE_BYTES: usize = 512 << 10;
/// The same against a Gaussian layer, where a block costs some microseconds and a state some nanoseconds.
const QUADRATIC_STATES: usize = 2048;
/// Shards of the sum; each holds one number and reports progress once.
const SUM_SHARDS: u64 = 1024;
/// Shards of the statistics; each holds a whole set of them.
const STATS_SHARDS: u64 = 16;

/// Terms from which on an enumeration runs in parallel: about 50 µs; and those that a state against a Gaussian layer counts as.
const LARGE: f64 = 1e5;
const TERMS_PER_STATE: f64 = 8.0;

/// Which layer was enumerated, and the log mass of every shard.
pub(super) struct Enumeration {
    over_visible: bool,
    states: u64,
    masses: Vec<f64>,
}

impl Enumeration {
    /// Sums over the cheaper layer; also returns log Z.
    pub fn new(lowered: &LoweredModel<f64>, progress: Progress) -> Result<(Enumeration, f64)> {
        let over_visible = cheaper_is_visible(lowered);
        let mut this = Enumeration { over_visible, states: 0, masses: Vec::new() };
        let pass = this.pass(lowered);
        let states_log2 = states_log2(pass.from);
        if states_log2 > f64::from(MOST_STATES_LOG2) {
            let states = format!("2^{states_log2:.0}");
            let layer = if over_visible { "visible" } else { "hidden" };
            return Err(Error::TooManyStates { states, layer, limit: MOST_STATES_LOG2 });
        }
        let walk = Walk::new(pass);
        let done = AtomicU64::new(0);
        let shards = walk.shards(SUM_SHARDS);
        let mass = |blocks: &Range<u64>| {
            let mut scratch = walk.scratch();
            let sum = blocks.clone().map(|b| walk.log_mass(b, &mut scratch));
            let mass = log_sum_exp(sum.collect::<Vec<_>>().into_iter());
            let n = blocks.end - blocks.start;
            progress(done.fetch_add(n, Ordering::Relaxed) + n, walk.blocks);
            mass
        };
        this.masses = threads::map(walk.is_large(), shards.iter(), mass);
        this.states = walk.blocks * walk.low.nrows() as u64;
        let log_z = log_sum_exp(this.masses.iter().copied());
        Ok((this, log_z))
    }

    /// The direction from the enumerated layer to the other.
    fn pass<'a>(&self, lowered: &'a LoweredModel<f64>) -> Pass<'a, f64> {
        if self.over_visible { lowered.up() } else { lowered.down() }
    }

    /// Whether the visible layer was enumerated.
    pub fn over_visible(&self) -> bool {
        self.over_visible
    }

    /// A description of what was done.
    pub fn describe(&self) -> String {
        let layer = if self.over_visible { "visible" } else { "hidden" };
        format!("sum over all {} states of the {layer} layer", self.states)
    }

    /// Exact model statistics: Σ_x p(x) of each state's statistics.
    pub fn stats(&self, lowered: &LoweredModel<f64>, log_z: f64) -> Stats<f64> {
        let walk = Walk::new(self.pass(lowered));
        if let Some(quadratic) = &walk.quadratic {
            let stats = walk.quadratic_stats(quadratic, log_z).mean();
            return if self.over_visible { stats } else { stats.mirrored() };
        }
        let shard = |blocks: &Range<u64>| {
            let mut scratch = walk.scratch();
            let mut sum: Option<Stats<f64>> = None;
            for block in blocks.clone() {
                let p: Vec<f64> = walk.log_weights(block, &mut scratch).iter().map(|l| (l - log_z).exp()).collect();
                let part = walk.pass.stats(walk.states(block).view(), ArrayView1::from(&p));
                match &mut sum {
                    None => sum = Some(part),
                    Some(sum) => sum.add(&part),
                }
            }
            sum
        };
        let shards = walk.shards(STATS_SHARDS);
        let parts = threads::map(walk.is_large(), shards.iter(), shard);
        let mut total = Stats::zeros(lowered);
        for part in parts.into_iter().flatten() {
            total.add(&if self.over_visible { part } else { part.mirrored() });
        }
        total.mean()
    }

    /// `n` exact samples of the enumerated layer: uniforms are sorted, and only shards that contain one are visited.
    pub fn sample(&self, lowered: &LoweredModel<f64>, log_z: f64, n: usize, key: Key) -> Array2<f64> {
        let walk = Walk::new(self.pass(lowered));
        let mut wanted: Vec<(f64, usize)> = (0..n).map(|i| (key.uniforms::<f64>(i as u64, 0)[0], i)).collect();
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut out = Array2::zeros((n, walk.pass.from.columns()));
        let (mut next, mut cumulative) = (0, 0.0);
        let shards = walk.shards(SUM_SHARDS);
        let last = self.masses.iter().rposition(|m| *m > f64::NEG_INFINITY).unwrap_or(0);
        for (k, (blocks, mass)) in shards.iter().zip(&self.masses).enumerate() {
            let end = if k == last { f64::INFINITY } else { cumulative + (mass - log_z).exp() };
            let first = next;
            while next < n && wanted[next].0 < end {
                next += 1;
            }
            walk.pick(blocks.clone(), log_z, cumulative, &wanted[first..next], &mut out);
            cumulative = end;
        }
        out
    }
}

/// log₂ of the number of states of a finite layer, ∞ for a continuous one.
fn states_log2(layout: &Layout) -> f64 {
    layout.log_states().map_or(f64::INFINITY, |states| states / std::f64::consts::LN_2)
}

/// log₂ of the costs of enumerating each layer: its number of states times the columns of the other, of which Gaussian ones
/// cost the same however many there are.
fn layer_costs_log2([v, h]: [&Layout; 2]) -> [f64; 2] {
    let columns = |to: &Layout| if to.is_quadratic() { quadratic::COLUMNS } else { to.columns() as f64 };
    [(v, h), (h, v)].map(|(from, to)| states_log2(from) + columns(to).log2())
}

fn cheaper_is_visible<T: Real>(lowered: &LoweredModel<T>) -> bool {
    let [visible, hidden] = layer_costs_log2([lowered.visible(), lowered.hidden()]);
    visible <= hidden
}

/// log₂ of the cost of the cheaper layer of a model; two Gaussian layers cost a matrix product and a factorisation.
pub(super) fn cost_log2(layers: [&Layout; 2]) -> Option<f64> {
    let [a, b] = layer_costs_log2(layers);
    if a.min(b) < f64::INFINITY {
        Some(a.min(b))
    } else if layers.iter().all(|layer| layer.is_quadratic()) {
        let [visible, hidden] = layers.map(Layout::sites);
        Some((visible.min(hidden) as f64).log2() * 2.0 + (visible.max(hidden) as f64).log2())
    } else {
        None
    }
}

/// An enumeration of all states of `pass.from`: block b fixes the last sites, the table `low` runs over the first.
struct Walk<'a> {
    pass: Pass<'a, f64>,
    /// Columns of the first sites, one row per combination.
    low: Array2<f64>,
    /// How many these are.
    low_sites: usize,
    /// ⟨η, T⟩ of those, and what they add to the inputs of the other layer.
    low_weight: Vec<f64>,
    low_input: Array2<f64>,
    /// The other layer as a product of factors, if it is finite.
    factors: Option<Factors>,
    /// The other layer as a quadratic form, if it is Gaussian.
    quadratic: Option<Quadratic>,
    blocks: u64,
}

struct Scratch {
    factors: factors::Scratch,
    base: Vec<f64>,
    input: Vec<f64>,
    log_weights: Vec<f64>,
}

impl<'a> Walk<'a> {
    /// Needs a finite layer with at most 2^MOST_STATES_LOG2 states.
    fn new(pass: Pass<'a, f64>) -> Walk<'a> {
        let states: Vec<usize> =
            pass.from.each_site().map(|site| site.kind.unit::<f64>().n_states().unwrap_or(1)).collect();
        let is_quadratic = Quadratic::applies(pass);
        let row_bytes = 8 * pass.to.columns();
        let fits = |n: usize| match is_quadratic {
            true => n <= QUADRATIC_STATES,
            false => n <= BLOCK_STATES && n * row_bytes <= TABLE_BYTES,
        };
        let products = states.iter().scan(1usize, |product, q| {
            *product = product.saturating_mul(*q);
            Some(*product)
        });
        let (low_sites, n_low) = products.take_while(|n| fits(*n)).zip(1..).last().map_or((0, 1), |(n, l)| (l, n));
        let low_columns = pass.from.each_site().take(low_sites).last().map_or(0, |site| site.columns.end);
        let mut low = Array2::zeros((n_low, low_columns));
        for (k, mut row) in low.rows_mut().into_iter().enumerate() {
            write_state(pass, 0..low_sites, k as u64, row.as_slice_mut().unwrap_or_default());
        }
        let low_weight = low.rows().into_iter().map(|x| log_weight(pass, 0, &x.to_vec())).collect();
        let quadratic = is_quadratic.then(|| Quadratic::new(pass, &low));
        // The quadratic form has no use for inputs.
        let tabulated = if is_quadratic { low.slice(s![..0, ..]) } else { low.view() };
        let low_input = tabulated.dot(&pass.weights.slice(s![..low.ncols(), ..])).as_standard_layout().into_owned();
        let factors = pass.to.single().and_then(|b| Factors::new(b.unit(), pass.to.eta(), &low_input));
        let blocks = states[low_sites..].iter().map(|q| *q as u64).product();
        Walk { pass, low, low_sites, low_weight, low_input, factors, quadratic, blocks }
    }

    fn scratch(&self) -> Scratch {
        let m = self.pass.to.columns();
        let factors = factors::Scratch::default();
        Scratch { factors, base: vec![0.0; m], input: vec![0.0; m], log_weights: vec![0.0; self.low.nrows()] }
    }

    /// All blocks in at most `most` contiguous ranges of fixed extent.
    fn shards(&self, most: u64) -> Vec<Range<u64>> {
        let n = most.min(self.blocks);
        (0..n).map(|k| (k * self.blocks / n)..((k + 1) * self.blocks / n)).collect()
    }

    /// Whether it is worth waking other threads.
    fn is_large(&self) -> bool {
        let terms = if self.quadratic.is_some() { TERMS_PER_STATE } else { self.pass.to.columns() as f64 };
        self.blocks as f64 * self.low.nrows() as f64 * terms > LARGE
    }

    /// Columns of the sites that block `block` fixes.
    fn high(&self, block: u64) -> Vec<f64> {
        let mut x = vec![0.0; self.pass.from.columns() - self.low.ncols()];
        write_state(self.pass, self.low_sites..self.pass.from.sites(), block, &mut x);
        x
    }

    /// −F(x) of every state of a block.
    fn log_weights<'s>(&self, block: u64, scratch: &'s mut Scratch) -> &'s [f64] {
        let high = self.high(block);
        let high_weight = log_weight(self.pass, self.low.ncols(), &high) - self.pass.constant();
        for (out, low_weight) in scratch.log_weights.iter_mut().zip(&self.low_weight) {
            *out = low_weight + high_weight;
        }
        if let Some(quadratic) = &self.quadratic {
            quadratic.add_log_norms(&high, &mut scratch.input, &mut scratch.log_weights);
            return &scratch.log_weights;
        }
        scratch.base.fill(0.0);
        for (&x, row) in high.iter().zip(self.pass.weights.slice(s![self.low.ncols().., ..]).rows()) {
            if x != 0.0 {
                scratch.base.iter_mut().zip(row).for_each(|(b, w)| *b += x * w);
            }
        }
        let factors = self.factors.as_ref();
        if factors.is_some_and(|f| f.add_log_norms(&scratch.base, &mut scratch.factors, &mut scratch.log_weights)) {
            return &scratch.log_weights;
        }
        let (to, eta) = (self.pass.to, self.pass.to.eta());
        let width = scratch.input.len();
        let lows = self.low_input.as_slice().unwrap_or_default().chunks_exact(width);
        for (out, low) in scratch.log_weights.iter_mut().zip(lows) {
            for ((input, base), low) in scratch.input.iter_mut().zip(&scratch.base).zip(low) {
                *input = base + low;
            }
            *out += to.log_norm(eta, &scratch.input);
        }
        &scratch.log_weights
    }

    /// log Σ exp(−F(x)) over the states of a block.
    fn log_mass(&self, block: u64, scratch: &mut Scratch) -> f64 {
        self.log_weights(block, scratch);
        let logs = &scratch.log_weights;
        if self.quadratic.is_none() {
            return log_sum_exp(logs.iter().copied());
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scratch.input.resize(logs.len(), 0.0);
        exp_row(logs, largest, &mut scratch.input);
        largest + scratch.input.iter().sum::<f64>().ln()
    }

    /// Σ_x p(x) of the statistics, the other layer being Gaussian.
    fn quadratic_stats(&self, quadratic: &Quadratic, log_z: f64) -> Stats<f64> {
        let shard = |blocks: &Range<u64>| {
            let (mut scratch, mut sums, mut p) = (self.scratch(), quadratic.sums(), vec![0.0; self.low.nrows()]);
            for block in blocks.clone() {
                exp_row(self.log_weights(block, &mut scratch), log_z, &mut p);
                sums.add_block(&self.low, &self.high(block), &p);
            }
            sums
        };
        let parts = threads::map(self.is_large(), self.shards(STATS_SHARDS).iter(), shard);
        let mut total = quadratic.sums();
        parts.iter().for_each(|part| total.add(part));
        total.stats(self.pass, &self.low)
    }

    /// The states of a block, one row of columns each.
    fn states(&self, block: u64) -> Array2<f64> {
        let high = Array1::from(self.high(block));
        let mut x = Array2::zeros((self.low.nrows(), self.pass.from.columns()));
        x.slice_mut(s![.., ..self.low.ncols()]).assign(&self.low);
        x.slice_mut(s![.., self.low.ncols()..]).assign(&high);
        x
    }

    /// Writes, for every wanted uniform, the state whose cumulative probability passes it. The shard's first state
    /// begins at `cumulative`; rounding at the shard's end goes to its last state of positive probability.
    fn pick(
        &self,
        blocks: Range<u64>,
        log_z: f64,
        mut cumulative: f64,
        wanted: &[(f64, usize)],
        out: &mut Array2<f64>,
    ) {
        let mut wanted = wanted.iter().peekable();
        let mut last = None;
        let mut scratch = self.scratch();
        for block in blocks {
            if wanted.peek().is_none() {
                return;
            }
            for (k, l) in self.log_weights(block, &mut scratch).iter().enumerate() {
                let p = (l - log_z).exp();
                cumulative += p;
                if p > 0.0 {
                    last = Some((block, k));
                }
                while let Some((_, i)) = wanted.next_if(|w| w.0 < cumulative) {
                    out.row_mut(*i).assign(&self.states(block).row(k));
                }
            }
        }
        if let Some((block, k)) = last {
            for (_, i) in wanted {
                out.row_mut(*i).assign(&self.states(block).row(k));
            }
        }
    }
}

/// Writes the digits of `number` as states of consecutive sites, whose numbers of states are the bases of the digits.
fn write_state(pass: Pass<f64>, sites: Range<usize>, mut number: u64, mut columns: &mut [f64]) {
    for site in sites.map(|i| pass.from.site(i)) {
        let unit = site.kind.unit::<f64>();
        let q = unit.n_states().unwrap_or(1) as u64;
        let (own, rest) = columns.split_at_mut(site.columns.len());
        unit.state((number % q) as usize, own);
        (number, columns) = (number / q, rest);
    }
}

/// ⟨η, T(x)⟩ of consecutive sites, the first of which has column `first`.
fn log_weight(pass: Pass<f64>, first: usize, x: &[f64]) -> f64 {
    let mut all = vec![0.0; pass.from.columns()];
    all[first..first + x.len()].copy_from_slice(x);
    let eta = pass.from.eta();
    let mut t = Array2::zeros(eta.dim());
    pass.from.stats(&all, t.view_mut());
    let columns = s![.., first..first + x.len()];
    (&eta.slice(columns) * &t.slice(columns)).sum()
}
