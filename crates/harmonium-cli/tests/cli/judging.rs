//! The end of a run: the model and a first report are safe before the likelihood is estimated, and it can be estimated again.

use super::common::{Folder, bits, close};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn summary(folder: &Folder, dir: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(&format!("{dir}/summary.json"))).unwrap()).unwrap()
}

/// The likelihood of this model cannot be enumerated.
const WIDE: &str = "train wide.npy --n-hidden 60 --updates 50 --seed 1";

fn wide() -> Folder {
    let folder = Folder::new();
    folder.table("wide.npy", bits(200, 70).view());
    folder
}

/// Killed or interrupted while the likelihood is estimated, a run has its model and a page; `--resume` and `report` judge it.
#[cfg(unix)]
#[test]
fn a_run_that_is_ended_in_the_final_estimate_is_trained_and_can_be_judged() {
    let folder = wide();
    for (signal, judge) in [("-KILL", "train --resume -o run"), ("-TERM", "report run")] {
        let mut child =
            folder.command(&format!("{WIDE} -o run")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        while !folder.path("run/model.safetensors").exists() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // The message of an interrupt is set after the model is written.
        std::thread::sleep(Duration::from_millis(20));
        let _ = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        child.wait().unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "the estimate took no time");
        if signal == "-TERM" {
            assert_eq!(output.status.code(), Some(130), "{err}");
            assert!(err.contains("the model is trained and saved") && err.contains("harmonium report run"), "{err}");
        }
        let model = fs::read(folder.path("run/model.safetensors")).unwrap();
        let first = summary(&folder, "run");
        assert!(
            first["pending"] == true && first["outcome"] == "unknown" && first["log_likelihood"].is_null(),
            "{first}"
        );
        let page = fs::read_to_string(folder.path("run/report.html")).unwrap();
        assert!(page.contains("its likelihood is being estimated"));
        let json = folder.json(judge);
        assert!(json["pending"] == false && json["outcome"] != "unknown", "{json}");
        assert_eq!((summary(&folder, "run"), fs::read(folder.path("run/model.safetensors")).unwrap()), (json, model));
        assert!(
            folder
                .run("train --resume -o run")
                .out
                .contains("this run is finished with 50 updates; nothing was changed")
        );
        fs::remove_dir_all(folder.path("run")).unwrap();
    }
}

#[test]
fn a_run_can_be_measured_again_and_for_longer() {
    let folder = wide();
    let json = folder.json(&format!("{WIDE} -o run --valid-fraction 0.2"));
    let again = folder.json("report run --time 20");
    assert_eq!((&again["pending"], &again["seconds"]), (&false.into(), &json["seconds"]));
    let error = json["log_z_std_err"].as_f64().unwrap() + again["log_z_std_err"].as_f64().unwrap();
    let number = |json: &Value, name: &str| json[name].as_f64().unwrap();
    assert!((number(&again, "log_likelihood") - number(&json, "log_likelihood")).abs() <= 5.0 * error, "{again}");
    let score = folder.json("evaluate run --time 20");
    assert_eq!((&score["rows"], &score["valid_rows"]), (&160.into(), &40.into()));
    let gap = |json: &Value, train: &str, valid: &str| number(json, train) - number(json, valid);
    let same = gap(&score, "mean_log_likelihood", "valid_mean_log_likelihood");
    assert!((same - gap(&json, "log_likelihood", "valid_log_likelihood")).abs() < 1e-3, "log Z cancels: {score}");
    let parts = number(&score, "log_z_std_err").hypot(number(&score, "row_std_err"));
    close(&score["std_err"], parts);
    let text = folder.run("evaluate run").out;
    assert!(text.contains(" from log Z, ") && text.contains(" nats per row on 40 rows (± "), "{text}");
}

/// Weighted rows are scored by their weights, as the run did.
#[test]
fn evaluate_counts_the_rows_of_a_run_as_the_run_did() {
    let folder = Folder::new();
    folder.table("x.npy", bits(30, 6).view());
    let weights: Vec<String> = (0..30).map(|r| format!("{}", 1 + r % 5)).collect();
    folder.file("w.csv", weights.join("\n").as_bytes());
    let json = folder.json("train x.npy -o run --n-hidden 3 --updates 200 --weights w.csv --valid-fraction 0.3");
    let score = folder.json("evaluate run");
    for (ours, theirs) in [
        ("mean_log_likelihood", "log_likelihood"),
        ("valid_mean_log_likelihood", "valid_log_likelihood"),
        ("row_std_err", "row_std_err"),
        ("valid_std_err", "valid_log_likelihood_std_err"),
    ] {
        let (a, b) = (score[ours].as_f64().unwrap(), json[theirs].as_f64().unwrap());
        assert!((a - b).abs() < 1e-5, "{ours}: {a}, {b}");
    }
}

#[test]
fn the_time_of_a_resumed_run_is_the_sum() {
    let folder = Folder::new();
    let line = "train builtin:digits --n-hidden 8 --updates 1500 --method pcd --likelihood none -o run";
    let first = folder.json(line)["seconds"].as_f64().unwrap();
    let both = folder.json("train --resume -o run --updates 1550")["seconds"].as_f64().unwrap();
    assert!(both > 0.9 * first, "{first} s, then {both} s in all");
    let again = folder.json("report run")["seconds"].as_f64().unwrap();
    assert_eq!(again, both);
}
