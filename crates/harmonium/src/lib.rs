//! Restricted Boltzmann Machines: E(v,h) = U_v(v) + U_h(h) − φ_v(v)ᵀ W φ_h(h), with exact results where they are affordable.
//!
//! An [`Rbm`], which is trained and saved, is lowered to a [`LoweredModel`], which samplers and exact methods use. Estimators
//! return [`Stats`]; [`Rbm::gradient`] turns a difference of two `Stats` into a gradient of the parameters. `NOTATION.md` has the
//! symbols, `ARCHITECTURE.md` the modules.

pub mod advice;
pub mod atomic;
mod averages;
pub mod backend;
mod bits;
mod centering;
pub mod conditional;
pub mod couplings;
pub mod data;
mod dataset;
mod disk;
mod elementary;
pub mod error;
pub mod estimate;
pub mod events;
pub mod exact;
pub mod factor_analysis;
pub mod file;
mod keep;
mod lags;
mod layer;
pub mod layout;
pub mod logz;
mod lowered;
pub mod math;
pub mod measure;
mod memory;
mod model;
pub mod open;
pub mod optimize;
mod real;
pub mod rng;
pub mod run;
pub mod sample;
mod scaled_weights;
pub mod schema;
pub mod settings;
mod simd;
mod start;
mod states;
mod stats;
mod threads;
pub mod train;
pub mod units;

pub use advice::Advice;
pub use bits::Bits;
pub use dataset::{Dataset, Moments, split_rows};
pub use error::{Error, Result};
pub use exact::Exact;
pub use layer::Layer;
pub use layout::Layout;
pub use lowered::{LoweredLayer, LoweredModel, Pass};
pub use model::{Gradient, Rbm};
pub use real::Real;
pub use schema::Schema;
pub use states::States;
pub use stats::{LayerMeans, Stats};
pub use train::{TrainConfig, Trainer, initial_model};

pub use ndarray;

/// The README's code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
