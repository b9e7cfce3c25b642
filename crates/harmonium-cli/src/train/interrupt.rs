//! Ctrl-C, and being asked to end: once is a wish that the run honours at its next update, twice is an order.

use crate::output::say;
use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};

static WISHED: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);

/// From now on a first interrupt only sets [`wished`].
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if WISHED.swap(true, Ordering::SeqCst) || OVER.load(Ordering::SeqCst) {
            say("error", "interrupted; if the run has a checkpoint, --resume continues it");
            std::process::exit(1);
        }
    })?;
    Ok(())
}

/// Whether someone wants the run to end.
pub fn wished() -> bool {
    WISHED.load(Ordering::SeqCst)
}

/// The updates are over and nobody asks any more: from now on an interrupt ends the program at once.
pub fn over() {
    OVER.store(true, Ordering::SeqCst);
}
