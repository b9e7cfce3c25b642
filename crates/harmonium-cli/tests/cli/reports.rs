//! Reports made again, and runs side by side.

use super::common::{Folder, bits};
use std::fs;

/// The page and all pictures of a run.
fn drawn(folder: &Folder, dir: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder.path(dir)).unwrap().map(|e| e.unwrap().path());
    let drawn = entries.filter(|p| p.extension().is_some_and(|e| ["html", "svg", "png"].iter().any(|d| e == *d)));
    let mut files: Vec<_> = drawn.map(|p| (p.display().to_string(), fs::read(&p).unwrap())).collect();
    files.sort();
    files
}

/// Small models have exact samples, large ones chains, and early stopping keeps another model than the last.
#[test]
fn the_page_of_a_finished_run_is_made_again_to_the_byte() {
    let folder = Folder::new();
    folder.table("wide.npy", bits(60, 40).view());
    for line in [
        "builtin:bars:3 --n-hidden 4 --updates 130 --valid-fraction 0.3",
        "builtin:mixture --n-hidden 3 --updates 70",
        "wide.npy --n-hidden 40 --updates 60 --likelihood none",
        "builtin:bars:2 --n-hidden 8 --updates 3000 --valid-fraction 0.4 --early-stop 2",
    ] {
        assert_eq!(folder.run(&format!("train {line} -o run")).code, 0, "{line}");
        let before = drawn(&folder, "run");
        assert!(before.len() > 5);
        for (name, _) in &before {
            fs::remove_file(name).unwrap();
        }
        let run = folder.run("report run --threads 1");
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        let again = drawn(&folder, "run");
        for (was, is) in before.iter().zip(&again) {
            assert!(was == is, "{line}: {} differs", was.0);
        }
        assert_eq!(before.len(), again.len());
        fs::remove_dir_all(folder.path("run")).unwrap();
    }
}

#[test]
fn a_run_says_in_words_what_became_of_it() {
    let folder = Folder::new();
    let json = folder.json("train builtin:bars:2 -o run --n-hidden 8 --updates 2000 --method pcd");
    assert_eq!(json["outcome"], "learned");
    let words = json["summary"].as_str().unwrap();
    assert!(
        words.starts_with("The model fits the training rows better than independent columns; without held-out rows, overfitting could not be checked. The mean log likelihood of the training rows is −"),
        "{words}"
    );
    let page = fs::read_to_string(folder.path("run/report.html")).unwrap();
    assert!(page.contains("<strong>The model fits the training rows better than independent columns; without held-out rows, overfitting could not be checked.</strong>"));
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path("run/summary.json")).unwrap()).unwrap();
    assert_eq!(summary, json);
    assert!(json["r_hat"].as_f64().unwrap() < 1.1 && json["ess"].as_f64().unwrap() > 100.0);
}

#[test]
fn an_unfinished_run_has_a_page_too() {
    let folder = Folder::new();
    assert_eq!(folder.run("train builtin:bars:2 -o run --updates 400 --checkpoint-every 200").code, 0);
    for name in ["model.safetensors", "report.html", "summary.json"] {
        fs::remove_file(folder.path(&format!("run/{name}"))).unwrap();
    }
    let log = fs::read_to_string(folder.path("run/events.jsonl")).unwrap();
    let log: String = log.lines().filter(|l| !l.contains("\"finished\"")).flat_map(|l| [l, "\n"]).collect();
    fs::write(folder.path("run/events.jsonl"), log).unwrap();
    let run = folder.run("report run");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out.contains("The run is not finished.") && run.out.contains("harmonium train --resume -o run"),
        "{}",
        run.out
    );
    assert!(
        fs::read_to_string(folder.path("run/report.html"))
            .unwrap()
            .contains("<strong>The run is not finished.</strong>")
    );
    fs::remove_file(folder.path("run/checkpoint.safetensors")).unwrap();
    let run = folder.run("report run");
    assert!(run.code == 1 && run.err.contains("has no model yet"), "{}", run.err);
}

#[test]
fn without_its_data_a_run_has_a_smaller_page_and_keeps_the_larger_one() {
    let folder = Folder::new();
    folder.table("data.npy", bits(20, 6).view());
    assert_eq!(folder.run("train data.npy -o run --n-hidden 3 --updates 100").code, 0);
    let whole = fs::read(folder.path("run/report.html")).unwrap();
    for gone in [true, false] {
        match gone {
            true => fs::remove_file(folder.path("data.npy")).unwrap(),
            false => folder.table("data.npy", bits(21, 6).view()),
        }
        let run = folder.run("report run");
        assert!(run.code == 1 && run.err.contains("give -o FILE"), "{}", run.err);
        assert_eq!(fs::read(folder.path("run/report.html")).unwrap(), whole);
        let run = folder.run("report run -o small.html");
        assert!(run.code == 0 && run.err.contains("the report is drawn without the data"), "{}", run.err);
        let page = fs::read_to_string(folder.path("small.html")).unwrap();
        assert!(page.contains("Drawn without the data") && page.contains("Log likelihood") && page.len() < whole.len());
    }
}

#[test]
fn runs_stand_side_by_side_and_other_rows_are_marked() {
    let folder = Folder::new();
    folder.runs();
    let json = folder.json("compare first second -o page.html");
    assert_eq!(json["comparable"], true);
    for (run, name) in json["runs"].as_array().unwrap().iter().zip(["first", "second"]) {
        let own: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.path(&format!("{name}/summary.json"))).unwrap()).unwrap();
        assert_eq!(run["log_likelihood"], own["log_likelihood"]);
        assert_eq!((&run["updates"], &run["outcome"], &run["final"]), (&own["updates"], &own["outcome"], &true.into()));
    }
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("first: filters") && page.contains("second: samples"), "pictures of both runs");
    assert_eq!(folder.run("train builtin:bars:3 -o other --n-hidden 2 --updates 100").code, 0);
    let run = folder.run("compare first other");
    assert!(run.out.contains("These runs used different data") && run.out.contains("B: builtin:bars:3"), "{}", run.out);
    assert!(
        run.out.contains("± one standard error (from the finite number of rows") && !run.out.contains("\n  ±"),
        "{}",
        run.out
    );
    assert_eq!(folder.json("compare first other")["comparable"], false);
    // Another seed holds out other rows.
    for seed in [1, 2] {
        let line =
            format!("train builtin:bars:3 -o seed{seed} --seed {seed} --n-hidden 2 --updates 60 --valid-fraction 0.5");
        assert_eq!(folder.run(&line).code, 0);
    }
    assert_eq!(folder.json("compare seed1 seed2")["comparable"], false);
    fs::remove_file(folder.path("second/summary.json")).unwrap();
    let run = folder.run("compare first second");
    assert!(run.out.contains(" *") && run.out.contains("unfinished"), "{}", run.out);
    let run = folder.run("compare first nowhere");
    assert!(run.code == 1 && run.err.contains("nowhere is not a run directory"), "{}", run.err);
}
