//! The end of a run, or where it stands: how well the model fits, how it samples, and the verdict.

use super::config_file;
use super::directory::{CONFIG, EVENTS, MODEL, RunDir, SUMMARY};
use super::fit::{self, Fitness, RowsFit};
use super::front::{Front, Note, Tables};
use super::input;
use super::judge::{Curves, Evidence, Verdict, judge, judged};
use super::log;
use super::mixing::{Chains, Mixing};
use super::prepare::{Prepared, prepare};
use super::spec::Spec;
use crate::backend::Cpu;
use crate::conditional;
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::events::{Event, Reason};
use crate::file::{ColumnNotes, ModelFile};
use crate::logz::LogZ;
use crate::model::Rbm;
use crate::rng::{Key, Purpose};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use toml::Table;

/// Sweeps that fill missing cells of rows that are shown.
const FILL: u64 = 40;

/// Rows with their missing cells drawn from the model, as a function of both and the seed.
fn filled<'a>(rbm: &Rbm<f32>, rows: &'a Dataset<f32>, seed: u64) -> Result<Cow<'a, Dataset<f32>>> {
    if rows.known().is_none() {
        return Ok(Cow::Borrowed(rows));
    }
    let key = Key::root(seed).of(Purpose::Missing).step(u64::MAX);
    Ok(Cow::Owned(conditional::filled(&mut Cpu::new(rbm.lower())?, 0, rows, FILL, key)))
}

/// A run with everything that is known of it.
pub struct Facts<'a> {
    /// Its settings.
    pub spec: &'a Spec,
    /// The text of config.toml.
    pub config: Cow<'a, str>,
    /// Its events.
    pub events: Cow<'a, [Event]>,
    /// The model, offsets folded.
    pub rbm: Rbm<f32>,
    /// Training rows; none if the data is gone.
    pub train: Option<Cow<'a, Dataset<f32>>>,
    /// Held-out rows.
    pub valid: Option<Cow<'a, Dataset<f32>>>,
    /// What was done to the data.
    pub preprocess: &'a Preprocess,
    /// Names of columns, letters of states, size of images.
    pub notes: &'a ColumnNotes,
    /// Updates done.
    pub update: u64,
    /// Seconds the run took, if that is known.
    pub seconds: Option<f64>,
    /// Where the run is on disk, if it is.
    pub directory: Option<PathBuf>,
    /// Why the data could not be read, if they could not.
    pub without_data: Option<String>,
}

/// A judged run.
pub struct Conclusion<'a> {
    /// The run.
    pub facts: Facts<'a>,
    /// Why it ended.
    pub reason: Reason,
    /// The update whose model was kept.
    pub kept: u64,
    /// Fit to the training rows; none if they are gone.
    pub fit: Option<RowsFit>,
    /// Fit to the held-out rows.
    pub valid: Option<RowsFit>,
    /// log Z, if it was asked for.
    pub log_z: Option<LogZ>,
    /// Chains of the model.
    pub mixing: Mixing,
    /// What became of the run.
    pub verdict: Verdict,
}

