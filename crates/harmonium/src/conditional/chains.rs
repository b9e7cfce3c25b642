//! Chains with clamped cells: every row has several, which start at infinite temperature and are cooled down to the model. Means
//! are those of p(v | h) (Rao–Blackwell), and their error is the spread between the chains of a row.

use super::{Answer, Conditional, ConditionalOptions};
use crate::backend::{Backend, Slot, Sweeps};
use crate::bits::Bits;
use crate::dataset::Dataset;
use crate::lowered::LoweredModel;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::threads;
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};

/// Sweeps between two measurements of the chains: a measurement costs as much as several sweeps.
pub(super) const EVERY: usize = 4;
const SLOT: Slot = 0;
/// Rows of one piece of work.
const PIECE: usize = 128;

/// The results for rows of columns.
pub(super) fn answers(this: &mut Conditional, x: ArrayView2<f64>, known: &Bits, key: Key) -> Vec<Answer> {
    let (rows, chains) = (x.nrows(), this.settings.chains);
    let columns = this.lowered.visible().columns();
    let mut sums = Array2::<f64>::zeros((rows * chains, columns));
    let mut squares = Array2::<f64>::zeros((rows, columns));
    let (mut measured, mut draws) = (0.0, Vec::new());
    each_state(this, x, known, key, |this, states, step| {
        let found = visible_moments(this, states, key.of(Purpose::ConditionalMeans).step(step));
        sums += &found.slice(s![.., ..columns]);
        for (r, mut squares) in squares.rows_mut().into_iter().enumerate() {
            squares += &found.slice(s![r * chains..(r + 1) * chains, columns..]).sum_axis(Axis(0));
        }
        measured += 1.0;
        if this.settings.interval.is_some() {
            draws.push(states.values(this.narrow.visible()).mapv(f64::from));
        }
    });
    let site_of = this.lowered.visible().site_of_columns();
    let one = |r: usize| {
        let of_row = s![r * chains..(r + 1) * chains, ..];
        let each = &sums.slice(of_row) / measured;
        let (mut means, mut std_err) = (mean(each.view()), deviation_of_mean(each.view()));
        let spread = squares.row(r).mapv(|s| s / (measured * chains as f64)) - means.mapv(|m| m * m);
        for c in (0..columns).filter(|c| known.get(r, site_of[*c])) {
            (means[c], std_err[c]) = (x[[r, c]], 0.0);
        }
        let off = relative(&std_err, &spread);
        let some: Vec<_> = draws.iter().map(|d| d.slice(of_row)).collect();
        // All have the same number of columns.
        Answer {
            means,
            std_err,
            off,
            draws: (!some.is_empty()).then(|| concatenate(Axis(0), &some).unwrap_or_default()),
        }
    };
    (0..rows).map(one).collect()
}

/// ⟨h⟩ of rows of columns given their known cells.
pub(super) fn hidden_means(this: &mut Conditional, x: ArrayView2<f64>, known: &Bits, key: Key) -> Array2<f64> {
    let (rows, chains) = (x.nrows(), this.settings.chains);
    let mut sums = Array2::<f64>::zeros((rows * chains, this.lowered.hidden().columns()));
    let mut measured = 0.0;
    each_state(this, x, known, key, |this, states, _| {
        let lowered = &this.narrow;
        sums += &in_pieces(lowered, states, |_, x| lowered.up().means(x));
        measured += 1.0;
    });
    let mut means = Array2::zeros((rows, sums.ncols()));
    for (r, mut row) in means.rows_mut().into_iter().enumerate() {
        row.assign(&(mean(sums.slice(s![r * chains..(r + 1) * chains, ..])) / measured));
    }
    means
}

/// Runs the chains of rows, and hands on their states every few sweeps.
fn each_state(
    this: &mut Conditional,
    x: ArrayView2<f64>,
    known: &Bits,
    key: Key,
    mut see: impl FnMut(&Conditional, &States<f32>, u64),
) {
    start(this, x, known, this.settings.chains, key);
    for step in (0..this.settings.steps).step_by(EVERY) {
        let steps = (this.settings.steps - step).min(EVERY as u64);
        let first = this.settings.burn_in + step;
        this.backend.gibbs(SLOT, Sweeps { steps, key, first, beta: None });
        let states = this.backend.get(SLOT);
        see(this, &states, step);
    }
}

