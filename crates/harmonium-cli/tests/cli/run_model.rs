//! A run directory in the place of a model file.

use super::common::{Folder, close, fails};
use super::train::SMALL;
use std::fs;

fn unfinish(folder: &Folder, dir: &str) {
    fs::remove_file(folder.path(&format!("{dir}/model.safetensors"))).unwrap();
}

/// Every command that takes MODEL gives the same answer for `run` and for `run/model.safetensors`, with a note about it.
#[test]
fn every_command_takes_a_run_directory() {
    let folder = Folder::new();
    assert_eq!(folder.run(&format!("{SMALL} -o run")).code, 0);
    let data = "builtin:bars:2";
    for line in [
        "inspect MODEL".into(),
        "log-z MODEL".into(),
        format!("evaluate MODEL {data}"),
        "sample MODEL -n 50 -o x.npy".into(),
        format!("transform MODEL {data} -o x.npy"),
        format!("reconstruct MODEL {data} -o x.npy"),
        format!("free-energy MODEL {data} -o x.npy"),
        format!("impute MODEL {data} -o x.npy --free 1"),
        "convert MODEL -o x.safetensors".into(),
    ] {
        let run = folder.run(&line.replace("MODEL", "run"));
        let note = "note: run is a run directory; using run/model.safetensors\n";
        assert_eq!((run.code, run.err.as_str()), (0, note), "{line}");
        let written = fs::read(folder.path("x.npy")).unwrap_or_default();
        let file = folder.run(&line.replace("MODEL", "run/model.safetensors"));
        assert_eq!((file.code, file.err.as_str(), file.out), (0, "", run.out), "{line}");
        assert_eq!(fs::read(folder.path("x.npy")).unwrap_or_default(), written, "{line}");
    }
}

#[test]
fn an_unfinished_run_lends_the_model_of_its_checkpoint() {
    let folder = Folder::new();
    assert_eq!(folder.run(&format!("{SMALL} -o run --checkpoint-every 200")).code, 0);
    let whole = folder.json("evaluate run builtin:bars:2");
    let sizes = folder.json("inspect run");
    unfinish(&folder, "run");
    let run = folder.run("inspect run");
    assert_eq!(
        (run.code, run.err.as_str()),
        (0, "note: run is an unfinished run; using its checkpoint at update 600\n")
    );
    let json = folder.json("evaluate run builtin:bars:2");
    assert_eq!(json["model"], "run/checkpoint.safetensors");
    let value = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
    // In single precision, where the finished model was rounded when its offsets were folded.
    assert!((value(&json, "mean_log_likelihood") - value(&whole, "mean_log_likelihood")).abs() < 1e-5, "{json}");
    assert!((value(&json, "log_z") - value(&whole, "log_z")).abs() < 1e-4, "{json}");
    assert_eq!(folder.json("inspect run")["parameters"], sizes["parameters"]);
    fs::remove_file(folder.path("run/checkpoint.safetensors")).unwrap();
    let found = fails(&folder, "inspect run");
    assert_eq!(found, "error: run has no model yet; continue the run with: harmonium train --resume -o run\n");
    fs::create_dir(folder.path("empty")).unwrap();
    assert_eq!(fails(&folder, "inspect empty"), "error: empty is a directory without model.safetensors\n");
}

/// A checkpoint does not have the means and deviations of standardised columns: they are computed again from the data. Without
/// the data a wrong answer would be worse than none.
#[test]
fn an_unfinished_run_on_standardised_data_needs_its_data() {
    let folder = Folder::new();
    folder.file("x.csv", b"1,20\n2,10\n3,40\n2.5,30\n");
    let line = "train x.csv -o run --visible gaussian --n-hidden 3 --updates 50 --checkpoint-every 20 --standardize";
    assert_eq!(folder.run(line).code, 0);
    let whole = folder.json("evaluate run");
    unfinish(&folder, "run");
    let json = folder.json("evaluate run");
    let likelihood = |json: &serde_json::Value| json["mean_log_likelihood"].as_f64().unwrap();
    assert!((likelihood(&json) - likelihood(&whole)).abs() < 1e-5, "{json} {whole}");
    fs::remove_file(folder.path("x.csv")).unwrap();
    let found = fails(&folder, "inspect run");
    assert!(found.contains("standardises its data, which cannot be read"), "{found}");
}

#[test]
fn evaluate_without_data_uses_the_data_of_the_run() {
    let folder = Folder::new();
    folder.file("x.csv", b"label,a,b\n7,0,1\n7,1,0\n7,1,1\n7,0,1\n");
    let line = "train x.csv --label-column first --updates 200 --n-hidden 2";
    assert_eq!(folder.run(&format!("{line} -o one")).code, 0);
    assert_eq!(folder.run(&format!("{line} -o two --valid-fraction 0.5")).code, 0);
    let given = folder.json("evaluate one x.csv --label-column first");
    assert_eq!(folder.json("evaluate one"), given);
    let run = folder.run("evaluate one");
    let note = "note: no DATA given; using the data of the run, x.csv\nnote: one is a run directory; using one/model.safetensors\n";
    assert_eq!((run.code, run.err.as_str()), (0, note));
    let both = folder.json("evaluate one two");
    close(&both["models"][0]["mean_log_likelihood"], given["mean_log_likelihood"].as_f64().unwrap());
    assert_eq!(both["models"].as_array().unwrap().len(), 2);
    assert!(folder.run("evaluate two").out.contains("held-out rows"));
    assert!(folder.run("evaluate two --per-row each.npy").err.contains("x.csv, held-out rows included\n"));
    assert_eq!(folder.run("train builtin:bars:1 --updates 100 -o other").code, 0);
    let found = fails(&folder, "evaluate one other");
    assert!(found.contains("one and other learned from different data; give DATA"), "{found}");
    let run = folder.run("evaluate one/model.safetensors");
    assert!(
        run.code == 2 && run.err.contains("DATA is missing") && run.err.contains("<MODEL>... [DATA]"),
        "{}",
        run.err
    );
}
