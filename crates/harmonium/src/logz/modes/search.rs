//! Two searches for modes that share nothing but the descent: from the weights (A) and by sampling (B).
//!
//! A starts at states that the weights favour: along singular vectors and their combinations, single columns, pairs and
//! clusters of columns. B starts at ends of annealed chains, at random states, and at chains cooled below the model's own
//! temperature, where narrow deep modes dominate.

use super::super::mean_field::{Follow, settle};
use crate::backend::{Chains, Slot, Sweeps};
use crate::layout::Site;
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::measure::leading_modes;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate, s};

const SEARCH: Slot = 3;
/// Singular vectors used alone, and those whose combinations are used.
const VECTORS: usize = 16;
const COMBINED: usize = 5;
/// Columns and rows of W̃, and pairs of columns, at most.
const COLUMNS: usize = 256;
/// A column belongs to a cluster if its cosine with the first one exceeds this.
const ALIKE: f64 = 0.5;
/// Random starts of B.
const RANDOM: usize = 64;
/// Inverse temperatures below the model's, and sweeps at each.
const COOLER: [f64; 5] = [1.25, 1.6, 2.2, 3.5, 6.0];
const SWEEPS: u64 = 12;

/// Weights times starts at most, for a search of some seconds.
const PRODUCTS: usize = 150_000_000;

/// Starts of search A, as rows of visible means.
pub fn from_weights<T: Real>(lowered: &LoweredModel<T>, key: Key) -> Array2<T> {
    let wide = lowered.weights().mapv(T::f64);
    let mut starts = Starts { lowered, wide: &wide, rows: Vec::new() };
    let vectors = leading_modes(wide.view(), VECTORS);
    for vector in vectors.rows() {
        starts.along(vector.to_owned());
        starts.along(-&vector);
    }
    for k in 0..1usize << COMBINED.min(vectors.nrows()) {
        let sign = |i: usize| if k >> i & 1 == 1 { 1.0 } else { -1.0 };
        let sum = vectors.rows().into_iter().take(COMBINED).enumerate();
        starts.along(sum.fold(Array1::zeros(wide.nrows()), |all, (i, v)| all + sign(i) * &v));
    }
    let n = wide.ncols();
    // Each column gives six starts, each row four, and each pair two.
    let most = (PRODUCTS / wide.len().max(1)).clamp(240, 12 * COLUMNS) / 12;
    let some = |n: usize, most: usize| (0..n.min(most)).map(move |k| k * n / n.min(most));
    for j in some(n, most) {
        starts.along(wide.column(j).to_owned());
        starts.along(-&wide.column(j));
        starts.with_cluster(j);
    }
    for i in some(wide.nrows(), most) {
        // The hidden direction that a visible unit prefers, seen from the visible layer.
        let direction = wide.dot(&wide.row(i));
        starts.along(direction.clone());
        starts.along(-direction);
    }
    for k in 0..most.min(n * (n - 1) / 2) {
        let u = key.of(Purpose::Far).uniforms::<f64>(k as u64, 0);
        let [i, j] = u.map(|u| ((u * n as f64) as usize).min(n - 1));
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        starts.along(&wide.column(i) + &(sign * &wide.column(j)));
    }
    starts.all()
}

struct Starts<'a, T> {
    lowered: &'a LoweredModel<T>,
    /// W̃ in f64.
    wide: &'a Array2<f64>,
    rows: Vec<Array1<T>>,
}

impl<T: Real> Starts<'_, T> {
    /// The state of a finite layer that is farthest along a visible direction.
    fn along(&mut self, direction: Array1<f64>) {
        let (visible, hidden) = (self.lowered.visible(), self.lowered.hidden());
        if visible.has_finite() {
            self.rows.push(farthest(visible, direction.view()));
        }
        if hidden.has_finite() {
            let direction = direction.dot(self.wide);
            self.add_hidden(farthest(hidden, direction.view()));
        }
    }

    /// Hidden units whose columns are like column `j` are at their extreme, the others where no input puts them.
    fn with_cluster(&mut self, j: usize) {
        let (hidden, wide) = (self.lowered.hidden(), self.wide);
        if !hidden.has_finite() {
            return;
        }
        let column = wide.column(j);
        let norm = |c: ArrayView1<f64>| c.dot(&c).sqrt().max(1e-300);
        let cosine = |k: usize| wide.column(k).dot(&column) / (norm(wide.column(k)) * norm(column));
        let close: Vec<f64> = (0..wide.ncols()).map(cosine).collect();
        let extreme = farthest(hidden, ArrayView1::from(&close));
        let mut row = Array1::from(without_input(hidden));
        for Site { columns, .. } in hidden.each_site() {
            if columns.clone().any(|c| close[c].abs() > ALIKE) {
                row.slice_mut(s![columns.clone()]).assign(&extreme.slice(s![columns]));
            }
        }
        self.add_hidden(row);
    }

    fn add_hidden(&mut self, hidden: Array1<T>) {
        self.rows.push(self.lowered.down().means(hidden.insert_axis(Axis(0)).view()).remove_axis(Axis(0)));
    }

    fn all(mut self) -> Array2<T> {
        if self.rows.is_empty() {
            // Two Gaussian layers have one mode, and everything leads to it.
            self.rows.push(Array1::zeros(self.lowered.visible().columns()));
        }
        stack(self.lowered.visible().columns(), &self.rows)
    }
}