impl<'a> Facts<'a> {
    /// Measures and judges the run. It depends only on the run directory and the data, so it can be repeated to the byte.
    pub fn conclude(mut self, front: &dyn Front) -> Result<Conclusion<'a>> {
        let seed = self.spec.train.seed;
        for rows in [&mut self.train, &mut self.valid].into_iter().flatten() {
            if let Cow::Owned(full) = filled(&self.rbm, rows, seed)? {
                *rows = Cow::Owned(full);
            }
        }
        let (train, valid) = (self.train.as_deref(), self.valid.as_deref());
        let log_z = match train.filter(|_| self.spec.train.likelihood) {
            Some(train) => Some(fit::log_z(&self.rbm, train, seed, front)?),
            None => None,
        };
        let fitness = train.map(|train| Fitness::new(&self.rbm, self.preprocess, train, log_z.as_ref(), front));
        let fit = |rows| fitness.as_ref().zip(rows).map(|(fitness, rows)| fitness.fit(rows)).transpose();
        let (fit, valid) = (fit(train)?, fit(valid)?);
        let mixing = Chains { rbm: &self.rbm, train, seed }.run()?;
        let (reason, kept) = self.end().unwrap_or((Reason::Interrupted, self.update));
        let evidence = self.evidence(fit.as_ref(), valid.as_ref(), log_z.as_ref(), &mixing);
        Ok(Conclusion { reason, kept, fit, valid, log_z, mixing, verdict: judge(evidence), facts: self })
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
        fit: Option<&RowsFit>,
        valid: Option<&RowsFit>,
        log_z: Option<&LogZ>,
        mixing: &Mixing,
    ) -> Evidence {
        let pseudo = log_z.is_none();
        let curves = Curves::new(&self.events, pseudo);
        Evidence {
            updates: (self.update, self.spec.train.updates),
            finished: self.end().is_some(),
            train: fit.and_then(|f| judged(f, pseudo)),
            valid: valid.and_then(|f| judged(f, pseudo)),
            pseudo,
            log_z_std_err: log_z.map_or(0.0, |z| z.std_err),
            fall: curves.fall().filter(|_| self.end().is_none_or(|(reason, _)| reason != Reason::EarlyStop)),
            rise: curves.rise(),
            // An exact gradient does not depend on chains.
            r_hat: mixing.r_hat.filter(|_| self.spec.train.method != "exact"),
            ess: mixing.ess,
            hidden: self.rbm.hidden().sites(),
            idle: curves.idle(),
            exact_gradient: self.spec.train.method == "exact",
            recovered: self.events.iter().filter(|e| matches!(e, Event::Recovered { .. })).count(),
        }
    }
}

impl Conclusion<'_> {
    /// The numbers of the run for JSON.
    pub fn fields(&self) -> Map<String, Value> {
        let number = |x: Option<f64>| x.map_or(Value::Null, Value::from);
        let (fit, valid, log_z) = (self.fit.as_ref(), self.valid.as_ref(), self.log_z.as_ref());
        let text = |t: &str| Value::from(t.to_string());
        let error = log_z.map(|z| z.std_err.hypot(fit.map_or(0.0, |f| f.std_err)));
        let all = [
            ("outcome", text(self.verdict.outcome.name())),
            ("evidence", serde_json::to_value(&self.verdict.evidence).unwrap_or(Value::Null)),
            ("updates", self.facts.update.into()),
            ("seconds", number(self.facts.seconds)),
            ("rows", fit.map_or(0, |f| f.rows).into()),
            ("effective_rows", number(self.effective_rows())),
            ("valid_rows", valid.map_or(0, |v| v.rows).into()),
            ("reason", serde_json::to_value(self.reason).unwrap_or(Value::Null)),
            ("kept_update", self.kept.into()),
            ("log_likelihood", number(fit.and_then(|f| f.log_likelihood))),
            ("valid_log_likelihood", number(valid.and_then(|v| v.log_likelihood))),
            ("pseudo_log_likelihood", number(fit.and_then(|f| f.pseudo_log_likelihood))),
            ("valid_pseudo_log_likelihood", number(valid.and_then(|v| v.pseudo_log_likelihood))),
            ("baseline", number(fit.map(|f| f.baseline))),
            ("valid_baseline", number(valid.map(|v| v.baseline))),
            ("log_likelihood_std_err", number(error)),
            ("valid_rows_std_err", number(valid.map(|v| v.rows_std_err))),
            ("verdict", log_z.map_or(Value::Null, |z| text(z.verdict.name()))),
            ("likelihood_method", log_z.map_or(Value::Null, |z| text(&z.how))),
            ("r_hat", number(self.mixing.r_hat)),
            ("ess", number(self.mixing.ess)),
            ("n_visible", self.facts.rbm.visible().sites().into()),
            ("n_hidden", self.facts.rbm.hidden().sites().into()),
            ("seed", self.facts.spec.train.seed.into()),
        ];
        all.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// The number of rows that related ones count as, if they are weighted so.
    pub fn effective_rows(&self) -> Option<f64> {
        let weighted = matches!(self.facts.spec.data.weights(), Ok(super::spec::RowWeights::Similarity(_)));
        self.fit.as_ref().filter(|_| weighted).map(|fit| fit.weight)
    }
}

