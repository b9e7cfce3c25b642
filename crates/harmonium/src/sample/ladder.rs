//! Parallel tempering: every ladder has one chain at each of several inverse temperatures, and neighbours are swapped with
//! probability min(1, p_k(v′) p_{k+1}(v) / p_k(v) p_{k+1}(v′)) (Swendsen & Wang 1986; Geyer 1991). A swap exchanges the
//! temperatures of two chains, not their states.
//!
//! Even and odd pairs of rungs alternate, so that states travel rather than diffuse; the temperatures are well placed when all
//! swaps are rejected equally often (Syed, Bouchard-Côté, Deligiannidis & Doucet, *Non-reversible parallel tempering*, 2022).

use super::path::resample;
use crate::backend::{Chains, Slot, Sweeps};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use ndarray::{Array2, s};

/// Smallest rejection rate that a pair of rungs counts with.
const LEAST_REFUSED: f64 = 0.01;

/// Some ladders with the same inverse temperatures.
#[derive(Clone)]
pub struct Ladders<T> {
    /// The slot of the chains: row ladder · rungs + k starts at rung k of its ladder.
    slot: Slot,
    betas: Vec<f64>,
    /// The row at each rung of each ladder.
    row: Vec<usize>,
    /// Swaps proposed and accepted between each rung and the next.
    swaps: Vec<[u64; 2]>,
    /// The round trips of each row.
    travels: Vec<Travel>,
    temperatures: Vec<T>,
}

/// Round trips of a state from the last rung to the first and back.
#[derive(Clone, Copy, Debug, Default)]
struct Travel {
    leg: Leg,
    trips: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Leg {
    /// It has not been at the last rung yet.
    #[default]
    Nowhere,
    /// It was at the last rung and is on its way to the first.
    Down,
    /// It was at the last rung, then at the first, and is on its way back.
    Up,
}

/// A proposed swap: the log weights of the step from a rung to the next, for the chain below and for the chain above.
#[derive(Clone, Copy, Debug)]
pub struct SwapTrial {
    pub ladder: usize,
    pub rung: usize,
    pub forward: f64,
    pub backward: f64,
}

impl<T: Real> Ladders<T> {
    /// Ladders whose chains at rung k start from the rows of columns `starts[k]`.
    pub fn new(backend: &mut dyn Chains<T>, slot: Slot, betas: &[f64], starts: &[Array2<T>]) -> Ladders<T> {
        let (rungs, ladders) = (betas.len(), starts[0].nrows());
        let layer = backend.layers()[0];
        let mut all = Array2::zeros((ladders * rungs, layer.columns()));
        for (k, start) in starts.iter().enumerate() {
            all.slice_mut(s![k..; rungs, ..]).assign(start);
        }
        let rows = States::of(layer, all.view());
        backend.put(slot, &rows, None);
        Ladders::of_rows(slot, betas, ladders)
    }

    /// Ladders whose chains are already in the slot.
    pub fn of_rows(slot: Slot, betas: &[f64], ladders: usize) -> Ladders<T> {
        Ladders {
            slot,
            betas: betas.to_vec(),
            row: (0..ladders * betas.len()).collect(),
            swaps: vec![[0, 0]; betas.len() - 1],
            travels: vec![Travel::default(); ladders * betas.len()],
            temperatures: betas.iter().map(|b| T::of(*b)).collect(),
        }
    }

    fn rungs(&self) -> usize {
        self.betas.len()
    }

    fn ladders(&self) -> usize {
        self.row.len() / self.rungs()
    }

    /// Inverse temperatures from the first rung to the last.
    pub fn betas(&self) -> &[f64] {
        &self.betas
    }

    /// The inverse temperature of every row.
    fn temperatures(&self) -> Vec<T> {
        let mut out = vec![T::zero(); self.row.len()];
        for (place, row) in self.row.iter().enumerate() {
            out[*row] = self.temperatures[place % self.rungs()];
        }
        out
    }

