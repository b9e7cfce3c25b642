//! Sampling a layer with few sites, with the other summed out: log p*(x) = ⟨η, T(x)⟩ + Γ(xᵀW̃), one site at a time.
//!
//! If one layer has few units, each of them is coupled to many of the other: either layer almost determines the other, and
//! block Gibbs sampling hardly moves. With the large layer summed out, only the barriers of the few units remain. A sweep visits
//! the sites in ascending or descending order, with equal probability: that makes it reversible, which reverse annealing needs.

use crate::backend::{Chains, Slot, Sweeps};
use crate::lowered::{LoweredLayer, LoweredModel};
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::stats::LayerMeans;
use crate::threads;
use ndarray::{Array1, Array2, ArrayView1, ArrayViewMut1, Axis, s};

/// Chains of the visible layer of a model, with the hidden one summed out.
pub struct Collapsed<T> {
    lowered: LoweredModel<T>,
    base: Array2<T>,
    slots: Vec<Array2<T>>,
}

impl<T: Real> Collapsed<T> {
    /// Of a model with a finite visible layer.
    pub fn new(lowered: LoweredModel<T>) -> Collapsed<T> {
        let [base, _] = lowered.flat();
        Collapsed { lowered, base, slots: Vec::new() }
    }

    /// Whether a pass over some rows uses several threads: from about 50 µs on.
    fn parallel(&self, rows: usize) -> bool {
        rows * self.lowered.weights().len() >= 1 << 16
    }

    fn slot(&mut self, slot: Slot) -> &mut Array2<T> {
        if self.slots.len() <= slot {
            let columns = self.lowered.visible().columns();
            self.slots.resize(slot + 1, Array2::zeros((0, columns)));
        }
        &mut self.slots[slot]
    }

    /// ⟨own, T(x)⟩, ⟨base, T(x)⟩ of one row.
    fn own(&self, x: ArrayView1<T>) -> [f64; 2] {
        let layer = self.lowered.visible();
        let mut t = Array2::zeros(layer.eta().dim());
        layer.stats(&x.to_vec(), t.view_mut());
        [layer.eta(), self.base.view()].map(|eta| eta.iter().zip(&t).map(|(e, t)| e.f64() * t.f64()).sum())
    }

    /// log p* and ⟨base, T⟩ of one row.
    fn log_p(&self, x: ArrayView1<T>) -> [f64; 2] {
        let (hidden, [own, base]) = (self.lowered.hidden(), self.own(x));
        let input = x.dot(&self.lowered.weights());
        let norm = hidden.log_norm(hidden.eta(), input.as_slice().unwrap_or(&[]));
        [own + norm - self.lowered.constant(), base]
    }

    /// Draws every site of a row given the others, at inverse temperature `beta`.
    fn sweep(&self, mut x: ArrayViewMut1<T>, beta: f64, key: Key, chain: u64) {
        let (visible, hidden, weights) = (self.lowered.visible(), self.lowered.hidden(), self.lowered.weights());
        let sites = visible.sites();
        let mut u = vec![0.0f64; sites + 1];
        key.fill(chain, &mut u);
        let mut input = x.dot(&weights);
        let mut trial = input.clone();
        let mut norm = hidden.log_norm(hidden.eta(), input.as_slice().unwrap_or(&[]));
        let mut found = Vec::new();
        for k in 0..sites {
            let site = if u[sites] < 0.5 { k } else { sites - 1 - k };
            let place = visible.site(site);
            let (unit, columns, states) = (place.kind.unit::<T>(), place.columns.clone(), place.states::<T>());
            let mut t = Array2::zeros((unit.n_stats(), columns.len()));
            let now = unit.state_of(&x.slice(s![columns.clone()]).to_vec());
            found.resize(states.len(), (0.0, 0.0));
            for (k, found) in found.iter_mut().enumerate() {
                let state = &states[k];
                let mut other = norm;
                if k != now {
                    trial.assign(&input);
                    for (c, new) in columns.clone().zip(state) {
                        trial.scaled_add(*new - x[c], &weights.row(c));
                    }
                    other = hidden.log_norm(hidden.eta(), trial.as_slice().unwrap_or(&[]));
                }
                unit.stats(state, t.view_mut());
                let dot = |eta: ndarray::ArrayView2<T>| -> f64 {
                    eta.slice(s![..t.nrows(), columns.clone()]).iter().zip(&t).map(|(e, t)| e.f64() * t.f64()).sum()
                };
                *found = (beta * (dot(visible.eta()) + other) + (1.0 - beta) * dot(self.base.view()), other);
            }
            let all = log_sum_exp(found.iter().map(|f| f.0));
            let mut passed = 0.0;
            let skipped = found.iter().take_while(|f| {
                passed += (f.0 - all).exp();
                u[site] >= passed
            });
            let chosen = skipped.count().min(states.len() - 1);
            if chosen != now {
                for (c, new) in columns.zip(&states[chosen]) {
                    input.scaled_add(*new - x[c], &weights.row(c));
                    x[c] = *new;
                }
                norm = found[chosen].1;
            }
        }
    }
}

