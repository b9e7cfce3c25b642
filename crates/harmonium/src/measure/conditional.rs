//! log p(v_i | all other v) = −F(v) − log ∫ exp(−F) dv_i: a sum over states, a normal density, or one-dimensional quadrature.
//!
//! Changing one site changes the inputs of the hidden layer by one difference of weight rows. The density of a Gaussian v_i is a
//! mixture, over the states of h, of normal densities that all have the variance σ_i².

use crate::layout::Site;
use crate::lowered::LoweredModel;
use crate::math::log_sum_exp;
use ndarray::{Array2, s};

/// Distance between nodes, in σ_i. The trapezoid rule integrates a normal density with relative error 2exp(−2π²/step²) = 8e-14,
/// wherever its centre is, and therefore every mixture of them.
const STEP: f64 = 0.8;
/// Outside the interval of the modes, nodes with terms below e⁻⁴⁵ of the largest are ignored.
const NEGLIGIBLE: f64 = 45.0;
/// Most steps that narrow the interval of the modes.
const NARROWINGS: usize = 10;
/// Most nodes; a model that needs more has no reasonable scale.
const MOST_NODES: i64 = 100_000;

/// How p(v_i | rest) is normalised.
#[derive(Clone, Copy)]
enum How {
    /// By a sum over the states.
    Sum,
    /// In closed form: with two Gaussian layers −F is a parabola in v_i.
    Normal,
    /// By quadrature: Gaussian visible and finite hidden units.
    Quadrature,
}

/// The conditionals of single visible sites.
#[derive(Clone, Copy)]
pub(super) struct Conditional<'a> {
    lowered: &'a LoweredModel<f64>,
    /// Of Gaussian units.
    how: How,
}

/// A row of visible columns, its inputs to the hidden layer and their Γ, and buffers for changed inputs.
pub(super) struct Line {
    x: Vec<f64>,
    inputs: Vec<f64>,
    log_norm: f64,
    moved: Vec<f64>,
    means: Vec<f64>,
}

