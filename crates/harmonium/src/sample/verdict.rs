//! Warnings about chains, by the criteria of Vehtari et al. 2021: R̂ ≤ 1.01 and more than 400 effective draws.

use super::{Drawn, SampleOptions, TracedQuantity};
use crate::advice::{Advice, Warning};

/// R̂ above which chains do not agree.
const LARGEST_R_HAT: f64 = 1.01;
/// R̂ above which chains certainly do not agree.
const LARGE_R_HAT: f64 = 1.1;
/// Standard deviations of R̂ that are attributed to chance.
const CHANCE: f64 = 3.0;
/// Effective draws below which R̂ itself is not reliable.
const LEAST_ESS: f64 = 400.0;
/// Draws of every chain that R̂ needs: two in each half.
const LEAST_DRAWS: usize = 4;
/// Fraction of accepted swaps below which a ladder does not work.
const LEAST_SWAPS: f64 = 0.1;

/// Fills in the largest R̂, the effective number of rows, and the warnings.
pub(super) fn judge(drawn: &mut Drawn, settings: &SampleOptions) {
    let moving: Vec<&TracedQuantity> = drawn.quantities.iter().filter(|f| f.varies()).collect();
    let worst = moving.iter().filter_map(|f| Some((f.r_hat?, *f))).max_by(|a, b| a.0.total_cmp(&b.0));
    let least =
        moving.iter().filter_map(|f| Some((f.ess_bulk?.min(f.ess_tail?), *f))).min_by(|a, b| a.0.total_cmp(&b.0));
    let rows = moving.iter().filter_map(|f| effective_rows(drawn, f, settings.thin)).min_by(f64::total_cmp);
    let mut warnings = Vec::new();
    let apart = worst.filter(|(r_hat, f)| *r_hat > largest_r_hat(f));
    match (apart, least) {
        (Some((r_hat, f)), _) => {
            let have = if r_hat > LARGE_R_HAT { "have not" } else { "may not have" };
            let problem = format!(
                "the chains {have} mixed: R̂ is {r_hat:.3} for {} (converged chains stay below {:.3})",
                f.in_words(),
                largest_r_hat(f)
            );
            warnings.push(Warning { problem, advice: mixing_advice(drawn) });
        }
        (None, Some((ess, f))) if ess < LEAST_ESS => {
            let problem = format!(
                "the chains are too short to judge whether they mix: the effective sample size of {} is {ess:.0}, \
                 but at least {LEAST_ESS} is needed",
                f.in_words()
            );
            warnings.push(Warning { problem, advice: mixing_advice(drawn) });
        }
        (None, None) if drawn.quantities.iter().all(|f| f.r_hat.is_none()) => {
            warnings.push(no_r_hat(drawn, settings.steps))
        }
        _ => (),
    }
    warnings.extend(broken_ladder(drawn));
    let ess = rows.filter(|_| apart.is_none_or(|(r_hat, _)| r_hat <= LARGE_R_HAT));
    (drawn.r_hat, drawn.ess) = (worst.map(|w| w.0), ess);
    drawn.warnings = warnings;
}

/// Why R̂ is not defined, and what to do about it.
fn no_r_hat(drawn: &Drawn, steps: Option<u64>) -> Warning {
    let (chains, draws) = drawn.quantities.first().map_or((0, 0), |f| f.trace.dim());
    if let Some(steps) = steps.filter(|_| draws < LEAST_DRAWS) {
        let sweeps = crate::error::count(steps, "sweep");
        let problem = format!("every row comes from its own chain of {sweeps}, so convergence cannot be checked");
        return Warning { problem, advice: vec![Advice::LongChains] };
    }
    let (why, advice) = if chains < 2 {
        ("R̂ needs at least two chains".to_string(), vec![Advice::MoreChains])
    } else if draws < LEAST_DRAWS {
        let each = crate::error::count(draws as u64, "row");
        (
            format!("R̂ needs at least {LEAST_DRAWS} rows from every chain, but each gave {each}"),
            vec![Advice::FewerChains],
        )
    } else {
        ("the chains never changed their state".into(), vec![Advice::LongerBurnIn, Advice::LargerThin])
    };
    Warning { problem: format!("it cannot be judged whether the chains have converged: {why}"), advice }
}

/// 1.01 plus what chance adds: R̂² − 1 of M half chains of n independent draws has the standard deviation √(2/(M − 1))/n.
fn largest_r_hat(f: &TracedQuantity) -> f64 {
    let (halves, n) = (2.0 * f.trace.nrows() as f64, (f.trace.ncols() / 2) as f64);
    LARGEST_R_HAT + CHANCE * 0.5 * (2.0 / (halves - 1.0)).sqrt() / n
}

/// Effective number of rows that are `thin` sweeps apart: thin/τ of their number, with τ from the bulk ESS, and at least one per
/// chain.
fn effective_rows(drawn: &Drawn, f: &TracedQuantity, thin: u64) -> Option<f64> {
    let ess = f.ess_bulk?;
    let time = f.every as f64 * f.places() as f64 / ess;
    let of_a_chain = drawn.rows as f64 / drawn.chains as f64;
    let effective = (of_a_chain * (thin as f64 / time).min(1.0)).max(of_a_chain.min(1.0));
    Some((effective * drawn.chains as f64).min(ess))
}

fn mixing_advice(drawn: &Drawn) -> Vec<Advice> {
    let tempered = drawn.tempered.is_none().then_some(Advice::TemperedSampler);
    [Advice::LongerBurnIn, Advice::LargerThin].into_iter().chain(tempered).collect()
}

/// A warning about a ladder whose rungs hardly exchange states, or from whose first rung no state has returned.
fn broken_ladder(drawn: &Drawn) -> Option<Warning> {
    let tempered = drawn.tempered.as_ref()?;
    let weakest = tempered.swap_rates.iter().enumerate().filter_map(|(k, rate)| Some((k, (*rate)?)));
    let weakest = weakest.min_by(|a, b| a.1.total_cmp(&b.1));
    match weakest {
        Some((k, rate)) if rate < LEAST_SWAPS => Some(Warning {
            problem: format!(
                "only {:.1} % of the swaps between inverse temperatures {:.3} and {:.3} were accepted, so states hardly pass",
                100.0 * rate,
                tempered.betas[k],
                tempered.betas[k + 1]
            ),
            // Temperatures are chosen during the burn-in.
            advice: vec![Advice::MoreTemperatures, Advice::LongerBurnIn],
        }),
        _ if tempered.round_trips == 0 => Some(Warning {
            problem: "no state went from the model to the first temperature and back, so tempering has not helped yet"
                .into(),
            advice: vec![Advice::LongerBurnIn, Advice::LargerThin],
        }),
        _ => None,
    }
}
