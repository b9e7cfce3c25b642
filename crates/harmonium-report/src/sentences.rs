//! The evidence of a verdict, one sentence each.

use crate::text::{count, difference, fixed, number, short, with_error};
use harmonium::measure::Idle;
use harmonium::run::{APART, Cause, Collapse, Evidence, Fall, GAP, Outcome, SURE, Verdict, WORTH};

fn measure(e: &Evidence) -> &'static str {
    if e.pseudo { "log pseudo-likelihood" } else { "log likelihood" }
}

pub(super) fn progress(e: &Evidence) -> Option<String> {
    let (done, all) = e.updates;
    (!e.finished).then(|| format!("{} of {} are done.", fixed(done as f64, 0), count(all as usize, "update")))
}

pub(super) fn fit(e: &Evidence) -> Option<String> {
    let fit = e.train?;
    let error = if e.pseudo { 0.0 } else { e.log_z_std_err };
    let value = format!("{} nats per row", with_error(fit.value, error.hypot(fit.std_err)));
    let than = "a baseline that treats every column as independent";
    let compared = match difference(fit.gain()) {
        Some(difference) => format!("{difference} than {than}"),
        None => format!("equal to {than}"),
    };
    Some(format!("The mean {} of the training rows is {value}, {compared}.", measure(e)))
}

/// Why a run failed or learned little.
pub(super) fn cause(verdict: &Verdict) -> Option<String> {
    let (e, (rate, usual)) = (&verdict.evidence, verdict.evidence.rates);
    Some(match verdict.cause? {
        Cause::Diverged => "The likely cause is that training diverged.".into(),
        Cause::HighRate if rate > 2.0 * usual => {
            format!("The likely cause is the learning rate, {} ({} is usual).", short(rate), short(usual))
        }
        Cause::HighRate => {
            format!("The likely cause is that the learning rate, {}, is too high for these data.", short(rate))
        }
        Cause::ChainsLost => {
            let best = e.best_gain.filter(|best| *best > WORTH);
            let lost = best
                .map_or(String::new(), |best| format!(" The run had gained {} nats and lost them.", fixed(best, 2)));
            format!("The likely cause is that the chains of the negative phase no longer follow the model.{lost}")
        }
        Cause::TooShort => format!(
            "The run was short: {}, {} passes through the data.",
            count(e.updates.0 as usize, "update"),
            number((10.0 * e.epochs).round() / 10.0)
        ),
        Cause::NothingToLearn => match &e.binarized {
            Some(rule) => format!("The values were binarised by {rule}; after that, all rows are the same."),
            None => "All rows are the same.".into(),
        },
        Cause::Solved => {
            "The Gaussian hidden units were fitted directly (factor analysis): more updates cannot improve them.".into()
        }
        _ => return None,
    })
}

/// What held-out rows could not show.
pub(super) fn unchecked(verdict: &Verdict) -> Option<String> {
    let e = &verdict.evidence;
    if let Some(part) = e.copied() {
        let part = (100.0 * part).floor();
        return Some(format!(
            "{part} % of the held-out rows are also among the training rows, so they say little about overfitting."
        ));
    }
    match verdict.outcome {
        Outcome::StillRising | Outcome::NotMixed | Outcome::Little if e.valid.is_none() => {
            Some("Overfitting was not checked: no rows were held out.".into())
        }
        _ => None,
    }
}

pub(super) fn collapse(e: &Evidence) -> Option<String> {
    let Collapse { by, std_err, updates: (from, to), regained } = e.collapse?;
    let (lost, from, to) = (with_error(by, std_err), fixed(from as f64, 0), fixed(to as f64, 0));
    let end = if regained { "and recovered later" } else { "and did not recover" };
    Some(format!("The training rows lost {lost} nats between updates {from} and {to}, {end}."))
}

pub(super) fn means(e: &Evidence) -> Option<String> {
    let means = e.wrong_means()?;
    Some(format!(
        "Samples differ from the data: their column means are {:.2} standard deviations apart ({:.2} would be expected by chance).",
        means.apart, means.chance
    ))
}

pub(super) fn gap(verdict: &Verdict) -> Option<String> {
    let e = &verdict.evidence;
    let (gap, error) = e.gap()?;
    let remarks = gap_remarks(verdict, gap, error);
    let remarks = if remarks.is_empty() { String::new() } else { format!(". That is {remarks}") };
    let (size, word) = (with_error(gap.abs(), error), if gap >= 0.0 { "lower" } else { "higher" });
    if e.shifted() {
        return Some(format!(
            "Held-out rows score {size} nats lower than training rows, but a baseline of independent columns scores lower on them too: \
             they have another distribution, so overfitting could not be checked."
        ));
    }
    let fell = e.fell().map_or(String::new(), |Fall { by, std_err, update }| {
        format!("; at update {} they scored {} nats higher", fixed(update as f64, 0), with_error(by, std_err))
    });
    Some(format!("Held-out rows score {size} nats {word} than training rows{fell}{remarks}."))
}

/// What the gap between training and held-out rows means by the limits of the verdict.
fn gap_remarks(verdict: &Verdict, gap: f64, error: f64) -> String {
    let gain = verdict.evidence.train.map_or(0.0, |train| train.gain());
    let (part, limit) = (gap / gain, 100.0 * GAP);
    let chance = if gap.abs() <= SURE * error { "less than three standard errors, so it may be chance" } else { "" };
    if gap <= 0.0 || gain <= WORTH {
        return chance.into();
    }
    let of_gain = format!("{:.0} % of the gain over the baseline", 100.0 * part);
    match chance {
        _ if verdict.outcome == Outcome::Overfitting => of_gain,
        _ if part <= GAP => format!("{of_gain} (less than {limit:.0} %, so no overfitting is reported)"),
        "" => of_gain,
        _ => format!("{of_gain}, but {chance}"),
    }
}

pub(super) fn chains(e: &Evidence) -> Option<String> {
    let r_hat = e.r_hat?;
    let ess = e.ess.map_or(String::new(), |ess| format!(", effective sample size {}", number(ess.round())));
    let (state, agree) = if r_hat <= APART { ("has converged", "agree") } else { ("has not converged", "disagree") };
    Some(format!(
        "Sampling {state}: chains started from data rows and chains started from scrambled rows (each column taken from a different \
         random row) {agree} (R̂ = {r_hat:.2}{ess})."
    ))
}

pub(super) fn units(e: &Evidence) -> Option<String> {
    let idle = e.idle.filter(|idle| idle.total() > 0)?;
    Some(format!("{}.", idle_in_words(&idle, e.hidden)))
}

/// "14 of 16 hidden units are idle (2 always off, 12 constant)".
pub fn idle_in_words(idle: &Idle, hidden: usize) -> String {
    let parts = [(idle.off, "always off"), (idle.on, "always on"), (idle.constant, "constant")];
    let parts: Vec<String> = parts.iter().filter(|p| p.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let (n, are) = (idle.total(), if idle.total() == 1 { "is" } else { "are" });
    format!("{n} of {} {are} idle ({})", count(hidden, "hidden unit"), parts.join(", "))
}

fn times(n: usize) -> String {
    if n == 1 { "once".into() } else { count(n, "time") }
}

pub(super) fn recovered(e: &Evidence) -> Option<String> {
    let n = e.recovered;
    (n > 0).then(|| format!("Training diverged {} and recovered with half the learning rate each time.", times(n)))
}
