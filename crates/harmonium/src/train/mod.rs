//! The run: θ ← θ + lr·(⟨G⟩_data − ⟨G⟩_model), again and again, watched, and never silently wrong.
//!
//! State is what the next update needs; it is a snapshot every [`SNAPSHOT_EVERY`] updates, which is what a checkpoint
//! holds, what a failed update goes back to, and what an interrupted run resumes from. All randomness is a function of
//! the seed and the update's number, so a resumed run ends with the same bits.

mod average;
mod best;
mod checkpoint;
mod config;
mod factor_start;
mod init;
mod ladder_start;
mod measurement;
mod monitor;
mod needs;
mod never_below;
mod pace;
mod penalty;
mod state;
mod update;

pub use checkpoint::MOST_CHECKPOINT;
pub(crate) use checkpoint::model_of_checkpoint;
pub use config::TrainConfig;
pub(crate) use config::{DEFAULT_HIDDEN, default_hidden};
pub(crate) use factor_start::no_factors;
pub use factor_start::{factor_model, gaussian_model};
pub(crate) use init::log_variance_limits;
pub use init::{adopted_model, independent_log_likelihood, initial_model};
pub(crate) use ladder_start::ladder_model;
pub use penalty::Penalty;
pub use update::SHARD;

use crate::advice::Advice;
use crate::backend::{DeviceRef, Learner, Start, cpu};
use crate::data::Preprocess;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::estimate::{self, Estimator};
use crate::events::{Event, Flow, Observer, Reason};
use crate::layer::Layers;
use crate::logz::online::LogZTracker;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose, shuffled};
use crate::states::States;
use average::{AVERAGE_EVERY, Average};
use best::Best;
use monitor::Monitor;
use ndarray::Array1;
use state::State;
use std::path::PathBuf;
use std::time::Instant;
use update::{Trouble, Work};

/// Updates between snapshots of the state.
pub const SNAPSHOT_EVERY: u64 = 50;
/// Failed updates that are mended before a run gives up.
pub const MOST_FAILURES: u32 = 8;

/// A run of training.
pub struct Trainer<T: Real> {
    config: TrainConfig,
    data: Dataset<T>,
    limits: Option<(Array1<T>, Array1<T>)>,
    device: DeviceRef,
    /// The layers as they learn; the learner has the weights.
    layers: Layers<T>,
    learner: Box<dyn Learner<T>>,
    /// The average of the parameters, if it is the result.
    average: Option<Average<T>>,
    /// The first model, where the run must not end below it.
    first: Option<Rbm<T>>,
    estimator: Box<dyn Estimator<T>>,
    monitor: Monitor<T>,
    tracker: Option<LogZTracker<T>>,
    key: Key,
    update: u64,
    rate_factor: f64,
    failures: u32,
    best: Option<Best<T>>,
    waited: u64,
    /// The last measured likelihood of the held-out rows, and its standard error if it is an estimate.
    last: Option<(f64, Option<f64>)>,
    permutation: (u64, Vec<usize>),
    work: Work<T>,
    gradient_norm: f64,
    checkpoint: Option<(PathBuf, u64)>,
    /// The state that a failed update goes back to.
    snapshot: Option<Box<State<T>>>,
    /// Seconds of the whole run after which it ends.
    time_limit: Option<f64>,
    /// When this process took up the run, and the seconds spent on it before.
    clock: (Instant, f64),
}

impl<T: Real> Trainer<T> {
    /// A run that trains `rbm` (see [`initial_model`]) on `data`, judged by `valid`.
    pub fn new(config: TrainConfig, rbm: Rbm<T>, data: Dataset<T>, valid: Option<Dataset<T>>) -> Result<Trainer<T>> {
        Trainer::on(cpu(), config, rbm, data, valid)
    }

