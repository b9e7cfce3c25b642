//! Made-up runs and their verdicts.

use super::*;
use crate::measure::Idle;
use crate::run::curves::{Collapse, Fall};

/// A run without blemish: 8 nats gained, 1.0 ± 0.2 nats of them not on held-out rows.
fn good() -> Evidence {
    let fit = |value| Fit { value, std_err: 0.14, baseline: -24.0 };
    Evidence {
        updates: (1000, 1000),
        epochs: 50.0,
        finished: true,
        train: Some(fit(-16.0)),
        valid: Some(fit(-17.0)),
        r_hat: Some(1.002),
        ess: Some(900.0),
        hidden: 20,
        idle: Some(Idle::default()),
        rates: (0.005, 0.005),
        best_gain: Some(8.0),
        ..Evidence::default()
    }
}

/// With this likelihood of the training rows, and no held-out rows.
fn at(value: f64) -> Evidence {
    Evidence { train: Some(Fit { value, ..good().train.unwrap() }), valid: None, ..good() }
}

#[track_caller]
fn check(evidence: Evidence, outcome: Outcome, advice: &[Advice]) {
    let found = judge(evidence);
    assert_eq!((found.outcome, &found.advice[..]), (outcome, advice));
}

fn retrain(key: &'static str, value: impl Into<toml::Value>) -> Option<Remedy> {
    Some(Remedy::Retrain(vec![(key, value.into())]))
}

/// Made-up disasters: what was seen, the verdict, its cause, and the remedy.
#[test]
fn disasters_have_their_verdict_cause_and_remedy() {
    let rates = |rate| (rate, 0.005);
    let fit = |value, baseline| Some(Fit { value, std_err: 0.2, baseline });
    let wide_gap = Evidence { valid: fit(-19.5, -24.0), ..good() };
    let collapse = Collapse { by: 23.0, std_err: 1.4, updates: (2400, 4800), regained: true };
    type Case = (&'static str, Evidence, Outcome, Option<Cause>, Option<Remedy>);
    let table: Vec<Case> = vec![
        (
            "a rate a thousand times too high",
            // The noise of such a run may look like a rise.
            Evidence { rates: rates(5.0), rise: Some(40.0), ..at(-234.5) },
            Outcome::Failed,
            Some(Cause::HighRate),
            retrain("train.lr", 0.005),
        ),
        (
            "a rate a little too high for these data",
            Evidence { rates: rates(0.01), best_gain: Some(-1.0), ..at(-30.0) },
            Outcome::Failed,
            Some(Cause::HighRate),
            retrain("train.lr", 0.002),
        ),
        (
            "a high rate that ended at the baseline",
            Evidence { rates: rates(0.5), ..at(-24.0) },
            Outcome::Little,
            Some(Cause::HighRate),
            retrain("train.lr", 0.005),
        ),
        (
            "numbers that are not finite",
            at(f64::NAN),
            Outcome::Failed,
            Some(Cause::Diverged),
            retrain("train.lr", 0.001),
        ),
        (
            "weights that cannot be normalised",
            Evidence { not_normalisable: true, train: None, ..good() },
            Outcome::Failed,
            Some(Cause::Diverged),
            retrain("train.lr", 0.001),
        ),
        (
            "a divergence that was not recovered from",
            Evidence { recovered: 8, ..at(-40.0) },
            Outcome::Failed,
            Some(Cause::Diverged),
            retrain("train.lr", 0.001),
        ),
        (
            "a divergence that was recovered from",
            Evidence { recovered: 1, ..good() },
            Outcome::Learned,
            None,
            retrain("train.lr", 0.001),
        ),
        (
            "chains that were lost after five nats had been learned",
            Evidence { best_gain: Some(5.0), r_hat: Some(2.0), ..at(-60.0) },
            Outcome::Failed,
            Some(Cause::ChainsLost),
            retrain("train.method", "pt"),
        ),
        (
            "tempered chains that were lost",
            Evidence { best_gain: Some(5.0), tempered: true, ..at(-60.0) },
            Outcome::Failed,
            Some(Cause::ChainsLost),
            retrain("train.lr", 0.001),
        ),
        (
            "a bad start that is nearly made up for",
            Evidence { best_gain: Some(-3.0), rise: Some(9.0), ..at(-27.0) },
            Outcome::Failed,
            Some(Cause::TooShort),
            Some(Remedy::Continue { updates: 2000 }),
        ),
        (
            "ten updates",
            Evidence { updates: (10, 10), epochs: 0.5, ..at(-23.99) },
            Outcome::Little,
            Some(Cause::TooShort),
            Some(Remedy::Continue { updates: 1000 }),
        ),
        (
            "constant data",
            Evidence { alike: true, train: fit(-0.021, -0.05), valid: None, ..good() },
            Outcome::Little,
            Some(Cause::NothingToLearn),
            None,
        ),
        (
            "as good as the baseline on training rows, and surely worse on held-out rows",
            Evidence { valid: fit(-25.8, -24.0), ..at(-24.02) },
            Outcome::Failed,
            None,
            None,
        ),
        (
            "worse on held-out rows by less than their error",
            Evidence { valid: fit(-24.5, -24.0), ..at(-24.0) },
            Outcome::Little,
            None,
            Some(Remedy::Continue { updates: 2000 }),
        ),
        (
            "Gaussian hidden units on columns without factors",
            Evidence { solved: true, updates: (0, 0), epochs: 0.0, ..at(-24.0) },
            Outcome::Little,
            Some(Cause::Solved),
            None,
        ),
        ("few rows learned by heart", wide_gap, Outcome::Overfitting, None, retrain("train.early_stop", 10)),
        (
            "held-out rows of another distribution",
            Evidence { valid: fit(-29.0, -35.0), ..good() },
            Outcome::Learned,
            None,
            None,
        ),
        (
            "a collapse in mid-run",
            Evidence { collapse: Some(collapse), ..good() },
            Outcome::Learned,
            None,
            retrain("train.lr", 0.001),
        ),
        (
            "modes of the wrong weight",
            Evidence { means: Some(Means { apart: 0.6, chance: 0.06 }), ..good() },
            Outcome::NotMixed,
            None,
            retrain("train.method", "pt"),
        ),
        (
            "an estimate of log Z that the rows refute",
            Evidence { refuted: true, ..good() },
            Outcome::Unknown,
            None,
            None,
        ),
        (
            "killed in the final estimate",
            Evidence { pending: true, ..good() },
            Outcome::Unknown,
            None,
            Some(Remedy::Measure),
        ),
    ];
    for (what, evidence, outcome, cause, remedy) in table {
        let found = judge(evidence);
        assert_eq!((found.outcome, found.cause, found.remedy), (outcome, cause, remedy), "{what}");
    }
}

#[test]
fn a_good_run_has_learned_and_needs_no_advice() {
    check(good(), Outcome::Learned, &[]);
    check(Evidence { rise: Some(1.0), ..good() }, Outcome::StillRising, &[Advice::MoreUpdates]);
    // The spread of the rows explains such a gap.
    let spread = Fit { value: -19.0, std_err: 3.0, ..good().valid.unwrap() };
    check(Evidence { valid: Some(spread), ..good() }, Outcome::Learned, &[]);
    // Chance explains such means.
    let means = Some(Means { apart: 0.4, chance: 0.2 });
    check(Evidence { means, ..good() }, Outcome::Learned, &[]);
}

#[test]
fn idle_units_and_unsteady_runs_get_advice_unless_the_program_chose_the_setting() {
    let idle = Some(Idle { off: 2, on: 1, constant: 11 });
    let evidence = Evidence { hidden: 16, idle, ..good() };
    let found = judge(evidence.clone());
    assert_eq!(found.advice, [Advice::FewerHidden, Advice::SparseHidden]);
    assert_eq!(found.remedy, retrain("model.n_hidden", 4));
    check(Evidence { chosen: vec!["model.n_hidden".into()], ..evidence }, Outcome::Learned, &[]);
    let collapse = |regained| Some(Collapse { by: 14.7, std_err: 1.4, updates: (12_600, 25_200), regained });
    let chosen = vec!["train.lr".to_string()];
    let collapsed = |regained| Evidence { collapse: collapse(regained), chosen: chosen.clone(), ..good() };
    check(collapsed(true), Outcome::Learned, &[]);
    check(collapsed(false), Outcome::Learned, &[Advice::SmallerRate]);
    check(Evidence { recovered: 1, chosen, ..good() }, Outcome::Learned, &[]);
}

#[test]
fn constant_columns_have_advice_only_about_a_binarisation() {
    let constant = Evidence { alike: true, ..at(-24.0) };
    check(constant.clone(), Outcome::Little, &[]);
    let binarized = Some("threshold:2".into());
    check(Evidence { binarized, ..constant }, Outcome::Little, &[Advice::OtherThreshold]);
}

#[test]
fn a_run_near_its_baseline_learned_little_and_one_below_it_failed() {
    assert_eq!(judge(at(-23.99)).outcome, Outcome::Little);
    check(Evidence { rise: Some(0.5), ..at(-23.99) }, Outcome::Little, &[Advice::MoreUpdates]);
    // A gain that the error of log Z explains is none, nor is such a loss.
    assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-22.0) }).outcome, Outcome::Little);
    assert_eq!(judge(Evidence { log_z_std_err: 1.0, ..at(-26.0) }).outcome, Outcome::Little);
    assert_eq!(judge(at(-26.0)).outcome, Outcome::Failed);
}

