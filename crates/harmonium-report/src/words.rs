//! The verdict on a run in words: headline, evidence, facts. The library judges; this file only writes the sentences.

use crate::text::{count, fixed, number, short};
use harmonium::advice::{Advice, sentence};
use harmonium::logz::{LogZ, Verdict as Trust};
use harmonium::measure::Idle;
use harmonium::run::{
    APART, Cause, Collapse, Conclusion, Errors, Evidence, Fall, GAP, Outcome, RowsFit, SURE, Summed, Verdict, WORTH,
    is_doubtful,
};

/// A front end's words for advice, such as the names of its options.
pub type AdviceWords<'a> = &'a dyn Fn(&[Advice]) -> String;

/// The verdict on a run, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The outcome in one short sentence.
    pub headline: String,
    /// The evidence, one sentence each.
    pub sentences: Vec<String>,
    /// The one of them that the advice rests on, if the headline does not give the reason.
    pub finding: Option<String>,
    /// What to do next, if anything.
    pub advice: Option<String>,
}

impl Words {
    /// Writes a verdict in words; `command` is the remedy as it can be copied.
    pub fn new(verdict: &Verdict, log_z: Option<&LogZ>, words: AdviceWords, command: Option<&str>) -> Words {
        let e = &verdict.evidence;
        let doubt = log_z.filter(|z| is_doubtful(z)).and_then(|z| explanation(z, words));
        let doubt = doubt.map(|why| format!("The estimate of log Z is {why}."));
        let sentences = [
            progress(e),
            fit(e),
            cause(verdict),
            gap(verdict),
            unchecked(verdict),
            collapse(e),
            doubt,
            chains(e),
            means(e),
            units(e),
            recovered(e),
        ];
        let advice = Some(words(&verdict.advice)).filter(|_| !verdict.advice.is_empty());
        let example = command.map_or(String::new(), |command| format!(" Try: {command}"));
        Words {
            headline: headline(verdict).into(),
            sentences: sentences.into_iter().flatten().collect(),
            finding: finding(verdict),
            advice: advice.map(|text| format!("Next: {text}.{example}")),
        }
    }

