//! The path of distributions from independent units (β = 0) to the model (β = 1), and annealing of chains along it.
//!
//! log p*_β(v) changes along the path at speed σ_β, the standard deviation of ∂_β log p*_β(v). A schedule with equal steps of
//! ∫σ_β dβ minimises the variance of the weights (Grosse, Maddison & Salakhutdinov, *Annealing between distributions by
//! averaging moments*, 2013).

use super::resampling::{effective, systematic};
use crate::averages::variance;
use crate::backend::{Chains, Slot, Sweeps};
use crate::lowered::LoweredLayer;
use crate::math::log_sum_exp;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::stats::LayerMeans;
use ndarray::{Array1, Array2};

/// Pilot chains, which determine the base distribution and the speed.
#[derive(Clone, Copy)]
pub struct Pilots {
    pub chains: usize,
    /// Temperatures that they pass through.
    pub steps: usize,
    /// How often the speed is measured, each time along the last schedule.
    pub rounds: u64,
    /// Whether means of finite units that are not significant are left out of the base. Of two modes of equal mass, pilots visit
    /// one more often by chance, and fields in its favour would make the other hard to reach.
    pub cautious: bool,
}

impl Pilots {
    /// Enough for a speed within some percent.
    pub const MANY: Pilots = Pilots { chains: 200, steps: 100, rounds: 3, cautious: false };
    /// Enough where paths are short.
    pub const SOME: Pilots = Pilots { chains: 64, steps: 50, rounds: 2, cautious: false };
    /// Enough for a first ladder.
    pub const FAIR: Pilots = Pilots { cautious: true, ..Pilots::SOME };
}

/// Smallest speed in a schedule, in units of the mean, so that no interval is skipped because the pilots missed it.
const LEAST_SPEED: f64 = 0.2;

/// Called with the number of chains after every sweep.
pub type OnSweeps<'a> = &'a (dyn Fn(u64) + Sync);

/// Independent units: natural parameters, visible and hidden, and their log Z.
#[derive(Clone)]
pub struct Base<T> {
    eta: [Array2<T>; 2],
    log_z: f64,
}

/// A base and the speed from there.
#[derive(Clone)]
pub struct Saved<T> {
    base: Base<T>,
    grid: Vec<f64>,
    length: f64,
}

/// A model, its base distribution, and the speed between them.
pub struct Path<'a, T: Real> {
    pub backend: Box<dyn Chains<T>>,
    /// How many layers have states: both, or the visible one with the other summed out.
    pub layers: usize,
    base: Base<T>,
    /// Inverse temperatures at equal distances along the path.
    grid: Vec<f64>,
    /// ∫σ_β dβ: about the square root of the number of temperatures for weights of variance 1.
    pub length: f64,
    on_sweeps: OnSweeps<'a>,
}

