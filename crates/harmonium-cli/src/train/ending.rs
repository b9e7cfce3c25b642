//! A run at its end, or where it was left: judged, told in words, drawn. `train` ends with this and `report` does it again.

use super::directory::{REPORT, RunDir, SUMMARY};
use super::outcome::{self, Judge};
use super::page::{Page, Watched, Words};
use super::settings::Settings;
use super::summary::Summary;
use crate::advice;
use crate::output::CommandOutput;
use anyhow::Result;
use harmonium::backend::Cpu;
use harmonium::conditional;
use harmonium::events::{Event, Progress, Reason};
use harmonium::logz::{LogZ, Verdict as Trust};
use harmonium::rng::{Key, Purpose};
use harmonium::{Dataset, Rbm};
use harmonium_report::{Evidence, Fall, Fit, Rendered, verdict};
use std::borrow::Cow;

/// Sweeps that fill unknown cells of rows that are shown.
const FILL: u64 = 40;

/// Rows with their unknown cells drawn from the model, as a function of both and the seed.
pub fn filled<'a>(rbm: &Rbm<f32>, rows: &'a Dataset<f32>, seed: u64) -> Result<Cow<'a, Dataset<f32>>> {
    if rows.known().is_none() {
        return Ok(Cow::Borrowed(rows));
    }
    let key = Key::root(seed).of(Purpose::Missing).step(u64::MAX);
    Ok(Cow::Owned(conditional::filled(&mut Cpu::new(rbm.lower())?, 0, rows, FILL, key)))
}

/// A run with everything that is known of it.
pub struct Ending<'a> {
    pub settings: &'a Settings,
    /// The text of config.toml.
    pub config: &'a str,
    pub events: &'a [Event],
    pub page: Page<'a>,
    /// Updates done.
    pub update: u64,
    pub seconds: Option<f64>,
    /// What is missing and why, in sentences.
    pub notes: &'a [String],
}

/// What there is to say and to show.
pub struct Told<'a> {
    pub summary: Summary<'a>,
    pub rendered: Rendered,
}

impl<'a> Ending<'a> {
    /// Judges the model, watches its chains, and draws the page. It depends on nothing but what stands in the run
    /// directory and the data, so that it can be repeated to the byte.
    pub fn tell(&'a self, dir: &'a std::path::Path) -> Result<Told<'a>> {
        let (rbm, page) = (self.page.rbm, &self.page);
        let seed = self.settings.train.seed;
        let log_z = match page.train.filter(|_| self.settings.train.likelihood) {
            Some(train) => Some(outcome::solve(rbm, train, seed)?),
            None => None,
        };
        let judge = page.train.map(|train| Judge::new(rbm, page.preprocess, train, log_z.as_ref()));
        let fit = |rows| judge.as_ref().zip(rows).map(|(judge, rows)| judge.fit(rows)).transpose();
        let (fit, valid) = (fit(page.train)?, fit(page.valid)?);
        let watched = page.watch()?;
        let (reason, kept) = self.end().unwrap_or((Reason::Interrupted, self.update));
        let evidence = self.evidence(fit.as_ref(), valid.as_ref(), log_z.as_ref(), &watched);
        let summary = Summary {
            dir,
            settings: self.settings,
            rbm,
            update: self.update,
            kept,
            reason,
            seconds: self.seconds,
            fit,
            valid,
            log_z,
            r_hat: watched.r_hat,
            ess: watched.ess,
            verdict: verdict(&evidence),
        };
        let rendered = self.render(&summary, &watched);
        Ok(Told { summary, rendered })
    }

    fn render(&self, summary: &Summary, watched: &Watched) -> Rendered {
        let words = Words {
            source: &self.settings.data.source,
            verdict: &summary.verdict,
            notes: self.notes,
            facts: summary.facts(),
            config: self.config,
            events: self.events,
        };
        self.page.render(words, watched)
    }

    /// Why the run ended and which update was kept, if it has ended.
    fn end(&self) -> Option<(Reason, u64)> {
        self.events.iter().rev().find_map(|e| match e {
            Event::Finished { reason, kept, .. } if *reason != Reason::Interrupted => Some((*reason, *kept)),
            _ => None,
        })
    }

    fn evidence(
        &self,
        fit: Option<&outcome::Fit>,
        valid: Option<&outcome::Fit>,
        log_z: Option<&LogZ>,
        watched: &Watched,
    ) -> Evidence {
        let pseudo = log_z.is_none();
        let judged = |fit: &outcome::Fit| match pseudo {
            false => Some(Fit { value: fit.log_likelihood?, std_err: fit.rows_std_err, baseline: fit.baseline }),
            true => {
                Some(Fit { value: fit.pseudo_log_likelihood?, std_err: fit.pseudo_std_err, baseline: fit.baseline })
            }
        };
        let curves = Curves::new(self.events, pseudo);
        Evidence {
            updates: (self.update, self.settings.train.updates),
            finished: self.end().is_some(),
            train: fit.and_then(judged),
            valid: valid.and_then(judged),
            pseudo,
            log_z_std_err: log_z.map_or(0.0, |z| z.std_err),
            doubt: log_z
                .filter(|z| doubtful(z.verdict))
                .and_then(advice::explanation)
                .map(|why| format!("Verdict of log Z: {why}.")),
            fall: curves.fall().filter(|_| self.end().is_none_or(|(reason, _)| reason != Reason::EarlyStop)),
            rise: curves.rise(),
            // An exact gradient does not depend on chains.
            r_hat: watched.r_hat.filter(|_| self.settings.train.method != "exact"),
            ess: watched.ess,
            hidden: self.page.rbm.hidden().sites(),
            idle: curves.idle(),
            recovered: self.events.iter().filter(|e| matches!(e, Event::Recovered { .. })).count(),
        }
    }
}

