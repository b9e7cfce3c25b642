//! What a run says at its end: how well the model fits, against independent units, and what to try next.

use super::begin::model_in_words;
use super::directory::{EVENTS, MODEL, REPORT, RunDir};
use super::outcome::Fit;
use super::settings::{Settings, Weights};
use super::{log, shell_word};
use crate::advice;
use crate::output::CommandOutput;
use anyhow::Result;
use harmonium::Rbm;
use harmonium::events::{Event, Reason};
use harmonium::logz::{LogZ, Verdict};
use serde_json::Value;
use std::path::Path;

/// Everything worth saying.
pub struct Summary<'a> {
    pub dir: &'a Path,
    pub settings: &'a Settings,
    pub rbm: &'a Rbm<f32>,
    pub update: u64,
    pub kept: u64,
    pub reason: Reason,
    /// Of the whole run; none if that was not written down.
    pub seconds: Option<f64>,
    /// How well the training rows fit; none if they are gone.
    pub fit: Option<Fit>,
    pub valid: Option<Fit>,
    /// log Z, if it was asked for.
    pub log_z: Option<LogZ>,
    /// Of the free energy of chains, see [`harmonium::sample::diagnose`].
    pub r_hat: Option<f64>,
    pub ess: Option<f64>,
    pub verdict: harmonium_report::Verdict,
}

impl Summary<'_> {
    /// What is printed; the page may stand elsewhere than in the directory.
    pub fn report(&self, page: Option<&Path>) -> CommandOutput {
        let page = page.map_or(self.dir.join(REPORT), Path::to_path_buf);
        let report = CommandOutput::new(self.title()).line("summary", self.verdict.headline.clone());
        let report = report.maybe("", self.verdict.advice.clone());
        let report = self.facts().into_iter().fold(report, |report, (label, text)| report.line(&label, text));
        let unfinished = self.reason == Reason::Interrupted;
        let report = report
            .maybe("model", (!unfinished).then(|| shell_word(&self.dir.join(MODEL))))
            .line("report", format!("{} (open it in a browser)", shell_word(&page)));
        let report = self.next().into_iter().enumerate().fold(report, |report, (k, line)| {
            let label = if k == 0 { "next" } else { "" };
            report.line(label, line)
        });
        self.fields(report).field("report", page.display().to_string())
    }

    fn title(&self) -> String {
        let source = &self.settings.data.source;
        let rows = self.fit.as_ref().map_or("the".into(), |fit| fit.rows.to_string());
        let (end, learned) = match self.reason {
            Reason::EarlyStop => (format!(", stopped early and kept update {}", self.kept), "Learned"),
            Reason::Interrupted => (format!(" of {}", self.settings.train.updates), "Learning"),
            Reason::Done => (String::new(), "Learned"),
        };
        let seconds = self.seconds.map_or(String::new(), |s| format!(" and {s:.1} s"));
        format!("{learned} {rows} rows of {source} in {} updates{seconds}{end}", self.update)
    }

    /// The table at the top of the report, and the lines that are printed.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("model".to_string(), format!("{} units", model_in_words(self.rbm)))];
        let mut add = |label: &str, text: String| facts.push((label.to_string(), text));
        if self.settings.train.method == "exact" {
            add("gradient", "exact, by enumeration; --method pcd would learn by chains".into());
        }
        let Some(fit) = &self.fit else { return facts };
        if let Some(n) = self.effective() {
            let how = self.settings.data.weights.as_deref().unwrap_or_default();
            add("effective rows", format!("{n:.1} of {}, weighted by {how}", fit.rows));
        }
        add("log likelihood", self.likelihood(fit));
        if let Some(text) = &fit.missing {
            add("unknown cells", format!("the likelihood is that of the known ones; the others were {text}"));
        }
        if let Some(text) = self.log_z.as_ref().and_then(advice::explanation) {
            add("verdict", text);
        }
        if let (None, Some(p)) = (&self.log_z, fit.pseudo_log_likelihood) {
            add("pseudo-likelihood", format!("{p:.4} nats per row (log)"));
        }
        if let Some(valid) = &self.valid {
            let text = match (valid.log_likelihood, valid.pseudo_log_likelihood) {
                (None, Some(p)) => format!("{p:.4} nats per row (log pseudo-likelihood)"),
                _ => self.likelihood(valid),
            };
            add("held-out rows", format!("{}: {text}", valid.rows));
        }
        let gain = fit.log_likelihood.map_or(String::new(), |l| gain_in_words(l - fit.baseline));
        add("independent units", format!("{:.4} nats per row{gain}", fit.baseline));
        facts
    }

    /// The number of rows that related ones count as, if they are weighted so.
    fn effective(&self) -> Option<f64> {
        let weighted = matches!(self.settings.data.weights(), Ok(Weights::Similarity(_)));
        self.fit.as_ref().filter(|_| weighted).map(|fit| fit.weight)
    }

    fn likelihood(&self, fit: &Fit) -> String {
        match (fit.log_likelihood, &self.log_z) {
            (Some(l), Some(z)) if z.verdict == Verdict::Exact && fit.std_err == 0.0 => {
                format!("{l:.4} nats per row, exact")
            }
            (Some(l), Some(z)) => {
                format!("{l:.4} ± {:.4} nats per row, {}", z.std_err.hypot(fit.std_err), z.verdict)
            }
            _ => "not computed (--likelihood none)".into(),
        }
    }

    /// Commands that work as they stand.
    fn next(&self) -> Vec<String> {
        let (model, data) = (shell_word(&self.dir.join(MODEL)), self.data_words());
        if self.reason == Reason::Interrupted {
            return vec![format!("harmonium train --resume -o {}", shell_word(self.dir))];
        }
        if self.settings.data.missing {
            let evaluate = format!("harmonium evaluate {model} {data} --missing");
            return vec![evaluate, format!("harmonium impute {model} {data} -o filled.npy")];
        }
        vec![
            format!("harmonium evaluate {model} {data}"),
            format!("harmonium transform {model} {data} -o hidden.npy"),
            format!("harmonium reconstruct {model} {data} -o again.npy"),
        ]
    }

    /// DATA and the options that read it.
    fn data_words(&self) -> String {
        let data = &self.settings.data;
        let mut words = shell_word(Path::new(&data.source));
        if data.skip_rows > 0 {
            words += &format!(" --skip-rows {}", data.skip_rows);
        }
        for (flag, value) in [("--columns", &data.columns), ("--label-column", &data.label_column)] {
            words += &value.as_ref().map_or(String::new(), |v| format!(" {flag} {}", shell_word(Path::new(v))));
        }
        words
    }

    fn fields(&self, report: CommandOutput) -> CommandOutput {
        let number = |x: Option<f64>| x.map_or(Value::Null, Value::from);
        let (fit, valid, log_z) = (self.fit.as_ref(), self.valid.as_ref(), self.log_z.as_ref());
        let report = report
            .field("summary", self.verdict.text())
            .field("outcome", self.verdict.outcome.name())
            .field("updates", self.update)
            .field("seconds", number(self.seconds))
            .field("rows", fit.map_or(0, |f| f.rows))
            .field("effective_rows", number(self.effective()))
            .field("valid_rows", valid.map_or(0, |v| v.rows))
            .field("model", self.dir.join(MODEL).display().to_string())
            .field("reason", serde_json::to_value(self.reason).unwrap_or(Value::Null))
            .field("kept_update", self.kept);
        report
            .field("log_likelihood", number(fit.and_then(|f| f.log_likelihood)))
            .field("valid_log_likelihood", number(valid.and_then(|v| v.log_likelihood)))
            .field("pseudo_log_likelihood", number(fit.and_then(|f| f.pseudo_log_likelihood)))
            .field("valid_pseudo_log_likelihood", number(valid.and_then(|v| v.pseudo_log_likelihood)))
            .field("baseline", number(fit.map(|f| f.baseline)))
            .field("valid_baseline", number(valid.map(|v| v.baseline)))
            .field("log_likelihood_std_err", number(log_z.map(|z| z.std_err.hypot(fit.map_or(0.0, |f| f.std_err)))))
            .field("valid_rows_std_err", number(valid.map(|v| v.rows_std_err)))
            .field("verdict", log_z.map_or(Value::Null, |z| z.verdict.name().into()))
            .field("likelihood_method", log_z.map_or(Value::Null, |z| z.how.clone().into()))
            .field("r_hat", number(self.r_hat))
            .field("ess", number(self.ess))
            .field("n_visible", self.rbm.visible().sites())
            .field("n_hidden", self.rbm.hidden().sites())
            .field("seed", self.settings.train.seed)
    }
}

