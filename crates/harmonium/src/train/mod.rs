//! The run: θ ← θ + lr·(⟨G⟩_data − ⟨G⟩_model), again and again, watched, and never silently wrong.
//!
//! State is what the next update needs; it is a snapshot every [`SNAPSHOT_EVERY`] updates, which is what a checkpoint
//! holds, what a failed update goes back to, and what an interrupted run resumes from. All randomness is a function of
//! the seed and the update's number, so a resumed run ends with the same bits.

mod checkpoint;
mod config;
mod init;
mod monitor;

pub use config::TrainConfig;
pub use init::{initial_machine, log_variance_limits};

use crate::backend::{Backend, Cpu};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::estimate::{self, Context, Estimator};
use crate::events::{Event, Flow, Observer, Progress, Reason};
use crate::file::atomic;
use crate::model::{Gradient, Rbm};
use crate::optimize::{self, Optimizer};
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::stats::Stats;
use monitor::Monitor;
use ndarray::{Array1, Array2};
use std::path::PathBuf;

/// Updates between snapshots of the state.
pub const SNAPSHOT_EVERY: u64 = 50;
/// Failed updates that are mended before a run gives up.
pub const MOST_FAILURES: u32 = 8;
/// Mean energy per unit beyond which a machine has exploded; energies of sensible machines are of order 1 per unit.
const LARGEST_ENERGY: f64 = 1e3;

/// What the next update needs.
#[derive(Clone)]
struct State<T> {
    rbm: Rbm<T>,
    optimizer: Vec<Gradient<T>>,
    chains: Option<States<T>>,
    update: u64,
    rate_factor: f64,
    failures: u32,
    best: Option<Best<T>>,
    waited: u64,
}

/// The best machine so far by the held-out rows.
#[derive(Clone)]
struct Best<T> {
    score: f64,
    update: u64,
    rbm: Rbm<T>,
}

/// A run of training.
pub struct Trainer<T: Real> {
    config: TrainConfig,
    data: Dataset<T>,
    limits: Option<(Array1<T>, Array1<T>)>,
    rbm: Rbm<T>,
    backend: Box<dyn Backend<T>>,
    estimator: Box<dyn Estimator<T>>,
    optimizer: Box<dyn Optimizer<T>>,
    monitor: Monitor<T>,
    key: Key,
    update: u64,
    rate_factor: f64,
    failures: u32,
    best: Option<Best<T>>,
    waited: u64,
    permutation: (u64, Vec<usize>),
    gradient_norm: f64,
    checkpoint: Option<(PathBuf, u64)>,
}

impl<T: Real> Trainer<T> {
    /// A run that trains `rbm` (see [`initial_machine`]) on `data`, judged by `valid`.
    pub fn new(config: TrainConfig, rbm: Rbm<T>, data: Dataset<T>, valid: Option<Dataset<T>>) -> Result<Trainer<T>> {
        config.check(data.len(), valid.is_some())?;
        let key = Key::root(config.seed);
        let machine = rbm.lower();
        let limits = log_variance_limits(&rbm, &data);
        let monitor = Monitor::new(&config, &machine, &data, valid, key);
        let settings = estimate::Settings { gibbs_steps: config.gibbs_steps };
        let estimator = estimate::new(&config.method, settings)?;
        let optimizer = optimize::new(&config.optimizer, Gradient::zeros(&rbm))?;
        let mut backend: Box<dyn Backend<T>> = Box::new(Cpu::new(machine));
        if let Some(slot) = estimator.chains() {
            backend.put(slot, first_chains(&data, config.chains, key));
        }
        Ok(Trainer {
            config,
            data,
            limits,
            rbm,
            backend,
            estimator,
            optimizer,
            monitor,
            key,
            update: 0,
            rate_factor: 1.0,
            failures: 0,
            best: None,
            waited: 0,
            permutation: (u64::MAX, Vec::new()),
            gradient_norm: 0.0,
            checkpoint: None,
        })
    }

    /// Writes a checkpoint to `path` about every `every` updates, and when the run is interrupted.
    pub fn checkpoint_to(&mut self, path: PathBuf, every: u64) {
        self.checkpoint = Some((path, every.max(1)));
    }

