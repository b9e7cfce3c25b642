//! Hostile files: each is refused in one sentence that names it, without a panic and without taking the memory that it
//! claims. `INDEX` has a line for every file: what it tries, and words of the refusal.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests

mod make;
mod runs;

use harmonium::events::MOST_COUNT;
use harmonium::file::{MOST_BYTES, MOST_HEADER, ModelFile, Precision};
use harmonium::run::{CHECKPOINT, CONFIG, EVENTS, Files, MODEL, Opened, Recorded, Request, SUMMARY};
use harmonium::settings::{self, Takes};
use harmonium::train::MOST_CHECKPOINT;
use runs::{Folder, open, unfinished};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

/// The files of a kind with the words of their refusals, as the index has them.
fn files(kind: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let index = fs::read_to_string(folder.join("INDEX")).unwrap();
    let lines: Vec<(String, String)> = index
        .lines()
        .filter(|line| line.starts_with(&format!("{kind}/")))
        .map(|line| {
            let (name, rest) = line.split_once(": ").unwrap();
            let (_, words) = rest.split_once(" |").unwrap();
            (name.to_string(), words.trim().to_string())
        })
        .collect();
    let mut named: Vec<&str> = lines.iter().map(|l| l.0.as_str()).collect();
    let entries = fs::read_dir(folder.join(kind)).unwrap();
    let mut found: Vec<String> =
        entries.map(|e| format!("{kind}/{}", e.unwrap().file_name().to_string_lossy())).collect();
    named.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, named, "the index lists the files of the folder");
    lines.into_iter().map(|(name, words)| (folder.join(name), words)).collect()
}

/// The refusal: one line that names the file and has the words.
#[track_caller]
fn refused<T>(found: harmonium::Result<T>, place: &Path, file: &Path, words: &str) {
    let Err(error) = found else { panic!("{} was not refused", file.display()) };
    let text = error.to_string();
    println!("{}: {text}", file.display());
    let named = text.contains(&place.display().to_string());
    assert!(named && text.lines().count() == 1, "{}: {text}", file.display());
    assert!(text.contains(words), "{}: expected '{words}' in: {text}", file.display());
    assert!(!text.contains('\u{1b}') && text.chars().count() < 500, "{text}");
}

#[test]
fn hostile_models_are_refused_by_name() {
    let folder = Folder::new();
    let run = unfinished(&folder, "binary");
    for (file, words) in files("models") {
        refused(ModelFile::read(&file), &file, &file, &words);
        // The same in a run directory.
        let place = run.join(MODEL);
        fs::copy(&file, &place).unwrap();
        refused(Recorded::read(&run).unwrap().model(), &place, &file, &words);
    }
}

#[test]
fn hostile_checkpoints_are_refused_by_name_and_the_run_stays() {
    for (file, words) in files("checkpoints") {
        let folder = Folder::new();
        let codes = file.file_name().unwrap().to_string_lossy().contains("codes");
        let run = unfinished(&folder, if codes { "potts" } else { "binary" });
        fs::copy(&file, run.join(CHECKPOINT)).unwrap();
        let place = if words.contains("already done") { PathBuf::new() } else { run.join(CHECKPOINT) };
        refused(open(Table::new(), &run, true), &place, &file, &words);
        assert!(run.join(CONFIG).exists() && run.join(CHECKPOINT).exists(), "{}", file.display());
        // What `inspect` and `evaluate` do with it: a model or a sentence.
        if let Err(e) = Recorded::read(&run).unwrap().model() {
            assert!(e.to_string().contains(CHECKPOINT), "{e}");
        }
    }
}

#[test]
fn hostile_configurations_are_refused_by_name() {
    for (file, words) in files("configs") {
        let folder = Folder::new();
        let run = unfinished(&folder, "binary");
        let place = run.join(CONFIG);
        fs::copy(&file, &place).unwrap();
        let late = words.starts_with("later: ");
        let words = words.trim_start_matches("later: ");
        if !late {
            refused(Recorded::read(&run), &place, &file, words);
            refused(open(Table::new(), &run, true), &place, &file, words);
        }
        let fresh = folder.path("fresh");
        let request = Request {
            asked: Table::new(),
            length: None,
            config: Some(file.clone()),
            output: Some(fresh.clone()),
            resume: false,
            demo: false,
            tables: &Files,
        };
        refused(request.open(&()), if late { Path::new("") } else { &file }, &file, words);
        assert!(!fresh.exists(), "{} left a directory behind", file.display());
    }
}

#[test]
fn hostile_events_are_skipped_or_drawn() {
    for (file, _) in files("events") {
        let folder = Folder::new();
        let run = unfinished(&folder, "binary");
        let before = fs::read(run.join(EVENTS)).unwrap();
        fs::write(run.join(EVENTS), [&fs::read(&file).unwrap()[..], b"\n", &before].concat()).unwrap();
        let recorded = Recorded::read(&run).unwrap();
        recorded.conclude(&Files, &(), Some(0.1), |conclusion| Ok(conclusion.fields().len())).unwrap();
        let Opened::Ready(mut again) = open(Table::new(), &run, true).unwrap() else { panic!() };
        again.train(&mut ()).unwrap();
    }
}