/// Puts `chains` copies of every row into the slot, clamps the known cells and cools the chains down.
fn start(this: &mut Conditional, x: ArrayView2<f64>, known: &Bits, chains: usize, key: Key) {
    let states = States::of(this.narrow.visible(), x.mapv(|x| x as f32).view());
    let copies: Vec<usize> = (0..states.rows()).flat_map(|r| std::iter::repeat_n(r, chains)).collect();
    this.backend.put(SLOT, &states, Some(&copies));
    this.backend.clamp(SLOT, Some(&known.select(&copies)));
    cool_down(this.backend.as_mut(), SLOT, copies.len(), this.settings.burn_in, key);
}

/// Rows with their unknown cells drawn by `sweeps` sweeps in a slot. In the first half of them the chains are cooled down, so
/// that the previous content of these cells does not matter.
pub fn filled<T: Real>(
    backend: &mut dyn Backend<T>,
    slot: Slot,
    data: &Dataset<T>,
    sweeps: u64,
    key: Key,
) -> Dataset<T> {
    let Some(known) = data.known() else { return data.clone() };
    backend.put(slot, data.states(), None);
    backend.clamp(slot, Some(known));
    cool_down(backend, slot, data.len(), sweeps, key);
    let mut filled = data.clone();
    filled.refill(backend.get(slot));
    filled
}

/// Runs `rows` chains at inverse temperatures from 0 to 1, and for the second half of the sweeps at 1.
fn cool_down<T: Real>(backend: &mut dyn Backend<T>, slot: Slot, rows: usize, sweeps: u64, key: Key) {
    for step in 0..sweeps {
        let beta = vec![T::of((2.0 * step as f64 / sweeps as f64).min(1.0)); rows];
        backend.gibbs(slot, Sweeps { steps: 1, key, first: step, beta: Some(&beta) });
    }
}

/// ⟨v | h⟩ of every chain, with h drawn given the current states, and beside it v².
fn visible_moments(this: &Conditional, states: &States<f32>, key: Key) -> Array2<f64> {
    let lowered = &this.narrow;
    in_pieces(lowered, states, |from, x| {
        let means = lowered.down().means(lowered.up().sample(x, key, from).view());
        // Both have the same number of rows.
        concatenate(Axis(1), &[means.view(), x.mapv(|x| x * x).view()]).unwrap_or_default()
    })
}

/// Root mean square of the errors of unknown cells in units of their standard deviations; cells that have none are left out.
fn relative(std_err: &Array1<f64>, variances: &Array1<f64>) -> f64 {
    let parts = std_err.iter().zip(variances).filter(|(e, v)| **e > 0.0 && **v > 0.0).map(|(e, v)| e * e / v);
    let (n, sum) = parts.fold((0.0, 0.0), |(n, sum), part| (n + 1.0, sum + part));
    f64::sqrt(sum / f64::max(n, 1.0))
}

/// Data values of the unknown cells of rows from `n` chains for each, which never met: rows·n × sites.
pub(super) fn drawn(this: &mut Conditional, x: ArrayView2<f64>, known: &Bits, n: usize, key: Key) -> Array2<f64> {
    start(this, x, known, n, key);
    let ConditionalOptions { burn_in, steps, .. } = this.settings;
    this.backend.gibbs(SLOT, Sweeps { steps, key, first: burn_in, beta: None });
    this.backend.get(SLOT).values(this.narrow.visible()).mapv(f64::from)
}

/// Some rows of `f` for each row of states, some rows at a time; `f` also gets the number of the first.
fn in_pieces(
    lowered: &LoweredModel<f32>,
    states: &States<f32>,
    f: impl Fn(u64, ArrayView2<f32>) -> Array2<f32> + Sync,
) -> Array2<f64> {
    let rows = states.rows();
    let parallel = rows * lowered.weights().len() >= threads::MANY;
    let pieces: Vec<Array2<f32>> = threads::map(parallel, (0..rows).step_by(PIECE), |from| {
        let x = states.columns(lowered.visible(), from, (from + PIECE).min(rows));
        f(from as u64, x.view())
    });
    let views: Vec<_> = pieces.iter().map(|p| p.view()).collect();
    // All have the same number of columns.
    concatenate(Axis(0), &views).unwrap_or_default().mapv(f64::from)
}

fn mean(x: ArrayView2<f64>) -> Array1<f64> {
    x.sum_axis(Axis(0)) / x.nrows() as f64
}

/// Standard error of the mean of rows.
fn deviation_of_mean(x: ArrayView2<f64>) -> Array1<f64> {
    let (n, mean) = (x.nrows() as f64, mean(x));
    let squares = x.rows().into_iter().fold(Array1::zeros(x.ncols()), |sum, row| sum + (&row - &mean).mapv(|d| d * d));
    squares.mapv(|s: f64| (s / (n * (n - 1.0))).sqrt())
}