impl<'a> Conditional<'a> {
    /// `None` if a layer is neither finite nor Gaussian.
    pub fn new(lowered: &'a LoweredModel<f64>) -> Option<Conditional<'a>> {
        let (visible, hidden) = (lowered.visible(), lowered.hidden());
        let fits = |site: Site| site.n_states().is_some() || site.kind.unit::<f64>().quadratic();
        let how = match () {
            _ if visible.is_finite() => How::Sum,
            _ if !visible.each_site().all(fits) => return None,
            _ if hidden.is_finite() => How::Quadrature,
            _ if hidden.is_quadratic() => How::Normal,
            _ => return None,
        };
        Some(Conditional { lowered, how })
    }

    /// About how many terms of Γ one conditional needs.
    pub fn terms(&self) -> f64 {
        let visible = self.lowered.visible();
        let evaluations = |site: Site| match (site.n_states(), self.how) {
            (Some(q), _) => q - 1,
            // About 20 nodes cover −8σ to 8σ, and the narrowing needs ten means.
            (None, How::Quadrature) => 40,
            (None, _) => 1,
        };
        let all: usize = visible.each_site().map(evaluations).sum();
        all as f64 / visible.sites() as f64 * self.lowered.hidden().columns() as f64
    }

    pub fn line(&self, x: &[f64], inputs: &[f64]) -> Line {
        let hidden = self.lowered.hidden();
        let log_norm = hidden.log_norm(hidden.eta(), inputs);
        let room = vec![0.0; inputs.len()];
        Line { x: x.to_vec(), inputs: inputs.to_vec(), log_norm, moved: room.clone(), means: room }
    }

    /// log p(v_i | rest) of one site, in nats.
    pub fn log_p(&self, line: &mut Line, site: usize) -> f64 {
        let site = self.lowered.visible().site(site);
        match (site.n_states(), self.how) {
            (Some(_), _) => self.sum(line, &site),
            (None, How::Quadrature) => self.quadrature(line, site.columns.start),
            (None, _) => self.normal(line, site.columns.start),
        }
    }

    fn sum(&self, line: &mut Line, site: &Site) -> f64 {
        let layer = self.lowered.visible();
        let (unit, columns, states) = (site.kind.unit::<f64>(), site.columns.clone(), site.states::<f64>());
        let now = line.x[columns.clone()].to_vec();
        let eta = layer.eta();
        let mut t = Array2::zeros((unit.n_stats(), columns.len()));
        let mut own_weight = |state: &[f64]| {
            unit.stats(state, t.view_mut());
            (&eta.slice(s![..t.nrows(), columns.clone()]) * &t).sum()
        };
        let own = own_weight(&now) + line.log_norm;
        let other = |state: &Vec<f64>| {
            if *state == now { own } else { own_weight(state) + self.moved(line, columns.start, &now, state) }
        };
        let all: Vec<f64> = states.iter().map(other).collect();
        own - log_sum_exp(all.into_iter())
    }

    /// Γ of the hidden layer after the columns from `first` on have changed from `now` to `then`.
    fn moved(&self, line: &mut Line, first: usize, now: &[f64], then: &[f64]) -> f64 {
        line.moved.copy_from_slice(&line.inputs);
        for ((c, now), then) in (first..).zip(now).zip(then).filter(|((_, now), then)| now != then) {
            line.moved.iter_mut().zip(self.lowered.weights().row(c)).for_each(|(i, w)| *i += (then - now) * w);
        }
        let hidden = self.lowered.hidden();
        hidden.log_norm(hidden.eta(), &line.moved)
    }

    /// σ² Σ_j w_ij⟨h_j⟩ + σ²η with v_i at `x`: the mean that a draw of v_i would have after a draw of h.
    fn mean_after(&self, line: &mut Line, site: usize, x: f64) -> f64 {
        let now = line.x[site];
        self.moved(line, site, &[now], &[x]);
        let hidden = self.lowered.hidden();
        hidden.means(hidden.eta(), &line.moved, &mut line.means);
        let input: f64 = self.lowered.weights().row(site).iter().zip(&line.means).map(|(w, h)| w * h).sum();
        let eta = self.lowered.visible().eta();
        (eta[[0, site]] + input) / (-2.0 * eta[[1, site]])
    }

    /// −F = const − λ(v_i − mean)²/2 with λ = 1/σ_i² − Σ_j w_ij²σ_j², and its slope at v_i is −λ(v_i − mean).
    fn normal(&self, line: &mut Line, site: usize) -> f64 {
        let (visible, hidden) = (self.lowered.visible().eta(), self.lowered.hidden().eta());
        let weights = self.lowered.weights();
        let spread: f64 = weights.row(site).iter().zip(hidden.row(1)).map(|(w, e)| w * w / (-2.0 * e)).sum();
        let own = -2.0 * visible[[1, site]];
        let (precision, now) = (own - spread, line.x[site]);
        let slope = own * (self.mean_after(line, site, now) - now);
        0.5 * (precision / std::f64::consts::TAU).ln() - slope * slope / (2.0 * precision)
    }

    /// An interval that contains all modes of p(v_i | rest). They are fixed points of `mean_after`, which is monotone in v_i: from
    /// the smallest and the largest mean of any h, its iteration approaches them and never passes one.
    fn modes(&self, line: &mut Line, site: usize, sigma: f64) -> (f64, f64) {
        let (mut low, mut high) = self.extreme_means(site);
        for _ in 0..NARROWINGS {
            let (a, b) = (self.mean_after(line, site, low), self.mean_after(line, site, high));
            let done = a - low < sigma && high - b < sigma;
            (low, high) = (a, b);
            if done {
                break;
            }
        }
        (low, high)
    }

    /// The trapezoid rule over the interval of the modes, and outside of it until the density is negligible.
    fn quadrature(&self, line: &mut Line, site: usize) -> f64 {
        let (eta, now) = (self.lowered.visible().eta(), line.x[site]);
        let (field, square) = (eta[[0, site]], eta[[1, site]]);
        let sigma = (-2.0 * square).recip().sqrt();
        let (low, high) = self.modes(line, site, sigma);
        let mut density = |x: f64| field * x + square * x * x + self.moved(line, site, &[now], &[x]);
        let own = density(now);
        let node = |k: i64| low + STEP * sigma * k as f64;
        let (mut terms, mut most) = (Vec::new(), f64::NEG_INFINITY);
        for direction in [1, -1] {
            // Upwards from `low`, then downwards from the node below it.
            for k in (0..MOST_NODES).map(|k| if direction > 0 { k } else { -1 - k }) {
                let term = density(node(k));
                terms.push(term);
                most = most.max(term);
                let small = term.is_nan() || term < most - NEGLIGIBLE;
                if small && (direction < 0 || node(k) > high) {
                    break;
                }
            }
        }
        if (terms.len() as i64) < MOST_NODES {
            own - log_sum_exp(terms.into_iter()) - (STEP * sigma).ln()
        } else {
            f64::NAN
        }
    }

    /// The smallest and the largest mean of v_i over all states of a finite hidden layer.
    fn extreme_means(&self, site: usize) -> (f64, f64) {
        let (hidden, eta) = (self.lowered.hidden(), self.lowered.visible().eta());
        let (mut low, mut high) = (eta[[0, site]], eta[[0, site]]);
        let weights = self.lowered.weights();
        for unit in hidden.each_site() {
            let w = weights.slice(s![site, unit.columns.clone()]);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for state in unit.states::<f64>() {
                let input: f64 = w.iter().zip(&state).map(|(w, h)| w * h).sum();
                (least, most) = (least.min(input), most.max(input));
            }
            (low, high) = (low + least, high + most);
        }
        let variance = (-2.0 * eta[[1, site]]).recip();
        (low * variance, high * variance)
    }
}
