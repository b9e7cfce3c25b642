//! The verdict on a run in words: headline, evidence, facts. The library judges; this file only writes the sentences.

use crate::text::{count, fixed, number, short};
use harmonium::advice::{Advice, sentence};
use harmonium::logz::{LogZ, Verdict as Trust};
use harmonium::run::{APART, Conclusion, Evidence, Fall, Outcome, RowsFit, Summed, Verdict, WORTH, is_doubtful};

/// A front end's words for advice, such as the names of its options.
pub type AdviceWords<'a> = &'a dyn Fn(&[Advice]) -> String;

/// The verdict on a run, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The outcome in one short sentence.
    pub headline: String,
    /// The evidence, one sentence each.
    pub sentences: Vec<String>,
    /// What to do next, if anything.
    pub advice: Option<String>,
}

impl Words {
    /// Writes a verdict in words.
    pub fn new(verdict: &Verdict, log_z: Option<&LogZ>, words: AdviceWords) -> Words {
        let e = &verdict.evidence;
        let doubt =
            log_z.filter(|z| is_doubtful(z)).and_then(|z| explanation(z, words)).map(|why| format!("log Z: {why}."));
        let sentences = [progress(e), fit(e), gap(e), doubt, chains(e), units(e), recovered(e)];
        let advice = Some(words(&verdict.advice)).filter(|_| !verdict.advice.is_empty());
        Words {
            headline: headline(verdict).into(),
            sentences: sentences.into_iter().flatten().collect(),
            advice: advice.map(|text| format!("Next: {text}.")),
        }
    }

    /// The whole paragraph.
    pub fn text(&self) -> String {
        let all = std::iter::once(&self.headline).chain(&self.sentences).chain(&self.advice);
        all.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// A verdict in a short sentence.
pub fn headline(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Learned if verdict.evidence.valid.is_some() => "The model has learned, and held-out rows confirm it.",
        Outcome::Learned => "The model has learned the training rows; overfitting was not checked.",
        Outcome::StillRising => "The model has learned, and its likelihood is still rising.",
        Outcome::Overfitting => "The model overfits.",
        Outcome::NotMixed => "The model fits, but Gibbs sampling does not move freely between its modes.",
        Outcome::Little => "The model has learned little.",
        Outcome::Failed => "Training failed: the model is worse than independent columns.",
        Outcome::Unfinished => "The run is not finished.",
        _ => "The run was not judged: its likelihood was not measured.",
    }
}

fn measure(e: &Evidence) -> &'static str {
    if e.pseudo { "log pseudo-likelihood" } else { "log likelihood" }
}

fn progress(e: &Evidence) -> Option<String> {
    let (done, all) = e.updates;
    (!e.finished).then(|| format!("{} of {} are done.", fixed(done as f64, 0), count(all as usize, "update")))
}

fn fit(e: &Evidence) -> Option<String> {
    let fit = e.train?;
    let error = if e.pseudo { 0.0 } else { e.log_z_std_err };
    let value = format!("{} nats per row", with_error(fit.value, error));
    let (gain, than) = (fit.gain(), "a baseline that treats every column as independent");
    let compared = if gain > 0.0 {
        format!("{} better than {than}", with_error(gain, error))
    } else {
        format!("{} worse than {than}", with_error(-gain, error))
    };
    Some(format!("The mean {} of the training rows is {value}, {compared}.", measure(e)))
}

fn gap(e: &Evidence) -> Option<String> {
    let (gap, error) = e.gap()?;
    let gain = e.train?.gain();
    let part = if gap > 0.0 && gain > WORTH {
        format!(", {:.0} % of the gain over the baseline", 100.0 * gap / gain)
    } else {
        String::new()
    };
    let chance = if gap.abs() > 2.0 * error { "" } else { " (within two standard errors, so it may be chance)" };
    let (size, word) = (with_error(gap.abs(), error), if gap >= 0.0 { "lower" } else { "higher" });
    let fell = e.fell().map_or(String::new(), |Fall { by, std_err, update }| {
        format!("; at update {} they scored {} higher", fixed(update as f64, 0), with_error(by, std_err))
    });
    Some(format!("Held-out rows score {size} nats {word}{part}{chance}{fell}."))
}

fn chains(e: &Evidence) -> Option<String> {
    let r_hat = e.r_hat?;
    let ess = e.ess.map_or(String::new(), |ess| format!(", effective sample size {}", number(ess.round())));
    let (state, agree) = if r_hat <= APART { ("has converged", "agree") } else { ("has not converged", "disagree") };
    Some(format!(
        "Sampling {state}: chains started from data and from data with shuffled columns {agree} (R̂ = {r_hat:.2}{ess})."
    ))
}

fn units(e: &Evidence) -> Option<String> {
    let idle = (e.idle? * e.hidden as f64).round() as usize;
    (idle > 0).then(|| format!("{idle} of {} carry no information.", count(e.hidden, "hidden unit")))
}

fn recovered(e: &Evidence) -> Option<String> {
    let n = e.recovered;
    (n > 0).then(|| format!("{} diverged and training recovered with half the learning rate.", count(n, "update")))
}

