//! What became of a run: learned, learned little, overfitting, not mixed, recovered, unfinished; each with its evidence.
//!
//! The rules are all here. Numbers come in with their errors and go out in sentences with them.

use crate::text::{count, fixed, number, short};

/// A difference counts if it is this many standard errors.
const SURE: f64 = 3.0;
/// Nats per row that are worth speaking of: two per cent of a row's probability.
const WORTH: f64 = 0.02;
/// Parts of what was gained on training rows: a gap to held-out rows that is larger, or a fall of the held-out rows from their best, is overfitting.
const GAP: f64 = 0.3;
const FALL: f64 = 0.1;
/// A likelihood that grew by this part of the whole gain in the last quarter of the run is still rising.
const RISING: f64 = 0.05;
/// R̂ above which chains have not met: Gelman and Rubin's old limit. Whoever publishes numbers from chains should ask for 1.01
/// (Vehtari and others, *Rank-normalization, folding, and localization*, 2021).
const APART: f64 = 1.1;
/// Independent samples below which a mean over the chains has an error of more than a tenth of the spread.
const FEWEST: f64 = 100.0;
/// Part of the hidden units that may be idle without a word.
const IDLE: f64 = 0.1;

/// How much more likely held-out rows were at their best than at the end, in nats per row, and when that was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// The difference.
    pub by: f64,
    /// Its standard error; 0 if the likelihoods are exact.
    pub std_err: f64,
    /// The update of the best.
    pub update: u64,
}

impl Fall {
    /// From updates, likelihoods and their standard errors, in the order of updates. The best is the one of which most is sure:
    /// the largest of many estimates is large by chance.
    pub fn of(told: impl DoubleEndedIterator<Item = (u64, f64, f64)> + Clone) -> Option<Fall> {
        let (_, last, last_err) = told.clone().next_back()?;
        let falls = told.map(|(update, value, err)| Fall { by: value - last, std_err: err.hypot(last_err), update });
        let sure = |f: &Fall| f.by - SURE * f.std_err;
        falls.max_by(|a, b| sure(a).total_cmp(&sure(b)))
    }
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Better than independent units, on held-out rows too if there are some.
    Learned,
    /// Hardly better than independent units.
    LearnedLittle,
    /// Much better on training rows than on held-out ones.
    Overfitting,
    /// Learned, but its chains do not meet.
    NotMixed,
    /// Learned, after some updates had to be taken back.
    Recovered,
    /// Not at its end.
    Unfinished,
    /// No likelihood, nor a substitute, is known.
    Unknown,
}

impl Outcome {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Learned => "learned",
            Outcome::LearnedLittle => "learned_little",
            Outcome::Overfitting => "overfitting",
            Outcome::NotMixed => "not_mixed",
            Outcome::Recovered => "recovered",
            Outcome::Unfinished => "unfinished",
            Outcome::Unknown => "unknown",
        }
    }

    /// The first words.
    fn in_words(self) -> &'static str {
        match self {
            Outcome::Learned => "Learned.",
            Outcome::LearnedLittle => "Learned little.",
            Outcome::Overfitting => "Overfitting.",
            Outcome::NotMixed => "Learned, but its chains have not mixed.",
            Outcome::Recovered => "Learned, after a divergence that was mended.",
            Outcome::Unfinished => "Unfinished.",
            Outcome::Unknown => "Not judged.",
        }
    }
}

/// How well a model fits some rows, nats per row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Mean log likelihood (or log pseudo-likelihood).
    pub value: f64,
    /// Standard error of that mean over the rows.
    pub std_err: f64,
    /// The same of independent units.
    pub baseline: f64,
}

impl Fit {
    fn gain(&self) -> f64 {
        self.value - self.baseline
    }
}

/// What is known of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Updates done, and asked for.
    pub updates: (u64, u64),
    /// Whether the run came to its end.
    pub finished: bool,
    /// Fit to the training rows.
    pub train: Option<Fit>,
    /// Fit to the held-out rows.
    pub valid: Option<Fit>,
    /// Whether the fits are pseudo-likelihoods, since no likelihood is known.
    pub pseudo: bool,
    /// Standard error of log Z; 0 if it is exact.
    pub log_z_std_err: f64,
    /// Why log Z is in doubt, if it is.
    pub doubt: Option<String>,
    /// By how much held-out rows were more likely before.
    pub fall: Option<Fall>,
    /// By how much the likelihood of training rows rose in the last quarter of the run.
    pub rise: Option<f64>,
    /// Rank-normalised split R̂ of the free energy.
    pub r_hat: Option<f64>,
    /// Its effective sample size.
    pub ess: Option<f64>,
    /// Hidden units, and those that are the same for every row.
    pub hidden: usize,
    /// Part of them that is idle: dead, saturated or still.
    pub idle: Option<f64>,
    /// Updates that failed and were mended.
    pub recovered: usize,
}

