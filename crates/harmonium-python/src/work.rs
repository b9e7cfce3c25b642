//! A thread pool for the library's work. Meanwhile the calling Python thread releases the GIL and handles Ctrl-C.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long Ctrl-C may wait.
const LISTEN: Duration = Duration::from_millis(50);

/// Whether someone wants the work to stop.
#[derive(Default)]
pub struct Stop(AtomicBool);

/// What unwinds out of work that has no other way to end.
struct Stopped;

impl Stop {
    /// Whether to stop.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Leaves the work if it is to stop; for callbacks of work that takes no answer.
    pub fn leave(&self) {
        if self.asked() {
            // Without the hook that prints: nothing has gone wrong.
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// Pools by process and size: a forked process has none of its parent's threads.
type Pools = BTreeMap<(u32, usize), Arc<ThreadPool>>;
static POOLS: Mutex<Pools> = Mutex::new(Pools::new());

fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), threads.unwrap_or(0));
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new().num_threads(key.1).build();
    let pool = Arc::new(made.map_err(|e| PyRuntimeError::new_err(format!("n_threads: {e}")))?);
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// Products up to which work is done at once by the thread that asks: some milliseconds, less than waking others may take.
const SMALL: f64 = 1e7;

/// Products up to which nothing listens for Ctrl-C: some tens of milliseconds, which it may wait anyway.
const SHORT: f64 = 1e9;

/// The process that has worked first.
static FIRST: OnceLock<u32> = OnceLock::new();

/// More threads than this are a mistake.
const MOST_THREADS: usize = 1024;

/// Does `job` on so many threads, or on all; raises what a signal raises. `products` is about how much it is.
pub fn run<R: Send>(
    py: Python,
    threads: Option<usize>,
    products: f64,
    job: impl FnOnce(&Stop) -> PyResult<R> + Send,
) -> PyResult<R> {
    match run_to_stop(py, threads, products, job)? {
        (_, Some(signal)) => Err(signal),
        (result, None) => Ok(result),
    }
}

/// The same for a job that has a result when it is stopped: also returns what a signal raised.
pub fn run_to_stop<R: Send>(
    py: Python,
    threads: Option<usize>,
    products: f64,
    job: impl FnOnce(&Stop) -> PyResult<R> + Send,
) -> PyResult<(R, Option<PyErr>)> {
    let whole = |result: PyResult<R>| result.map(|r| (r, None));
    if let Some(n) = threads.filter(|n| !(1..=MOST_THREADS).contains(n)) {
        return Err(PyValueError::new_err(format!("n_threads is {n}, but must be 1 to {MOST_THREADS}")));
    }
    let stop = Stop::default();
    // Small work may still use the threads that all share, which a forked process does not have.
    if products <= SMALL && *FIRST.get_or_init(std::process::id) == std::process::id() {
        return whole(py.detach(|| job(&stop)));
    }
    let _ = FIRST.get_or_init(std::process::id);
    let pool = pool(threads)?;
    if products <= SHORT {
        return whole(py.detach(|| pool.install(|| job(&stop))));
    }
    let (ended, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel::<()>();
            let worker = scope.spawn(|| {
                // Dropped at the end, which ends the waiting.
                let _sender = sender;
                catch_unwind(AssertUnwindSafe(|| pool.install(|| job(&stop))))
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(LISTEN) {
                if signal.is_none() {
                    signal = Python::attach(|py| py.check_signals()).err();
                    stop.0.store(signal.is_some(), Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(Err), signal)
        })
    });
    match (ended, signal) {
        (Ok(Ok(result)), signal) => Ok((result, signal)),
        (_, Some(signal)) => Err(signal),
        (Ok(Err(error)), None) => Err(error),
        (Err(panic), None) => resume_unwind(panic),
    }
}

/// Waits for a lock without the interpreter's lock, which its holder may need. It is taken by the thread that asks, never inside the
/// pool: a thread of the pool that waits for others may take up a second job, and would wait for itself.
pub fn locked<'a, T>(py: Python, lock: &'a Mutex<T>) -> MutexGuard<'a, T> {
    lock.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}
