//! A fuzzer of everything that reads files: `FUZZ_TARGET` names the kind of file, `scripts/fuzz` runs all of them.
#![no_main]

mod memory;
#[path = "../../crates/harmonium/tests/hostile_data/targets.rs"]
mod targets;

use libfuzzer_sys::{Corpus, fuzz_target};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use targets::{TARGETS, Target};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

static TARGET: LazyLock<(&Target, PathBuf)> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|t| t.name == name).expect("an unknown target");
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = folder.join(format!("harmonium-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a directory for the inputs");
    (target, folder.join(target.file))
});

/// Whether the report of these events is drawn: of one in eight, because most of its pictures are of the model.
fn drawn(bytes: &[u8]) -> bool {
    bytes.iter().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(*byte))).is_multiple_of(8)
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let (target, path) = &*TARGET;
    fs::write(path, bytes).expect("the input");
    // The first run also pays for threads and tables that stay.
    memory::limited(target.most_memory(bytes.len()), || match target.name {
        "events" => targets::judged(path, |run| {
            if drawn(bytes) {
                harmonium_report::render_run(run, &|_| String::new(), None);
            }
        }),
        _ => (target.run)(path),
    });
    Corpus::Keep
});