/// e to the power of some nats, readable also when it is very large.
fn factor(nats: f64) -> String {
    match nats.exp() {
        f if f < 100.0 => format!("{f:.2}"),
        f if f < 1e6 => format!("{f:.0}"),
        _ => format!("10^{:.1}", nats * std::f64::consts::LOG10_E),
    }
}

/// What some nats per row mean.
fn gain_in_words(nats: f64) -> String {
    match nats > 0.0 {
        true => format!(": the model is better by {nats:.4}, a factor of {} per row", factor(nats)),
        false => format!(": the model is worse by {:.4}", -nats),
    }
}

/// What `--resume` says about a run that is over.
pub fn finished(dir: &RunDir) -> Result<CommandOutput> {
    let events = log::read(&dir.file(EVENTS)).unwrap_or_default();
    let updates = events.iter().rev().find_map(|e| match e {
        Event::Finished { update, .. } => Some(*update),
        _ => None,
    });
    let model = dir.file(MODEL);
    Ok(CommandOutput::new(format!("{}: this run is finished, nothing was changed", dir.path().display()))
        .line("train further", format!("harmonium train DATA --init {} -o NEW_DIRECTORY", shell_word(&model)))
        .field("updates", updates.map_or(Value::Null, Value::from))
        .field("model", model.display().to_string())
        .field("finished", true))
}
