//! The Python module `harmonium._harmonium`: every function is one call of the library, with the interpreter's lock released.
//!
//! What users see is in `python/harmonium`; here are no defaults and no mathematics.

#![forbid(unsafe_code)]

mod errors;
mod fit;
mod model;
mod pcd;
mod rows;
mod sampling;
mod table;
mod work;

use pyo3::prelude::*;

/// What `harmonium` is made of; see there.
#[pymodule]
mod _harmonium {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use super::fit::{BatchTrainer, FittedRun, fit, setting_table};
    #[pymodule_export]
    use super::model::{Model, log_z};
    #[pymodule_export]
    use super::pcd::Pcd;
    #[pymodule_export]
    use super::rows::{free_energies, gradient, means, pseudo_log_likelihoods, reconstructions};
    #[pymodule_export]
    use super::sampling::{impute, sample};
}