    /// The same on a device.
    pub fn on(
        device: DeviceRef,
        config: TrainConfig,
        rbm: Rbm<T>,
        data: Dataset<T>,
        valid: Option<Dataset<T>>,
    ) -> Result<Trainer<T>> {
        config.check(data.len(), valid.is_some())?;
        config.penalty.check(rbm.hidden())?;
        let key = Key::root(config.seed);
        let lowered = rbm.lower();
        let limits = log_variance_limits(rbm.visible(), &data);
        let monitor = Monitor::new(&config, &lowered, &data, valid, key);
        let settings = estimate::EstimatorOptions {
            gibbs_steps: config.gibbs_steps,
            temperatures: config.temperatures,
            max_drift: config.max_drift,
            quick_start: config.quick_start,
        };
        let mut estimator = estimate::new(&config.method, settings)?;
        let layers = rbm.layers().clone();
        let work = Work::new(&layers, lowered.layers(), &config.optimizer)?;
        let average = config.average.filter(|part| *part > 0.0);
        let start = Start { average: average.is_some(), ..Start::new(&rbm, config.optimizer.clone()) };
        let mut learner = device.learner(start)?;
        let average = average.map(|part| Average::new(device, &layers, lowered, part)).transpose()?;
        let tracker = match config.measures_likelihood() && !monitor.is_exact() && monitor.reports_likelihood() {
            true => Some(LogZTracker::new(device, &rbm, config.rows_between_likelihoods(), key)?),
            false => None,
        };
        if let Some(slot) = estimator.persistent() {
            let first = first_chains(data.len(), estimator.rows(config.chains), key);
            learner.backend_mut().put(slot, data.states(), Some(&first));
            estimator.start(learner.backend_mut(), None)?;
        }
        let mut trainer = Trainer {
            config,
            data,
            limits,
            device,
            layers,
            learner,
            average,
            first: None,
            estimator,
            monitor,
            tracker,
            key,
            update: 0,
            rate_factor: 1.0,
            failures: 0,
            best: None,
            waited: 0,
            last: None,
            permutation: (u64::MAX, Vec::new()),
            work,
            gradient_norm: 0.0,
            checkpoint: None,
            snapshot: None,
            time_limit: None,
            clock: (Instant::now(), 0.0),
        };
        trainer.first = trainer.model_to_stay_above();
        Ok(trainer)
    }

    /// Reports log likelihoods in the units that the rows had before `preprocess`.
    pub(crate) fn report_in_units_of(&mut self, preprocess: &Preprocess) {
        self.monitor.report_in_units_of(preprocess, self.learner.backend().layers()[0]);
    }

    /// Writes a checkpoint to `path` about every `every` updates, and when the run is interrupted.
    pub fn checkpoint_to(&mut self, path: PathBuf, every: u64) {
        self.checkpoint = Some((path, every.max(1)));
    }

    /// The model as it is now, averaged if the run averages: the best one once a run that keeps it has ended.
    pub fn rbm(&self) -> Rbm<T> {
        self.average.as_ref().map_or_else(|| self.last_model(), |average| average.rbm(self.learner.as_ref()))
    }

    /// Updates done.
    pub fn update(&self) -> u64 {
        self.update
    }

    /// Seconds spent on the run up to now, those before its last checkpoint included.
    pub(crate) fn seconds(&self) -> f64 {
        self.clock.1 + self.clock.0.elapsed().as_secs_f64()
    }

    /// The settings.
    pub(crate) fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The rows it learns from.
    pub fn data(&self) -> &Dataset<T> {
        &self.data
    }

