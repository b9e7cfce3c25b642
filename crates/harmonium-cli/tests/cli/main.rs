//! The command as its users meet it. One binary, so that it is compiled and linked once.
#![allow(clippy::unwrap_used)] // in helpers too: a failed helper is a failed test

mod bad_input;
mod commands;
mod common;
mod continuous;
mod couplings;
mod disasters;
mod help;
mod huge_counts;
mod judging;
mod kill;
mod readme;
mod reports;
mod run_directory;
mod run_model;
mod sample;
mod sequences;
mod shell;
mod tables;
mod train;
mod train_bad_input;
mod unknown_cells;
