//! The run directory: nothing finished is overwritten, a run goes on only as it began, one process at a time.

use super::common::Folder;
use super::train::SMALL;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Everything in a directory, by name.
fn content(folder: &Folder, dir: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder.path(dir))
        .unwrap()
        .map(|e| e.unwrap())
        .map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// An unfinished run: one whose model is gone.
fn unfinished(folder: &Folder) {
    assert_eq!(folder.run(&format!("{SMALL} -o run --checkpoint-every 200")).code, 0);
    fs::remove_file(folder.path("run/model.safetensors")).unwrap();
}

#[test]
fn a_finished_run_is_not_overwritten() {
    let folder = Folder::new();
    assert_eq!(folder.run(&format!("{SMALL} -o run")).code, 0);
    let before = content(&folder, "run");
    let run = folder.run(&format!("{SMALL} -o run"));
    assert!(
        run.code == 1 && run.err.contains("run already holds a finished run; choose another directory"),
        "{}",
        run.err
    );
    for more in ["", "--updates 600", "--updates 300"] {
        let run = folder.run(&format!("train --resume -o run {more}"));
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(
            run.out.contains("finished") && run.out.contains("train --resume -o run --updates 1200"),
            "{}",
            run.out
        );
    }
    let run = folder.run("train --resume -o run --lr 3");
    assert!(run.code == 1 && run.err.contains("a resumed run keeps its settings"), "{}", run.err);
    assert_eq!(folder.json("train --resume -o run")["updates"], 600);
    assert_eq!(content(&folder, "run"), before);
}

/// With a constant rate a run of 600 updates that is extended to 900 is the run of 900, to the bit.
#[test]
fn a_finished_run_can_be_extended() {
    let folder = Folder::new();
    let line = SMALL.replace("--updates 600", "--updates 630") + " --lr 0.01";
    assert_eq!(folder.run(&format!("{line} -o run")).code, 0);
    let model = |file: &str| fs::read(folder.path(file)).unwrap();
    let first = model("run/model.safetensors");
    let run = folder.run("train --resume -o run --updates 900");
    assert!(run.code == 0 && run.err.contains("continuing at update 600 of 900"), "{}", run.err);
    assert_eq!(folder.run(&format!("{} -o straight", line.replace("630", "900"))).code, 0);
    assert_eq!(model("run/model.safetensors"), model("straight/model.safetensors"));
    assert_eq!(model("run/model-630.safetensors"), first);
}

#[test]
fn an_unfinished_run_needs_the_word_resume() {
    let folder = Folder::new();
    unfinished(&folder);
    let before = content(&folder, "run");
    let run = folder.run(&format!("{SMALL} -o run"));
    assert!(
        run.code == 1 && run.err.contains("holds an unfinished run; continue with: harmonium train --resume -o run"),
        "{}",
        run.err
    );
    for (options, words) in [
        ("--lr 0.5", "--lr is 0.005 in this run, but 0.5 was asked for"),
        ("--n-hidden 5", "--n-hidden is 4 in this run, but 5 was asked for"),
        ("builtin:bars:3", "DATA is \"builtin:bars:2\" in this run"),
        ("--seed 8", "--seed is 0 in this run"),
        ("--valid-fraction 0.5", "--valid-fraction is 0.0 in this run"),
        ("--updates 300", "--updates is 300, but this run has already done 600"),
    ] {
        let run = folder.run(&format!("train --resume -o run {options}"));
        assert!(run.code == 1 && run.err.contains(words), "{options}: {}", run.err);
    }
    assert_eq!(content(&folder, "run"), before);
    let run = folder.run(&format!("{SMALL} -o run --resume --threads 1 --seed 0"));
    assert!(run.code == 0 && run.err.contains("continuing at update 600 of 600"), "{}", run.err);
}

#[test]
fn a_run_can_be_made_longer_while_it_is_unfinished() {
    let folder = Folder::new();
    unfinished(&folder);
    assert_eq!(folder.json("train --resume -o run --updates 700")["updates"], 700);
    let config = fs::read_to_string(folder.path("run/config.toml")).unwrap();
    assert!(config.contains("updates = 700"), "{config}");
}

#[test]
fn resuming_without_a_checkpoint_starts_from_the_beginning() {
    let folder = Folder::new();
    unfinished(&folder);
    let whole = fs::read(folder.path("run/events.jsonl")).unwrap();
    fs::remove_file(folder.path("run/checkpoint.safetensors")).unwrap();
    assert_eq!(folder.run("train --resume -o run").code, 0);
    assert_eq!(fs::read(folder.path("run/events.jsonl")).unwrap(), whole);
    // And in a directory that is not there yet.
    assert_eq!(folder.run(&format!("{SMALL} -o new --resume --checkpoint-every 200")).code, 0);
    let model = |dir: &str| fs::read(folder.path(&format!("{dir}/model.safetensors"))).unwrap();
    assert_eq!(model("run"), model("new"));
}

