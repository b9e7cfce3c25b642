//! The end of a run, or where it stands: how well the model fits, how it samples, and the verdict.

use super::config_file;
use super::curves::Curves;
use super::directory::{CONFIG, EVENTS, MODEL, RunDir};
use super::fit::{self, Errors, Fitness, RowsFit, Time};
use super::front::{Front, Note, Tables};
use super::input;
use super::judge::{Evidence, Verdict, judge, judged};
use super::log;
use super::mixing::{Chains, Mixing, compare_means, some_rows};
use super::prepare::{Prepared, prepare};
use super::spec::Spec;
use crate::backend::DeviceRef;
use crate::conditional;
use crate::data::{Binarize, Preprocess};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::events::{Event, Reason};
use crate::exact::{Exact, budget};
use crate::file::{ColumnNotes, ModelFile};
use crate::logz::LogZ;
use crate::lowered::LoweredLayer;
use crate::measure::{Idle, MeasuredRows};
use crate::model::Rbm;
use crate::open;
use crate::rng::{Key, Purpose};
use crate::start::Start;
use crate::train::TrainConfig;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use toml::Table;

/// Rows that are compared at a time.
const BLOCK: usize = 1024;
/// The usual learning rate of sgd.
const USUAL_SGD_RATE: f64 = 0.1;
/// Sweeps that fill missing cells of rows that are shown.
const FILL: u64 = 40;

/// Rows with their missing cells drawn from the model, as a function of both and the seed.
fn filled<'a>(device: DeviceRef, rbm: &Rbm<f32>, rows: &'a Dataset<f32>, seed: u64) -> Result<Cow<'a, Dataset<f32>>> {
    if rows.known().is_none() {
        return Ok(Cow::Borrowed(rows));
    }
    let key = Key::root(seed).of(Purpose::Missing).step(u64::MAX);
    Ok(Cow::Owned(conditional::filled(device.backend(rbm.lower())?.as_mut(), 0, rows, FILL, key)))
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
    /// Runs chains and judges the run. A likelihood that takes longer than a moment is left for [`Conclusion::complete`], so
    /// that a first report can be written before. Both depend only on the run directory and the data, so that they can be
    /// repeated to the byte, unless the time for log Z runs out.
    pub(crate) fn conclude(mut self, front: &dyn Front) -> Result<Conclusion<'a>> {
        let (seed, device) = (self.spec.train.seed, self.spec.device);
        for rows in [&mut self.train, &mut self.valid].into_iter().flatten() {
            if let Cow::Owned(full) = filled(device, &self.rbm, rows, seed)? {
                *rows = Cow::Owned(full);
            }
        }
        let mixing = Chains { rbm: &self.rbm, train: self.train.as_deref(), seed, device }.run()?;
        let (reason, kept) = self.end().unwrap_or((Reason::Interrupted, self.update));
        let pending = self.spec.train.likelihood && self.train.is_some();
        let evidence = Evidence { pending, ..self.evidence(&mixing)? };
        let (verdict, facts) = (judge(evidence), self);
        let first = Conclusion { reason, kept, fit: None, valid: None, log_z: None, mixing, verdict, facts };
        if pending && !budget::MONITOR.allows(Exact::cost(&first.facts.rbm.lower())) {
            return Ok(first);
        }
        first.measured(Time::AsTraining(None), front)
    }

    /// Why the run ended and which update was kept, if it has ended.
    fn end(&self) -> Option<(Reason, u64)> {
        self.events.iter().rev().find_map(|e| match e {
            Event::Finished { reason, kept, .. } if *reason != Reason::Interrupted => Some((*reason, *kept)),
            _ => None,
        })
    }

    /// The evidence besides the fit of the rows.
    fn evidence(&self, mixing: &Mixing) -> Result<Evidence> {
        let (config, rows) = (&self.spec.train, self.train.as_deref());
        let curves = Curves::new(&self.events, !config.likelihood);
        let data = rows.map(|rows| some_rows(rows, config.seed).states().values(self.rbm.lower().visible()));
        let per_epoch = rows.map_or(0, |rows| config.updates_per_epoch(rows.len()));
        let threshold = self.preprocess.binarize.filter(|rule| matches!(rule, Binarize::Threshold(_)));
        Ok(Evidence {
            updates: (self.update, config.updates),
            epochs: if per_epoch > 0 { self.update as f64 / per_epoch as f64 } else { 0.0 },
            finished: self.end().is_some(),
            pseudo: !config.likelihood,
            alike: rows.is_some_and(|rows| all_alike(self.rbm.lower().visible(), rows)),
            fall: curves.fall().filter(|_| self.end().is_none_or(|(reason, _)| reason != Reason::EarlyStop)),
            collapse: curves.collapse(),
            rise: curves.rise(),
            best_gain: curves.best_gain(),
            means: data.and_then(|data| compare_means(&self.rbm, &data, &mixing.samples)),
            copies: self.copies(),
            rates: (config.lr, usual_rate(config)),
            tempered: config.method == "pt",
            // An exact gradient does not depend on chains.
            r_hat: mixing.r_hat.filter(|_| self.spec.train.method != "exact"),
            ess: mixing.ess,
            hidden: self.rbm.hidden().sites(),
            idle: rows.map(|rows| self.idle(rows)).transpose()?.flatten(),
            binarized: threshold.map(|rule| rule.to_string()),
            solved: self.update == 0
                && self.spec.model.start == Start::Factors
                && self.rbm.hidden().layout().is_quadratic(),
            chosen: self.spec.found.as_ref().map_or(Vec::new(), |found| found.chosen.clone()),
            exact_gradient: self.spec.train.method == "exact",
            recovered: self.events.iter().filter(|e| matches!(e, Event::Recovered { .. })).count(),
            ..Evidence::default()
        })
    }

    /// The idle hidden units of the model that was kept, by as many rows as `harmonium evaluate` takes.
    fn idle(&self, rows: &Dataset<f32>) -> Result<Option<Idle>> {
        let some_rows = rows.select(&fit::evenly(rows.len(), fit::ROWS));
        let measured = MeasuredRows::new(self.spec.device.backend(self.rbm.lower())?.as_mut(), &some_rows, usize::MAX);
        Ok(Idle::of(self.rbm.cast::<f64>().lower().hidden(), measured.hidden.view(), &measured.weights))
    }

    /// The fraction of held-out rows that are also among the training rows; only states can be the same by more than chance.
    fn copies(&self) -> Option<f64> {
        let (train, valid) = (self.train.as_deref()?, self.valid.as_deref()?);
        let lowered = self.rbm.lower();
        let layer = lowered.visible();
        if !layer.is_finite() {
            return None;
        }
        let mut new: HashSet<Vec<u32>> = bits_of_rows(layer, valid).collect();
        for row in bits_of_rows(layer, train) {
            new.remove(&row);
        }
        let unseen = bits_of_rows(layer, valid).filter(|row| new.contains(row)).count();
        (!valid.is_empty()).then(|| 1.0 - unseen as f64 / valid.len() as f64)
    }
}

