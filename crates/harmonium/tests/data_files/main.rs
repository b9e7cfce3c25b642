//! Data files: what is written is read back to the bit, every format gives the same numbers, and a file that lies is
//! refused in a sentence.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;
mod damage;
mod formats;
mod hostile;
mod npy;
mod packed;