    /// The name of the backend, which a configuration records.
    pub(crate) fn backend_name(&self) -> &'static str {
        self.device.name()
    }

    /// The visible states of the persistent chains, if there are any.
    pub fn chains(&self) -> Option<States<T>> {
        self.estimator.chains().map(|slot| self.learner.backend().get(slot))
    }

    /// Runs to the end, or until an observer stops it.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Reason> {
        self.snapshot = Some(Box::new(self.state()));
        let mut saved = None;
        let mut flow = observer.on(&self.started());
        let reason = loop {
            let is_new = self.take_snapshot();
            let due = is_new && self.checkpoint.as_ref().is_some_and(|c| self.update % c.1 < SNAPSHOT_EVERY);
            if due && self.update > 0 {
                saved = self.save(observer)?;
            }
            if flow == Flow::Stop || observer.poll() == Flow::Stop {
                self.save(observer)?;
                break Reason::Interrupted;
            }
            if let Some(reason) = self.reason_to_end() {
                // So that the run can be extended from here.
                if saved != self.snapshot.as_ref().map(|s| s.update) {
                    self.save(observer)?;
                }
                break reason;
            }
            if let Some(recovered) = self.step()? {
                flow = observer.on(&recovered);
            }
            if self.update.is_multiple_of(self.config.report_every) || self.update == self.config.updates {
                let progress = self.measure()?;
                self.judge(&progress);
                flow = observer.on(&Event::Progress(progress));
            }
        };
        if let Some(average) = self.average.take_if(|_| reason != Reason::Interrupted) {
            self.set_model(&average.rbm(self.learner.as_ref()));
        }
        let (mut kept, kept_by) = self.keep_best(reason);
        if reason != Reason::Interrupted && kept_by.is_none() && self.stay_above_start()? {
            kept = 0;
        }
        observer.on(&Event::Finished { update: self.update, reason, kept, kept_by });
        Ok(reason)
    }

    /// Makes one update with the next batch of the data. An update that diverges goes back to the last snapshot, halves the
    /// learning rate and returns the event; after [`MOST_FAILURES`] of them it is an error.
    pub fn step(&mut self) -> Result<Option<Event>> {
        self.take_snapshot();
        match self.try_update() {
            Ok(()) => {
                self.update += 1;
                if let Some(average) = self.average.as_mut().filter(|_| self.update.is_multiple_of(AVERAGE_EVERY)) {
                    average.add(&self.layers, self.learner.as_mut(), self.update);
                }
                Ok(None)
            }
            Err(trouble) => self.recover(trouble).map(Some),
        }
    }

    /// Makes one update with all of `batch`, in place of the data of the run: for callers who bring the rows piece by piece.
    /// Chains, momentum and offsets go on; see [`step`](Trainer::step).
    pub fn step_on(&mut self, batch: Dataset<T>) -> Result<Option<Event>> {
        let config = TrainConfig { batch_size: batch.len(), ..self.config.clone() };
        config.check(batch.len(), true)?;
        self.config = config;
        self.data = batch;
        self.permutation = (u64::MAX, Vec::new());
        self.limits = log_variance_limits(&self.layers.visible, &self.data);
        self.step()
    }

    fn started(&self) -> Event {
        let Layers { visible, hidden } = &self.layers;
        Event::Started {
            version: env!("CARGO_PKG_VERSION").into(),
            update: self.update,
            updates: self.config.updates,
            rows: self.data.len(),
            valid_rows: self.monitor.valid_rows(),
            visible: visible.layout().to_string(),
            hidden: hidden.layout().to_string(),
            n_visible: visible.sites(),
            n_hidden: hidden.sites(),
            baseline: self.monitor.baseline(),
        }
    }

    fn reason_to_end(&self) -> Option<Reason> {
        if self.update >= self.config.updates {
            Some(Reason::Done)
        } else if self.patience_is_over() {
            Some(Reason::EarlyStop)
        } else {
            self.time_is_over().then_some(Reason::Time)
        }
    }

    /// Whether a time limit ends the run here: only after a measurement, so that the last one is of the model that is kept.
    fn time_is_over(&self) -> bool {
        let is_late = || self.time_limit.is_some_and(|limit| self.seconds() >= limit);
        match self.config.stop_at {
            Some(update) => self.update >= update,
            None => self.update > 0 && self.update.is_multiple_of(self.config.report_every) && is_late(),
        }
    }

    fn patience_is_over(&self) -> bool {
        self.config.early_stop.is_some_and(|patience| self.waited >= patience)
    }

    /// Goes back to the last snapshot with half the learning rate.
    fn recover(&mut self, trouble: Trouble) -> Result<Event> {
        let reason = match trouble {
            Trouble::Error(Error::NotNormalisable(why)) => why,
            Trouble::Error(error) => return Err(error),
            Trouble::Seen(what) => what,
        };
        let (update, failures, rate_factor) = (self.update, self.failures + 1, 0.5 * self.rate_factor);
        if failures > MOST_FAILURES {
            let problem =
                format!("{reason}; it was restarted {MOST_FAILURES} times, each time with half the learning rate");
            return Err(Error::Diverged { update, problem }.advise(&[Advice::SmallerRate, Advice::CheckData]));
        }
        if let Some(snapshot) = self.snapshot.clone() {
            self.set_state(*snapshot)?;
        }
        (self.failures, self.rate_factor) = (failures, rate_factor);
        if let Some(snapshot) = &mut self.snapshot {
            (snapshot.failures, snapshot.rate_factor) = (failures, rate_factor);
        }
        Ok(Event::Recovered { update, back_to: self.update, reason, rate_factor })
    }
}

/// Chains begin at rows drawn from the data: after one sweep of a model that knows nothing they are its samples.
fn first_chains(rows: usize, n: usize, key: Key) -> Vec<usize> {
    let key = key.of(Purpose::Chains);
    let row = |i: usize| (key.uniforms::<f64>(i as u64, 0)[0] * rows as f64) as usize;
    (0..n).map(|i| row(i).min(rows - 1)).collect()
}
