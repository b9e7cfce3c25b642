//! Modes of a model and the mass of their basins: a state belongs to the mean-field fixed point that it flows to.
//!
//! Annealing from the independent units of a mode to the model, with only those paths counted that end in its basin, is an
//! unbiased estimate of the mass of the basin. So basins add up, and nothing is counted twice. (Paths from a base that knows
//! nothing of a deep mode do not find it, whatever their spread says.)

use super::super::mean_field::{self, FixedPoints, Follow};
use super::super::weights::{Estimate, log_mean_exp_of_part};
use crate::backend::DeviceRef;
use crate::error::Result;
use crate::lowered::LoweredModel;
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::sample::path::Path;
use crate::states::States;
use ndarray::{Array1, Array2, Axis, concatenate};

/// Most modes whose mass is estimated, and paths for each.
pub(super) const MOST: usize = 8;
pub(super) const PATHS: usize = 12;
/// Cost of one temperature for all paths of a mode: 2.5 each, and as much again, because batches this small are slow.
const ANNEALING: f64 = 2.0 * 2.5 * PATHS as f64;
/// How far states are followed, and the steps that it usually takes.
const FOLLOW: Follow = Follow { steps: 30, arrived: 1e-3 };
const USUAL_STEPS: f64 = 10.0;
/// Two fixed points are the same if no mean differs by more.
const SAME: f64 = 0.25;
/// Modes whose mean-field bound is that far below the best, in nats, are left to the rest. Bounds of broad modes are up to 30
/// nats too low; those hold chains, and chains are counted.
const WINDOW: f64 = 15.0;

/// A mean-field fixed point.
#[derive(Clone)]
struct Mode<T> {
    visible: Array1<T>,
    hidden: Array1<T>,
    /// The mean-field bound: log Z is at least this.
    bound: f64,
}

/// The mass found in the basins of some modes.
pub(super) struct Masses<T> {
    /// log of the sum of the masses.
    pub log_z: Estimate,
    /// The largest mean-field bound, which log Z cannot be below.
    pub bound: f64,
    /// States at the ends of the paths, and log of the mass each stands for (−∞ if it left its basin).
    pub ends: States<T>,
    pub weights: Vec<f64>,
    /// log of the sum of the mean-field bounds of modes that were found, have no place in the list, and hold none of the samples:
    /// mass that nothing else counts.
    pub left_out: f64,
    /// Which of the first rows of the starts, those of the tracker, are in one of the basins.
    pub inside: Vec<bool>,
    /// What it cost, in products of a row with the weights.
    pub work: f64,
    /// One row near every mode, and some that lie in no basin of the list, to start from next time.
    pub remembered: Vec<Row>,
}

/// A row among the starts or the ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Row {
    Start(usize),
    End(usize),
}

/// Cost in products of a row with the weights, with as many mean-field steps as usual. Dense products count twice.
pub(super) fn price(starts: usize, temperatures: usize) -> f64 {
    let paths = (MOST * PATHS) as f64;
    MOST as f64 * ANNEALING * temperatures as f64 + 4.0 * USUAL_STEPS * (starts as f64 + paths)
}

/// The modes that lead from `starts`, the first `tracked` of which are samples, and the mass of their basins.
pub(super) fn masses<T: Real>(
    device: DeviceRef,
    lowered: &LoweredModel<T>,
    starts: &States<T>,
    tracked: usize,
    temperatures: usize,
    key: Key,
) -> Result<Masses<T>> {
    let points = settle(lowered, starts);
    let Listed { modes, first, labels, left_out } = listed(lowered, &points, tracked);
    let on_sweeps = |_| ();
    let backend = device.backend(lowered.clone())?;
    let mut path = Path::between(base(lowered, &modes[0]), backend, 2, &on_sweeps);
    let betas = path.schedule(temperatures);
    let (mut columns, mut weights) = (Vec::new(), Vec::new());
    let mut spent = work(&points) + ANNEALING * (modes.len() * temperatures) as f64;
    for (k, mode) in modes.iter().enumerate() {
        let key = key.of(Purpose::Near).step(k as u64);
        path.rebase_evenly(base(lowered, mode));
        path.start(0, PATHS, key);
        let sums = path.anneal(0, &betas, key, |_, _, _| ());
        weights.extend(sums.iter().map(|w| w + path.log_z0()));
        columns.push(path.backend.get(0).columns(lowered.visible(), 0, PATHS));
    }
    let views: Vec<_> = columns.iter().map(|c| c.view()).collect();
    let columns = concatenate(Axis(0), &views).unwrap_or_default();
    let ends = States::of(lowered.visible(), columns.view());
    let of_ends = settle(lowered, &ends);
    spent += work(&of_ends);
    let mut left = Vec::new();
    for (r, weight) in weights.iter_mut().enumerate() {
        if label(lowered, &modes, &of_ends, r) != Some(r / PATHS) {
            left.push((*weight, Row::End(r)));
            *weight = f64::NEG_INFINITY;
        }
    }
    let log_z = sum(&weights);
    left.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut remembered: Vec<Row> = first.into_iter().map(Row::Start).collect();
    remembered.extend(left.into_iter().map(|l| l.1).take(MOST));
    let inside = labels.iter().take(tracked).map(Option::is_some).collect();
    let bound = modes.iter().map(|m| m.bound).fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|w| *w -= (PATHS as f64).ln());
    Ok(Masses { log_z, bound, ends, weights, left_out, inside, work: spent, remembered })
}