impl<'a, T: Real> Path<'a, T> {
    /// Determines the base, which has the means of a short annealed run, and measures the speed. (A base with the means of the
    /// data leads to the data, and would miss mass elsewhere, which every model has early in training.)
    pub fn new(
        backend: Box<dyn Chains<T>>,
        layers: usize,
        pilots: Pilots,
        key: Key,
        on_sweeps: OnSweeps<'a>,
    ) -> Path<'a, T> {
        let grid = (0..=pilots.steps).map(|k| k as f64 / pilots.steps as f64).collect();
        let base = Base { eta: flat(&*backend), log_z: 0.0 };
        let mut path = Path { backend, layers, base, grid, length: 0.0, on_sweeps };
        let even = path.grid.clone();
        path.start(0, pilots.chains, key.of(Purpose::Base));
        path.anneal(0, &even, key.of(Purpose::Base), |_, _, _| ());
        path.fit_base(pilots.cautious);
        path.measure_speeds(pilots, key);
        path
    }

    /// The base and the speed from there, for [`restore`](Path::restore).
    pub fn saved(&self) -> Saved<T> {
        Saved { base: self.base.clone(), grid: self.grid.clone(), length: self.length }
    }

    /// Goes back to a saved base.
    pub fn restore(&mut self, saved: &Saved<T>) {
        self.restore_base(saved.base.clone());
        (self.grid, self.length) = (saved.grid.clone(), saved.length);
    }

    /// A path from units without fields, with the speed measured. Nothing that chance has broken the symmetry of is in such a
    /// base, so its chains reach modes in proportion to their mass where any base does.
    pub fn flat(
        backend: Box<dyn Chains<T>>,
        layers: usize,
        pilots: Pilots,
        key: Key,
        on_sweeps: OnSweeps<'a>,
    ) -> Path<'a, T> {
        let eta = flat(&*backend);
        let mut path = Path::between(eta, backend, layers, on_sweeps);
        path.measure_speeds(pilots, key);
        path
    }

    /// Moves the base to independent units with these natural parameters, visible and hidden, with a schedule of equal steps of β.
    pub fn rebase_evenly(&mut self, eta: [Array2<T>; 2]) {
        self.restore_base(self.base_of(eta));
        self.grid = vec![0.0, 1.0];
    }

    /// A path from given independent units (natural parameters, visible and hidden) with a schedule of equal steps of β.
    pub fn between(
        eta: [Array2<T>; 2],
        backend: Box<dyn Chains<T>>,
        layers: usize,
        on_sweeps: OnSweeps<'a>,
    ) -> Path<'a, T> {
        let base = Base { eta: flat(&*backend), log_z: 0.0 };
        let mut path = Path { backend, layers, base, grid: vec![0.0, 1.0], length: 0.0, on_sweeps };
        path.restore_base(path.base_of(eta));
        path
    }

    /// Fits the base to the mean statistics of the rows in slot 0.
    fn fit_base(&mut self, cautious: bool) {
        let mut means = self.backend.layer_means(0, None);
        if cautious {
            let (lowered, states) = (self.backend.model(), self.backend.get(0));
            let x = states.columns(lowered.visible(), 0, states.rows());
            let [visible, hidden] = lowered.flat();
            keep_significant(lowered.visible(), &visible, &x, &mut means.visible);
            keep_significant(lowered.hidden(), &hidden, &lowered.up().means(x.view()), &mut means.hidden);
        }
        self.set_base(&means);
    }

    /// Moves the base halfway to these rows: its mean statistics are half its own and half theirs. Annealing from there reaches
    /// other modes.
    pub fn lean(&mut self, rows: &States<T>, pilots: Pilots, key: Key) {
        self.backend.put(0, rows, None);
        let mut all = self.backend.layer_means(0, None);
        let layers = self.backend.layers().into_iter().zip([&mut all.visible, &mut all.hidden]);
        for ((layer, means), eta) in layers.zip(&self.base.eta) {
            let mut own = Array2::zeros(eta.dim());
            layer.mean_stats(eta.view(), &vec![T::zero(); layer.columns()], own.view_mut());
            means.zip_mut_with(&own, |theirs, own| *theirs = T::of(0.5) * (*theirs + *own));
        }
        all.weight *= 2.0;
        self.set_base(&all);
        self.measure_speeds(pilots, key);
    }

    /// Measures the speed from the base, with pilot chains.
    pub fn measure_speeds(&mut self, pilots: Pilots, key: Key) {
        self.grid = (0..=pilots.steps).map(|k| k as f64 / pilots.steps as f64).collect();
        for round in 0..pilots.rounds {
            self.measure_speed(pilots.chains, key.of(Purpose::Pilot).step(round));
        }
    }

    /// Fits the base to these means; returns the old base.
    pub fn set_base(&mut self, means: &LayerMeans<T>) -> Base<T> {
        // The base is defined by its rounded numbers.
        let fit =
            |layer: &LoweredLayer<T>, of: &Array2<T>| layer.fitted(of.mapv(T::f64).view(), means.weight).mapv(T::of);
        let [visible, hidden] = self.backend.layers();
        let eta = [fit(visible, &means.visible), fit(hidden, &means.hidden)];
        self.restore_base(self.base_of(eta))
    }

    fn base_of(&self, eta: [Array2<T>; 2]) -> Base<T> {
        let log_z = self.backend.layers().iter().zip(&eta).take(self.layers).map(|(s, eta)| log_norm(s, eta)).sum();
        Base { eta, log_z }
    }

    /// log Z of the base.
    pub fn log_z0(&self) -> f64 {
        self.base.log_z
    }

    /// Sets the base; returns the old one.
    pub fn restore_base(&mut self, base: Base<T>) -> Base<T> {
        self.backend.set_base(base.eta.clone());
        std::mem::replace(&mut self.base, base)
    }

    fn measure_speed(&mut self, chains: usize, key: Key) {
        let betas = self.grid.clone();
        self.start(0, chains, key);
        let mut spreads = Vec::with_capacity(betas.len());
        self.anneal(0, &betas, key, |_, _, steps| spreads.push(variance(steps).sqrt()));
        self.length = spreads.iter().sum();
        let least = LEAST_SPEED * self.length.max(1e-9);
        let speeds: Vec<f64> = spreads.iter().zip(betas.windows(2)).map(|(s, b)| s / (b[1] - b[0]) + least).collect();
        self.grid = resample(&betas, &speeds, betas.len() - 1);
    }

    /// `n` + 1 inverse temperatures from 0 to 1 at equal distances along the path.
    pub fn schedule(&self, n: usize) -> Vec<f64> {
        let speeds: Vec<f64> = self.grid.windows(2).map(|b| 1.0 / (b[1] - b[0]).max(1e-12)).collect();
        resample(&self.grid, &speeds, n)
    }

    /// Fills a slot with samples of the base.
    pub fn start(&mut self, slot: Slot, chains: usize, key: Key) {
        let layer = self.backend.layers()[0];
        let rows = States::of(layer, first_state(layer, chains).view());
        self.backend.put(slot, &rows, None);
        // At β = 0 the result of a sweep does not depend on the state before.
        self.sweep(slot, &vec![T::zero(); chains], key, 0);
    }

    /// One sweep of the chains of a slot at these inverse temperatures.
    pub fn sweep(&mut self, slot: Slot, beta: &[T], key: Key, step: u64) {
        self.backend.gibbs(slot, Sweeps { steps: 1, key, first: step, beta: Some(beta) });
        (self.on_sweeps)(beta.len() as u64);
    }

    /// Reports a sweep of so many chains.
    pub fn report_sweeps(&self, chains: usize) {
        (self.on_sweeps)(chains as u64);
    }

    /// Number of temperatures of a ladder: neighbours at distance 1 are swapped in about half of all proposals, and the speed is
    /// underestimated where the pilots lag behind.
    pub fn rungs(&self) -> usize {
        ((1.2 * self.length).ceil() as usize + 1).max(3)
    }

    /// Anneals the chains of a slot from the first to the last of two or more inverse temperatures, with one sweep at each after
    /// the first. Returns Σ log p*_{next}(v)/p*_{now}(v) of every chain; `observe(path, k, parts)` is called before the sweep at
    /// temperature k with the last terms of these sums. Between both ends of the whole path the backend may round the weights: the
    /// sums then include the steps to and from the rounded model, the mean of e^sum is exact and the reverse path is the same.
    pub fn anneal(
        &mut self,
        slot: Slot,
        betas: &[f64],
        key: Key,
        observe: impl FnMut(&mut Self, usize, &[f64]),
    ) -> Vec<f64> {
        self.anneal_all(slot, betas, key, observe, |_, _, _| ())
    }

    /// Anneals the chains of a slot with resampling: where the weights differ so much that few chains would count, chains with
    /// large weights are copied and those with small ones dropped, in proportion, and all go on with the mean weight. The mean
    /// of e^sum stays exact (Del Moral, Doucet & Jasra, *Sequential Monte Carlo samplers*, 2006). Chains that descend from one
    /// chain of the start are a family; only families are independent.
    pub fn anneal_families(&mut self, slot: Slot, betas: &[f64], key: Key) -> Families {
        let mut families: Vec<usize> = (0..self.backend.get(slot).rows()).collect();
        let draws = key.of(Purpose::Resample);
        let weights = self.anneal_all(
            slot,
            betas,
            key,
            |_, _, _| (),
            |path, k, sums| {
                let n = sums.len();
                if effective(sums) >= RESAMPLED * n as f64 {
                    return;
                }
                let chosen = systematic(sums, n, draws.uniforms::<f64>(k as u64, 0)[0]);
                let states = path.backend.get(slot);
                path.backend.put(slot, &states, Some(&chosen));
                families = chosen.iter().map(|c| families[*c]).collect();
                let mean = log_sum_exp(sums.iter().copied()) - (n as f64).ln();
                sums.fill(mean);
            },
        );
        Families { weights, families }
    }

    /// [`anneal`](Path::anneal); `choose(path, k, sums)` may change chains and sums before the sweep at temperature k, except the
    /// last.
    fn anneal_all(
        &mut self,
        slot: Slot,
        betas: &[f64],
        key: Key,
        mut observe: impl FnMut(&mut Self, usize, &[f64]),
        mut choose: impl FnMut(&mut Self, usize, &mut Vec<f64>),
    ) -> Vec<f64> {
        let chains = self.backend.get(slot).rows();
        let row = |beta: f64| vec![T::of(beta); chains];
        let mut now = row(betas[0]);
        let mut sums = vec![0.0; chains];
        for (k, beta) in betas.iter().enumerate().skip(1) {
            let (next, last) = (row(*beta), k + 1 == betas.len());
            let draw = (!last).then_some((key, k as u64));
            let log_p = self.backend.log_marginals(slot, &[Some(&now), Some(&next)], draw);
            let parts: Vec<f64> = log_p.rows().into_iter().map(|p| p[1] - p[0]).collect();
            sums.iter_mut().zip(&parts).for_each(|(s, p)| *s += p);
            observe(self, k, &parts);
            if !last {
                choose(self, k, &mut sums);
            }
            self.sweep(slot, &next, key, k as u64);
            now = next;
        }
        sums
    }
}

