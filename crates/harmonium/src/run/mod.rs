//! A training run from what is asked for to a model on disk: settings, rows, updates, verdict. Front ends call this and
//! nothing else: the command and the Python package differ only in how they ask and in the words they print.
//!
//! | file | what it is |
//! |---|---|
//! | `spec` | what is asked for; the keys of config.toml |
//! | `prepare`, `columns`, `input` | the data read, the defaults that depend on it, the first model |
//! | `request`, `length` | what a front end asks for, and the run that it opens: new, resumed or extended |
//! | `training`, `drawn` | the run itself: trained, judged, written |
//! | `directory`, `config_file`, `log` | a run on disk |
//! | `fit`, `mixing`, `curves`, `judge`, `conclude` | what became of it, as data |
//! | `front` | what a front end provides |

mod columns;
mod conclude;
pub mod config_file;
mod curves;
mod defaults;
mod directory;
mod drawn;
#[cfg(test)]
mod faults;
mod fit;
mod front;
mod input;
mod judge;
mod length;
mod log;
mod mixing;
mod prepare;
mod request;
mod row_weights;
mod spec;
mod training;

pub use conclude::{Conclusion, Facts, Recorded};
pub use curves::{Collapse, Fall};
pub use directory::{CHECKPOINT, CONFIG, EVENTS, MODEL, REPORT, RunDir, SUMMARY};
pub use drawn::Drawn;
pub use fit::{Errors, RowsFit, Summed, possible};
pub use front::{Difference, Files, Front, MEMORY, Note, Stage, Tables};
pub use input::{Input, Reader};
pub use judge::{APART, Cause, Evidence, Fit, GAP, Means, Outcome, Remedy, SURE, Verdict, WORTH, is_doubtful, judge};
pub use length::Length;
pub use mixing::{Mixing, RECORDED, some_rows};
pub use prepare::{Prepared, complete_method, prepare};
pub use request::{Opened, Request};
pub use row_weights::RowWeights;
pub use spec::{DataSpec, Found, ModelSpec, Spec, lookup, put};
pub use training::Run;