fn stack<T: Real>(columns: usize, rows: &[Array1<T>]) -> Array2<T> {
    let mut all = Array2::zeros((rows.len(), columns));
    all.rows_mut().into_iter().zip(rows).for_each(|(mut out, row)| out.assign(row));
    all
}

/// Means of units without input.
fn without_input<T: Real>(layer: &LoweredLayer<T>) -> Vec<T> {
    let mut row = vec![T::zero(); layer.columns()];
    layer.means(layer.eta(), &vec![T::zero(); layer.columns()], &mut row);
    row
}

/// The state of every finite site with the largest product with a direction; of others the mean without input.
fn farthest<T: Real>(layer: &LoweredLayer<T>, direction: ArrayView1<f64>) -> Array1<T> {
    let mut row = Array1::from(without_input(layer));
    for site in layer.each_site() {
        let along = direction.slice(s![site.columns.clone()]);
        let mut best = f64::NEG_INFINITY;
        for x in site.states::<T>() {
            let product: f64 = along.iter().zip(&x).map(|(d, x)| d * x.f64()).sum();
            if product > best {
                best = product;
                row.slice_mut(s![site.columns.clone()]).assign(&ArrayView1::from(&x));
            }
        }
    }
    row
}

/// Starts of search B, as rows of visible states: some of `ends`, random states, and both after cooling. The base of the
/// backend must have no fields. Returns the starts and the number of sweeps that were made.
pub fn from_sampling<T: Real>(backend: &mut dyn Chains<T>, ends: ArrayView2<T>, key: Key) -> (Array2<T>, u64) {
    let model = backend.model();
    let random = random_states(&model, key);
    let first = concatenate(Axis(0), &[ends, random.view()]).unwrap_or_default();
    let settled = settle(&model, random.view(), Follow::FAR);
    // A state after a descent is where a quench ends; cooling starts from the state itself.
    let (mut all, mut made) = (vec![first.clone(), settled.visible], 0);
    let layer = backend.layers()[0];
    let states = States::of(layer, first.view());
    backend.put(SEARCH, &states, None);
    for (k, beta) in COOLER.iter().enumerate() {
        let beta = vec![T::of(*beta); first.nrows()];
        backend.gibbs(SEARCH, Sweeps { steps: SWEEPS, key, first: k as u64 * SWEEPS, beta: Some(&beta) });
        made += SWEEPS * first.nrows() as u64;
        let now = backend.get(SEARCH).columns(backend.layers()[0], 0, first.nrows());
        if k % 2 == 0 {
            all.push(now);
        }
    }
    let views: Vec<_> = all.iter().map(|a| a.view()).collect();
    (concatenate(Axis(0), &views).unwrap_or_default(), made)
}

/// Random visible rows: means given random hidden states of a finite layer, or random states of the visible one. A growing
/// fraction of the sites has the same state, the others are random.
fn random_states<T: Real>(lowered: &LoweredModel<T>, key: Key) -> Array2<T> {
    let key = key.of(Purpose::Far);
    let (visible, hidden) = (lowered.visible(), lowered.hidden());
    let mut rows = Vec::new();
    for k in 0..RANDOM as u64 {
        let layer = if hidden.has_finite() && (k % 2 == 0 || !visible.has_finite()) { hidden } else { visible };
        if !layer.has_finite() {
            continue;
        }
        let mut row = without_input(layer);
        let u = key.step(k);
        let [fraction, all] = u.uniforms::<f64>(u64::MAX, 0);
        let fraction = if k % 4 < 2 { 0.0 } else { fraction };
        for site in layer.each_site() {
            let [own, which] = u.uniforms::<f64>(site.index as u64, 0);
            let from = if own < fraction { all } else { which };
            if let Some(states) = site.n_states() {
                let state = ((from * states as f64) as usize).min(states - 1);
                site.kind.unit().state(state, &mut row[site.columns]);
            }
        }
        if std::ptr::eq(layer, visible) {
            rows.push(Array1::from(row));
        } else {
            let row = Array2::from_shape_vec((1, layer.columns()), row).unwrap_or_default();
            rows.push(lowered.down().sample(row.view(), u, 0).remove_axis(Axis(0)));
        }
    }
    stack(visible.columns(), &rows)
}
