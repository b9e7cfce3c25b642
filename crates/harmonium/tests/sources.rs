//! Rules about the source text of the library that the compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};

/// Every `.rs` file below a folder of the workspace, with its text, in the order of their names.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut folders, mut files) = (vec![root.join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{folder} has no sources");
    files
        .into_iter()
        .map(|path| (path.strip_prefix(&root).unwrap().into(), fs::read_to_string(&path).unwrap()))
        .collect()
}

/// A part of Rust source.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Text,
    Comment,
}

/// The part that every character belongs to: code, string literals, or comments.
fn parts(source: &str) -> Vec<(char, Part)> {
    let all: Vec<char> = source.chars().collect();
    let starts = |at: usize, text: &str| text.chars().enumerate().all(|(k, c)| all.get(at + k) == Some(&c));
    let (mut out, mut i) = (Vec::new(), 0);
    while i < all.len() {
        let raw =
            (starts(i, "r\"") || starts(i, "r#")) && !(i > 0 && (all[i - 1].is_alphanumeric() || all[i - 1] == '_'));
        let hashes = all[i + 1..].iter().take_while(|c| **c == '#').count();
        let (part, length) = if starts(i, "//") {
            (Part::Comment, all[i..].iter().take_while(|c| **c != '\n').count())
        } else if starts(i, "/*") {
            (Part::Comment, (2..).find(|k| i + k >= all.len() || starts(i + k - 1, "*/")).unwrap() + 1)
        } else if raw && all.get(i + 1 + hashes) == Some(&'"') {
            let close = format!("\"{}", "#".repeat(hashes));
            (Part::Text, (hashes + 2..).find(|k| i + k >= all.len() || starts(i + k, &close)).unwrap() + close.len())
        } else if all[i] == '"' {
            let mut k = 1;
            while i + k < all.len() && all[i + k] != '"' {
                k += if all[i + k] == '\\' { 2 } else { 1 };
            }
            (Part::Text, k + 1)
        } else if starts(i, "'\\") {
            (Part::Code, (3..).find(|k| i + k >= all.len() || all[i + k] == '\'').unwrap() + 1)
        } else if all[i] == '\'' && all.get(i + 2) == Some(&'\'') {
            (Part::Code, 3)
        } else {
            (Part::Code, 1)
        };
        let end = (i + length).min(all.len());
        out.extend(all[i..end].iter().map(|c| (*c, part)));
        i = end;
    }
    out
}

/// The source with everything but one part replaced by spaces; lines keep their numbers.
fn only(source: &str, wanted: Part) -> String {
    parts(source).into_iter().map(|(c, part)| if part == wanted || c == '\n' { c } else { ' ' }).collect()
}

/// Options of the command have no place in the library and the report: advice is data there, and each front end words it.
#[test]
fn no_text_names_an_option_of_the_command() {
    // This file's rules move into the library.
    let skipped = Path::new("crates/harmonium-report/src/verdict.rs");
    let mut found = Vec::new();
    for (path, source) in sources("crates/harmonium/src").into_iter().chain(sources("crates/harmonium-report/src")) {
        for (number, line) in only(&source, Part::Text).lines().enumerate() {
            let option = line.as_bytes().windows(3).any(|w| w.starts_with(b"--") && w[2].is_ascii_lowercase());
            if option && path != skipped {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn code_texts_and_comments_are_told_apart() {
    let source = "let a = \"x // \\\" y\"; // b \"c\"\nlet d = '\"'; let e = r#\"f \" g\"#; /* h */ fn i<'a>() {}";
    let flat = |part| only(source, part).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat(Part::Text), "\"x // \\\" y\" r#\"f \" g\"#");
    assert_eq!(flat(Part::Comment), "// b \"c\" /* h */");
    assert_eq!(flat(Part::Code), "let a = ; let d = '\"'; let e = ; fn i<'a>() {}");
}