fn doubtful(verdict: Trust) -> bool {
    !matches!(verdict, Trust::Exact | Trust::Certain)
}

impl Told<'_> {
    /// Writes the page and its pictures.
    pub fn write_page(&self, dir: &RunDir) -> Result<()> {
        for picture in &self.rendered.pictures {
            dir.write(&picture.name, &picture.bytes)?;
        }
        dir.write(REPORT, self.rendered.html.as_bytes())
    }

    /// Writes them, and what is said.
    pub fn write(&self, dir: &RunDir) -> Result<CommandOutput> {
        self.write_page(dir)?;
        let report = self.summary.report(None);
        dir.write(SUMMARY, (report.json().to_string() + "\n").as_bytes())?;
        Ok(report)
    }
}

/// The measurements of a run, in the order of updates; a repeated stretch replaces the abandoned one.
struct Curves<'a> {
    progress: std::collections::BTreeMap<u64, &'a Progress>,
    measure: &'static str,
}

impl<'a> Curves<'a> {
    fn new(events: &'a [Event], pseudo: bool) -> Curves<'a> {
        let told = events.iter().filter_map(|e| match e {
            Event::Progress(p) => Some((p.update, p)),
            _ => None,
        });
        let measure = if pseudo { "pseudo_log_likelihood" } else { "log_likelihood" };
        Curves { progress: told.collect(), measure }
    }

    /// How much more likely held-out rows were at their best than at the end. Pseudo-likelihoods are of the same rows every time.
    fn fall(&self) -> Option<Fall> {
        let is_estimated = self.measure == "log_likelihood";
        let told = self.progress.iter().filter_map(|(update, p)| {
            let valid = p.valid.as_ref()?;
            let std_err = valid.log_likelihood_std_err.filter(|_| is_estimated).unwrap_or(0.0);
            Some((*update, valid.get(self.measure).filter(|l| l.is_finite())?, std_err))
        });
        Fall::of(told)
    }

    /// How much more likely training rows became in the last quarter of the run: medians around its ends, since single
    /// measurements of an estimate are noisy.
    fn rise(&self) -> Option<f64> {
        let last = *self.progress.keys().next_back()?;
        let median = |from: u64, to: u64| {
            let range = self.progress.range(last * from / 16..=last * to / 16);
            let mut values: Vec<f64> = range.filter_map(|(_, p)| p.train.get(self.measure)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().filter(|v| v.is_finite())
        };
        Some(median(15, 16)? - median(11, 13)?)
    }

    /// The part of the hidden units that were idle at the last look.
    fn idle(&self) -> Option<f64> {
        let last = self.progress.values().next_back()?;
        let part = |name| last.train.get(name);
        let all = ["dead_units", "saturated_units", "still_units"].into_iter().filter_map(part);
        // One unit may be dead and still; none counts twice.
        all.reduce(f64::max)
    }
}
