//! The facts of a run, name and value: likelihoods with their errors, log Z and why it is doubtful.

use crate::text::{count, decimals, difference, fixed, shows, with_error};
use crate::words::AdviceWords;
use harmonium::advice::sentence;
use harmonium::logz::{LogZ, Verdict as Trust};
use harmonium::run::{Conclusion, Errors, RowsFit, Summed};

/// Why an estimate of log Z is doubtful, and what to do.
pub fn explanation(log_z: &LogZ, words: AdviceWords) -> Option<String> {
    log_z.explanation().map(|why| sentence(&why, &words(&log_z.advice)))
}

/// The same with the first of the checks that failed, and the number of the others.
fn explanation_in_short(log_z: &LogZ, words: AdviceWords) -> Option<String> {
    let mut failed = log_z.evidence.iter().filter(|e| !e.holds);
    let Some(first) = failed.next() else { return explanation(log_z, words) };
    let others = match failed.count() {
        0 => String::new(),
        n => format!(", and {} failed", count(n, "other check")),
    };
    Some(sentence(&format!("{}: {}{others}", log_z.verdict, first.words), &words(&log_z.advice)))
}

/// The facts of a run, name and value: the table of the report and the lines of the command.
pub fn facts(run: &Conclusion, words: AdviceWords) -> Vec<(String, String)> {
    let (spec, rbm) = (run.facts.spec, &run.facts.rbm);
    let mut facts = vec![("units".to_string(), units_in_words(rbm))];
    let mut add = |label: &str, text: String| facts.push((label.to_string(), text));
    if spec.train.method == "exact" {
        add("gradient", "exact".into());
    }
    let Some(fit) = &run.fit else { return facts };
    if let Some(n) = run.effective_rows() {
        let how = spec.data.weights.as_deref().unwrap_or_default();
        add("effective rows", format!("{} of {}, weighted by {how}", fixed(n, 0), fixed(fit.rows as f64, 0)));
    }
    add("log likelihood", likelihood(run, fit, None));
    if let Some(summed) = &fit.missing {
        add("missing cells", format!("the likelihood is that of the known cells; missing cells are {}", how(summed)));
    }
    if let Some(text) = run.log_z.as_ref().and_then(|z| explanation_in_short(z, words)) {
        add("log Z", text);
    }
    if let (None, Some(p)) = (&run.log_z, fit.pseudo_log_likelihood) {
        add("log pseudo-likelihood", format!("{} nats per row", with_error(p, fit.pseudo_std_err)));
    }
    if let Some(valid) = &run.valid {
        let text = match (valid.log_likelihood, valid.pseudo_log_likelihood) {
            (None, Some(p)) => format!(
                "{} nats per row on {} (log pseudo-likelihood)",
                with_error(p, valid.pseudo_std_err),
                count(valid.rows, "row")
            ),
            _ => likelihood(run, valid, Some(valid.rows)),
        };
        add("held-out rows", text);
    }
    let gain = fit
        .log_likelihood
        .map_or(String::new(), |l| format!("; on the training rows the model {}", beside_baseline(l - fit.baseline)));
    add("baseline", format!("{} nats per row if columns were independent{gain}", fixed(fit.baseline, 2)));
    facts
}

/// `64 bernoulli visible, 24 bernoulli hidden`.
pub fn units_in_words(rbm: &harmonium::Rbm<f32>) -> String {
    let layer = |l: &harmonium::Layer<f32>| match l.kind() {
        Some(kind) => format!("{} {kind}", l.sites()),
        None => format!("{} ({})", l.sites(), l.layout()),
    };
    format!("{} visible, {} hidden", layer(rbm.visible()), layer(rbm.hidden()))
}

fn likelihood(run: &Conclusion, fit: &RowsFit, rows: Option<usize>) -> String {
    match (fit.log_likelihood, &run.log_z) {
        (Some(l), Some(z)) => likelihood_in_words(l, rows, &fit.errors(z), z.verdict),
        _ if fit.refuted => UNKNOWN.into(),
        _ => "not measured".into(),
    }
}

/// A likelihood that would make rows more probable than 1.
pub const UNKNOWN: &str = "unknown: the estimate of log Z is too low, since it makes rows more probable than 1";

/// A mean log likelihood with its standard error, where that comes from, the verdict on log Z, and the number of rows if it is given.
pub fn likelihood_in_words(value: f64, rows: Option<usize>, errors: &Errors, verdict: Trust) -> String {
    let total = errors.total();
    let unit = format!("nats per row{}", rows.map_or(String::new(), |n| format!(" on {}", count(n, "row"))));
    if !shows(total) {
        return format!("{} {unit}, {verdict}", with_error(value, 0.0));
    }
    // As many decimals as the sum, and at least one digit that is not 0.
    let digits = |error: f64| decimals(total).max((-error.log10().floor()).clamp(0.0, 6.0) as usize);
    let part = |error: f64, of: &str| (error > 0.0).then(|| format!("± {} {of}", fixed(error, digits(error))));
    let log_z = part(errors.log_z, "from log Z").map_or("log Z is exact".into(), |text| format!("{text}, {verdict}"));
    let parts =
        [part(errors.rows, "from the finite number of rows"), part(errors.missing, "from missing cells"), Some(log_z)];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    format!("{} {unit} ({parts})", with_error(value, total))
}

/// How missing cells were summed over.
fn how(summed: &Summed) -> String {
    let Summed { exact, of, rows } = *summed;
    let which = if of < rows { format!("{of} of {rows} rows") } else { "all rows".into() };
    if exact == of {
        format!("summed out exactly in {which}")
    } else if exact == 0 {
        format!("summed out by annealing in {which}")
    } else {
        format!("summed out exactly in {exact} and by annealing in {} of {rows} rows", of - exact)
    }
}

fn beside_baseline(gain: f64) -> String {
    difference(gain).map_or("equals the baseline".into(), |difference| format!("is {difference}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_shows_what_its_error_is_made_of() {
        let errors = Errors { log_z: 0.06, missing: 0.0, rows: 0.13 };
        let text = likelihood_in_words(-16.69, Some(1438), &errors, Trust::Certain);
        assert_eq!(
            text,
            "−16.69 ± 0.14 nats per row on 1,438 rows (± 0.13 from the finite number of rows; ± 0.06 from log Z, certain)"
        );
        let exact = likelihood_in_words(-16.69, None, &Errors { log_z: 0.0, ..errors }, Trust::Exact);
        assert_eq!(exact, "−16.69 ± 0.13 nats per row (± 0.13 from the finite number of rows; log Z is exact)");
        assert_eq!(likelihood_in_words(-1.5, None, &Errors::default(), Trust::Exact), "−1.50 nats per row, exact");
    }
}