    /// Runs `sweeps` sweeps of every chain, then proposes swaps between every other pair of rungs and calls `observe` with each.
    /// Sweep k uses the random numbers of step `step` · `sweeps` + k under the key.
    pub fn step(
        &mut self,
        backend: &mut dyn Chains<T>,
        sweeps: u64,
        key: Key,
        step: u64,
        mut observe: impl FnMut(SwapTrial),
    ) {
        let own = self.temperatures();
        backend.gibbs(self.slot, Sweeps { steps: sweeps, key, first: step * sweeps, beta: Some(&own) });
        let rungs = self.rungs();
        let pairs: Vec<(usize, usize)> = (0..self.ladders())
            .flat_map(|l| ((step % 2) as usize..rungs - 1).step_by(2).map(move |k| (l, k)))
            .collect();
        let mut other = own.clone();
        for &(l, k) in &pairs {
            let [below, above] = [self.row[l * rungs + k], self.row[l * rungs + k + 1]];
            (other[below], other[above]) = (own[above], own[below]);
        }
        let log_p = backend.log_marginals(self.slot, &[Some(&own), Some(&other)], None);
        let swap = key.of(Purpose::Swap).step(step);
        for (l, k) in pairs {
            let [below, above] = [self.row[l * rungs + k], self.row[l * rungs + k + 1]];
            let forward = log_p[[below, 1]] - log_p[[below, 0]];
            let backward = log_p[[above, 0]] - log_p[[above, 1]];
            observe(SwapTrial { ladder: l, rung: k, forward, backward });
            self.swaps[k][0] += 1;
            if swap.uniforms::<f64>(l as u64, k as u32)[0].ln() < forward - backward {
                self.swaps[k][1] += 1;
                self.row.swap(l * rungs + k, l * rungs + k + 1);
            }
        }
        self.travel();
    }

    /// Updates the round trips of the states that are at the ends.
    fn travel(&mut self) {
        for rows in self.row.chunks_exact(self.betas.len()) {
            let first = &mut self.travels[rows[0]];
            if first.leg == Leg::Down {
                first.leg = Leg::Up;
            }
            let last = &mut self.travels[rows[rows.len() - 1]];
            last.trips += u64::from(last.leg == Leg::Up);
            last.leg = Leg::Down;
        }
    }

    /// The rows at rung k of the ladders.
    fn rows_at(&self, k: usize) -> Vec<usize> {
        self.row.chunks_exact(self.rungs()).map(|rows| rows[k]).collect()
    }

    /// The rows at the last rung, which is the model, one per ladder.
    pub fn last_rows(&self) -> Vec<usize> {
        self.rows_at(self.rungs() - 1)
    }

    /// The states at the last rung, one row per ladder.
    pub fn last(&self, backend: &dyn Chains<T>) -> States<T> {
        backend.get(self.slot).select(&self.last_rows())
    }

    /// The fraction of accepted swaps between each rung and the next; none if none was proposed.
    pub fn swap_rates(&self) -> Vec<Option<f64>> {
        self.swaps.iter().map(|[tried, made]| (*tried > 0).then(|| *made as f64 / *tried as f64)).collect()
    }

    /// The smallest fraction of accepted swaps between two rungs.
    pub fn least_swaps(&self) -> f64 {
        self.swap_rates().into_iter().map(|rate| rate.unwrap_or(0.0)).fold(1.0, f64::min)
    }

    /// Round trips from the last rung to the first and back, of all states together.
    pub fn round_trips(&self) -> u64 {
        self.travels.iter().map(|t| t.trips).sum()
    }

    /// Changes the temperatures of the rungs, keeps the states, and restarts the counts.
    pub fn move_to(&mut self, betas: &[f64]) {
        let rows = std::mem::take(&mut self.row);
        *self = Ladders { row: rows, ..Ladders::of_rows(self.slot, betas, self.travels.len() / betas.len()) };
    }

    /// Sum of the rejection rates: with about twice this many rungs half of the swaps succeed.
    pub fn refused(&self) -> f64 {
        self.refusals().iter().sum()
    }

    fn refusals(&self) -> Vec<f64> {
        self.swap_rates().into_iter().map(|rate| (1.0 - rate.unwrap_or(0.5)).max(LEAST_REFUSED)).collect()
    }

    /// `rungs` inverse temperatures between which swaps would be rejected equally often, by the counts so far.
    pub fn even_betas(&self, rungs: usize) -> Vec<f64> {
        let pairs = self.betas.windows(2).zip(self.refusals());
        let speeds: Vec<f64> = pairs.map(|(b, refused)| refused / (b[1] - b[0]).max(1e-12)).collect();
        resample(&self.betas, &speeds, rungs - 1)
    }

