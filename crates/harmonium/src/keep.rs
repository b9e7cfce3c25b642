//! Which model of a run is its result.

use serde::{Deserialize, Serialize};

/// Which model of a run is its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The last one.
    #[default]
    Last,
    /// The one under which the held-out rows are most likely, if that is better than the last by more than the error of an estimate.
    Best,
}

impl Keep {
    /// Every choice with its description.
    pub const LIST: [(&'static str, &'static str); 2] = [
        ("best", "highest held-out likelihood; the last model if the difference is within the error"),
        ("last", "after the last update"),
    ];
}
