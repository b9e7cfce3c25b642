//! Whenever a run is stopped, by a signal it sees or by one it does not, what it said is safe and the result the same.

use super::common::Folder;
use harmonium::rng::Key;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A run of about a second.
const RUN: &str = "train builtin:bars:2 --n-hidden 5 --batch-size 4 --chains 20 --updates 20000 --report-every 500 \
                   --checkpoint-every 50 --threads 1 --likelihood none";

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The update that a checkpoint holds, read without our library: the header is JSON behind its length.
fn checkpointed(folder: &Folder, dir: &str) -> Option<u64> {
    let bytes = fs::read(folder.path(&format!("{dir}/checkpoint.safetensors"))).ok()?;
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let ends = header.as_object().unwrap().values().filter_map(|t| t["data_offsets"][1].as_u64());
    assert_eq!(bytes.len() as u64, 8 + length as u64 + ends.max().unwrap(), "the checkpoint is whole");
    Some(header["__metadata__"]["update"].as_str().unwrap().parse().unwrap())
}

/// The last checkpoint that the log acknowledges.
fn acknowledged(folder: &Folder, dir: &str) -> Option<u64> {
    let log = fs::read_to_string(folder.path(&format!("{dir}/events.jsonl"))).ok()?;
    let events = log.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    events.filter(|e| e["event"] == "checkpoint").filter_map(|e| e["update"].as_u64()).max()
}

fn model(folder: &Folder, dir: &str) -> Vec<u8> {
    fs::read(folder.path(&format!("{dir}/model.safetensors"))).unwrap()
}

/// The log of a run in pieces is the one of a whole run but for the lines that say that it began again.
fn log(folder: &Folder, dir: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path(&format!("{dir}/events.jsonl"))).unwrap();
    // A run that is interrupted before its first update leaves a checkpoint of update 0.
    let pieces = ["\"event\":\"started\"", "\"reason\":\"interrupted\"", "\"checkpoint\",\"update\":0}"];
    let whole = |l: &&str| !pieces.iter().any(|piece| l.contains(piece));
    text.lines().filter(whole).map(String::from).collect()
}

/// Random times, without a clock.
struct Times(Key, u64);

impl Times {
    fn next(&mut self, most: Duration) -> Duration {
        self.1 += 1;
        most.mul_f64(self.0.uniforms::<f64>(self.1, 0)[0])
    }
}

/// Kills runs at random moments, `kills` times in all, resuming each until it ends; returns what it saw.
fn kill_runs(kills: u64, longest: Duration) -> String {
    let begin = Instant::now();
    let mut times = Times(Key::root(1), 0);
    let (mut killed, mut before_the_first, mut runs) = (0, 0, 0);
    while killed < kills {
        let folder = Folder::new();
        let seed = runs;
        assert_eq!(folder.run(&format!("{RUN} -o whole --seed {seed}")).code, 0);
        let mut safe = None;
        loop {
            let mut child = start(&folder, &format!("{RUN} -o run --seed {seed} --resume"));
            std::thread::sleep(times.next(longest));
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            if let Some(code) = output.status.code() {
                assert_eq!(code, 0, "{}", String::from_utf8_lossy(&output.stderr));
                break;
            }
            killed += 1;
            safe = safe.max(acknowledged(&folder, "run"));
            let found = checkpointed(&folder, "run");
            assert!(found >= safe, "the checkpoint is of update {found:?}, but {safe:?} was acknowledged");
            before_the_first += u64::from(found.is_none());
        }
        assert_eq!(model(&folder, "run"), model(&folder, "whole"), "seed {seed} after {killed} kills");
        assert_eq!(log(&folder, "run"), log(&folder, "whole"));
        let leftovers = fs::read_dir(folder.path("run")).unwrap().filter(|e| {
            let name = e.as_ref().unwrap().file_name().into_string().unwrap();
            name.starts_with('.')
        });
        assert_eq!(leftovers.count(), 0);
        runs += 1;
    }
    format!(
        "{killed} kills in {runs} runs of 20,000 updates, {before_the_first} of them before the first checkpoint: \
         0 checkpoints lost or damaged, {runs} of {runs} models and logs equal to those of whole runs; {:.0} s",
        begin.elapsed().as_secs_f64()
    )
}

#[test]
fn a_hundred_kills_lose_nothing_that_was_acknowledged() {
    println!("{}", kill_runs(100, Duration::from_millis(250)));
}

/// `cargo test -p harmonium-cli --release -- --ignored --nocapture a_thousand_kills`
#[test]
#[ignore = "a study of some minutes"]
fn a_thousand_kills_lose_nothing_that_was_acknowledged() {
    println!("{}", kill_runs(1000, Duration::from_millis(250)));
}

/// A polite stop: the run says where it is and how to go on, with exit code 130, and goes on to the same bytes.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_ends_the_same() {
    let folder = Folder::new();
    assert_eq!(folder.run(&format!("{RUN} -o whole")).code, 0);
    let mut times = Times(Key::root(2), 0);
    let mut interruptions = 0;
    loop {
        let child = start(&folder, &format!("{RUN} -o run --resume"));
        std::thread::sleep(Duration::from_millis(30) + times.next(Duration::from_millis(200)));
        let signal = if interruptions % 2 == 0 { "-TERM" } else { "-INT" };
        let _ =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => break,
            Some(130) if err.ends_with("interrupted\n") || err.contains("interrupted; ") => (),
            Some(130) => {
                assert!(err.contains("interrupted at update "), "{err}");
                assert!(err.ends_with("continue with: harmonium train --resume -o run\n"), "{err}");
                interruptions += 1;
            }
            // The signal came before the program had begun to listen.
            code => assert_eq!(code, None, "{err}"),
        }
    }
    assert!(interruptions >= 2, "{interruptions}");
    assert_eq!(model(&folder, "run"), model(&folder, "whole"));
    assert_eq!(log(&folder, "run"), log(&folder, "whole"));
}

/// A command that takes long, interrupted: exit code 130, one line on stderr, no output file.
#[cfg(unix)]
#[test]
fn every_command_ends_with_130_when_interrupted() {
    use super::common::rbm;
    use harmonium::file::ModelFile;
    let folder = Folder::new();
    folder.model("wide.safetensors", &ModelFile::new(&rbm("bernoulli", 200, "bernoulli", 200, 1)));
    let sample = "sample wide.safetensors -n 1000000 -o x.npy --sampler gibbs --burn-in 1000000000 --threads 1";
    for line in [sample, "log-z wide.safetensors --tolerance 1e-9 --threads 1"] {
        for signal in ["-INT", "-TERM"] {
            let child = start(&folder, line);
            std::thread::sleep(Duration::from_millis(500));
            let _ = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
            let output = child.wait_with_output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), err.as_str()), (Some(130), "error: interrupted\n"), "{line}");
            assert_eq!(folder.names(), ["wide.safetensors"], "nothing is left behind");
        }
    }
}

/// `nohup` has the hangup of a terminal ignored: the run goes on.
#[cfg(unix)]
#[test]
fn a_run_that_ignores_hangups_goes_on() {
    let folder = Folder::new();
    let script = format!("trap '' HUP; exec \"$0\" {RUN} -o run");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_harmonium")]).current_dir(folder.0.path());
    let child = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let _ = std::process::Command::new("kill").args(["-HUP", &child.id().to_string()]).stderr(Stdio::null()).status();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