/// What stands in a run directory.
pub struct Recorded {
    /// The directory.
    pub dir: RunDir,
    /// Its settings.
    pub spec: Spec,
    table: Table,
    /// The text of config.toml.
    pub config: String,
    /// Its events.
    pub events: Vec<Event>,
}

impl Recorded {
    /// Reads settings and events of a run, finished or not.
    pub fn read(path: &Path) -> Result<Recorded> {
        let dir = RunDir::read(path)?;
        let path = dir.file(CONFIG);
        let table = config_file::read(&path)?;
        let spec = Spec::from_table(&table).map_err(|e| e.in_file(&path))?;
        let config = std::fs::read_to_string(&path);
        let config = config.map_err(|source| Error::Io { path, action: "read", source })?;
        let log = dir.file(EVENTS);
        let events = if log.exists() { log::read(&log)? } else { Vec::new() };
        Ok(Recorded { dir, spec, table, config, events })
    }

    /// The model at the end, or at the last checkpoint, and the updates it has seen.
    pub fn model(&self) -> Result<(ModelFile, u64)> {
        if !self.dir.file(MODEL).exists() {
            return self.dir.checkpoint_model();
        }
        let last = self.events.iter().rev().find_map(|e| match e {
            Event::Finished { update, .. } => Some(*update),
            _ => None,
        });
        Ok((ModelFile::read(self.dir.file(MODEL))?, last.unwrap_or(self.spec.train.updates)))
    }

    /// The rows the run was trained on, if they are still what they were.
    pub fn rows(&self, tables: &dyn Tables, front: &dyn Front) -> Result<Prepared> {
        let mut spec = self.spec.clone();
        let prepared = prepare(&mut spec, &self.table, None, tables, front)?;
        if self.spec.found.as_ref().is_none_or(|found| found.digest == prepared.digest) {
            return Ok(prepared);
        }
        let problem = "these are not the rows that the run was trained on".into();
        Err(Error::Data { path: self.spec.data.source.clone().into(), problem })
    }

    /// How long the run took, as it recorded at its end.
    pub fn seconds(&self) -> Option<f64> {
        let text = std::fs::read_to_string(self.dir.file(SUMMARY)).ok()?;
        serde_json::from_str::<Value>(&text).ok()?.get("seconds")?.as_f64()
    }

    /// Judges the run once more, with the data if they can be read, and hands it to `f`.
    pub fn conclude<R>(
        &self,
        tables: &dyn Tables,
        front: &dyn Front,
        f: impl FnOnce(&Conclusion) -> Result<R>,
    ) -> Result<R> {
        let (file, update) = self.model()?;
        let prepared = self.rows(tables, front);
        let without_data = prepared.as_ref().err().map(ToString::to_string);
        if let Some(why) = &without_data {
            front.note(&Note::WithoutData(why.clone()));
        }
        let prepared = prepared.ok();
        let notes = match &prepared {
            Some(prepared) => prepared.notes.clone(),
            None => self.notes(&file)?,
        };
        let rows = prepared.as_ref().map(|p| &p.input);
        let facts = Facts {
            spec: &self.spec,
            config: Cow::Borrowed(&self.config),
            events: Cow::Borrowed(&self.events),
            rbm: file.rbm.cast::<f32>().folded(),
            train: rows.map(|r| Cow::Borrowed(&r.train)),
            valid: rows.and_then(|r| r.valid.as_ref()).map(Cow::Borrowed),
            preprocess: prepared.as_ref().map_or(&file.preprocess, |p| &p.preprocess),
            notes: &notes,
            update,
            seconds: self.seconds(),
            directory: Some(self.dir.path().into()),
            without_data,
        };
        f(&facts.conclude(front)?)
    }

    /// What is known of the columns without the data.
    fn notes(&self, file: &ModelFile) -> Result<ColumnNotes> {
        let notes = ColumnNotes::read(file);
        let image = input::image(&self.spec, file.rbm.visible().sites(), notes.image)?;
        Ok(ColumnNotes { image, alphabet: notes.alphabet.or(self.spec.data.alphabet.clone()), ..notes })
    }
}
