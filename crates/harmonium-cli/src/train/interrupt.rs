//! Ctrl-C, and being asked to end: once is a wish that the run honours at its next update, twice is an order.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};

static WISHED: AtomicBool = AtomicBool::new(false);

/// From now on a first interrupt only sets [`wished`].
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if WISHED.swap(true, Ordering::SeqCst) {
            std::process::exit(1);
        }
    })?;
    Ok(())
}

/// Whether someone wants the run to end.
pub fn wished() -> bool {
    WISHED.load(Ordering::SeqCst)
}
