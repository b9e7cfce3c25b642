//! The integrated autocorrelation time τ = 1 + 2 Σ_t ρ(t): sweeps of a chain per independent state, by the autocorrelation ρ of
//! its free energy.
//!
//! The sum ends at the first lag M ≥ 5τ: further terms are noise (Sokal, *Monte Carlo methods in statistical mechanics*, 1996,
//! section 3, where τ is half of ours; with half of this window chains of several time scales appeared too fast by a fifth).
//! All chains share one mean, so that chains in different modes do not appear fast.

use super::{Better, Context, Measure, Needs, Quantity, Value};
use crate::lags::lagged_sums;
use ndarray::ArrayView2;

/// The window in units of τ.
const WINDOW: f64 = 5.0;

const TIME: &str = "autocorrelation_time";
const AT_LEAST: &str = "autocorrelation_time_at_least";

const fn time(name: &'static str, title: &'static str) -> Quantity {
    Quantity {
        name,
        family: "autocorrelation time",
        title,
        unit: "sweeps",
        about: "Integrated autocorrelation time of the free energy: how many Gibbs sweeps give one independent sample. \
                During training it is measured on copies of the persistent chains, if there are some; `harmonium evaluate` \
                measures it on chains started from data rows.",
        better: Better::Smaller,
        mean_of_rows: false,
    }
}

pub(super) const MEASURE: Measure = Measure {
    name: "autocorrelation",
    needs: Needs::Trace,
    quantities: &[time(TIME, "measured"), time(AT_LEAST, "at least")],
    run,
};

fn run(cx: &Context) -> Option<Vec<Value>> {
    let trace = cx.chains?.trace.view();
    let time = integrated_time(&autocorrelations(trace)?)?;
    // The variance of Madras and Sokal, 1988, eq. E.14: 2(2M + 1)τ²/N.
    let std_err = time.value * ((4 * time.window + 2) as f64 / trace.len() as f64).sqrt();
    Some(vec![if time.closed {
        Value { name: TIME, value: time.value, std_err: Some(std_err) }
    } else {
        Value::exact(AT_LEAST, time.value)
    }])
}

/// An integrated autocorrelation time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegratedTime {
    /// 1 + 2 Σ ρ(t) up to the window, in steps.
    pub value: f64,
    /// The last lag of the sum.
    pub window: usize,
    /// Whether the window is as wide as it should be; if not, the value is a lower bound.
    pub closed: bool,
}

/// ρ(t) for lags from 0 to three quarters of the length of the trace (steps × chains), with one mean for all chains; `None` if
/// nothing varies.
pub fn autocorrelations(trace: ArrayView2<f64>) -> Option<Vec<f64>> {
    let (steps, mean) = (trace.nrows(), trace.mean()?);
    let mut sums = vec![0.0; steps];
    for chain in trace.columns() {
        let lagged = lagged_sums(&chain.mapv(|f| f - mean).to_vec());
        sums.iter_mut().zip(lagged).for_each(|(sum, s)| *sum += s);
    }
    let covariance = |lag: usize| sums[lag] / ((steps - lag) * trace.ncols()) as f64;
    let variance = covariance(0);
    // A deviation within the rounding error of the mean is zero.
    let varies = steps >= 2 && variance.is_finite() && variance.sqrt() > 1e-12 * mean.abs();
    varies.then(|| (0..=3 * steps / 4).map(|lag| covariance(lag) / variance).collect())
}

/// Sums autocorrelations over an automatic window; `None` if there are none.
pub fn integrated_time(rho: &[f64]) -> Option<IntegratedTime> {
    let mut value = 1.0;
    for (lag, r) in rho.iter().enumerate().skip(1) {
        value += 2.0 * r;
        if lag as f64 >= WINDOW * value {
            return Some(IntegratedTime { value: value.max(0.0), window: lag, closed: true });
        }
    }
    (rho.len() > 1).then_some(IntegratedTime { value, window: rho.len() - 1, closed: false })
}