/// A pipe would be waited for, and a device may never end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_in_place_of_the_files_of_a_run_are_refused() {
    for (name, device) in [CONFIG, EVENTS, CHECKPOINT, MODEL, SUMMARY].into_iter().flat_map(|n| [(n, false), (n, true)])
    {
        let folder = Folder::new();
        let run = unfinished(&folder, "binary");
        let path = run.join(name);
        let _ = fs::remove_file(&path);
        if device {
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        } else if !std::process::Command::new("mkfifo").arg(&path).status().is_ok_and(|s| s.success()) {
            continue;
        }
        let judged = Recorded::read(&run).and_then(|recorded| recorded.model().map(drop));
        let resumed = open(Table::new(), &run, true).and_then(|opened| match opened {
            Opened::Ready(mut run) => run.train(&mut ()).map(drop),
            Opened::Finished(dir) => {
                assert!(!dir.is_judged());
                Ok(())
            }
        });
        let words = format!("{name} is not a regular file");
        if name == SUMMARY {
            // Nothing of it is needed: the run counts as not judged.
            judged.unwrap();
            resumed.unwrap();
            continue;
        }
        assert!(judged.is_err() || name == EVENTS, "{name}");
        for found in [judged, resumed] {
            let text = found.err().map_or(words.clone(), |e| e.to_string());
            assert!(text.contains(&words) || name == MODEL, "{name}: {text}");
        }
    }
}

/// As Python's `from_arrays` makes them.
#[test]
fn arrays_without_a_number_make_no_model() {
    let metadata = [("visible.kind", "bernoulli"), ("hidden.kind", "bernoulli")];
    let metadata: BTreeMap<String, String> = metadata.map(|(k, v)| (k.into(), v.into())).into();
    let bias = |n: usize| (vec![n], vec![0.0; n]);
    for shape in [[1 << 40, 0], [0, 1 << 40], [0, 0]] {
        let tensors = [("weights", (shape.to_vec(), vec![])), ("visible.bias", bias(3)), ("hidden.bias", bias(0))];
        let tensors = tensors.map(|(name, tensor)| (name.to_string(), tensor)).into();
        let refused = ModelFile::from_tensors(metadata.clone(), &tensors, Precision::F64).unwrap_err().to_string();
        assert!(refused.ends_with("which holds no numbers"), "{refused}");
    }
}

/// The table of SECURITY.md has the limits of the program.
#[test]
fn the_documented_limits_are_those_of_the_program() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md")).unwrap();
    let row = |what: &str| {
        let start = format!("| {what} | ");
        let found = page.lines().find_map(|line| line.strip_prefix(&start));
        found.unwrap_or_else(|| panic!("no row for {what}")).to_string()
    };
    let with_commas = |n: u64| {
        let digits = n.to_string();
        let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap()).collect();
        groups.join(",")
    };
    let gib = |n: u64| format!("{} GiB", n >> 30);
    assert!(row("model file").starts_with(&gib(MOST_BYTES)));
    assert!(row("checkpoint").starts_with(&gib(MOST_CHECKPOINT)));
    let header = row("header of a model file or checkpoint, notes included");
    assert!(header.starts_with(&with_commas(MOST_HEADER)), "{header}");
    assert!(row("updates, rows").contains(&with_commas(MOST_COUNT)));
    let Takes::Whole(_, most) = settings::find("model.n_hidden").unwrap().takes else { panic!() };
    assert!(row("hidden units, chains, rows of a batch").contains(&with_commas(most as u64)));
}

/// A file of the run that is larger than its limit, by holes that take no space.
#[test]
fn files_of_a_run_beyond_their_limits_are_refused_before_they_are_read() {
    let limits = [(CONFIG, 1 << 20), (EVENTS, 1 << 30), (CHECKPOINT, MOST_CHECKPOINT), (MODEL, MOST_BYTES)];
    for (name, limit) in limits {
        let folder = Folder::new();
        let run = unfinished(&folder, "binary");
        let file = fs::File::create(run.join(name)).unwrap();
        // Some file systems have no files with holes, or none so large.
        if file.set_len(limit + 1).is_err() {
            continue;
        }
        let found = Recorded::read(&run).and_then(|recorded| recorded.model());
        refused(found, &run.join(name), &run.join(name), &format!("has {} bytes; the limit is {limit}", limit + 1));
    }
}

/// Notes are free text; 62 MB of them took 900 MB of memory.
#[test]
fn a_header_of_notes_has_a_limit_for_readers_and_writers() {
    let folder = Folder::new();
    let kind = || harmonium::units::Kind::new("bernoulli", &Default::default()).unwrap();
    let mut file = ModelFile::new(&harmonium::Rbm::<f64>::new(kind(), 2, kind(), 2).unwrap());
    file.about.insert("notes".into(), "x".repeat(1 << 20));
    let path = folder.path("m.safetensors");
    refused(file.write(&path), &path, &path, "has a header of");
    assert!(!path.exists());
    fs::write(&path, file.to_bytes()).unwrap();
    refused(ModelFile::read(&path), &path, &path, "(notes included); the limit is 1048576");
    file.about.insert("notes".into(), "x".repeat(1_040_000));
    file.write(&path).unwrap();
    assert_eq!(ModelFile::read(&path).unwrap(), file);
}