/// What became of a run, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// In one word.
    pub outcome: Outcome,
    /// In a short sentence.
    pub headline: String,
    /// The evidence, one sentence each, and at the end what to do.
    pub sentences: Vec<String>,
    /// What to do next, if there is something; it is the last of the sentences.
    pub advice: Option<String>,
}

impl Verdict {
    /// The whole paragraph.
    pub fn text(&self) -> String {
        format!("{} {}", self.headline, self.sentences.join(" ")).trim().to_string()
    }
}

/// Judges a run.
pub fn verdict(evidence: &Evidence) -> Verdict {
    let outcome = evidence.outcome();
    let advice = evidence.advice(outcome);
    let told = [
        evidence.progress(),
        evidence.fit(),
        evidence.gap(),
        evidence.doubt.clone(),
        evidence.chains(),
        evidence.units(),
        evidence.mended(),
    ];
    let sentences = told.into_iter().flatten().chain(advice.clone()).collect();
    Verdict { outcome, headline: outcome.in_words().into(), sentences, advice }
}

impl Evidence {
    fn outcome(&self) -> Outcome {
        let Some(fit) = self.train else {
            return if self.finished { Outcome::Unknown } else { Outcome::Unfinished };
        };
        let least = WORTH.max(SURE * self.log_z_std_err);
        let not_mixed = self.mixed() == Some(false);
        match () {
            () if !self.finished => Outcome::Unfinished,
            () if fit.gain().is_nan() || fit.gain() < least => Outcome::LearnedLittle,
            () if self.overfits(&fit) => Outcome::Overfitting,
            () if not_mixed => Outcome::NotMixed,
            () if self.recovered > 0 => Outcome::Recovered,
            () => Outcome::Learned,
        }
    }

    /// Training rows minus held-out rows in nats, each beside independent units, and the standard error; log Z cancels.
    fn difference(&self) -> Option<(f64, f64)> {
        let (train, valid) = (self.train?, self.valid?);
        Some((train.value - valid.value, train.std_err.hypot(valid.std_err)))
    }

    fn overfits(&self, train: &Fit) -> bool {
        let gain = train.gain();
        let fell = self.fell(gain).is_some();
        let apart = self.difference().is_some_and(|(gap, error)| gap > SURE * error && gap > (GAP * gain).max(WORTH));
        fell || apart
    }

    /// The fall of held-out rows, if it is sure and worth speaking of beside what was gained.
    fn fell(&self, gain: f64) -> Option<Fall> {
        self.fall.filter(|f| f.by > (FALL * gain).max(WORTH) && f.by > SURE * f.std_err)
    }

    /// Whether chains have met; `None` if none were watched.
    fn mixed(&self) -> Option<bool> {
        let r_hat = self.r_hat?;
        Some(r_hat <= APART && self.ess.is_none_or(|ess| ess >= FEWEST))
    }

