//! The help of every command ends with examples, and they run.

use super::common::Folder;
use super::shell::commands;

/// The groups of the help and their commands.
fn groups(help: &str) -> Vec<(String, Vec<String>)> {
    let blocks = help.split("\n\n").skip(2).take(4).map(|block| block.split_once(":\n").unwrap());
    let name = |line: &str| line.split_whitespace().next().unwrap().to_string();
    blocks.map(|(group, lines)| (group.to_string(), lines.lines().map(name).collect())).collect()
}

/// The manual pages are written from clap's own list, so that a command missing from the help is noticed.
#[test]
fn every_command_stands_in_one_group_of_the_help() {
    let folder = Folder::new();
    let mut commands = commands(&folder);
    commands.sort();
    for flag in ["-h", "--help"] {
        // The long help has a sentence more above the usage.
        let help = folder.run(flag).out.replace("\n\nWithout a command, harmonium runs its demo.", "");
        let groups = groups(&help);
        let names: Vec<&str> = groups.iter().map(|g| g.0.as_str()).collect();
        assert_eq!(names, ["Learn", "Judge", "Use", "Files"], "{help}");
        let mut listed: Vec<String> = groups.into_iter().flat_map(|g| g.1).collect();
        listed.sort();
        assert_eq!(listed, commands, "{help}");
        assert!(help.lines().take(40).all(|l| l.chars().count() <= 90), "{help}");
    }
}

/// The command lines under `Example:` or `Examples:` at the end of a help text.
fn examples(help: &str) -> Vec<String> {
    let section = help.rsplit_once("\nExample").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or(rest));
    section.lines().filter_map(|l| l.strip_prefix("  harmonium ")).map(String::from).collect()
}

#[test]
fn every_example_in_the_help_runs() {
    let commands = commands(&Folder::new());
    for command in commands.iter().map(String::as_str).chain([""]) {
        for flag in ["--help", "-h"] {
            let folder = Folder::furnished();
            if ["report", "compare"].contains(&command) {
                folder.runs();
            }
            let help = folder.run(&format!("{command} {flag}"));
            assert_eq!(help.code, 0);
            let examples = examples(&help.out);
            assert!(!examples.is_empty(), "'{command} {flag}' has no example");
            for line in examples {
                // So that it is not wrapped, and can be copied.
                assert!(command == "train" || line.len() + "  harmonium ".len() <= 80, "{line}");
                let run = folder.run(&line);
                assert_eq!(run.code, 0, "harmonium {line}: {}", run.err);
                // Training prints its progress where it is slow, and a run directory in the place of a model gets a note.
                let expected = |l: &str| l.starts_with("update ") || l.starts_with("demo: ") || l.starts_with("note: ");
                let silent = run.err.lines().all(expected);
                assert!(silent, "harmonium {line}: {}", run.err);
                assert!(command.is_empty() || line.starts_with(command));
            }
        }
    }
}

#[test]
fn usage_errors_exit_with_2_and_write_nothing() {
    let folder = Folder::furnished();
    let before = folder.names();
    for line in [
        "no-such-command",
        "demo now",
        "train data.npy",
        "train data.npy -o run --n-hidden 0",
        "train data.npy -o run --method guess",
        "train data.npy -o run --epochs 1 --updates 1",
        "train data.npy -o run --init model.safetensors --n-hidden 3",
        "train data.npy -o run --valid data.npy --valid-fraction 0.5",
        "train data.npy -o run --image 3by2",
        "train data.npy -o run --early-stop 0",
        "train data.npy -o run --lr fast",
        "inspect",
        "inspect model.safetensors --no-such-option",
        "transform model.safetensors data.npy",
        "transform model.safetensors data.npy -o x.doc",
        "evaluate model.safetensors",
        "evaluate model.safetensors data.npy --per-row x.doc",
        "log-z model.safetensors --method guess",
        "log-z model.safetensors --threads 0",
        "log-z model.safetensors --threads many",
        "log-z model.safetensors --seed -1",
        "evaluate model.safetensors data.npy --binarize perhaps",
        "evaluate model.safetensors data.npy --binarize threshold:nan",
        "convert model.safetensors -o x.safetensors --coupling strong",
        "convert model.safetensors -o x.safetensors --offsets data:",
    ] {
        let run = folder.run(line);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "harmonium {line}");
        assert!(!run.err.is_empty());
    }
    assert_eq!(folder.names(), before);
}

/// Mistakes of strangers: what is wrong, and what was probably meant.
#[test]
fn usage_errors_are_in_plain_words_and_suggest_what_was_meant() {
    let folder = Folder::furnished();
    for (line, words) in [
        ("trian data.npy", "'train'"),
        ("data.npy", "to train a model on it use 'harmonium train data.npy -o DIR'"),
        ("builtin:digits", "'harmonium train builtin:digits -o DIR'"),
        ("train data.npy -o run --n-hiden 3", "'--n-hidden'"),
        ("log-z model.safetensors --tolernce 1", "'--tolerance'"),
        ("log-z model.safetensors --method brr", "'bar'"),
        ("train data.npy -o run --hidden 64", "for the number of hidden units use '--n-hidden 64'"),
        ("train data.npy -o run --n-hidden abc", "'abc' for '--n-hidden <N>': expected a whole number\n"),
        ("train data.npy -o run --n-hidden 0", "must be 1 to 16777216\n"),
        ("train data.npy -o run --gibbs-steps 0", "must be 1 to 1048576\n"),
        ("train data.npy -o run --lr fast", "'fast' for '--lr <X>': expected a number\n"),
        ("log-z model.safetensors --threads 0", "expected a whole number from 1 to 1024\n"),
        ("log-z model.safetensors --seed -1", "'-1' for '--seed <N>': expected a whole number that is not negative\n"),
        ("log-z model.safetensors --tolerance 0", "expected a number above 0"),
    ] {
        let run = folder.run(line);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}");
        assert!(run.err.contains(words), "{line}: {}", run.err);
        assert!(run.err.starts_with("error: ") && run.err.contains("'--help'"), "{line}: {}", run.err);
    }
}
