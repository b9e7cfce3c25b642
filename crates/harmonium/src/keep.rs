//! Which model of a run is its result.

use serde::{Deserialize, Serialize};

/// Which model of a run is its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The last one.
    #[default]
    Last,
    /// The one under which the held-out rows are most likely; an estimated likelihood counts less by its error.
    Best,
}

impl Keep {
    /// Every choice with its description.
    pub const LIST: [(&'static str, &'static str); 2] = [
        ("best", "highest held-out likelihood; an estimate counts less by its error"),
        ("last", "after the last update"),
    ];
}