/// Part of the chains that must count; below it they are resampled.
const RESAMPLED: f64 = 0.5;

/// Chains annealed with resampling.
#[derive(Default)]
pub struct Families {
    /// Log weights of the chains.
    pub weights: Vec<f64>,
    /// The chain of the start that each chain descends from.
    pub families: Vec<usize>,
}

/// Standard errors from which on a mean is significant.
const SIGNIFICANT: f64 = 3.0;

/// Shrinks the means of the columns of `x` towards the mean without a field: a difference d with standard error e becomes
/// d(1 − (3e/d)²), and less than three standard errors become 0. Only finite units are changed.
fn keep_significant<T: Real>(layer: &LoweredLayer<T>, flat: &Array2<T>, x: &Array2<T>, means: &mut Array2<T>) {
    if !layer.has_finite() {
        return;
    }
    let (n, mut none) = (x.nrows() as f64, vec![T::zero(); layer.columns()]);
    layer.means(flat.view(), &vec![T::zero(); layer.columns()], &mut none);
    for c in layer.each_site().filter(|site| site.n_states().is_some()).flat_map(|site| site.columns) {
        let (column, none, mean) = (x.column(c), none[c], &mut means[[0, c]]);
        let values: Vec<f64> = column.iter().map(|x| x.f64()).collect();
        let (error2, d) = (variance(&values) / n, mean.f64() - none.f64());
        let kept = if d == 0.0 { 0.0 } else { (1.0 - SIGNIFICANT * SIGNIFICANT * error2 / (d * d)).max(0.0) };
        *mean = T::of(none.f64() + kept * d);
    }
}