    fn measure(&self) -> &'static str {
        if self.pseudo { "log pseudo-likelihood" } else { "log likelihood" }
    }

    fn progress(&self) -> Option<String> {
        let (done, all) = self.updates;
        (!self.finished).then(|| format!("{} of {} are done.", fixed(done as f64, 0), count(all as usize, "update")))
    }

    fn fit(&self) -> Option<String> {
        let fit = self.train?;
        let error = if self.log_z_std_err > 0.0 && !self.pseudo { self.log_z_std_err } else { 0.0 };
        let value = format!("{} nats per row", with_error(fit.value, error));
        let (gain, than) = (fit.gain(), "independent units, which know each column by itself");
        let compared = match gain > 0.0 {
            true => format!("{} better than {than}", with_error(gain, error)),
            false => format!("{} worse than {than}", with_error(-gain, error)),
        };
        Some(format!("The {} of the training rows is {value}, {compared}.", self.measure()))
    }

    fn gap(&self) -> Option<String> {
        let (gap, error) = self.difference()?;
        let gain = self.train?.gain();
        let part = match gap > 0.0 && gain > WORTH {
            true => format!(", {:.0} % of what was gained", 100.0 * gap / gain),
            false => String::new(),
        };
        let sure = if gap.abs() > SURE * error { "" } else { ", no more than chance" };
        let (size, word) = (with_error(gap.abs(), error), if gap >= 0.0 { "less" } else { "more" });
        let fell = self.fell(gain).map_or(String::new(), |Fall { by, std_err, update }| {
            format!("; at update {} they were better by {}", fixed(update as f64, 0), with_error(by, std_err))
        });
        Some(format!("Held-out rows are {size} nats {word} likely{part}{sure}{fell}."))
    }

    fn chains(&self) -> Option<String> {
        let ess =
            self.ess.map_or(String::new(), |e| format!(", and are worth {} independent samples", number(e.round())));
        let r_hat = self.r_hat?;
        let met = if r_hat <= APART { "have met" } else { "have not met" };
        Some(format!("Chains that began at rows and elsewhere {met} (R̂ = {r_hat:.3}){ess}."))
    }

    fn units(&self) -> Option<String> {
        let idle = (self.idle? * self.hidden as f64).round() as usize;
        (idle > 0).then(|| format!("{idle} of {} are idle: no row changes them.", count(self.hidden, "hidden unit")))
    }

    fn mended(&self) -> Option<String> {
        let n = self.recovered;
        let text = |them: &str| {
            format!("{} diverged; the run went back before {them} and halved the learning rate.", count(n, "update"))
        };
        (n > 0).then(|| text(if n == 1 { "it" } else { "them" }))
    }

    fn rising(&self) -> bool {
        let gain = self.train.map_or(0.0, |f| f.gain());
        self.rise.is_some_and(|rise| rise > WORTH.max(RISING * gain) && rise > SURE * self.log_z_std_err)
    }

    /// What to do next, if there is something.
    fn advice(&self, outcome: Outcome) -> Option<String> {
        let text = match outcome {
            Outcome::Unfinished => "Next: go on with --resume.",
            Outcome::Unknown => "Next: train with the likelihood (without --likelihood none) to know how well it fits.",
            Outcome::Overfitting => {
                "Next: stop earlier (--early-stop 10), take fewer hidden units or --l2 0.001, or learn from more rows."
            }
            Outcome::LearnedLittle if self.rising() => "Next: the likelihood still rises, so train longer (--updates).",
            Outcome::LearnedLittle => {
                "Next: try --method pt, more hidden units or more --updates; if nothing helps, the columns may be independent."
            }
            Outcome::NotMixed => {
                "Next: draw rows with harmonium sample, which tempers its chains or enumerates; --method pt, more --gibbs-steps or a smaller --lr learn with better chains."
            }
            Outcome::Recovered => "Next: begin with a smaller --lr, and the run will not need mending.",
            Outcome::Learned if self.rising() => {
                "Next: the likelihood still rises, so training longer (--updates) pays."
            }
            Outcome::Learned if self.idle.is_some_and(|part| part > IDLE) => {
                "Next: fewer hidden units would do, or --sparsity 0.1 would wake them."
            }
            Outcome::Learned => return None,
        };
        Some(text.into())
    }
}

