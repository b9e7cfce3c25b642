//! Rules about the source text of the library that the compiler does not check.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
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

/// The code of a file without comments, strings, and parts that only tests have; and the modules with a file of their own that
/// only tests have.
fn shipped(source: &str) -> (String, Vec<String>) {
    let (mut code, mut modules) = (only(source, Part::Code), Vec::new());
    while let Some(start) = code.find("#[cfg(test)]") {
        // The item ends with its block, or with a semicolon before any block.
        let (mut depth, mut end) = (0, code.len());
        for (at, c) in code[start..].char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 && (c == '}' || c == ';') {
                end = start + at + 1;
                break;
            }
        }
        let words: Vec<&str> = code[start..end].trim_end_matches(';').split_whitespace().collect();
        if let [.., "mod", name] = words[..] {
            modules.push(name.to_string());
        }
        code.replace_range(start..end, "");
    }
    (code, modules)
}

/// The names that follow `crate::` in code, those in braces included.
fn names_after_crate(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push(name(rest));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (k, c) in list.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth < 0 {
                break;
            }
            if depth == 0 && first && c.is_alphanumeric() {
                found.push(name(&list[k..]));
            }
            first = depth == 0 && (c == ',' || c.is_whitespace() && first);
        }
    }
    found
}

/// Which top-level modules of the library each of them uses, and in which file.
fn uses() -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let root = Path::new("crates/harmonium/src");
    let all = sources("crates/harmonium/src");
    let lib = &all.iter().find(|(path, _)| *path == root.join("lib.rs")).unwrap().1;
    let modules: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    // What lib.rs exports from a module belongs to it: `crate::Rbm` is a use of `model`.
    let owner = |name: &str| {
        let exports = |line: &&str| {
            line.starts_with("pub use ") && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name)
        };
        let line = lib.lines().find(exports)?;
        line.strip_prefix("pub use ")?.split("::").next()
    };
    let only_tests: Vec<PathBuf> = all
        .iter()
        .flat_map(|(path, source)| {
            let folder = if path.ends_with("mod.rs") { path.parent().unwrap().into() } else { path.with_extension("") };
            shipped(source).1.into_iter().map(move |name| folder.join(name)).collect::<Vec<_>>()
        })
        .collect();
    let mut uses: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for (path, source) in &all {
        let own = path.strip_prefix(root).unwrap().components().next().unwrap().as_os_str().to_string_lossy();
        let own = own.trim_end_matches(".rs");
        if own == "lib" || only_tests.iter().any(|t| path.starts_with(t) || *path == t.with_extension("rs")) {
            continue;
        }
        for name in names_after_crate(&shipped(source).0) {
            let used = modules.iter().copied().find(|m| *m == name).or_else(|| owner(&name));
            let used = used.unwrap_or_else(|| panic!("{}: crate::{name} is in no module", path.display()));
            if used != own {
                uses.entry(own.into()).or_default().insert(used.into(), path.clone());
            }
        }
    }
    uses
}

/// Whether a module leads back to the first of `way`; if so `way` is the cycle.
fn leads_back(
    uses: &BTreeMap<String, BTreeMap<String, PathBuf>>,
    way: &mut Vec<String>,
    seen: &mut Vec<String>,
) -> bool {
    let (first, last) = (way[0].clone(), way[way.len() - 1].clone());
    for next in uses.get(&last).into_iter().flat_map(BTreeMap::keys) {
        if *next == first {
            return true;
        }
        if !seen.contains(next) {
            seen.push(next.clone());
            way.push(next.clone());
            if leads_back(uses, way, seen) {
                return true;
            }
            way.pop();
        }
    }
    false
}

/// A module is understood with what it uses, so no module may lead back to itself.
#[test]
fn the_modules_of_the_library_form_no_cycle() {
    let uses = uses();
    assert!(uses["train"].contains_key("model") && uses["model"].contains_key("units"), "{uses:#?}");
    for module in uses.keys() {
        let mut cycle = vec![module.clone()];
        if leads_back(&uses, &mut cycle, &mut Vec::new()) {
            let next = cycle.iter().cycle().skip(1);
            let steps = cycle.iter().zip(next).map(|(a, b)| format!("{a} uses {b} in {}", uses[a][b].display()));
            panic!("modules form a cycle:\n{}", steps.collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn paths_are_found_outside_of_tests_and_comments() {
    let source = "use crate::model::{Rbm, Layer};\nuse crate::{a::B, c::{D, E}, f};\n/// crate::no\nlet x = \"crate::no\";\n\
                  #[cfg(test)]\nmod tests {\n    use crate::no;\n}\n#[cfg(test)]\nmod more;\nfn g() { crate::h::i() }";
    let (code, modules) = shipped(source);
    assert_eq!(names_after_crate(&code), ["model", "a", "c", "f", "h"]);
    assert_eq!(modules, ["more"]);
}

/// Lines of every function that has a body, by its indentation: the sources are formatted.
fn lengths(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &str| {
        let words = line.trim_start().split(['(', '<']).next().unwrap_or_default();
        words.split(' ').rev().nth(1) == Some("fn") && !line.ends_with(';') && !line.trim_start().starts_with("//")
    };
    let length = |(i, line): (usize, &&str)| {
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        if line.ends_with('}') { Some(1) } else { lines[i..].iter().position(|l| *l == end).map(|n| n + 1) }
    };
    lines.iter().enumerate().filter(|(_, line)| begins(line)).filter_map(length).collect()
}

/// One idea fits on a page.
#[test]
fn functions_and_files_are_short() {
    let mut all = Vec::new();
    for (path, text) in sources("crates") {
        let lines = text.lines().count();
        assert!(lines <= 450, "{} has {lines} lines", path.display());
        let is_source = path.components().any(|part| part.as_os_str() == "src");
        all.extend(if is_source { lengths(&text) } else { Vec::new() });
    }
    all.sort_unstable();
    assert!(all.len() > 2000 && all[all.len() / 2] <= 7, "{} functions of {} lines", all.len(), all[all.len() / 2]);
}
