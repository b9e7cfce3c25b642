//! Data files: what is written is read back to the bit, every format gives the same numbers, and a file that lies is
//! refused in a sentence.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod broken_tables;
mod common;
mod damage;
mod fasta;
mod formats;
#[cfg(feature = "hdf5")]
mod hdf5;
mod hostile;
mod mat_writer;
mod matlab;
mod npy;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
mod schemas;
mod writers;