/// Whether there are several rows, and all are the same.
pub(super) fn all_alike(layer: &LoweredLayer<f32>, rows: &Dataset<f32>) -> bool {
    let mut all = bits_of_rows(layer, rows);
    let first = all.next();
    rows.len() > 1 && all.all(|row| Some(row) == first)
}

/// The columns of every row, as bits that can be compared.
fn bits_of_rows<'a>(layer: &'a LoweredLayer<f32>, rows: &'a Dataset<f32>) -> impl Iterator<Item = Vec<u32>> + 'a {
    (0..rows.len()).step_by(BLOCK).flat_map(move |first| {
        let block = rows.states().columns(layer, first, (first + BLOCK).min(rows.len()));
        block.rows().into_iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect::<Vec<_>>()
    })
}

/// The rate that an optimizer usually takes: steps of adam have the size of the rate, those of sgd that of the gradient too.
fn usual_rate(config: &TrainConfig) -> f64 {
    if config.optimizer.name == "adam" { TrainConfig::default().lr } else { USUAL_SGD_RATE }
}

impl<'a> Conclusion<'a> {
    /// Whether the likelihood has still to be estimated.
    pub fn is_pending(&self) -> bool {
        self.verdict.evidence.pending
    }

    /// Estimates the likelihood, if that has still to be done, and judges the run by it; `time` in seconds, if it was asked
    /// for, else as long as training took and ten seconds at least.
    pub fn complete(self, time: Option<f64>, front: &dyn Front) -> Result<Conclusion<'a>> {
        if !self.is_pending() {
            return Ok(self);
        }
        let usual = Time::AsTraining(self.facts.seconds);
        self.measured(time.map_or(usual, Time::Asked), front)
    }

    fn measured(self, time: Time, front: &dyn Front) -> Result<Conclusion<'a>> {
        let Facts { rbm, train, valid, spec, preprocess, .. } = &self.facts;
        let (train, valid) = (train.as_deref(), valid.as_deref());
        let log_z = match train.filter(|_| self.is_pending()) {
            Some(train) => match fit::log_z(spec, rbm, train, time, front) {
                // Training made it so; that is a verdict, and no reason to be without one.
                Err(Error::NotNormalisable(_)) => None,
                found => Some(found?),
            },
            None => None,
        };
        let not_normalisable = self.is_pending() && log_z.is_none();
        let fitness = train.map(|train| Fitness::new(spec.device, rbm, preprocess, train, log_z.as_ref(), front));
        let fit = |rows| fitness.as_ref().zip(rows).map(|(fitness, rows)| fitness.fit(rows)).transpose();
        let (fit, valid) = (fit(train)?, fit(valid)?);
        let pseudo = log_z.is_none();
        let judged = |fit: &Option<RowsFit>| fit.as_ref().and_then(|f| judged(f, pseudo));
        let evidence = Evidence {
            pending: false,
            not_normalisable,
            pseudo,
            train: judged(&fit),
            valid: judged(&valid),
            log_z_std_err: log_z.as_ref().map_or(0.0, |z| z.std_err),
            refuted: [&fit, &valid].into_iter().flatten().any(|f| f.refuted),
            ..self.verdict.evidence.clone()
        };
        Ok(Conclusion { fit, valid, log_z, verdict: judge(evidence), ..self })
    }

    /// The errors of the mean log likelihood of rows.
    pub(crate) fn errors(&self, fit: &RowsFit) -> Errors {
        self.log_z.as_ref().map_or(Errors::default(), |z| fit.errors(z))
    }

    /// The numbers of the run for JSON.
    pub fn fields(&self) -> Map<String, Value> {
        let number = |x: Option<f64>| x.map_or(Value::Null, Value::from);
        let (fit, valid, log_z) = (self.fit.as_ref(), self.valid.as_ref(), self.log_z.as_ref());
        let text = |t: &str| Value::from(t.to_string());
        let errors = fit.filter(|f| f.log_likelihood.is_some()).map(|f| self.errors(f));
        let valid_errors = valid.filter(|v| v.log_likelihood.is_some()).map(|v| self.errors(v));
        let all = [
            ("outcome", text(self.verdict.outcome.name())),
            ("cause", serde_json::to_value(self.verdict.cause).unwrap_or(Value::Null)),
            ("pending", self.is_pending().into()),
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
            ("log_likelihood_std_err", number(errors.map(|e| e.total()))),
            ("valid_log_likelihood_std_err", number(valid_errors.map(|e| e.total()))),
            ("log_z_std_err", number(errors.map(|e| e.log_z))),
            ("row_std_err", number(errors.map(|e| e.rows))),
            ("valid_row_std_err", number(valid_errors.map(|e| e.rows))),
            ("verdict", log_z.map_or(Value::Null, |z| text(z.verdict.name()))),
            ("likelihood_method", log_z.map_or(Value::Null, |z| text(&z.how))),
            ("log_z_reason", log_z.map_or(Value::Null, |z| text(&z.reason))),
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
        let weighted = matches!(self.facts.spec.data.weights(), Ok(super::row_weights::RowWeights::Similarity(_)));
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
    pub(crate) config: String,
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
        let config = open::text(&path, config_file::MOST_BYTES)?;
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
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.dir.seconds()
    }

    /// Judges the run once more, with the data if they can be read, and hands it to `f`; see [`Conclusion::complete`] for the
    /// time.
    pub fn conclude<R>(
        &self,
        tables: &dyn Tables,
        front: &dyn Front,
        time: Option<f64>,
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
        f(&facts.conclude(front)?.complete(time, front)?)
    }

    /// What is known of the columns without the data.
    fn notes(&self, file: &ModelFile) -> Result<ColumnNotes> {
        let notes = ColumnNotes::read(file);
        let image = input::image(&self.spec, file.rbm.visible().sites(), notes.image)?;
        let image = image.filter(|_| file.schema.is_none() || self.spec.data.image.is_some());
        Ok(ColumnNotes { image, alphabet: notes.alphabet.or(self.spec.data.alphabet.clone()), ..notes })
    }
}
