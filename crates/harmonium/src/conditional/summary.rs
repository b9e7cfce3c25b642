//! Summaries of an unknown cell: its mean, its spread, and an interval.

use super::{Answer, named};
use crate::bits::Bits;
use crate::data::Preprocess;
use crate::error::Result;
use crate::layout::{Layout, Site, two_values};
use crate::lowered::LoweredLayer;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Filled rows of data values, one entry per site.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Known cells unchanged. Unknown cells: the conditional mean, or for categorical units (Potts) the most probable state.
    pub values: Array2<f64>,
    /// ⟨x⟩ of every column of the layer, before any choice of states: of a Potts unit the probability of each state, of a Bernoulli
    /// unit that of a 1. Columns of known cells are as they were.
    pub means: Array2<f64>,
    /// Monte Carlo standard error of the mean (Potts: of the probability); 0 if exact.
    pub std_err: Array2<f64>,
    /// Standard deviation of the cell given the known ones (Potts: the probability of any other state), if intervals are wanted.
    pub spread: Option<Array2<f64>>,
    /// Ends of the interval with the wanted probability, if intervals are wanted.
    pub interval: Option<[Array2<f64>; 2]>,
    /// Draws from the conditional, draws × sites, of each row with unknown cells, if intervals are wanted.
    pub draws: Vec<Option<Array2<f64>>>,
    /// Number of rows that were solved exactly, including those without unknown cells.
    pub exact: usize,
}

/// How an unknown cell is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// With its conditional mean.
    Mean,
    /// With the state nearest to the mean.
    Best,
    /// With a draw; intervals must be wanted.
    Draw,
}

impl Fill {
    /// Every value and its name.
    pub const LIST: [(&'static str, Fill); 3] = [("mean", Fill::Mean), ("best", Fill::Best), ("draw", Fill::Draw)];

    /// The value called `name`.
    pub fn parse(name: &str) -> Result<Fill> {
        named("fill", name, &Fill::LIST)
    }
}

impl Filled {
    /// Replaces means by states or draws, as `fill` requires.
    pub fn choose(&mut self, fill: Fill, layer: &Layout) {
        match fill {
            Fill::Mean => {}
            Fill::Draw => {
                for (mut row, draws) in self.values.rows_mut().into_iter().zip(&self.draws) {
                    if let Some(last) = draws.as_ref().and_then(|d| d.rows().into_iter().next_back()) {
                        row.assign(&last);
                    }
                }
            }
            Fill::Best => {
                for site in layer.each_site().filter(|site| site.columns.len() == 1 && site.n_states().is_some()) {
                    let states = site.states::<f64>().concat();
                    let nearer = |x: f64, b: f64, s: f64| if (s - x).abs() < (b - x).abs() { s } else { b };
                    let nearest = |x: f64| states.iter().fold(states[0], |b, s| nearer(x, b, *s));
                    self.values.column_mut(site.index).mapv_inplace(nearest);
                }
            }
        }
    }

    /// The probability of the state that a cell was filled with; none of units with infinitely many states, or if it is no state.
    pub fn probability(&self, row: usize, site: &Site) -> Option<f64> {
        let (value, columns) = (self.values[[row, site.index]], site.columns.clone());
        if columns.len() > 1 {
            return site.n_states().and_then(|_| self.means.get([row, columns.start + value as usize]).copied());
        }
        let [low, high] = two_values::<f64>(site.kind.unit())?;
        let of_high = (self.means[[row, columns.start]] - low) / (high - low);
        [(low, 1.0 - of_high), (high, of_high)].into_iter().find(|state| state.0 == value).map(|state| state.1)
    }

    /// Converts to the units of the data; known cells are copied from the rows `raw`.
    pub fn restore(&mut self, preprocess: &Preprocess, raw: ArrayView2<f64>, known: &Bits) {
        for part in std::iter::once(&mut self.values).chain(self.interval.iter_mut().flatten()) {
            restore(part, preprocess, raw, known);
        }
        if let Some(scale) = &preprocess.scale {
            let scale = scale.view().insert_axis(Axis(0));
            self.std_err *= &scale;
            self.spread.iter_mut().for_each(|spread| *spread *= &scale);
        }
    }
}

/// Converts a table to the units of the data; known cells are copied from the rows `raw`.
pub fn restore(table: &mut Array2<f64>, preprocess: &Preprocess, raw: ArrayView2<f64>, known: &Bits) {
    preprocess.restore(table);
    let cells = table.indexed_iter_mut().filter(|((r, i), _)| known.get(*r, *i));
    cells.for_each(|(place, cell)| *cell = raw[place]);
}

pub(super) fn of(
    layer: &LoweredLayer<f64>,
    answers: &[Answer],
    known: &Bits,
    interval: Option<f64>,
    exact: usize,
) -> Filled {
    let (rows, sites) = (answers.len(), layer.sites());
    let zeros = || Array2::zeros((rows, sites));
    let (mut means, mut std_err, mut spread) = (Array2::zeros((rows, layer.columns())), zeros(), zeros());
    let (mut low, mut high) = (zeros(), zeros());
    for (r, answer) in answers.iter().enumerate() {
        means.row_mut(r).assign(&answer.means);
        for Site { index: site, columns, .. } in layer.each_site() {
            // The column that `decode` chooses.
            let (first, width) = (columns.start, columns.len());
            let best = columns.fold(first, |b, c| if answer.means[c] > answer.means[b] { c } else { b });
            std_err[[r, site]] = answer.std_err[best];
            if let Some(draws) = answer.draws.as_ref().filter(|_| !known.get(r, site)) {
                let drawn = draws.column(site).to_owned();
                spread[[r, site]] = if width > 1 { 1.0 - answer.means[best] } else { deviation(&drawn) };
                [low[[r, site]], high[[r, site]]] = ends(drawn, interval.unwrap_or(0.5));
            }
        }
    }
    let values = layer.decode(means.view());
    for (r, answer) in answers.iter().enumerate() {
        for site in (0..sites).filter(|site| known.get(r, *site) || answer.draws.is_none()) {
            (low[[r, site]], high[[r, site]]) = (values[[r, site]], values[[r, site]]);
        }
    }
    Filled {
        means,
        std_err,
        spread: interval.map(|_| spread),
        interval: interval.map(|_| [low, high]),
        draws: answers.iter().map(|a| a.draws.clone()).collect(),
        values,
        exact,
    }
}

fn deviation(x: &Array1<f64>) -> f64 {
    x.std(0.0)
}

/// Quantiles (1 − p)/2 and (1 + p)/2: the smallest numbers with at least that fraction of all at or below them.
fn ends(x: Array1<f64>, p: f64) -> [f64; 2] {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    let last = x.len() - 1;
    [0.5 - 0.5 * p, 0.5 + 0.5 * p].map(|q| x[((q * x.len() as f64).ceil() as usize).saturating_sub(1).min(last)])
}
