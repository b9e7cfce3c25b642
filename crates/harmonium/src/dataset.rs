//! A data set in memory: packed rows and their weights.

use crate::bits::Bits;
use crate::data::Block;
use crate::error::{Error, Result, number};
use crate::layout::{Layout, Site};
use crate::real::Real;
use crate::rng::{Key, Purpose, shuffled};
use crate::states::States;
use ndarray::{Array2, ArrayView2, s};

/// Rows for training or validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset<T> {
    states: States<T>,
    weights: Vec<T>,
    uniform: bool,
    /// Which cells are known, if not all; unknown cells hold the states that were filled in last.
    known: Option<Bits>,
}

/// Weighted means over the known cells of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// ⟨T(v)⟩: statistics × columns.
    pub means: Array2<f64>,
    /// Sum of the weights.
    pub(crate) rows: f64,
    /// Weighted fraction of the rows in which each site is known.
    pub(crate) known: Vec<f64>,
}

impl Moments {
    /// Natural parameters of independent units with these means.
    pub(crate) fn fitted(&self, layer: &Layout) -> Array2<f64> {
        layer.fitted(self.means.view(), self.rows)
    }

    /// Mean log likelihood of the known cells of a row under independent units with natural parameters `eta`, in nats:
    /// ⟨η, ⟨T⟩⟩ − Γ(η) of every site, times the fraction of rows in which it is known.
    pub(crate) fn log_likelihood(&self, layer: &Layout, eta: &Array2<f64>) -> f64 {
        let of = |(site, known): (Site, &f64)| {
            let (unit, width) = (site.kind.unit::<f64>(), site.columns.len());
            let columns = s![..unit.n_stats(), site.columns];
            let norm = unit.log_norm(eta.slice(columns), &vec![0.0; width]);
            known * ((&eta.slice(columns) * &self.means.slice(columns)).sum() - norm)
        };
        layer.each_site().zip(&self.known).map(of).sum()
    }
}

impl<T: Real> Dataset<T> {
    /// No rows yet, for the units of a layer.
    pub fn new(layer: &Layout) -> Dataset<T> {
        Dataset { states: States::new(layer), weights: Vec::new(), uniform: true, known: None }
    }

    /// Rows of data values, each with weight 1; refuses values outside the domain of the units.
    pub fn from_values(layer: &Layout, values: ArrayView2<T>) -> Result<Dataset<T>> {
        layer.check(values, 1)?;
        let mut data = Dataset::new(layer);
        data.push_values(layer, values, None);
        Ok(data)
    }

    /// Appends rows of values, which [`Layout::check`] accepts, with weight 1 and their known cells, one bit per site; none means
    /// all.
    pub fn push_values(&mut self, layer: &Layout, values: ArrayView2<T>, known: Option<&Bits>) {
        let before = self.len();
        self.states.push_values(layer, values);
        self.complete(before, known);
    }

    /// Appends rows of bits, of units with two states, all cells known, with weight 1.
    pub(crate) fn push_bits(&mut self, layer: &Layout, rows: Bits) {
        let before = self.len();
        self.states.push_bits(layer, rows);
        self.complete(before, None);
    }

    /// Weights and known cells of the rows from `before` on.
    fn complete(&mut self, before: usize, known: Option<&Bits>) {
        let sites = self.states.sites();
        self.weights.resize(self.states.rows(), T::one());
        if known.is_some() && self.known.is_none() {
            let mut all = Bits::new(sites);
            (0..before).for_each(|_| all.push(std::iter::repeat(true)));
            self.known = Some(all);
        }
        if let Some(all) = &mut self.known {
            let cell = |r: usize, i: usize| known.is_none_or(|k| k.get(r, i));
            (0..self.weights.len() - before).for_each(|r| all.push((0..sites).map(|i| cell(r, i))));
        }
    }

    /// Appends a block of prepared rows; refuses values that are not finite in this number type.
    pub fn push_block(&mut self, layer: &Layout, block: &Block) -> Result<()> {
        let values = block.values.mapv(T::of);
        if let Some(((r, _), x)) = values.indexed_iter().find(|(_, x)| !x.is_finite()) {
            let row = block.first + r as u64;
            return Err(Error::Undefined(format!(
                "data row {row}: a value is {} in single precision, so it is too large",
                x.f64()
            )));
        }
        self.push_values(layer, values.view(), block.known.as_ref());
        Ok(())
    }