    /// The machine as it is now: the best one once a run with early stopping has ended.
    pub fn rbm(&self) -> &Rbm<T> {
        &self.rbm
    }

    /// Updates done.
    pub fn update(&self) -> u64 {
        self.update
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The name of the backend, which a configuration records.
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }

    /// The visible states of the persistent chains, if there are any.
    pub fn chains(&self) -> Option<&States<T>> {
        self.estimator.chains().map(|slot| self.backend.get(slot))
    }

    /// Runs to the end, or until an observer says stop.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Reason> {
        let mut snapshot = self.state();
        let mut flow = observer.on(&self.started());
        let reason = loop {
            if self.update.is_multiple_of(SNAPSHOT_EVERY) {
                snapshot = self.state();
                let due = self.checkpoint.as_ref().is_some_and(|c| self.update % c.1 < SNAPSHOT_EVERY);
                if due && self.update > 0 {
                    self.save(&snapshot, observer)?;
                }
            }
            if flow == Flow::Stop || observer.poll() == Flow::Stop {
                self.save(&snapshot, observer)?;
                break Reason::Interrupted;
            }
            if self.update >= self.config.updates {
                break Reason::Done;
            }
            if self.patience_is_over() {
                break Reason::EarlyStop;
            }
            match self.step() {
                Ok(()) => self.update += 1,
                Err(trouble) => flow = self.recover(&snapshot, trouble, observer)?,
            }
            if self.update.is_multiple_of(self.config.report_every) || self.update == self.config.updates {
                let progress = self.measure()?;
                self.judge(&progress);
                flow = observer.on(&Event::Progress(progress));
            }
        };
        let kept = self.keep_best(reason);
        observer.on(&Event::Finished { update: self.update, reason, kept });
        Ok(reason)
    }

    fn started(&self) -> Event {
        let (visible, hidden) = (self.rbm.visible(), self.rbm.hidden());
        Event::Started {
            version: env!("CARGO_PKG_VERSION").into(),
            update: self.update,
            updates: self.config.updates,
            rows: self.data.len(),
            valid_rows: self.monitor.valid_rows(),
            visible: visible.kind().to_string(),
            hidden: hidden.kind().to_string(),
            n_visible: visible.sites(),
            n_hidden: hidden.sites(),
            baseline: self.monitor.baseline(),
        }
    }

    /// One update; on trouble the machine may be half changed and must be restored.
    fn step(&mut self) -> std::result::Result<(), Trouble> {
        let batch = self.batch();
        let data = self.backend.stats(batch.states(), batch.weights());
        if data.weight == 0.0 {
            return Ok(());
        }
        let cx = Context {
            rbm: &self.rbm,
            backend: self.backend.as_mut(),
            batch: &batch,
            key: self.key,
            update: self.update,
        };
        let model = self.estimator.model_stats(cx).map_err(Trouble::Error)?;
        let energy = mean_energy(self.backend.machine(), &model);
        if energy.is_nan() || energy.abs() > LARGEST_ENERGY {
            return Err(Trouble::Seen(format!("the mean energy of the chains was {energy:.3e} per unit")));
        }
        let mut gradient = self.rbm.gradient(self.backend.machine(), &data.minus(&model));
        self.config.penalty.apply(&self.rbm, &data, &mut gradient);
        self.gradient_norm = gradient.norm();
        if !self.gradient_norm.is_finite() {
            return Err(Trouble::Seen("the gradient was not finite".into()));
        }
        let mut step = self.optimizer.direction(gradient);
        self.slow_variances(&mut step);
        self.rbm.step(T::of(self.learning_rate()), &step);
        self.config.penalty.project(&mut self.rbm);
        self.limit_variances();
        if self.config.centering {
            self.recenter(&data).map_err(Trouble::Error)?;
        }
        let all = [self.rbm.weights(), self.rbm.visible().par(), self.rbm.hidden().par()];
        if !all.iter().flatten().all(|x| x.is_finite()) {
            return Err(Trouble::Seen("a parameter was not finite".into()));
        }
        self.backend.update(self.rbm.lower());
        Ok(())
    }

    /// The learning rate of this update.
    fn learning_rate(&self) -> f64 {
        let t = self.update as f64 / self.config.updates.max(1) as f64;
        self.config.lr * self.config.schedule.factor(t) * self.rate_factor
    }

    /// The rows of this update: epochs are permutations of all rows, the last batch of an epoch may be smaller.
    fn batch(&mut self) -> Dataset<T> {
        let per_epoch = self.config.updates_per_epoch(self.data.len());
        let (epoch, within) = (self.update / per_epoch, (self.update % per_epoch) as usize);
        if self.permutation.0 != epoch {
            self.permutation = (epoch, shuffled(self.data.len(), self.key.of(Purpose::Shuffle).step(epoch)));
        }
        let first = within * self.config.batch_size;
        let last = (first + self.config.batch_size).min(self.data.len());
        self.data.select(&self.permutation.1[first..last])
    }

    /// Log-variances learn more slowly: their gradient is a difference of squares and the noisiest of all.
    fn slow_variances(&self, step: &mut Gradient<T>) {
        let factor = T::of(self.config.variance_rate);
        for (layer, rows) in [(self.rbm.visible(), &mut step.visible), (self.rbm.hidden(), &mut step.hidden)] {
            let fields = layer.kind().unit::<T>().fields();
            for (_, mut row) in fields.iter().zip(rows.rows_mut()).filter(|(f, _)| f.name == "log_variance") {
                row.mapv_inplace(|x| x * factor);
            }
        }
    }

    /// Visible log-variances stay in a range around those of the data.
    fn limit_variances(&mut self) {
        let Some((low, high)) = &self.limits else { return };
        let (visible, _, _) = self.rbm.parts_mut();
        let (_, par, _) = visible.parts_mut();
        for (i, z) in par.row_mut(1).iter_mut().enumerate() {
            *z = z.max(low[i]).min(high[i]);
        }
    }

    /// Offsets follow the means of the batch.
    fn recenter(&mut self, data: &Stats<T>) -> Result<()> {
        let (rate, n) = (self.config.offset_rate, data.weight);
        let follow = |offset: ndarray::ArrayView1<T>, sums: &Array2<T>| -> Array1<T> {
            let moved = offset.iter().zip(sums.row(0)).map(|(o, s)| o.f64() + rate * (s.f64() / n - o.f64()));
            moved.map(T::of).collect()
        };
        let alpha = follow(self.rbm.visible().offset(), &data.visible);
        let beta = follow(self.rbm.hidden().offset(), &data.hidden);
        self.rbm.recenter(alpha.view(), beta.view())
    }

    fn measure(&self) -> Result<Progress> {
        let per_epoch = self.config.updates_per_epoch(self.data.len());
        let mut progress = self.monitor.measure(&self.rbm, self.backend.as_ref())?;
        progress.update = self.update;
        progress.epoch = self.update as f64 / per_epoch as f64;
        progress.learning_rate = self.learning_rate();
        progress.gradient_norm = self.gradient_norm;
        Ok(progress)
    }

    /// Remembers the machine if the held-out rows have never been better.
    fn judge(&mut self, progress: &Progress) {
        let Some(valid) = &progress.valid else { return };
        let score = monitor::score(valid);
        if self.best.as_ref().is_none_or(|b| score > b.score) {
            self.best = Some(Best { score, update: self.update, rbm: self.rbm.clone() });
            self.waited = 0;
        } else {
            self.waited += 1;
        }
    }

    fn patience_is_over(&self) -> bool {
        self.config.early_stop.is_some_and(|patience| self.waited >= patience)
    }

    /// With early stopping the best machine is the result; returns the update it is from.
    fn keep_best(&mut self, reason: Reason) -> u64 {
        match &self.best {
            Some(best) if self.config.early_stop.is_some() && reason != Reason::Interrupted => {
                self.rbm = best.rbm.clone();
                self.backend.update(self.rbm.lower());
                best.update
            }
            _ => self.update,
        }
    }

    /// Goes back to the last snapshot with half the learning rate.
    fn recover(&mut self, snapshot: &State<T>, trouble: Trouble, observer: &mut dyn Observer) -> Result<Flow> {
        let reason = match trouble {
            Trouble::Error(Error::NotNormalisable(why)) => format!("the machine could not be normalised: {why}"),
            Trouble::Error(error) => return Err(error),
            Trouble::Seen(what) => what,
        };
        let (update, failures, rate_factor) = (self.update, self.failures + 1, 0.5 * self.rate_factor);
        if failures > MOST_FAILURES {
            let problem = format!("{reason}, for the {failures}th time; use a smaller --lr, or look at the data");
            return Err(Error::Diverged { update, problem });
        }
        self.set_state(snapshot.clone());
        (self.failures, self.rate_factor) = (failures, rate_factor);
        Ok(observer.on(&Event::Recovered { update, back_to: self.update, reason, rate_factor }))
    }

    fn state(&self) -> State<T> {
        State {
            rbm: self.rbm.clone(),
            optimizer: self.optimizer.state().into_iter().map(|s| s.1).collect(),
            chains: self.chains().cloned(),
            update: self.update,
            rate_factor: self.rate_factor,
            failures: self.failures,
            best: self.best.clone(),
            waited: self.waited,
        }
    }

    fn set_state(&mut self, state: State<T>) {
        self.optimizer.restore(state.update, state.optimizer);
        self.backend.update(state.rbm.lower());
        if let (Some(slot), Some(chains)) = (self.estimator.chains(), state.chains) {
            self.backend.put(slot, chains);
        }
        self.rbm = state.rbm;
        self.update = state.update;
        self.rate_factor = state.rate_factor;
        self.failures = state.failures;
        self.best = state.best;
        self.waited = state.waited;
    }

    /// Puts a snapshot on disk and says so once it is there.
    fn save(&mut self, snapshot: &State<T>, observer: &mut dyn Observer) -> Result<()> {
        let Some((path, _)) = &self.checkpoint else { return Ok(()) };
        let names: Vec<&str> = self.optimizer.state().iter().map(|s| s.0).collect();
        let bytes = checkpoint::to_bytes(snapshot, &names, self.config.seed);
        atomic::write(path, |w| w.write_all(&bytes))?;
        observer.on(&Event::Checkpoint { update: snapshot.update });
        Ok(())
    }

    /// Goes on from the bytes of a checkpoint of the same configuration.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<()> {
        let names: Vec<&str> = self.optimizer.state().iter().map(|s| s.0).collect();
        let state = checkpoint::from_bytes(bytes, &self.rbm, &names, self.config.seed)?;
        if let Some(chains) = &state.chains {
            chains.check(self.backend.machine().visible())?;
        }
        self.set_state(state);
        Ok(())
    }
}