/// log Σ over modes of the mean of e^w over their paths, with the error of the whole.
fn sum(weights: &[f64]) -> Estimate {
    let each: Vec<Estimate> = weights.chunks(PATHS).map(of_one).collect();
    let value = log_sum_exp(each.iter().map(|e| e.value));
    let parts = each.iter().filter(|e| e.value > f64::NEG_INFINITY);
    let squares: f64 = parts.map(|e| ((e.value - value).exp() * e.std_err).powi(2)).sum();
    let ess = each.iter().map(|e| e.ess).sum();
    Estimate { value, std_err: squares.sqrt(), ess }
}

/// The mean of e^w of one mode, if at least two paths stayed in its basin.
fn of_one(weights: &[f64]) -> Estimate {
    let stayed: Vec<f64> = weights.iter().copied().filter(|w| *w > f64::NEG_INFINITY).collect();
    if stayed.len() < 2 {
        return Estimate { value: f64::NEG_INFINITY, std_err: f64::INFINITY, ess: 0.0 };
    }
    log_mean_exp_of_part(&stayed, weights.len())
}

/// The fixed points of rows.
fn settle<T: Real>(lowered: &LoweredModel<T>, rows: &States<T>) -> FixedPoints<T> {
    mean_field::settle(lowered, rows.columns(lowered.visible(), 0, rows.rows()).view(), FOLLOW)
}

/// Cost of following rows, in products of a row with the weights.
fn work<T>(points: &FixedPoints<T>) -> f64 {
    4.0 * points.steps as f64
}

/// The modes whose mass is worth estimating, the first row that leads to each, and the mode of every row; and log Σ e^bound of
/// those for which there is no place and that hold no sample.
struct Listed<T> {
    modes: Vec<Mode<T>>,
    first: Vec<usize>,
    labels: Vec<Option<usize>>,
    left_out: f64,
}

/// Modes that hold many of the `tracked` samples come first, then those with the best bounds.
fn listed<T: Real>(lowered: &LoweredModel<T>, points: &FixedPoints<T>, tracked: usize) -> Listed<T> {
    let mut all: Vec<(Mode<T>, usize, usize)> = Vec::new();
    for r in 0..points.hidden.nrows() {
        let one = usize::from(r < tracked);
        let same = all.iter_mut().find(|m| is_same(lowered, &m.0, points, r));
        match same {
            Some(mode) => mode.2 += one,
            None => all.push((mode(points, r), r, one)),
        }
    }
    let best = all.iter().map(|m| m.0.bound).fold(f64::NEG_INFINITY, f64::max);
    // A fraction f of the samples stands for a mass of f Z ≥ f e^best.
    let score = |m: &(Mode<T>, usize, usize)| {
        let by_samples = best + (m.2 as f64 / tracked.max(1) as f64).ln();
        m.0.bound.max(by_samples)
    };
    all.retain(|m| score(m) >= best - WINDOW);
    all.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.1.cmp(&b.1)));
    let without_samples = all.iter().skip(MOST).filter(|m| m.2 == 0).map(|m| m.0.bound);
    let left_out = log_sum_exp(without_samples.collect::<Vec<_>>().into_iter());
    all.truncate(MOST);
    let modes: Vec<Mode<T>> = all.iter().map(|m| m.0.clone()).collect();
    let labels = (0..points.hidden.nrows()).map(|r| label(lowered, &modes, points, r)).collect();
    Listed { modes, first: all.iter().map(|m| m.1).collect(), labels, left_out }
}

fn label<T: Real>(lowered: &LoweredModel<T>, modes: &[Mode<T>], points: &FixedPoints<T>, r: usize) -> Option<usize> {
    modes.iter().position(|m| is_same(lowered, m, points, r))
}

fn is_same<T: Real>(lowered: &LoweredModel<T>, mode: &Mode<T>, points: &FixedPoints<T>, r: usize) -> bool {
    let near = |a: T, b: T| (a - b).f64().abs() <= SAME;
    // Means of units without bounds have no common scale.
    let mut finite = lowered.hidden().each_site().filter(|site| site.n_states().is_some()).peekable();
    match finite.peek() {
        Some(_) => finite.flat_map(|site| site.columns).all(|c| near(mode.hidden[c], points.hidden[[r, c]])),
        None => mode.visible.iter().zip(points.visible.row(r)).all(|(a, b)| near(*a, *b)),
    }
}

fn mode<T: Real>(points: &FixedPoints<T>, r: usize) -> Mode<T> {
    Mode { visible: points.visible.row(r).to_owned(), hidden: points.hidden.row(r).to_owned(), bound: points.bounds[r] }
}

/// The independent units of a mode.
fn base<T: Real>(lowered: &LoweredModel<T>, mode: &Mode<T>) -> [Array2<T>; 2] {
    mean_field::product_at(lowered, &mode.visible, &mode.hidden)
}
