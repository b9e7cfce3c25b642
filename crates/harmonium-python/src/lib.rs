//! The Python module `harmonium._harmonium`: each function calls the library once, with the GIL released.
//!
//! The interface for users is in `python/harmonium`. This crate has no defaults and no mathematics.

#![forbid(unsafe_code)]

mod batches;
mod errors;
mod fit;
mod frame;
mod front;
mod model;
mod pcd;
mod rows;
mod sampling;
mod table;
mod work;

use pyo3::prelude::*;

/// Functions and classes behind the package `harmonium`.
#[pymodule]
mod _harmonium {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use super::batches::BatchTrainer;
    #[pymodule_export]
    use super::fit::{FittedRun, fit, setting_table};
    #[pymodule_export]
    use super::model::{Model, blocks, log_z};
    #[pymodule_export]
    use super::pcd::Pcd;
    #[pymodule_export]
    use super::rows::{free_energies, gradient, means, pseudo_log_likelihoods, reconstructions, visible_means};
    #[pymodule_export]
    use super::sampling::{complete, impute, sample};
}
