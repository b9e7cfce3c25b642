//! log Z, with an error bar unless it is exact. **To add a method: write its file, add its line to [`METHODS`].**

mod exact;

use crate::error::{Error, Result};
use crate::exact::Progress;
use crate::model::Rbm;

/// An estimate of log Z in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogZ {
    /// log Z.
    pub value: f64,
    /// Its standard error; 0 if exact.
    pub std_err: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Effective sample size; none if nothing was sampled.
    pub ess: Option<f64>,
    /// The method's name.
    pub method: &'static str,
    /// How it was done, in words.
    pub how: String,
    /// What to make of it, in words.
    pub verdict: &'static str,
}

/// A way to get log Z.
pub struct Method {
    /// Name on the command line, in files and in Python.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    run: fn(&Rbm<f64>, Progress) -> Result<LogZ>,
}

/// The list.
pub const METHODS: &[Method] = &[Method {
    name: "exact",
    about: "sum over all states of the smaller finite layer, or a Gaussian integral",
    run: exact::run,
}];

/// log Z by the method called `name`; `auto` takes the first that can.
pub fn log_z(rbm: &Rbm<f64>, name: &str, progress: Progress) -> Result<LogZ> {
    let chosen = if name == "auto" { "exact" } else { name };
    match METHODS.iter().find(|m| m.name == chosen) {
        Some(method) => (method.run)(rbm, progress),
        None => {
            let known = METHODS.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
            Err(Error::UnknownMethod { name: name.into(), known: format!("auto, {known}") })
        }
    }
}
