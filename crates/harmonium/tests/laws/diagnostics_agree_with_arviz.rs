//! R̂, effective sample sizes and the error of the mean are those of ArviZ on frozen draws (`oracle/arviz_fixtures.py`):
//! independent, slow, swinging, shifted, drifting, heavy-tailed, constant, tied, binary, too few, and not numbers.

use harmonium::sample::diagnose::{ess_bulk, ess_mean, ess_tail, mcse_mean, normal_quantile, r_hat};
use ndarray::Array2;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Frozen {
    quantiles: Vec<[f64; 2]>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    draws: Vec<Vec<Value>>,
    r_hat: Value,
    ess_bulk: Value,
    ess_tail: Value,
    ess_mean: Value,
    mcse_mean: Value,
}

fn frozen() -> Frozen {
    serde_json::from_str(include_str!("../frozen/diagnostics.json")).unwrap()
}

/// What ArviZ returns: a number, infinity, or nothing.
fn number(value: &Value) -> Option<f64> {
    if value == "inf" { Some(f64::INFINITY) } else { value.as_f64() }
}

#[test]
fn on_frozen_draws() {
    let cases = frozen().cases;
    assert!(cases.len() >= 20);
    for case in cases {
        let columns = case.draws[0].len();
        let draws = case.draws.iter().flatten().map(|x| number(x).unwrap_or(f64::NAN)).collect();
        let draws = Array2::from_shape_vec((case.draws.len(), columns), draws).unwrap();
        for (what, found, expected) in [
            ("R̂", r_hat(draws.view()), &case.r_hat),
            ("bulk ESS", ess_bulk(draws.view()), &case.ess_bulk),
            ("tail ESS", ess_tail(draws.view()), &case.ess_tail),
            ("ESS of the mean", ess_mean(draws.view()), &case.ess_mean),
            ("error of the mean", mcse_mean(draws.view()), &case.mcse_mean),
        ] {
            match (found, number(expected)) {
                (None, None) => (),
                // Chains that stand still at different places: rounding decides between huge and infinite.
                (Some(a), Some(b)) if b > 1e6 => assert!(a > 1e6, "{}: {what} {a} against {b}", case.name),
                (Some(a), Some(b)) => {
                    assert!((a - b).abs() <= 1e-10 * b.max(1.0), "{}: {what} {a} against {b}", case.name);
                }
                (a, b) => panic!("{}: {what} {a:?} against {b:?}", case.name),
            }
        }
    }
}

#[test]
fn normal_quantiles_have_fifteen_digits() {
    for [p, expected] in frozen().quantiles {
        let found = normal_quantile(p);
        assert!((found - expected).abs() <= 4e-15 * expected.abs().max(1.0), "{p}: {found} against {expected}");
    }
}