    /// The whole paragraph.
    pub fn text(&self) -> String {
        let all = std::iter::once(&self.headline).chain(&self.sentences).chain(&self.advice);
        all.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// Why there is advice, where the headline does not show it.
fn finding(verdict: &Verdict) -> Option<String> {
    let e = &verdict.evidence;
    match (verdict.outcome, verdict.advice.first()?) {
        (Outcome::Learned, Advice::SmallerRate) => collapse(e).or_else(|| recovered(e)),
        (Outcome::Learned, Advice::FewerHidden) => units(e),
        _ => cause(verdict),
    }
}

/// A verdict in a short sentence.
pub fn headline(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Learned if verdict.evidence.shifted() => {
            "The model has learned the training rows; the held-out rows are unlike them."
        }
        Outcome::Learned if verdict.evidence.valid.is_some_and(|v| v.gain() <= 0.0) => {
            "The model fits the training rows better than independent columns, but not the held-out rows."
        }
        Outcome::Learned if verdict.evidence.valid.is_some() => {
            "The model has learned: it beats independent columns on held-out rows too."
        }
        Outcome::Learned => {
            "The model fits the training rows better than independent columns; without held-out rows, overfitting could not be checked."
        }
        Outcome::StillRising => "The model has learned, and its likelihood is still rising.",
        Outcome::Overfitting => "The model overfits.",
        Outcome::NotMixed if verdict.evidence.mixed() != Some(false) => {
            "The model fits, but some of its modes have the wrong weight."
        }
        Outcome::NotMixed => "The model fits, but Gibbs sampling does not move freely between its modes.",
        Outcome::Little if verdict.cause == Some(Cause::NothingToLearn) => {
            "All columns are constant; there is nothing to learn."
        }
        Outcome::Little if verdict.evidence.train.is_some_and(|t| t.gain() > 0.0 && difference(t.gain()).is_some()) => {
            "The model is hardly better than a baseline of independent columns."
        }
        Outcome::Little => "The model is no better than a baseline of independent columns.",
        Outcome::Failed if verdict.evidence.not_normalisable => {
            "Training failed: the parameters are so large that log Z cannot be computed."
        }
        Outcome::Failed if verdict.evidence.equals_baseline() => {
            "Training failed: the model is no better than independent columns, and worse on held-out rows."
        }
        Outcome::Failed => "Training failed: the model is worse than independent columns.",
        Outcome::Unfinished => "The run is not finished.",
        _ if verdict.evidence.pending => "The model is trained; its likelihood is being estimated.",
        _ if verdict.evidence.refuted => {
            "The run was not judged: the estimate of log Z is too low, since it makes rows more probable than 1."
        }
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
    let value = format!("{} nats per row", with_error(fit.value, error.hypot(fit.std_err)));
    let than = "a baseline that treats every column as independent";
    let compared = match difference(fit.gain()) {
        Some(difference) => format!("{difference} than {than}"),
        None => format!("equal to {than}"),
    };
    Some(format!("The mean {} of the training rows is {value}, {compared}.", measure(e)))
}

/// Why a run failed or learned little.
fn cause(verdict: &Verdict) -> Option<String> {
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
fn unchecked(verdict: &Verdict) -> Option<String> {
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

fn collapse(e: &Evidence) -> Option<String> {
    let Collapse { by, std_err, updates: (from, to), regained } = e.collapse?;
    let (lost, from, to) = (with_error(by, std_err), fixed(from as f64, 0), fixed(to as f64, 0));
    let end = if regained { "and recovered later" } else { "and did not recover" };
    Some(format!("The training rows lost {lost} nats between updates {from} and {to}, {end}."))
}

fn means(e: &Evidence) -> Option<String> {
    let means = e.wrong_means()?;
    Some(format!(
        "Samples differ from the data: their column means are {:.2} standard deviations apart ({:.2} would be expected by chance).",
        means.apart, means.chance
    ))
}

fn gap(verdict: &Verdict) -> Option<String> {
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

fn chains(e: &Evidence) -> Option<String> {
    let r_hat = e.r_hat?;
    let ess = e.ess.map_or(String::new(), |ess| format!(", effective sample size {}", number(ess.round())));
    let (state, agree) = if r_hat <= APART { ("has converged", "agree") } else { ("has not converged", "disagree") };
    Some(format!(
        "Sampling {state}: chains started from data rows and chains started from scrambled rows (each column taken from a different \
         random row) {agree} (R̂ = {r_hat:.2}{ess})."
    ))
}

fn units(e: &Evidence) -> Option<String> {
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

fn recovered(e: &Evidence) -> Option<String> {
    let n = e.recovered;
    (n > 0).then(|| format!("Training diverged {} and recovered with half the learning rate each time.", times(n)))
}

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
    let layer = |l: &harmonium::Layer<f32>| format!("{} {}", l.sites(), l.kind());
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

/// "8.00 better", "0.15 worse"; none if two decimals show no difference.
fn difference(gain: f64) -> Option<String> {
    let size = fixed(gain.abs(), 2);
    let word = if gain > 0.0 { "better" } else { "worse" };
    (size != "0.00").then(|| format!("{size} {word}"))
}

/// A number to as many digits as its error allows; exact ones have two decimals.
pub fn with_error(x: f64, error: f64) -> String {
    if !shows(error) {
        return if x.abs() < 0.1 { short(x) } else { fixed(x, 2) };
    }
    let decimals = decimals(error);
    format!("{} ± {}", fixed(x, decimals), fixed(error, decimals))
}

/// Whether an error is a number that four decimals show.
fn shows(error: f64) -> bool {
    error > 5e-5 && error.is_finite()
}

/// Decimals that show two digits of an error.
fn decimals(error: f64) -> usize {
    (1.0 - error.log10().floor()).clamp(0.0, 4.0) as usize
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
            idle: Some(Idle::default()),
            ..Evidence::default()
        }
    }

    #[track_caller]
    fn check(evidence: Evidence, words: &[&str]) {
        let advice = |list: &[Advice]| format!("{list:?}");
        let text = Words::new(&judge(evidence), None, &advice, None).text();
        for word in words {
            assert!(text.contains(word), "'{word}' is not in: {text}");
        }
        assert!(!text.contains("NaN"), "{text}");
    }

    #[test]
    fn every_verdict_cites_its_evidence() {
        check(
            good(),
            &[
                "has learned",
                "−16.00 ± 0.14 nats per row, 8.00 better",
                "1.00 ± 0.20 nats lower than training rows. That is 12 % of the gain over the baseline (less than 30 %, so no \
                 overfitting is reported).",
                "agree (R̂ = 1.00",
            ],
        );
        check(Evidence { rise: Some(1.0), ..good() }, &["still rising", "Next: [MoreUpdates]."]);
        let idle = Some(Idle { off: 2, on: 0, constant: 3 });
        check(Evidence { idle, ..good() }, &["5 of 20 hidden units are idle (2 always off, 3 constant)."]);
        let wide = Some(Fit { value: -19.0, std_err: 1.4, baseline: -24.0 });
        check(
            Evidence { valid: wide, ..good() },
            &["38 % of the gain over the baseline, but less than three standard"],
        );
        check(Evidence { r_hat: Some(1.4), ..good() }, &["does not move freely", "disagree (R̂ = 1.40"]);
        check(Evidence { recovered: 1, ..good() }, &["Training diverged once"]);
        check(Evidence { finished: false, updates: (500, 1000), ..good() }, &["500 of 1,000 updates are done"]);
        check(Evidence { log_z_std_err: 0.04, ..good() }, &["−16.00 ± 0.15", "8.00 better"]);
        let fall = Some(Fall { by: 1.5, std_err: 0.1, update: 300 });
        check(Evidence { fall, ..good() }, &["overfits", "at update 300 they scored 1.50 ± 0.10 nats higher"]);
        let worse = Some(Fit { value: -26.0, std_err: 0.1, baseline: -24.0 });
        check(Evidence { train: worse, valid: None, ..good() }, &["failed", "2.00 worse than a baseline"]);
        check(Evidence { train: None, ..good() }, &["not judged"]);
        check(
            Evidence { pseudo: true, log_z_std_err: 1.0, ..good() },
            &["log pseudo-likelihood of the training rows is −16.00"],
        );
    }

    #[test]
    fn disasters_are_named_in_words() {
        let failed = |e: Evidence| Evidence { train: Some(Fit { value: -40.0, ..e.train.unwrap() }), valid: None, ..e };
        check(failed(Evidence { rates: (5.0, 0.005), ..good() }), &["failed", "learning rate, 5 (0.005 is usual)"]);
        check(
            failed(Evidence { rates: (0.01, 0.005), ..good() }),
            &["learning rate, 0.01, is too high for these data"],
        );
        let lost = Evidence { best_gain: Some(5.0), ..good() };
        check(failed(lost), &["chains of the negative phase no longer follow", "gained 5.00 nats and lost them"]);
        let collapse = Some(Collapse { by: 22.7, std_err: 1.4, updates: (2400, 4800), regained: true });
        check(
            Evidence { collapse, ..good() },
            &["lost 22.7 ± 1.4 nats between updates 2,400 and 4,800, and recovered"],
        );
        let little = Evidence { updates: (10, 10), epochs: 0.5, train: good().valid, valid: None, ..good() };
        let little = Evidence { train: Some(Fit { value: -23.99, ..little.train.unwrap() }), ..little };
        check(
            little,
            &["hardly better than a baseline", "short: 10 updates, 0.5 passes", "Overfitting was not checked"],
        );
        let at = |value| Some(Fit { value, ..good().train.unwrap() });
        let worse = Evidence { train: at(-24.02), valid: at(-25.8), ..good() };
        check(worse, &["no better than independent columns, and worse on held-out rows", "0.02 worse than a baseline"]);
        check(Evidence { train: at(-24.001), valid: None, ..good() }, &["no better than", "equal to a baseline"]);
        let constant = Evidence { alike: true, train: at(-24.0), valid: None, ..good() };
        check(constant.clone(), &["All columns are constant; there is nothing to learn.", "All rows are the same."]);
        let binarized = Some("threshold:2".into());
        check(Evidence { binarized, ..constant }, &["binarised by threshold:2", "Next: [OtherThreshold]."]);
        let solved = Evidence { solved: true, train: at(-24.0), valid: None, ..good() };
        check(solved, &["fitted directly (factor analysis)", "Next: [BinaryHidden]."]);
        check(Evidence { valid: None, ..good() }, &["overfitting could not be checked"]);
        let shifted = Some(Fit { value: -29.0, std_err: 0.2, baseline: -35.0 });
        check(Evidence { valid: shifted, ..good() }, &["held-out rows are unlike", "another distribution"]);
        check(Evidence { copies: Some(0.9), ..good() }, &["90 % of the held-out rows are also among"]);
        check(Evidence { refuted: true, ..good() }, &["not judged", "more probable than 1"]);
        check(Evidence { pending: true, ..good() }, &["likelihood is being estimated"]);
        check(Evidence { not_normalisable: true, ..good() }, &["log Z cannot be computed"]);
    }

    #[test]
    fn the_finding_is_the_reason_of_the_advice() {
        let finding = |e| Words::new(&judge(e), None, &|list: &[Advice]| format!("{list:?}"), None).finding;
        assert_eq!(finding(good()), None);
        let idle = Some(Idle { constant: 14, ..Idle::default() });
        let found = finding(Evidence { idle, ..good() }).unwrap();
        assert_eq!(found, "14 of 20 hidden units are idle (14 constant).");
        let chosen = vec!["model.n_hidden".to_string()];
        assert_eq!(finding(Evidence { idle, chosen, ..good() }), None);
    }

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
