//! Completions and manual pages: made from the same definitions as the help, and complete.

use super::common::{Folder, fails};
use std::fs;
use std::process::Command;

/// The commands, as the manual pages name them.
pub fn commands(folder: &Folder) -> Vec<String> {
    let pages = folder.json("man -o pages");
    let names = pages["pages"].as_array().unwrap().iter().map(|p| p.as_str().unwrap());
    let names = names.filter_map(|p| p.strip_prefix("pages/harmonium-")?.strip_suffix(".1"));
    names.map(String::from).collect()
}

#[test]
fn every_shell_completes_every_command() {
    let folder = Folder::new();
    let commands = commands(&folder);
    assert!(commands.len() >= 15, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = folder.run(&format!("completions {shell}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{shell}");
        for word in commands.iter().map(String::as_str).chain(["n-hidden", "likelihood", "quiet"]) {
            assert!(run.out.contains(word), "{shell} does not complete {word}");
        }
        let json = folder.json(&format!("completions {shell}"));
        assert_eq!((json["shell"].as_str(), json["script"].as_str()), (Some(shell), Some(run.out.as_str())));
    }
    assert_eq!(folder.run("completions tcsh").code, 2);
    assert_eq!(folder.run("completions").code, 2);
}

/// What bash offers for an unfinished line; nothing where there is no bash.
#[test]
fn bash_offers_commands_options_and_values() {
    let folder = Folder::new();
    folder.file("harmonium.bash", folder.run("completions bash").out.as_bytes());
    for (words, wanted) in
        [("ev", "evaluate"), ("evaluate --per", "--per-row"), ("log-z x --method rev", "reverse-ais"), ("tr", "train")]
    {
        let count = words.split(' ').count();
        let last = words.rsplit(' ').next().unwrap();
        let before = words.split(' ').rev().nth(1).unwrap_or("harmonium");
        let script = format!(
            "source ./harmonium.bash; COMP_WORDS=(harmonium {words}); COMP_CWORD={count}; \
             _harmonium harmonium {last} {before}; echo \"${{COMPREPLY[@]}}\""
        );
        let Ok(output) = Command::new("bash").args(["-c", &script]).current_dir(folder.0.path()).output() else {
            return;
        };
        let offered = String::from_utf8(output.stdout).unwrap();
        assert!(offered.split_whitespace().any(|w| w == wanted), "{words}: {offered}");
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let folder = Folder::new();
    for command in commands(&folder) {
        let page = fs::read_to_string(folder.path(&format!("pages/harmonium-{command}.1"))).unwrap();
        assert!(page.contains(&format!(".TH harmonium-{command} 1")), "{page}");
        assert!(page.contains(".SH EXAMPLE") && page.contains("\nharmonium "), "{page}");
    }
    let page = fs::read_to_string(folder.path("pages/harmonium.1")).unwrap();
    for section in [".SH SYNOPSIS", ".SH SUBCOMMANDS", ".SH EXAMPLES", ".SH \"DATA FILES\""] {
        assert!(page.contains(section), "{section} is not in {page}");
    }
    let run = folder.run("man -o pages");
    assert!(run.out.starts_with("pages: ") && run.out.ends_with(" manual pages\n"), "{}", run.out);
    folder.file("file", b"");
    assert!(fails(&folder, "man -o file").contains("cannot create the directory file"));
}
