//! What is shown while a model trains: a progress bar on a terminal, a few lines elsewhere.

use crate::interrupt;
use crate::output::say;
use harmonium::events::{Event, Flow, Measures, Observer, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// Lines at most where there is no terminal.
const LINES: u64 = 10;
/// Shorter runs print no lines.
const PATIENCE: Duration = Duration::from_secs(2);

/// The observer of a run.
pub struct Watch {
    bar: Option<ProgressBar>,
    start: Instant,
    updates: u64,
    next_line: u64,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { bar: None, start: Instant::now(), updates: 0, next_line: 0 }
    }
}

impl Watch {
    /// Takes the bar away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn started(&mut self, update: u64, updates: u64) {
        self.updates = updates;
        if crate::progress::bars() {
            let template = "{percent:>3} % {bar:16} {per_sec}, {eta} left{msg}";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let style = style.with_key("per_sec", |s: &indicatif::ProgressState, w: &mut dyn std::fmt::Write| {
                let _ = write!(w, "{:.0} updates/s", s.per_sec());
            });
            let bar = ProgressBar::new(updates).with_style(style);
            bar.set_position(update);
            bar.reset_eta();
            self.bar = Some(bar);
        }
    }

    fn progress(&mut self, p: &Progress) {
        let text = in_words(p);
        match &self.bar {
            Some(bar) => {
                bar.set_position(p.update);
                bar.set_message(format!("; {text}"));
            }
            None if self.start.elapsed() > PATIENCE && p.update >= self.next_line => {
                let seconds = self.start.elapsed().as_secs_f64();
                say(&format!("update {} of {}", p.update, self.updates), &format!("{text}, {seconds:.0} s"));
                self.next_line = p.update + self.updates.div_ceil(LINES);
            }
            None => (),
        }
    }

    fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say("warning", text)),
            None => say("warning", text),
        }
    }
}

impl Observer for Watch {
    fn on(&mut self, event: &Event) -> Flow {
        match event {
            Event::Started { update, updates, .. } => self.started(*update, *updates),
            Event::Progress(progress) => self.progress(progress),
            Event::Recovered { update, back_to, reason, rate_factor } => self.warn(&format!(
                "update {update}: {reason}; going back to update {back_to} with half the learning rate ({rate_factor} times the first)"
            )),
            _ => (),
        }
        Flow::Continue
    }

    fn poll(&mut self) -> Flow {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if interrupt::requested() { Flow::Stop } else { Flow::Continue }
    }
}

/// The likelihood, or else the pseudo-likelihood, and the reconstruction error.
fn in_words(p: &Progress) -> String {
    let one = |m: &Measures| match (m.log_likelihood, m.pseudo_log_likelihood) {
        (Some(l), _) => Some(("log likelihood", l)),
        (None, Some(l)) => Some(("log pseudo-likelihood", l)),
        (None, None) => None,
    };
    let error = p.train.log_likelihood_std_err.map_or(String::new(), |e| format!(" ± {e:.2}"));
    let held_out = p.valid.as_ref().and_then(one).map_or(String::new(), |(_, l)| format!(" (held out {l:.2})"));
    let fit = one(&p.train).map_or(String::new(), |(what, l)| format!("{what} {l:.2}{error}{held_out}, "));
    format!("{fit}reconstruction error {:.4}", p.train.reconstruction_error)
}
