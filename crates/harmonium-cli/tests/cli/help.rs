//! The help of every command ends with examples, and they run.

use super::common::Folder;

/// The commands, as the help lists them.
fn commands(folder: &Folder) -> Vec<String> {
    let help = folder.run("--help").out;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    names.filter(|n| *n != "help").map(String::from).collect()
}

/// The command lines under `Example:` or `Examples:` at the end of a help text.
fn examples(help: &str) -> Vec<String> {
    let section = help.rsplit_once("\nExample").map_or("", |(_, rest)| rest);
    section.lines().filter_map(|l| l.strip_prefix("  harmonium ")).map(String::from).collect()
}

#[test]
fn every_example_in_the_help_runs() {
    let folder = Folder::furnished();
    let commands = commands(&folder);
    assert!(commands.len() >= 10, "{commands:?}");
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
                let run = folder.run(&line);
                assert_eq!(run.code, 0, "harmonium {line}: {}", run.err);
                // Training shows its progress on slow computers.
                let expected = ["update ", "demo: ", "note: continuing"];
                let silent = run.err.lines().all(|l| expected.iter().any(|e| l.starts_with(e)));
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
