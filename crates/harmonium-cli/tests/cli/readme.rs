//! The shell lines of the README run as they are printed.

use super::common::Folder;

/// What stands between ```sh and ```.
fn shell_lines(text: &str) -> Vec<&str> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|b| b.split("```").next());
    blocks.flat_map(str::lines).collect()
}

/// `cargo run --release [-- ARGUMENTS]` is the command; `scripts/test` is what runs this test.
#[test]
fn every_command_of_the_readme_runs() {
    let folder = Folder::new();
    let lines = shell_lines(include_str!("../../../../README.md"));
    let mut ran = 0;
    let elsewhere = ["scripts/test", "cargo install --path crates/harmonium-cli"];
    for line in lines.into_iter().filter(|l| !elsewhere.contains(l)) {
        let arguments = line.strip_prefix("cargo run --release").unwrap_or_else(|| panic!("{line}: not known here"));
        let run = folder.run(arguments.trim_start_matches(" -- "));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        ran += 1;
    }
    assert!(ran >= 2);
    for made in ["harmonium-demo/report.html", "harmonium-demo/model.safetensors", "mixture/report.html"] {
        assert!(folder.path(made).exists(), "{made}");
    }
}