    /// The same ladders with other rungs, each with the states of the nearest old rung.
    pub fn with_betas(&self, backend: &mut dyn Chains<T>, betas: &[f64]) -> Ladders<T> {
        let nearest = |beta: &f64| {
            let far = |k: &usize| (self.betas[*k] - beta).abs();
            (0..self.rungs()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
        };
        let at: Vec<Vec<usize>> = betas.iter().map(|b| self.rows_at(nearest(b))).collect();
        let rows: Vec<usize> = (0..self.ladders()).flat_map(|l| at.iter().map(move |rows| rows[l])).collect();
        let states = backend.get(self.slot);
        backend.put(self.slot, &states, Some(&rows));
        Ladders::of_rows(self.slot, betas, self.ladders())
    }

    /// What the next steps depend on besides the chains: inverse temperatures, counts of swaps, rows.
    pub fn numbers(&self) -> Vec<f64> {
        let swaps = self.swaps.iter().flatten().map(|n| *n as f64);
        self.betas.iter().copied().chain(swaps).chain(self.row.iter().map(|r| *r as f64)).collect()
    }

    /// Ladders with these numbers; none if they are inconsistent.
    pub fn of_numbers(slot: Slot, rungs: usize, ladders: usize, numbers: &[f64]) -> Option<Ladders<T>> {
        if rungs < 2 || numbers.len() != 3 * rungs - 2 + rungs * ladders {
            return None;
        }
        let (betas, rest) = numbers.split_at(rungs);
        let (swaps, rows) = rest.split_at(2 * (rungs - 1));
        let rising = betas.windows(2).all(|b| b[0] < b[1]) && betas[0] == 0.0 && betas[rungs - 1] == 1.0;
        let whole = rest.iter().all(|x| x.fract() == 0.0 && (0.0..9e15).contains(x));
        let mut own = rows.to_vec();
        own.chunks_exact_mut(rungs).for_each(|rows| rows.sort_by(f64::total_cmp));
        let all = own.iter().enumerate().all(|(i, r)| *r == i as f64);
        (rising && whole && all).then(|| Ladders {
            row: rows.iter().map(|r| *r as usize).collect(),
            swaps: swaps.chunks_exact(2).map(|s| [s[0] as u64, s[1] as u64]).collect(),
            ..Ladders::of_rows(slot, betas, ladders)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu;
    use crate::layer::Layer;
    use crate::lowered::LoweredModel;
    use crate::model::Rbm;
    use crate::rng::normal;
    use crate::units::Kind;

    /// Every state of a finite layer, as rows of columns.
    fn all_states(kind: &Kind, sites: usize) -> Array2<f64> {
        let unit = kind.unit::<f64>();
        let (q, w) = (unit.n_states().unwrap(), unit.width());
        let mut x = Array2::zeros((q.pow(sites as u32), sites * w));
        for (k, mut row) in x.rows_mut().into_iter().enumerate() {
            for (site, columns) in row.as_slice_mut().unwrap().chunks_exact_mut(w).enumerate() {
                unit.state(k / q.pow(site as u32) % q, columns);
            }
        }
        x
    }

    /// log Σ_h exp(−E(v, h)) of every v, from energies alone.
    fn log_p(lowered: &LoweredModel<f64>, vs: &Array2<f64>, hs: &Array2<f64>) -> Vec<f64> {
        let sum = |v| crate::math::log_sum_exp(hs.rows().into_iter().map(move |h| -lowered.energy(v, h)));
        vs.rows().into_iter().map(sum).collect()
    }

    /// Detailed balance of the swap: for every pair of states at two rungs, the odds of a swap are those of the product of both
    /// distributions after and before it, enumerated from the energies; and it is accepted where the uniform is below that.
    #[test]
    fn swaps_leave_the_product_of_the_rungs_alone() {
        let (key, mut count, mut seen) = (Key::root(8), 0, 0);
        let mut draw = |_: &f64| {
            count += 1;
            0.8 * normal(key.uniforms::<f64>(count, 0))
        };
        let finite = |k: &Kind| k.unit::<f64>().n_states().is_some_and(|q| q <= 3);
        let kinds: Vec<Kind> = Kind::examples().into_iter().filter(finite).collect();
        for (v, h) in kinds.iter().flat_map(|v| kinds.iter().map(move |h| (v, h))) {
            let mut layer = |kind: &Kind| {
                let plain = Layer::<f64>::new(kind.clone(), 2);
                Layer::from_parts(kind.clone(), plain.par().map(&mut draw), plain.offset().to_owned()).unwrap()
            };
            let (visible, hidden) = (layer(v), layer(h));
            let weights = Array2::zeros((visible.columns(), hidden.columns())).map(&mut draw);
            let lowered = Rbm::from_parts(visible, hidden, weights).unwrap().lower();
            let base = [lowered.visible(), lowered.hidden()].map(|layer| layer.eta().map(&mut draw));
            let (vs, hs, betas) = (all_states(v, 2), all_states(h, 2), [0.3, 0.8]);
            let p = betas.map(|beta| log_p(&lowered.tempered(&base, beta), &vs, &hs));
            let n = vs.nrows();
            let pairs: Vec<[usize; 2]> = (0..n * n).map(|k| [k / n, k % n]).collect();
            let rung = |k: usize| vs.select(ndarray::Axis(0), &pairs.iter().map(|p| p[k]).collect::<Vec<_>>());
            let mut backend = cpu().backend(lowered.clone()).unwrap();
            backend.set_base(base);
            let mut ladders = Ladders::new(backend.as_mut(), 0, &betas, &[rung(0), rung(1)]);
            let mut odds = vec![f64::NAN; pairs.len()];
            ladders.step(backend.as_mut(), 0, key, 4, |m| odds[m.ladder] = m.forward - m.backward);
            for (l, &[a, b]) in pairs.iter().enumerate() {
                let expected = p[0][b] + p[1][a] - p[0][a] - p[1][b];
                assert!((odds[l] - expected).abs() < 1e-11, "{v} with {h}: {} against {expected}", odds[l]);
                let made = ladders.row[2 * l] == 2 * l + 1;
                let u = key.of(Purpose::Swap).step(4).uniforms::<f64>(l as u64, 0)[0];
                assert_eq!(made, u < expected.exp(), "{v} with {h}, {a} and {b}");
                seen += 1;
            }
        }
        assert!(seen > 300, "{seen}");
    }

    /// A round trip is counted at the last rung, after the first.
    #[test]
    fn round_trips_are_counted_once_they_are_complete() {
        let mut ladders = Ladders::<f64>::of_rows(0, &[0.0, 0.5, 1.0], 1);
        for (row, trips) in [([0, 1, 2], 0), ([0, 2, 1], 0), ([2, 0, 1], 0), ([1, 0, 2], 1), ([2, 0, 1], 2)] {
            ladders.row = row.to_vec();
            ladders.travel();
            assert_eq!(ladders.round_trips(), trips, "{row:?}");
        }
    }

    /// Rungs move to where swaps were refused: three times as often in the upper half takes three of four steps there.
    #[test]
    fn rungs_move_to_where_swaps_are_refused() {
        let mut ladders = Ladders::<f64>::of_rows(0, &[0.0, 0.5, 1.0], 1);
        ladders.swaps = vec![[100, 80], [100, 40]];
        let betas = ladders.even_betas(5);
        for (found, expected) in betas.iter().zip([0.0, 0.5, 0.5 + 0.5 / 3.0, 0.5 + 1.0 / 3.0, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{betas:?}");
        }
        assert!((ladders.refused() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_the_whole_state_and_lies_are_refused() {
        let mut ladders = Ladders::<f64>::of_rows(0, &[0.0, 0.25, 1.0], 2);
        ladders.row = vec![1, 0, 2, 5, 3, 4];
        ladders.swaps = vec![[7, 3], [6, 2]];
        let numbers = ladders.numbers();
        let again = Ladders::<f64>::of_numbers(0, 3, 2, &numbers).unwrap();
        assert_eq!((again.numbers(), &again.row, &again.swaps), (numbers.clone(), &ladders.row, &ladders.swaps));
        for (place, lie) in [(0, 0.1), (1, 2.0), (2, 0.9), (3, -1.0), (3, 0.5), (7, 2.0), (9, 99.0), (9, f64::NAN)] {
            let mut numbers = numbers.clone();
            numbers[place] = lie;
            assert!(Ladders::<f64>::of_numbers(0, 3, 2, &numbers).is_none(), "{place}: {lie}");
        }
        assert!(Ladders::<f64>::of_numbers(0, 3, 2, &numbers[1..]).is_none());
        assert!(Ladders::<f64>::of_numbers(0, 3, 1, &numbers).is_none());
    }
}
