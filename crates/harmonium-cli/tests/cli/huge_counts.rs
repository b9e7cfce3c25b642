//! Counts that no computer can do, and numbers that no setting can have: refused by name, at once, with what they would
//! need.

use super::common::{Folder, bits, fails};
use std::fs;
use std::time::Instant;

#[track_caller]
fn fails_with(folder: &Folder, line: &str, words: &str) {
    let started = Instant::now();
    let found = fails(folder, line);
    assert!(found.contains(words), "harmonium {line}: expected '{words}' in: {found}");
    assert!(found.chars().count() < 300, "{found}");
    assert!(started.elapsed().as_secs() < 30, "harmonium {line} took {:?}", started.elapsed());
}

#[test]
fn huge_counts_are_refused_by_name_with_what_they_would_need() {
    let folder = Folder::furnished();
    folder.table("wide.npy", bits(3, 2000).view());
    for (line, words) in [
        ("sample model.safetensors -n 1000000000000 -o x.npy", "is 1000000000000, which makes a table of 48.0 TB"),
        (
            "sample model.safetensors --chains 1000000000000 -o x.npy",
            "--chains is 1000000000000, but must be 1 to 1048576",
        ),
        (
            "sample model.safetensors --burn-in 1000000000000000000 -o x.npy",
            "--burn-in is 1000000000000000000, which makes 1.0e18 sweeps",
        ),
        ("sample model.safetensors --thin 10000000000000000 -o x.npy", "--thin is 10000000000000000, which makes"),
        (
            "impute model.safetensors data.npy --free 1 --method chains --chains 9223372036854775808 -o x.npy",
            "--chains is 9223372036854775808, which needs about",
        ),
        (
            "impute model.safetensors data.npy --free 1 --steps 1000000000000 -o x.npy",
            "--steps is 1000000000000, but must be at most 4294967296",
        ),
        ("log-z model.safetensors --method ais --chains 16777216", "--chains is 16777216, which"),
        ("log-z model.safetensors --method bar --temperatures 16777216", "--temperatures is 16777216, which visits"),
        (
            "train wide.npy -o run --n-hidden 16000000",
            "--n-hidden is 16000000 for 2000 visible columns, which needs about 3.2 TB of memory, but only",
        ),
    ] {
        fails_with(&folder, line, words);
    }
    let run = folder.run("train data.npy -o run --chains 1000000000000");
    assert!(run.code == 2 && run.err.contains("must be 1 to 16777216"), "{}", run.err);
}

#[test]
fn numbers_that_no_setting_can_have_are_refused_in_a_plain_sentence() {
    let folder = Folder::furnished();
    folder.file("long.csv", format!("1,0\n{},1\n", "3".repeat(300)).as_bytes());
    fails_with(
        &folder,
        "train data.npy -o run --sparsity 2",
        "--sparsity is 2, but the mean of bernoulli units is between 0 and 1",
    );
    fails_with(&folder, "train data.npy -o run --sparsity -1.5 --hidden spin", "units is between -1 and 1");
    fails_with(
        &folder,
        "train data.npy -o run --valid-fraction 1e-300",
        "--valid-fraction is 1e-300, which holds out 0 of 20 rows",
    );
    fails_with(&folder, "train long.csv -o run", "data row 2, column 'column_1': 3.33");
}

#[test]
fn resuming_where_no_run_is_says_what_is_missing() {
    let folder = Folder::furnished();
    fs::create_dir(folder.path("other")).unwrap();
    fails_with(&folder, "train --resume -o other", "other holds no run to resume");
    fails_with(&folder, "train --resume -o nowhere", "nowhere holds no run to resume");
    fs::copy(folder.path("model.safetensors"), folder.path("other/model.safetensors")).unwrap();
    fails_with(&folder, "train --resume -o other", "other is not a run directory: it has no config.toml");
    fails_with(&folder, "train --resume -o data.npy", "data.npy is not a directory");
    assert!(folder.path("other/model.safetensors").exists());
}

/// A limit on the size of files is like a full disk.
#[cfg(unix)]
#[test]
fn a_run_that_could_write_nothing_leaves_nothing_and_does_not_advise_to_continue_it() {
    let folder = Folder::new();
    let line = "trap '' XFSZ; ulimit -f 24; exec \"$0\" train builtin:digits -o run --n-hidden 64 --updates 0 --quiet";
    let mut shell = std::process::Command::new("sh");
    let output =
        shell.args(["-c", line, env!("CARGO_BIN_EXE_harmonium")]).current_dir(folder.0.path()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("checkpoint.safetensors: file too large") && !err.contains("--resume"), "{err}");
    assert!(!folder.path("run").exists());
}
