//! Ctrl-C, and being asked to end: the first time the run stops at its next update, the second time at once.

use crate::output::say;
use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a program that a signal ended.
const INTERRUPTED: i32 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);

/// From now on a first interrupt only sets [`asked`]; `command` continues the run.
pub fn listen(command: &str) -> Result<()> {
    let text = format!("interrupted; continue from the last checkpoint with: {command}");
    ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) || OVER.load(Ordering::SeqCst) {
            say("error", &text);
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(())
}

/// Whether the run should stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Training is over: from now on an interrupt ends the program at once.
pub fn over() {
    OVER.store(true, Ordering::SeqCst);
}
