//! Progress of long work on stderr: a bar on a terminal, a line now and then elsewhere.

use crate::output::{quiet, say};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Seconds between lines where there is no terminal.
const LINE_EVERY: u64 = 10;
/// How often a bar moves by itself.
const TICK: Duration = Duration::from_millis(500);

/// Whether progress bars are drawn: on a terminal, without `--quiet`.
pub fn bars() -> bool {
    std::io::stderr().is_terminal() && !quiet()
}

/// The progress of one piece of work; the bar disappears when it is dropped.
pub struct Meter {
    what: &'static str,
    begin: Instant,
    bars: bool,
    bar: OnceLock<ProgressBar>,
    /// Seconds after which the next line is due.
    next_line: AtomicU64,
    so_far: Mutex<String>,
}

impl Meter {
    pub fn new(what: &'static str) -> Meter {
        let (bar, next_line) = (OnceLock::new(), AtomicU64::new(LINE_EVERY));
        Meter { what, begin: Instant::now(), bars: bars(), bar, next_line, so_far: Mutex::default() }
    }

    /// `done` of `all` (if known) is done; from any thread. `all` may grow.
    pub fn tell(&self, done: u64, all: Option<u64>) {
        let elapsed = self.begin.elapsed();
        if !self.bars {
            return self.line(elapsed.as_secs(), done, all);
        }
        if elapsed > PATIENCE {
            let bar = self.bar.get_or_init(|| self.bar(all));
            // Work that is planned round by round is not done when its last known round is.
            all.into_iter().for_each(|all| bar.set_length(all.max(done + 1)));
            bar.set_position(done);
        }
    }

    /// A result so far, shown beside the progress.
    pub fn so_far(&self, text: String) {
        if let Some(bar) = self.bar.get() {
            bar.set_message(format!("{} {text}", self.what));
        }
        *self.so_far.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Prints a line if one is due; of several threads one prints it.
    fn line(&self, seconds: u64, done: u64, all: Option<u64>) {
        let due = self.next_line.load(Ordering::Relaxed);
        let next = seconds + LINE_EVERY;
        if seconds >= due && self.next_line.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let percent = |all: u64| format!("{} %", (100 * done / all.max(1)).min(99));
            let share = all.map_or(format!("{done} done"), percent);
            let so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
            let so_far = if so_far.is_empty() { String::new() } else { format!("{so_far} so far, ") };
            say(self.what, &format!("{so_far}{share} after {seconds} s"));
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
            Some(all) => (ProgressBar::new(all), "{msg} {wide_bar} {percent:>3} %, {elapsed}"),
            None => (ProgressBar::new_spinner(), "{msg} {human_pos} rows, {elapsed}"),
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.enable_steady_tick(TICK);
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
