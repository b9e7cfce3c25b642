//! The verdict on a run in words: headline, evidence, advice. The library judges; this crate only writes the sentences.

use crate::facts::explanation;
use crate::sentences::{cause, chains, collapse, fit, gap, means, progress, recovered, unchecked, units};
use crate::text::difference;
use harmonium::advice::Advice;
use harmonium::logz::LogZ;
use harmonium::run::{Cause, Outcome, Verdict, is_doubtful};

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

#[cfg(test)]
mod tests {
    use super::*;
    use harmonium::measure::Idle;
    use harmonium::run::{Collapse, Evidence, Fall, Fit, judge};

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
}