/// Why an update failed: an error, or something seen that a smaller learning rate may mend.
enum Trouble {
    Error(Error),
    Seen(String),
}

/// ⟨E⟩ per unit, from the statistics: constant − ⟨η,T⟩ − W̃·⟨vhᵀ⟩.
fn mean_energy<T: Real>(machine: &crate::Natural<T>, stats: &Stats<T>) -> f64 {
    let dot = |a: ndarray::ArrayView2<T>, b: &Array2<T>| a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum::<f64>();
    let sum = dot(machine.visible().eta(), &stats.visible)
        + dot(machine.hidden().eta(), &stats.hidden)
        + dot(machine.weights(), &stats.cross);
    (machine.constant() - sum / stats.weight) / (machine.visible().columns() + machine.hidden().columns()) as f64
}

/// Chains begin at rows drawn from the data: after one sweep of a machine that knows nothing they are its samples.
fn first_chains<T: Real>(data: &Dataset<T>, n: usize, key: Key) -> States<T> {
    let key = key.of(Purpose::Chains);
    let row = |i: usize| (key.uniforms::<f64>(i as u64, 0)[0] * data.len() as f64) as usize;
    data.states().select(&(0..n).map(|i| row(i).min(data.len() - 1)).collect::<Vec<_>>())
}

/// 0 … n−1 in random order (Fisher and Yates).
pub fn shuffled(n: usize, key: Key) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        let u = key.uniforms::<f64>(i as u64, 0)[0];
        order.swap(i, ((u * (i + 1) as f64) as usize).min(i));
    }
    order
}
