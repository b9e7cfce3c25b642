//! Runs that go wrong get the right verdict, its cause, and a command that can be copied.

use super::common::{Folder, bits, fails, rbm};
use harmonium::file::ModelFile;
use ndarray::Array2;
use serde_json::Value;
use std::fs;

/// Short runs that go wrong: what to train, the outcome, the cause, and words of the summary.
#[test]
fn short_runs_that_go_wrong_have_their_verdict() {
    let folder = Folder::new();
    folder.table("constant.npy", Array2::from_shape_fn((60, 6), |(_, c)| (c % 2) as f64).view());
    folder.table("random.npy", bits(40, 12).view());
    // Every column is mostly 0 in one table and mostly 1 in the other.
    let rare = |r: usize, c: usize| if (r * 7 + c * 3).is_multiple_of(9) { 1.0 } else { 0.0 };
    folder.table(
        "zeros.npy",
        Array2::from_shape_fn((90, 6), |(r, c)| if c == 1 { rare(r, 0) } else { rare(r, c) }).view(),
    );
    folder.table("ones.npy", Array2::from_shape_fn((90, 6), |(r, c)| 1.0 - rare(r, c)).view());
    let table: [(&str, &[&str], Value, &[&str]); 10] = [
        (
            "builtin:digits --lr 5 --updates 500 --n-hidden 16",
            &["failed"],
            "high-rate".into(),
            &[
                "worse than independent columns",
                "(0.005 is usual)",
                "Try: harmonium train --config run/config.toml -o run-2 --lr 0.005",
            ],
        ),
        (
            "builtin:bars:3 --n-hidden 6 --optimizer sgd --lr 300 --method pcd --updates 300",
            &["failed"],
            "high-rate".into(),
            &["(0.1 is usual)", "--lr 0.1"],
        ),
        (
            "builtin:digits --lr 0.5 --updates 300 --n-hidden 12",
            &["failed"],
            "high-rate".into(),
            &["-o run-2 --lr 0.005"],
        ),
        (
            "constant.npy --n-hidden 4 --updates 300",
            &["little"],
            "nothing-to-learn".into(),
            &["nothing to learn", "All rows are the same."],
        ),
        (
            "builtin:bars:3 --binarize threshold:2 --n-hidden 4 --updates 300",
            &["little"],
            "nothing-to-learn".into(),
            &["All columns are constant", "binarised by threshold:2", "another threshold with --binarize"],
        ),
        (
            "builtin:mixture --hidden gaussian",
            &["little"],
            "solved".into(),
            &["fitted directly (factor analysis)", "use binary hidden units (--hidden bernoulli)"],
        ),
        (
            "builtin:digits --n-hidden 8 --updates 3",
            &["little"],
            "too-short".into(),
            &["The run was short: 3 updates", "train --resume -o run --updates 1000"],
        ),
        (
            "random.npy --n-hidden 40 --updates 6000 --valid-fraction 0.25 --method pcd --keep last",
            &["overfitting"],
            Value::Null,
            &["The model overfits", "--early-stop 10"],
        ),
        (
            "zeros.npy --valid ones.npy --n-hidden 4 --updates 2000",
            &["learned", "still-rising", "not-mixed"],
            Value::Null,
            &["another distribution"],
        ),
        (
            "builtin:mixture --lr 5 --updates 300",
            &["failed", "little"],
            "high-rate".into(),
            &["The likely cause is the learning rate, 5", "hidden units are idle"],
        ),
    ];
    for (line, outcomes, cause, words) in table {
        let json = folder.json(&format!("train {line} -o run"));
        let summary = json["summary"].as_str().unwrap();
        assert!(outcomes.contains(&json["outcome"].as_str().unwrap()), "{line}: {summary}");
        assert_eq!(json["cause"], cause, "{line}: {summary}");
        for word in words {
            assert!(summary.contains(word), "{line}: '{word}' is not in: {summary}");
        }
        fs::remove_dir_all(folder.path("run")).unwrap();
    }
}

/// The command that a failed run prints repeats it with one setting changed, and does not fail.
#[test]
fn the_command_of_a_failed_run_can_be_copied() {
    let folder = Folder::new();
    let out = folder.run("train builtin:digits --lr 5 --updates 500 --n-hidden 16 -o run").out;
    let next = out.lines().find(|l| l.contains("Next: ")).unwrap();
    let command = &next[next.find("harmonium train").unwrap() + "harmonium ".len()..];
    assert_eq!(command, "train --config run/config.toml -o run-2 --lr 0.005");
    assert!(fs::read_to_string(folder.path("run/report.html")).unwrap().contains("Training failed"));
    let json = folder.json(command);
    assert!(json["outcome"] != "failed" && json["updates"] == 500, "{json}");
}

/// Half of the rows are copies, so that held-out rows are known already.
#[test]
fn held_out_rows_that_are_copies_are_noticed() {
    let folder = Folder::new();
    let rows = bits(30, 12);
    folder.table("twice.npy", Array2::from_shape_fn((120, 12), |(r, c)| rows[[r % 30, c]]).view());
    let json = folder.json("train twice.npy -o run --n-hidden 6 --updates 300 --valid-fraction 0.2");
    assert!(
        json["summary"].as_str().unwrap().contains("of the held-out rows are also among the training rows"),
        "{json}"
    );
}

/// A made-up log: the likelihood fell and rose again.
#[test]
fn a_collapse_in_the_log_of_a_run_is_in_its_report() {
    let folder = Folder::new();
    assert_eq!(folder.run("train builtin:bars:3 -o run --n-hidden 6 --updates 1000 --report-every 100").code, 0);
    let path = folder.path("run/events.jsonl");
    let mut log: Vec<Value> =
        fs::read_to_string(&path).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for event in log.iter_mut().filter(|e| e["event"] == "progress") {
        let fell = [500, 600].contains(&event["update"].as_u64().unwrap());
        event["train"]["log_likelihood"] = if fell { (-40.0).into() } else { (-4.0).into() };
    }
    fs::write(&path, log.iter().map(|e| format!("{e}\n")).collect::<String>()).unwrap();
    let json = folder.json("report run");
    let words = "The training rows lost 36.00 nats between updates 400 and 500, and recovered later.";
    assert!(json["summary"].as_str().unwrap().contains(words), "{json}");
    assert_eq!(json["evidence"]["collapse"]["updates"], serde_json::json!([400, 500]));
    assert!(fs::read_to_string(folder.path("run/report.html")).unwrap().contains(words));
}

/// One hidden bias of 1e20: every digit of the likelihood is lost, and nothing is printed as exact.
#[test]
fn a_likelihood_without_digits_is_refused() {
    let folder = Folder::new();
    folder.table("data.npy", bits(20, 6).view());
    let mut model = rbm("bernoulli", 6, "bernoulli", 4, 1);
    let mut hidden = model.hidden().par().to_owned();
    hidden[[0, 2]] = 1e20;
    let hidden = harmonium::Layer::from_parts(
        model.hidden().kind().unwrap().clone(),
        hidden,
        model.hidden().offset().to_owned(),
    )
    .unwrap();
    model = harmonium::Rbm::from_parts(model.visible().clone(), hidden, model.weights().to_owned()).unwrap();
    folder.model("huge.safetensors", &ModelFile::new(&model));
    for line in ["evaluate huge.safetensors data.npy", "log-z huge.safetensors"] {
        let found = fails(&folder, line);
        assert!(
            found.contains("so large that log Z cannot be computed accurately (rounding error about"),
            "{line}: {found}"
        );
    }
}