#[test]
fn a_gap_that_is_sure_and_a_part_of_the_gain_is_overfitting() {
    let valid = |value, std_err| Evidence { valid: Some(Fit { value, std_err, baseline: -24.0 }), ..good() };
    assert_eq!(judge(valid(-19.0, 0.14)).outcome, Outcome::Overfitting);
    assert_eq!(judge(valid(-19.0, 1.1)).outcome, Outcome::Learned, "not sure");
    assert_eq!(judge(valid(-18.0, 0.14)).outcome, Outcome::Learned, "a quarter of the gain");
    let fall = |std_err| Some(Fall { by: 1.5, std_err, update: 300 });
    assert_eq!(judge(Evidence { fall: fall(0.1), ..good() }).outcome, Outcome::Overfitting);
    assert_eq!(judge(Evidence { fall: fall(1.0), ..good() }).outcome, Outcome::Learned);
    assert_eq!(judge(Evidence { fall: fall(0.1), ..valid(-16.1, 0.14) }).outcome, Outcome::Learned, "no gap");
}

#[test]
fn chains_that_disagree_have_not_mixed() {
    assert_eq!(judge(Evidence { r_hat: Some(1.4), ..good() }).outcome, Outcome::NotMixed);
    assert_eq!(judge(Evidence { ess: Some(30.0), ..good() }).outcome, Outcome::NotMixed);
    assert_eq!(judge(Evidence { r_hat: None, ess: None, ..good() }).outcome, Outcome::Learned);
}

#[test]
fn a_run_without_its_end_or_without_numbers_is_not_judged() {
    check(Evidence { finished: false, ..good() }, Outcome::Unfinished, &[Advice::Resume]);
    check(Evidence { train: None, ..good() }, Outcome::Unknown, &[Advice::MeasureLikelihood]);
}
