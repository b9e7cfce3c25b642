//! Hostile files: each is refused in a sentence or read, and takes little memory. `tests/hostile/data/INDEX` says what the hand-made
//! ones try; `fuzz/corpus` and `fuzz/crashes` are what the fuzzer found.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod targets;

use harmonium::data;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use targets::TARGETS;

/// Most memory in bytes that all of it may take, one file after the other: the limit for one page, and what tests need.
const MOST_MEMORY: u64 = 320 << 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn hand_made() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/data")
}

/// The files in a folder in the order of their names; none if it does not exist.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).filter(|p| p.is_file()).collect();
    files.sort();
    files
}

/// The most memory that this process has had so far, where the system counts it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().unwrap())
}

/// Reads a table as a command does, and forgets its rows.
fn read(path: &Path) -> harmonium::Result<u64> {
    let (mut source, mut rows) = (data::open(path)?, 0);
    while let Some(block) = source.read((1 << 21) / source.columns().max(1))? {
        rows += block.nrows() as u64;
    }
    Ok(rows)
}

/// What is wrong with how a file is taken: it is read though it should be refused, or the reverse, or not in one plain sentence.
fn unexpected(name: &str, tries: &str) -> Option<String> {
    let features = cfg!(all(feature = "parquet", feature = "hdf5"));
    match read(&hand_made().join(name)).map_err(|e| e.to_string()) {
        Ok(rows) => (!tries.ends_with(" read")).then(|| format!("{name} was read as {rows} rows")),
        Err(e) => {
            let plain = !e.chars().any(char::is_control) && e.contains(name) && e.chars().count() < 500;
            (!plain || (tries.ends_with("is read") && features)).then_some(e)
        }
    }
}

#[test]
fn hand_made_files_are_refused_in_a_sentence_or_read() {
    let index = fs::read_to_string(hand_made().join("INDEX")).unwrap();
    let lines = index.lines().map(|line| line.split_once(": ").unwrap());
    let all = files(&hand_made());
    let names: Vec<_> =
        all.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).filter(|n| *n != "INDEX").collect();
    assert!(names.len() >= 25 && lines.clone().map(|line| line.0).eq(names.iter().copied()), "INDEX is another list");
    let wrong: Vec<String> = lines.filter_map(|(name, tries)| unexpected(name, tries)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(peak().is_none_or(|bytes| bytes < MOST_MEMORY), "{peak:?} bytes", peak = peak());
}

#[test]
fn what_the_fuzzer_found_stays_mended() {
    let folder = tempfile::tempdir().unwrap();
    let mut names = BTreeSet::new();
    for target in TARGETS {
        let dir = folder.path().join(target.name);
        fs::create_dir(&dir).unwrap();
        for kind in ["corpus", "crashes"] {
            for input in files(&root().join("fuzz").join(kind).join(target.name)) {
                fs::copy(&input, dir.join(target.file)).unwrap();
                (target.run)(&dir.join(target.file));
                names.insert(target.name);
            }
        }
    }
    assert_eq!(names.len(), TARGETS.len(), "no inputs for one of the targets, only for {names:?}");
    assert!(peak().is_none_or(|bytes| bytes < MOST_MEMORY), "{peak:?} bytes", peak = peak());
}

#[cfg(all(feature = "parquet", feature = "hdf5"))]
/// The time in milliseconds that this thread has worked, where the system counts it.
fn worked() -> Option<u64> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(statistics.split(' ').next()?.parse::<u64>().ok()? / 1_000_000)
}

/// Each took seconds or gigabytes while the library believed what the file says of itself.
#[cfg(all(feature = "parquet", feature = "hdf5"))]
#[test]
fn claims_within_the_headers_of_libraries_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (found, made) = (root().join("fuzz/crashes"), hand_made());
    for (input, name, words, most) in [
        (found.join("parquet/slow-footer"), "x.parquet", "its footer: a list is longer than the rest of it", 100),
        (made.join("truth-footer.parquet"), "x.parquet", "its footer: a list is longer than the rest of it", 100),
        (
            made.join("truth-page.parquet"),
            "x.parquet",
            "the header of a page: a list is longer than the rest of it",
            100,
        ),
        (made.join("deep-schema.parquet"), "x.parquet", "its footer: its columns are nested too deeply", 100),
        (found.join("hdf5/four-gigabytes"), "x.h5", "is not in a file of 6336 bytes", 100),
        (made.join("levels.h5"), "x.h5", "its entries are too many, or point at one another", 1500),
    ] {
        let path = folder.path().join(name);
        fs::copy(&input, &path).unwrap();
        let before = worked();
        let refusal = read(&path).unwrap_err().to_string();
        let took = worked().zip(before).map(|(after, before)| after - before);
        assert!(refusal.contains(words), "{}: {refusal}", input.display());
        assert!(took.is_none_or(|ms| ms < most), "{} took {took:?} ms", input.display());
    }
    assert!(peak().is_none_or(|bytes| bytes < MOST_MEMORY), "{peak:?} bytes", peak = peak());
}

/// The first inputs that only the library can write.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn seeds_are_written() {
    let corpus = root().join("fuzz/corpus");
    for (visible, hidden) in targets::TRAINERS {
        let mut trainer = targets::trainer(visible, hidden);
        trainer.step().unwrap();
        let dir = corpus.join("checkpoint");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{visible}-{hidden}")), trainer.checkpoint()).unwrap();
    }
    let dir = corpus.join("config");
    fs::create_dir_all(&dir).unwrap();
    let text = harmonium::run::config_file::text(&harmonium::run::Spec::from_table(&Default::default()).unwrap());
    fs::write(dir.join("defaults"), text.unwrap()).unwrap();
}
