//! Ctrl-C during a run: the first one is a request, which the run honours at its next update.

use crate::interrupt;
use anyhow::Result;

/// From now on a first interrupt only sets [`wished`].
pub fn listen() -> Result<()> {
    interrupt::listen();
    Ok(())
}

/// Whether the run should stop.
pub fn wished() -> bool {
    interrupt::requested()
}

/// The updates are over: from now on an interrupt ends the program at once.
pub fn over() {
    interrupt::stop_listening();
}
