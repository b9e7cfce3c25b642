//! How far long work is: a bar on stderr once it has taken a second, and only for people who watch a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of one piece of work; the bar disappears when it is dropped.
pub struct Meter {
    what: &'static str,
    begin: Instant,
    terminal: bool,
    bar: OnceLock<ProgressBar>,
}

impl Meter {
    pub fn new(what: &'static str) -> Meter {
        Meter { what, begin: Instant::now(), terminal: std::io::stderr().is_terminal(), bar: OnceLock::new() }
    }

    /// `done` of `all` (if known) is done; from any thread.
    pub fn tell(&self, done: u64, all: Option<u64>) {
        if self.terminal && self.begin.elapsed() > PATIENCE {
            let bar = self.bar.get_or_init(|| self.bar(all));
            bar.set_position(done.max(bar.position()));
        }
    }

    /// Runs `work` with the bar hidden, for a message that should stay.
    pub fn suspend(&self, work: impl FnOnce()) {
        match self.bar.get() {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    fn bar(&self, all: Option<u64>) -> ProgressBar {
        let (bar, template) = match all {
            Some(all) => (ProgressBar::new(all), "{msg} {wide_bar} {percent:>3} %, {eta} left"),
            None => (ProgressBar::new_spinner(), "{msg} {human_pos} rows, {elapsed}"),
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.with_style(style).with_message(self.what).with_elapsed(self.begin.elapsed())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