/// Natural parameters without fields, visible and hidden.
fn flat<T: Real>(backend: &dyn Chains<T>) -> [Array2<T>; 2] {
    backend.layers().map(LoweredLayer::flat)
}

/// Γ(η, 0) in f64.
fn log_norm<T: Real>(layer: &LoweredLayer<T>, eta: &Array2<T>) -> f64 {
    let eta = eta.mapv(T::f64);
    layer.log_norm(eta.view(), &vec![0.0; eta.ncols()])
}

/// Rows of zeros, or of first states.
fn first_state<T: Real>(layer: &LoweredLayer<T>, rows: usize) -> Array2<T> {
    let mut row = Array1::zeros(layer.columns());
    if let Some(row) = row.as_slice_mut() {
        let finite = layer.each_site().filter(|site| site.n_states().is_some());
        finite.for_each(|site| site.kind.unit().state(0, &mut row[site.columns]));
    }
    Array2::from_shape_fn((rows, layer.columns()), |(_, c)| row[c])
}

/// `n` + 1 points from the first to the last of `points`, with density proportional to `speeds` between them.
pub fn resample(points: &[f64], speeds: &[f64], n: usize) -> Vec<f64> {
    let mut distance = vec![0.0];
    for (p, speed) in points.windows(2).zip(speeds) {
        distance.push(distance[distance.len() - 1] + (p[1] - p[0]) * speed);
    }
    let total = distance[distance.len() - 1];
    let mut k = 0;
    let mut out: Vec<f64> = (0..=n)
        .map(|i| {
            let d = total * i as f64 / n as f64;
            while k + 2 < distance.len() && distance[k + 1] < d {
                k += 1;
            }
            let part = ((d - distance[k]) / (distance[k + 1] - distance[k]).max(1e-300)).clamp(0.0, 1.0);
            points[k] + part * (points[k + 1] - points[k])
        })
        .collect();
    (out[0], out[n]) = (points[0], points[points.len() - 1]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu;
    use crate::exact::Exact;
    use crate::layer::Layer;
    use crate::model::Rbm;
    use crate::units::Kind;

    /// Twelve Bernoulli units, six hidden ones, and weights so strong that few of the chains of a short run count.
    fn strong() -> Rbm<f64> {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let weights = Array2::from_shape_fn((12, 6), |(i, j)| 3.0 * (((i * 7 + j * 5) % 11) as f64 / 5.0 - 1.0));
        Rbm::from_parts(Layer::new(kind.clone(), 12), Layer::new(kind, 6), weights).unwrap()
    }

    /// The mean of the weights is Z, with resampling and without; families are fewer than chains where chains were copied.
    #[test]
    fn resampled_chains_have_the_mean_weight_of_all() {
        let rbm = strong();
        let exact = Exact::new(&rbm).unwrap().log_z();
        let backend = cpu().backend(rbm.lower()).unwrap();
        let key = Key::root(5);
        let mut path = Path::flat(backend, 2, Pilots::SOME, key, &|_| ());
        let schedule = path.schedule(8);
        let (repeats, chains) = (400, 32);
        let mut found = Vec::new();
        let mut fewest = chains;
        for k in 0..repeats {
            let key = key.of(Purpose::Forward).step(k);
            path.start(0, chains, key);
            let Families { weights, mut families } = path.anneal_families(0, &schedule, key);
            let log_mean = log_sum_exp(weights.into_iter()) - (chains as f64).ln();
            found.push((log_mean + path.log_z0() - exact).exp());
            families.dedup();
            fewest = fewest.min(families.len());
        }
        let (mean, error) = (found.iter().sum::<f64>() / repeats as f64, (variance(&found) / repeats as f64).sqrt());
        assert!(fewest < chains / 2, "nothing was resampled");
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.1, "{mean} ± {error}");
    }
}