/// A number to as many digits as its error allows; exact ones have two decimals.
fn with_error(x: f64, error: f64) -> String {
    if !(error > 0.0 && error.is_finite()) {
        return if x.abs() < 0.1 { short(x) } else { fixed(x, 2) };
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{} ± {}", fixed(x, decimals), fixed(error, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without blemish: 8 nats gained, 1.0 ± 0.2 nats of them not on held-out rows.
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
    fn check(evidence: &Evidence, outcome: Outcome, words: &[&str]) {
        let found = verdict(evidence);
        assert_eq!(found.outcome, outcome, "{}", found.text());
        for word in words {
            assert!(found.text().contains(word), "'{word}' is not in: {}", found.text());
        }
        assert!(!found.text().contains("NaN"), "{}", found.text());
    }

    #[test]
    fn learned() {
        check(
            &good(),
            Outcome::Learned,
            &[
                "Learned.",
                "−16.00 nats per row, 8.00 better",
                "1.00 ± 0.20 nats less likely, 12 %",
                "have met (R̂ = 1.002)",
            ],
        );
        assert_eq!(verdict(&good()).advice, None);
        check(&Evidence { rise: Some(1.0), ..good() }, Outcome::Learned, &["still rises"]);
        check(&Evidence { idle: Some(0.25), ..good() }, Outcome::Learned, &["5 of 20 hidden units are idle", "fewer"]);
        // The spread of the rows explains such a gap.
        let spread = Fit { std_err: 3.0, ..good().valid.unwrap() };
        check(&Evidence { valid: Some(spread), ..good() }, Outcome::Learned, &["no more than chance"]);
    }

    #[test]
    fn learned_little() {
        let little = Some(Fit { value: -23.99, std_err: 0.1, baseline: -24.0 });
        let evidence = Evidence { train: little, valid: None, ..good() };
        check(&evidence, Outcome::LearnedLittle, &["0.01 better than independent units", "try --method pt"]);
        let worse = Some(Fit { value: -25.0, std_err: 0.1, baseline: -24.0 });
        check(&Evidence { train: worse, ..evidence.clone() }, Outcome::LearnedLittle, &["1.00 worse"]);
        // Eight nats are nothing if log Z is not known any better.
        let vague = Evidence { log_z_std_err: 3.0, ..good() };
        check(&vague, Outcome::LearnedLittle, &["8.0 ± 3.0 better"]);
        let broken = Some(Fit { value: f64::NAN, std_err: 0.1, baseline: -24.0 });
        assert_eq!(verdict(&Evidence { train: broken, valid: None, ..good() }).outcome, Outcome::LearnedLittle);
    }

    #[test]
    fn overfitting() {
        let far = Some(Fit { value: -19.0, std_err: 0.14, baseline: -24.0 });
        check(
            &Evidence { valid: far, ..good() },
            Outcome::Overfitting,
            &["3.00 ± 0.20 nats less likely, 38 %", "--early-stop"],
        );
        let fell = |std_err| Evidence { fall: Some(Fall { by: 1.2, std_err, update: 400 }), ..good() };
        check(&fell(0.0), Outcome::Overfitting, &["at update 400 they were better by 1.20."]);
        check(&fell(0.3), Outcome::Overfitting, &["at update 400 they were better by 1.20 ± 0.30."]);
        assert_eq!(verdict(&fell(0.5)).outcome, Outcome::Learned, "1.2 ± 0.5 may be chance");
    }

    #[test]
    fn the_best_of_many_estimates_is_the_one_that_is_sure() {
        let told = [(1, -20.0, 0.0), (2, -16.0, 2.0), (3, -17.0, 0.1), (4, -18.0, 0.0)];
        assert_eq!(Fall::of(told.into_iter()), Some(Fall { by: 1.0, std_err: 0.1, update: 3 }));
        assert_eq!(Fall::of([].into_iter()), None);
    }

    #[test]
    fn not_mixed() {
        check(
            &Evidence { r_hat: Some(1.4), ..good() },
            Outcome::NotMixed,
            &["have not met (R̂ = 1.400)", "--gibbs-steps"],
        );
        check(&Evidence { ess: Some(30.0), ..good() }, Outcome::NotMixed, &["worth 30 independent samples"]);
    }

    #[test]
    fn recovered() {
        check(
            &Evidence { recovered: 1, ..good() },
            Outcome::Recovered,
            &["1 update diverged", "before it", "smaller --lr"],
        );
        check(&Evidence { recovered: 2, ..good() }, Outcome::Recovered, &["2 updates diverged"]);
    }

    #[test]
    fn unfinished_and_unknown() {
        let half = Evidence { finished: false, updates: (500, 1000), ..good() };
        check(&half, Outcome::Unfinished, &["500 of 1,000 updates are done", "--resume"]);
        let blind = Evidence { train: None, valid: None, r_hat: None, ..good() };
        check(&blind, Outcome::Unknown, &["Not judged."]);
        let pseudo = Evidence { pseudo: true, ..good() };
        check(&pseudo, Outcome::Learned, &["The log pseudo-likelihood"]);
        let doubt = Evidence { doubt: Some("Do not trust it.".into()), ..good() };
        check(&doubt, Outcome::Learned, &["Do not trust it."]);
    }
}