    /// Splits off held-out rows, chosen by the seed: returns the training rows and the held-out rows, both in their order.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Dataset<T>, Dataset<T>)> {
        let [train, held_out] = split_rows(self.len(), fraction, seed)?;
        Ok((self.select(&train), self.select(&held_out)))
    }

    /// Which cells are known, one bit per site, if some are not.
    pub fn known(&self) -> Option<&Bits> {
        self.known.as_ref()
    }

    /// Replaces the rows with the numbers `rows` by filled ones.
    pub(crate) fn fill(&mut self, rows: &[usize], filled: &States<T>) {
        self.states.replace(rows, filled);
    }

    /// Replaces all rows by filled ones.
    pub(crate) fn refill(&mut self, filled: States<T>) {
        self.states = filled;
    }

    /// Sets the weight of every row; refuses anything but one number per row that is 0 or more.
    pub fn set_weights(&mut self, weights: &[f64]) -> Result<()> {
        check_weights(self.len(), weights.iter().copied())?;
        self.weights = weights.iter().map(|w| T::of(*w)).collect();
        self.uniform = weights.iter().all(|w| *w == 1.0);
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.states.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed rows.
    pub fn states(&self) -> &States<T> {
        &self.states
    }

    /// The weight of every row.
    pub fn weights(&self) -> &[T] {
        &self.weights
    }

    /// Whether every row has weight 1.
    pub(crate) fn uniform(&self) -> bool {
        self.uniform
    }

    /// The rows with these numbers.
    pub fn select(&self, rows: &[usize]) -> Dataset<T> {
        let weights = rows.iter().map(|&r| self.weights[r]).collect();
        let known = self.known.as_ref().map(|k| k.select(rows));
        Dataset { states: self.states.select(rows), weights, uniform: self.uniform, known }
    }

    /// Weighted means of T(v) over the known cells.
    pub fn moments(&self, layer: &Layout) -> Moments {
        let site_of = layer.site_of_columns();
        let mut sum = Array2::zeros(layer.statistics());
        let mut t = sum.clone();
        let (mut rows, mut known) = (0.0, vec![0.0; layer.sites()]);
        for first in (0..self.len()).step_by(1024) {
            let last = (first + 1024).min(self.len());
            let columns = self.states.columns(layer, first, last).mapv(T::f64);
            for (r, row) in (first..last).zip(columns.rows()) {
                let w = self.weights[r].f64();
                layer.stats(&row.to_vec(), t.view_mut());
                rows += w;
                let Some(bits) = &self.known else {
                    sum.scaled_add(w, &t);
                    continue;
                };
                for (i, known) in known.iter_mut().enumerate().filter(|(i, _)| bits.get(r, *i)) {
                    let columns = s![.., layer.columns_of(i)];
                    sum.slice_mut(columns).scaled_add(w, &t.slice(columns));
                    *known += w;
                }
            }
        }
        if self.known.is_none() {
            known.fill(rows);
        }
        for (mut column, c) in sum.columns_mut().into_iter().zip(0usize..) {
            column.mapv_inplace(|x| x / known[site_of[c]]);
        }
        Moments { means: sum, rows, known: known.iter().map(|k| k / rows).collect() }
    }
}

/// The numbers of the training rows and of the held-out rows among `n` rows, chosen by the seed, both in their order.
pub fn split_rows(n: usize, fraction: f64, seed: u64) -> Result<[Vec<usize>; 2]> {
    let held_out = (fraction * n as f64).round() as usize;
    if !(fraction > 0.0 && fraction < 1.0) || held_out == 0 || held_out == n {
        let problem = format!(
            "is {}, which holds out {held_out} of {n} rows; at least one must be held out, and one left to train on",
            number(fraction)
        );
        return Err(Error::Config { key: "data.valid_fraction", problem });
    }
    // Each epoch is shuffled under its own number; no run reaches this one.
    let mut order = shuffled(n, Key::root(seed).of(Purpose::Shuffle).step(u64::MAX));
    let mut held_out = order.split_off(n - held_out);
    order.sort_unstable();
    held_out.sort_unstable();
    Ok([order, held_out])
}

/// Row weights must be as many as the rows, finite, not negative, and not all zero.
pub(crate) fn check_weights(rows: usize, weights: impl ExactSizeIterator<Item = f64>) -> Result<()> {
    if weights.len() != rows {
        return Err(Error::RowWeights(format!("there are {} weights for {rows} rows", weights.len())));
    }
    let mut sum = 0.0;
    for (i, w) in weights.enumerate() {
        if !w.is_finite() || w < 0.0 {
            return Err(Error::RowWeights(format!("weight {} is {w}, but must be 0 or more", i + 1)));
        }
        sum += w;
    }
    if sum > 0.0 { Ok(()) } else { Err(Error::RowWeights("all of them are zero".into())) }
}