/// Why an estimate of log Z is doubtful, and what to do.
pub fn explanation(log_z: &LogZ, words: AdviceWords) -> Option<String> {
    log_z.explanation().map(|why| sentence(&why, &words(&log_z.advice)))
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
    add("log likelihood", likelihood(run, fit));
    if let Some(summed) = &fit.missing {
        add("missing cells", format!("the likelihood is that of the known cells; missing cells are {}", how(summed)));
    }
    if let Some(text) = run.log_z.as_ref().and_then(|z| explanation(z, words)) {
        add("log Z", text);
    }
    if let (None, Some(p)) = (&run.log_z, fit.pseudo_log_likelihood) {
        add("log pseudo-likelihood", format!("{} nats per row", with_error(p, fit.pseudo_std_err)));
    }
    if let Some(valid) = &run.valid {
        let text = match (valid.log_likelihood, valid.pseudo_log_likelihood) {
            (None, Some(p)) => format!("{} nats per row (log pseudo-likelihood)", with_error(p, valid.pseudo_std_err)),
            _ => likelihood(run, valid),
        };
        add("held-out rows", format!("{text} ({} rows)", fixed(valid.rows as f64, 0)));
    }
    let gain = fit.log_likelihood.map_or(String::new(), |l| format!("; the model is {}", signed(l - fit.baseline)));
    add("baseline", format!("{} nats per row for independent columns{gain}", fixed(fit.baseline, 2)));
    facts
}

/// `64 bernoulli visible, 24 bernoulli hidden`.
pub fn units_in_words(rbm: &harmonium::Rbm<f32>) -> String {
    let layer = |l: &harmonium::Layer<f32>| format!("{} {}", l.sites(), l.kind());
    format!("{} visible, {} hidden", layer(rbm.visible()), layer(rbm.hidden()))
}

fn likelihood(run: &Conclusion, fit: &RowsFit) -> String {
    match (fit.log_likelihood, &run.log_z) {
        (Some(l), Some(z)) if z.verdict == Trust::Exact && fit.std_err == 0.0 => {
            format!("{} nats per row, exact", fixed(l, 2))
        }
        (Some(l), Some(z)) => {
            format!("{} nats per row, {}", with_error(l, z.std_err.hypot(fit.std_err)), z.verdict)
        }
        _ => "not measured".into(),
    }
}

/// How missing cells were summed over.
fn how(summed: &Summed) -> String {
    let Summed { exact, of, rows } = *summed;
    let which = if of < rows { format!("{of} of {rows} rows") } else { "all rows".into() };
    if exact == of {
        format!("summed over exactly in {which}")
    } else if exact == 0 {
        format!("summed over by annealing in {which}")
    } else {
        format!("summed over exactly in {exact} rows and by annealing in {}, of {rows} rows", of - exact)
    }
}

fn signed(nats: f64) -> String {
    if nats >= 0.0 {
        format!("+{} nats per row better", fixed(nats, 2))
    } else {
        format!("{} nats per row worse", fixed(-nats, 2))
    }
}

/// A number to as many digits as its error allows; exact ones have two decimals.
pub fn with_error(x: f64, error: f64) -> String {
    if !(error > 0.0 && error.is_finite()) {
        return if x.abs() < 0.1 { short(x) } else { fixed(x, 2) };
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{} ± {}", fixed(x, decimals), fixed(error, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use harmonium::run::{Fit, judge};

    /// A good run: the gain is 8 nats, and held-out rows score 1.0 ± 0.2 nats lower.
    fn good() -> Evidence {
        let fit = |value| Fit { value, std_err: 0.14, baseline: -24.0 };
        Evidence {
            updates: (1000, 1000),
            finished: true,
            train: Some(fit(-16.0)),
            valid: Some(fit(-17.0)),
            r_hat: Some(1.002),
            ess: Some(900.0),
            hidden: 20,
            idle: Some(0.0),
            ..Evidence::default()
        }
    }

    #[track_caller]
    fn check(evidence: Evidence, words: &[&str]) {
        let advice = |list: &[Advice]| format!("{list:?}");
        let text = Words::new(&judge(evidence), None, &advice).text();
        for word in words {
            assert!(text.contains(word), "'{word}' is not in: {text}");
        }
        assert!(!text.contains("NaN"), "{text}");
    }

    #[test]
    fn every_verdict_cites_its_evidence() {
        check(
            good(),
            &["has learned", "−16.00 nats per row, 8.00 better", "1.00 ± 0.20 nats lower, 12 % of", "agree (R̂ = 1.00"],
        );
        check(Evidence { rise: Some(1.0), ..good() }, &["still rising", "Next: [MoreUpdates]."]);
        check(Evidence { idle: Some(0.25), ..good() }, &["5 of 20 hidden units carry no information"]);
        check(Evidence { r_hat: Some(1.4), ..good() }, &["does not move freely", "disagree (R̂ = 1.40"]);
        check(Evidence { recovered: 1, ..good() }, &["1 update diverged"]);
        check(Evidence { finished: false, updates: (500, 1000), ..good() }, &["500 of 1,000 updates are done"]);
        check(Evidence { log_z_std_err: 0.04, ..good() }, &["−16.000 ± 0.040", "8.000 ± 0.040 better"]);
        let fall = Some(Fall { by: 1.5, std_err: 0.1, update: 300 });
        check(Evidence { fall, ..good() }, &["overfits", "at update 300 they scored 1.50 ± 0.10 higher"]);
        let worse = Some(Fit { value: -26.0, std_err: 0.1, baseline: -24.0 });
        check(Evidence { train: worse, valid: None, ..good() }, &["failed", "2.00 worse than a baseline"]);
        check(Evidence { train: None, ..good() }, &["not judged"]);
        check(
            Evidence { pseudo: true, log_z_std_err: 1.0, ..good() },
            &["log pseudo-likelihood of the training rows is −16.00"],
        );
    }
}
