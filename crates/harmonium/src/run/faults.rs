//! Whatever fails on the disk, a run leaves files that can be loaded, and ends as if nothing had failed once it is resumed.

use super::directory::{CHECKPOINT, CONFIG, EVENTS, MODEL, REPORT, SUMMARY};
use super::{Drawn, Opened, Request, Spec, Tables, config_file, log, put};
use crate::data::{Memory, ReadOptions, Source};
use crate::disk::faults::{Fault, with};
use crate::error::Result;
use crate::file::ModelFile;
use crate::train::model_of_checkpoint;
use ndarray::Array2;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

const PAGE: &str = "<p>a page</p>";

struct Rows;

impl Tables for Rows {
    fn open(&self, _: &str, _: &ReadOptions) -> Result<Box<dyn Source>> {
        let rows = Array2::from_shape_fn((8, 3), |(r, c)| f64::from(u8::from((r + c) % 3 == 0)));
        Ok(Box::new(Memory::new(rows, None)))
    }
}

/// Trains in `dir` until `updates`, going on from what is there.
fn run(dir: &Path, updates: i64) -> Result<()> {
    let mut asked = Table::new();
    let settings: [(&str, Value); 8] = [
        ("checkpoint_every", 50.into()),
        ("data.source", "memory:rows".into()),
        ("data.valid_fraction", 0.0.into()),
        ("model.n_hidden", 2.into()),
        ("train.batch_size", 4.into()),
        ("train.chains", 2.into()),
        ("train.lr", 0.1.into()),
        ("train.updates", updates.into()),
    ];
    settings.into_iter().for_each(|(key, value)| put(&mut asked, key, value));
    let output = Some(dir.to_path_buf());
    let request = Request { asked, length: None, config: None, output, resume: true, demo: false, tables: &Rows };
    let Opened::Ready(mut run) = request.open(&())? else { return Ok(()) };
    run.train(&mut ())?;
    let conclusion = run.conclude(&())?.complete(Some(0.0), &())?;
    let drawn =
        Drawn { html: PAGE.into(), files: vec![("a.svg".into(), b"<svg/>".to_vec())], fields: Default::default() };
    run.write(&conclusion, &drawn)
}

/// Everything in the directory of a run can be loaded.
fn check(dir: &Path, what: &str) {
    let has = |name: &str| Some(dir.join(name)).filter(|path| path.exists());
    let spec = has(CONFIG).map(|path| config_file::read(&path).and_then(|table| Spec::from_table(&table)).unwrap());
    assert!(spec.is_some() || has(CHECKPOINT).is_none(), "{what}: a checkpoint without a configuration");
    has(CHECKPOINT).map(|path| model_of_checkpoint(&fs::read(path).unwrap()).unwrap());
    has(EVENTS).map(|path| log::read(&path).unwrap());
    has(SUMMARY).map(|path| serde_json::from_slice::<serde_json::Value>(&fs::read(path).unwrap()).unwrap());
    assert!(has(REPORT).is_none_or(|path| fs::read(path).unwrap() == PAGE.as_bytes()), "{what}: half a report");
    for entry in fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(!name.ends_with(".tmp"), "{what}: {name} was left");
        if name.starts_with("model") {
            ModelFile::read(entry.path()).unwrap();
        }
    }
}

/// Makes operation after operation of a run to `updates` fail; `before` makes the directory it finds. Returns the number.
fn fail_everywhere(updates: i64, fault: Fault, before: impl Fn(&Path)) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    run(&whole, updates).unwrap();
    let expected = fs::read(whole.join(MODEL)).unwrap();
    for n in 0.. {
        let dir = folder.path().join(format!("run-{n}"));
        before(&dir);
        let (done, failed) = with(n, fault, || run(&dir, updates));
        let Some(failed) = failed else { return n };
        let what = format!("operation {n} ({failed})");
        check(&dir, &what);
        match done {
            Ok(()) => assert_eq!(fault, Fault::Short, "{what} was not noticed"),
            Err(e) => assert!(e.to_string().contains(dir.to_str().unwrap()), "{what}: {e}"),
        }
        run(&dir, updates).unwrap();
        assert!(fs::read(dir.join(MODEL)).unwrap() == expected, "{what}: the resumed run ends elsewhere");
        fs::remove_dir_all(&dir).unwrap();
    }
    unreachable!()
}

#[test]
fn whatever_fails_a_new_run_can_be_loaded_and_resumed_to_the_byte() {
    // One checkpoint on the way and one at the end.
    let points = fail_everywhere(60, Fault::Full, |_| ());
    // Config, log, checkpoint, picture, report, summary and model, five operations each, and lines of the log: 39.
    assert!(points > 35, "{points}");
}

#[test]
fn whatever_fails_a_finished_run_that_goes_on_can_be_loaded_and_resumed_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let finished = folder.path().join("finished");
    run(&finished, 20).unwrap();
    let points = fail_everywhere(60, Fault::Broken, |dir| {
        fs::create_dir(dir).unwrap();
        for entry in fs::read_dir(&finished).unwrap().map(|e| e.unwrap()) {
            fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
        }
    });
    assert!(points > 30, "{points}");
}
