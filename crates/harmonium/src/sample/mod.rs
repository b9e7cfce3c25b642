//! Samples of a machine.

pub mod diagnose;
pub(crate) mod ladder;
pub(crate) mod path;