impl<T: Real> Chains<T> for Collapsed<T> {
    fn layers(&self) -> [&LoweredLayer<T>; 2] {
        self.lowered.layers()
    }

    fn model(&self) -> LoweredModel<T> {
        self.lowered.clone()
    }

    fn set_base(&mut self, [visible, _]: [Array2<T>; 2]) {
        self.base = visible;
    }

    fn put(&mut self, slot: Slot, rows: &States<T>, which: Option<&[usize]>) {
        let all = which.map_or_else(|| rows.clone(), |which| rows.select(which));
        *self.slot(slot) = all.columns(self.lowered.visible(), 0, all.rows());
    }

    fn get(&self, slot: Slot) -> States<T> {
        States::of(self.lowered.visible(), self.slots[slot].view())
    }

    fn gibbs(&mut self, slot: Slot, sweeps: Sweeps<T>) {
        let mut rows = std::mem::take(self.slot(slot));
        for step in sweeps.first..sweeps.first + sweeps.steps {
            let key = sweeps.key.of(Purpose::Visible).step(step);
            let parallel = self.parallel(rows.nrows());
            threads::each(parallel, rows.axis_iter_mut(Axis(0)).enumerate(), |(r, x)| {
                self.sweep(x, sweeps.beta.map_or(1.0, |b| b[r].f64()), key, r as u64);
            });
        }
        self.slots[slot] = rows;
    }

    fn log_marginals(&mut self, slot: Slot, betas: &[Option<&[T]>], _: Option<(Key, u64)>) -> Array2<f64> {
        let rows = self.slots[slot].axis_iter(Axis(0));
        let found = threads::map(self.parallel(rows.len()), rows, |x| self.log_p(x));
        Array2::from_shape_fn((found.len(), betas.len()), |(r, b)| {
            let beta = betas[b].map_or(1.0, |beta| beta[r].f64());
            beta * found[r][0] + (1.0 - beta) * found[r][1]
        })
    }

    fn free_energy(&mut self, rows: &States<T>) -> Array1<f64> {
        let x = rows.columns(self.lowered.visible(), 0, rows.rows());
        x.rows().into_iter().map(|x| -self.log_p(x)[0]).collect()
    }

    /// Of the visible layer only: the hidden one has no states here.
    fn layer_means(&mut self, slot: Slot, weights: Option<&[T]>) -> LayerMeans<T> {
        let layer = self.lowered.visible();
        let mut means = LayerMeans::zeros(self.lowered.layers());
        let mut t = Array2::zeros(means.visible.dim());
        for (r, row) in self.slots[slot].rows().into_iter().enumerate() {
            let w = weights.map_or(T::one(), |w| w[r]);
            layer.stats(&row.to_vec(), t.view_mut());
            means.visible.scaled_add(w, &t);
            means.weight += w.f64();
        }
        means.visible.mapv_inplace(|x| x / T::of(means.weight));
        means
    }
}
