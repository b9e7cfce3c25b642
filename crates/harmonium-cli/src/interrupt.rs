//! Ctrl-C and other requests to end: exit code 130. During training the first one only asks the run to stop.

use crate::output::say;
use anyhow::Result;
use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Exit code of an interrupted command, as shells have it: 128 + SIGINT.
pub const EXIT_CODE: u8 = 130;

/// What is printed when a request ends the program.
static MESSAGE: Mutex<String> = Mutex::new(String::new());
/// Whether training looks for requests.
static LISTENING: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The error of work that stopped because it was asked to; the text says how to go on.
#[derive(Debug)]
pub struct Interrupted(pub String);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Interrupted {}

/// From now on a request ends the program with [`EXIT_CODE`].
pub fn install() -> Result<()> {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        std::thread::spawn(move || signals.forever().for_each(|_| request()));
    }
    #[cfg(not(unix))]
    ctrlc::set_handler(request)?;
    Ok(())
}

fn request() {
    if LISTENING.load(Ordering::SeqCst) && !REQUESTED.swap(true, Ordering::SeqCst) {
        return;
    }
    harmonium::atomic::remove_unfinished();
    // The terminal's line holds ^C, and perhaps a progress bar.
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
    let message = MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
    say("error", if message.is_empty() { "interrupted" } else { &message });
    std::process::exit(EXIT_CODE.into());
}

/// From now on the first request only sets [`requested`]; `command` continues the run.
pub fn listen(command: &str) {
    set_message(format!("interrupted; continue the run with: {command}"));
    LISTENING.store(true, Ordering::SeqCst);
}

/// From now on this is printed when a request ends the program.
pub fn set_message(text: String) {
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

/// Whether the run should stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// From now on a request ends the program at once again.
pub fn stop_listening() {
    LISTENING.store(false, Ordering::SeqCst);
}
