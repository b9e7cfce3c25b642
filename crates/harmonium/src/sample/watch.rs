//! The quantities traced along chains: the free energy, and the activities u_k·v of the strongest singular vectors u_k of W̃,
//! which separate the modes of a model and relax the slowest.

use super::diagnose;
use crate::averages::mean;
use crate::lowered::LoweredModel;
use crate::measure::{IntegratedTime, autocorrelations, integrated_time, leading_modes};
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Modes that are traced.
const MODES: usize = 4;
/// Recorded states per chain at most; beyond, every other one is dropped.
const MOST_PLACES: usize = 2048;

/// Traces while they are recorded.
pub(super) struct Watch {
    modes: Array2<f64>,
    chains: usize,
    /// For every quantity the values of all chains, one recorded state after another.
    traces: Vec<Vec<f64>>,
    /// Sweeps between two draws, draws between two recorded states, draws so far.
    thin: u64,
    apart: u64,
    seen: u64,
}

/// One quantity along the chains, with its diagnostics.
#[derive(Clone, Debug)]
pub struct TracedQuantity {
    /// Its name: `free energy`, or `mode k` for the projection of the states on the k-th main direction of the weights.
    pub name: String,
    /// Chains × recorded states.
    pub(crate) trace: Array2<f64>,
    /// Sweeps between two recorded states.
    pub every: u64,
    /// Mean over all chains.
    pub mean: f64,
    /// Its standard error.
    pub mcse: Option<f64>,
    /// See [`diagnose::r_hat`].
    pub r_hat: Option<f64>,
    /// See [`diagnose::ess_bulk`].
    pub ess_bulk: Option<f64>,
    /// See [`diagnose::ess_tail`].
    pub ess_tail: Option<f64>,
    /// Integrated autocorrelation time, in sweeps.
    pub time: Option<IntegratedTime>,
}

impl Watch {
    pub fn new(lowered: &LoweredModel<f64>, chains: usize, thin: u64) -> Watch {
        let modes = leading_modes(lowered.weights(), MODES);
        let traces = vec![Vec::new(); 1 + modes.nrows()];
        Watch { modes, chains, traces, thin, apart: 1, seen: 0 }
    }

    /// Records the states of all chains as rows of columns, and their free energies.
    pub fn record(&mut self, x: ArrayView2<f64>, free_energies: &Array1<f64>) {
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.apart) {
            return;
        }
        let activities = self.modes.dot(&x.t());
        self.traces[0].extend(free_energies);
        self.traces.iter_mut().skip(1).zip(activities.rows()).for_each(|(trace, a)| trace.extend(a));
        if self.traces[0].len() >= MOST_PLACES * self.chains {
            self.apart *= 2;
            let every_other =
                |t: &Vec<f64>| t.chunks(2 * self.chains).flat_map(|c| &c[..self.chains]).copied().collect();
            self.traces = self.traces.iter().map(every_other).collect();
        }
    }

    /// The traces with their diagnostics.
    pub fn quantities(self) -> Vec<TracedQuantity> {
        let name = |k: usize| if k == 0 { "free energy".into() } else { format!("mode {k}") };
        let (chains, every) = (self.chains, self.thin * self.apart);
        self.traces
            .into_iter()
            .enumerate()
            .map(|(k, trace)| TracedQuantity::new(name(k), trace, chains, every))
            .collect()
    }
}

impl TracedQuantity {
    fn new(name: String, places: Vec<f64>, chains: usize, every: u64) -> TracedQuantity {
        let mean = mean(&places);
        let trace = Array2::from_shape_fn((chains, places.len() / chains), |(c, p)| places[p * chains + c]);
        let time = autocorrelations(trace.view().reversed_axes()).and_then(|rho| integrated_time(&rho));
        TracedQuantity {
            name,
            mean,
            mcse: diagnose::mcse_mean(trace.view()),
            r_hat: diagnose::r_hat(trace.view()),
            ess_bulk: diagnose::ess_bulk(trace.view()),
            ess_tail: diagnose::ess_tail(trace.view()),
            time: time.map(|t| IntegratedTime { value: t.value * every as f64, ..t }),
            trace,
            every,
        }
    }

    /// What it is, in words.
    pub(super) fn in_words(&self) -> String {
        match self.name.strip_prefix("mode ") {
            Some(k) => format!("projection {k} of the rows on the weights' main directions"),
            None => format!("the {}", self.name),
        }
    }

    /// Whether it varies.
    pub(super) fn varies(&self) -> bool {
        self.trace.iter().any(|x| *x != self.trace[[0, 0]])
    }

    /// Number of recorded states of all chains.
    pub(super) fn places(&self) -> usize {
        self.trace.len_of(Axis(0)) * self.trace.len_of(Axis(1))
    }
}
