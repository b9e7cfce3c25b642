//! Cheap measures of a machine on data.

mod pseudo_likelihood;

pub use pseudo_likelihood::pseudo_log_likelihood;
