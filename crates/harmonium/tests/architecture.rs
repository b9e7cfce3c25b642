//! ARCHITECTURE.md is true: every folder of the code is named, and every named folder and file exists.

#![allow(clippy::unwrap_used)] // a test

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Paths between backticks.
fn named() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let is_path = |word: &str| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        plain && (word.ends_with('/') || word.contains('/') || word.ends_with(".rs"))
    };
    text.split('`').skip(1).step_by(2).filter(|word| is_path(word)).map(String::from).collect()
}

/// Folders that hold source files, below `folder`.
fn folders(folder: &Path, found: &mut BTreeSet<String>) {
    let mut holds_source = false;
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            if !["target", "assets", "fixtures", "golden", "__pycache__", "results", "peers"].contains(&name.as_str()) {
                folders(&entry, found);
            }
        } else {
            holds_source |= name.ends_with(".rs") || name.ends_with(".py");
        }
    }
    if holds_source {
        let path = folder.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        found.insert(format!("{path}/"));
    }
}

#[test]
fn every_named_folder_and_file_exists() {
    for path in named() {
        let found = root().join(&path);
        assert!(found.exists(), "ARCHITECTURE.md names {path}, which does not exist");
        assert_eq!(found.is_dir(), path.ends_with('/'), "{path}");
    }
}

#[test]
fn every_folder_of_the_code_is_named() {
    let (named, mut found) = (named(), BTreeSet::new());
    folders(&root().join("crates"), &mut found);
    // Files that stand alone under tests/ need no line of their own.
    found.remove("crates/harmonium/tests/");
    let missing: Vec<&String> = found.difference(&named).collect();
    assert!(found.len() > 20 && missing.is_empty(), "ARCHITECTURE.md does not name {missing:?}");
}