#[test]
fn changed_data_and_damaged_files_are_refused() {
    let folder = Folder::new();
    folder.file("x.csv", b"0,1\n1,0\n1,1\n");
    assert_eq!(folder.run("train x.csv -o run --updates 200").code, 0);
    fs::remove_file(folder.path("run/model.safetensors")).unwrap();
    folder.file("x.csv", b"0,1\n1,0\n0,1\n");
    let run = folder.run("train --resume -o run");
    assert!(run.code == 1 && run.err.contains("the data or the initial model"), "{}", run.err);
    folder.file("x.csv", b"0,1\n1,0\n1,1\n");
    let good = fs::read(folder.path("run/checkpoint.safetensors")).unwrap_or_default();
    folder.file("run/checkpoint.safetensors", &good[..good.len() / 2]);
    let run = folder.run("train --resume -o run");
    assert!(run.code == 1 && run.err.contains("checkpoint.safetensors"), "{}", run.err);
    folder.file("run/config.toml", b"lr = 1");
    let run = folder.run("train --resume -o run");
    assert!(run.code == 1 && run.err.contains("config.toml"), "{}", run.err);
    assert!(!folder.path("run/model.safetensors").exists());
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let folder = Folder::new();
    let line = "train builtin:bars:2 -o run --n-hidden 4 --updates 1000000000";
    let mut first = folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !folder.path("run/config.toml").exists() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = folder.run("train --resume -o run");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(second.code == 1 && second.err.contains("another process is training"), "{}", second.err);
}

/// A file system without room: a limit on the size of files, which a checkpoint hits and the log does not.
#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_that_cannot_be_written_ends_the_run_and_leaves_the_old_one() {
    let folder = Folder::new();
    let line = "train builtin:bars:2 -o run --n-hidden 300 --updates 500 --likelihood none --checkpoint-every 100";
    // 12 blocks of 512 bytes, enough for the configuration; the model has 300 × 4 weights. The signal of the limit is ignored, so that writes fail.
    let script = format!("trap '' XFSZ; ulimit -f 12; exec \"$0\" {line}");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_harmonium")]).current_dir(folder.0.path());
    shell.env_remove("CARGO_PKG_NAME");
    let output = shell.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1), "{:?}: {err}", output.status);
    assert!(
        err.contains("cannot write run/checkpoint.safetensors: file too large")
            && err.lines().filter(|line| !line.starts_with("note: settings")).count() == 1,
        "{err}"
    );
    assert!(err.ends_with("harmonium train --resume -o run\n"), "{err}");
    assert!(!folder.path("run/checkpoint.safetensors").exists() && !folder.path("run/model.safetensors").exists());
    let names = content(&folder, "run").into_iter().map(|f| f.0).collect::<Vec<_>>();
    assert_eq!(names, ["config.toml", "events.jsonl"], "no half files");
    assert_eq!(folder.run("train --resume -o run").code, 0);
}

#[test]
fn the_demo_replaces_only_what_a_demo_has_made() {
    let folder = Folder::new();
    let json = folder.json("demo --quick");
    assert!(json["log_likelihood"].as_f64() > json["baseline"].as_f64(), "{json}");
    let first = content(&folder, "harmonium-demo");
    let text = folder.run("demo --quick").out;
    let model = |files: &[(String, Vec<u8>)]| files.iter().find(|f| f.0 == "model.safetensors").unwrap().1.clone();
    assert_eq!(model(&content(&folder, "harmonium-demo")), model(&first));
    let commands: Vec<&str> =
        text.lines().filter(|l| !l.contains("Next: ")).filter_map(|l| Some(&l[l.find("harmonium ")? + 10..])).collect();
    assert_eq!(commands.len(), 3, "{text}");
    for line in commands {
        assert_eq!(folder.run(line).code, 0, "harmonium {line}");
    }
    let config = fs::read_to_string(folder.path("harmonium-demo/config.toml")).unwrap();
    folder.file("harmonium-demo/config.toml", config.replace("demo = true", "").as_bytes());
    let before = content(&folder, "harmonium-demo");
    let run = folder.run("demo --quick");
    assert!(run.code == 1 && run.err.contains("was not made by the demo"), "{}", run.err);
    assert_eq!(content(&folder, "harmonium-demo"), before);
}
