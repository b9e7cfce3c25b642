//! The mass of sets of basins. Annealed log weights whose chains end in a set average to its mass, from any base: so two bases
//! that share nothing give two estimates of one number, and the parts of a sum are never counted twice.

use super::super::weights::{Estimate, log_mean_exp_of_part};
use crate::math::log_sum_exp;
use crate::sample::path::Families;
use crate::sample::resampling::effective;
use std::collections::BTreeMap;

/// Annealed chains: log weights, log Z of the base included, and the mode where each chain ended. Only families are independent.
pub struct Run {
    pub chains: Families,
    pub ends: Vec<Option<usize>>,
}

impl Run {
    /// The log mass of the basins that `inside` accepts.
    pub fn mass(&self, inside: impl Fn(Option<usize>) -> bool) -> Estimate {
        let chains = self.chains.weights.iter().zip(&self.chains.families).zip(&self.ends);
        let kept: Vec<(f64, usize)> = chains.filter(|c| inside(*c.1)).map(|c| (*c.0.0, *c.0.1)).collect();
        let weights: Vec<f64> = kept.iter().map(|c| c.0).collect();
        let mut families: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        kept.into_iter().for_each(|(w, family)| families.entry(family).or_default().push(w));
        let sums: Vec<f64> = families.into_values().map(|family| log_sum_exp(family.into_iter())).collect();
        let (n, all) = (self.chains.weights.len(), log_mean_exp_of_part(&weights, self.chains.weights.len()));
        if sums.is_empty() {
            return all;
        }
        // Chains of one family err together.
        let ess = effective(&sums);
        let by_families = (1.0 / ess - 1.0 / n as f64).max(0.0).sqrt();
        Estimate { std_err: all.std_err.max(by_families), ess, ..all }
    }
}

/// Smallest error that one estimate is given when it is averaged with others: an estimate that misses part of a set may look more
/// precise than one that has it all.
const LEAST_ERROR: f64 = 0.06;
/// Largest error with which an estimate counts as a second one.
const WORTH: f64 = 0.35;
/// Errors of annealed weights are too small by about this factor where the weights have a long tail, as on trained models.
const CAUTION: f64 = 1.4;
/// Smallest error of an average of estimates, unless one of them is much better: all err on the same side.
const LEAST_TOTAL: f64 = 0.03;
/// With fewer effective chains than this, a mass counts as larger than what others say only beyond what one of them reaches by
/// chance: an unbiased estimate exceeds the truth by c nats with probability e^−c at most.
const ALONE: f64 = 4.0;
const BY_CHANCE: f64 = 7.0;
/// Effective number of chains from which on an estimate can contradict another: with fewer, its own spread explains what it
/// misses.
const FEW: f64 = 25.0;
/// An estimate this many errors away from the average is a reason for more effort.
const SURPRISING: f64 = 2.0;
/// Estimates that differ by more than this many errors are not averaged.
const ERRORS: f64 = 3.0;

/// One mass from several estimates of it.
#[derive(Clone, Copy, Debug)]
pub struct Combined {
    pub value: f64,
    pub std_err: f64,
    /// From how many bases there are estimates that agree with it, with errors that make that worth something.
    pub agree: usize,
    /// The largest difference from it of an estimate whose error does not explain that, in nats.
    pub against: f64,
    /// The same, of estimates that should have found the whole part.
    pub conflict: f64,
}

/// Combines estimates of one mass: those of repeated runs from the flat base, which share what they miss and count as one, those
/// from other bases, and those from narrow bases, which stand at one of the many modes of the part. All err by missing mass, narrow
/// bases most, so the largest that its error supports counts, with those that agree with it.
pub fn combine(flat: &[Estimate], wide: &[Estimate], narrow: &[Estimate]) -> Combined {
    let seen = || flat.iter().chain(wide).chain(narrow).filter(|e| e.value > f64::NEG_INFINITY);
    let sure = |e: &Estimate| e.value - (ERRORS * e.std_err).max(if e.ess < ALONE { BY_CHANCE } else { 0.0 });
    let Some(best) = seen().max_by(|a, b| sure(a).total_cmp(&sure(b))) else {
        return Combined { value: f64::NEG_INFINITY, std_err: f64::INFINITY, agree: 0, against: 0.0, conflict: 0.0 };
    };
    let error = |e: &Estimate| e.std_err.hypot(LEAST_ERROR);
    let agrees = |e: &&Estimate| (best.value - e.value).abs() <= ERRORS * error(e).hypot(error(best));
    let weight: f64 = seen().filter(agrees).map(|e| error(e).powi(-2)).sum();
    let value = seen().filter(agrees).map(|e| e.value * error(e).powi(-2)).sum::<f64>() / weight;
    let misfit: f64 = seen().filter(agrees).map(|e| ((e.value - value) / error(e)).powi(2)).sum();
    let n = seen().filter(agrees).count();
    // Estimates that scatter more than their errors explain have errors that are too small.
    let scatter = (misfit / (n as f64 - 1.0).max(1.0)).sqrt().max(1.0);
    let least = seen().map(|e| e.std_err).fold(f64::INFINITY, f64::min);
    let far = |e: &&Estimate| e.ess >= FEW && (e.value - value).abs() > SURPRISING * error(e);
    let worth = |e: &&Estimate| e.value > f64::NEG_INFINITY && e.std_err < WORTH && agrees(e);
    Combined {
        value,
        std_err: (CAUTION * scatter * weight.powf(-0.5)).max(least).max(LEAST_TOTAL.min(2.0 * least)),
        agree: wide.iter().chain(narrow).filter(worth).count() + usize::from(flat.iter().any(|e| worth(&e))),
        against: seen().filter(far).map(|e| (value - e.value).abs()).fold(0.0, f64::max),
        conflict: flat.iter().chain(wide).filter(far).map(|e| (value - e.value).abs()).fold(0.0, f64::max),
    }
}
