//! Where learning begins.

use serde::{Deserialize, Serialize};

/// The first model of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Units fitted to the columns, and small random weights.
    Independent,
    /// The factor analysis of continuous columns.
    Factors,
}

impl Start {
    /// Every start with its name and what it is.
    pub const LIST: [(Start, &'static str, &'static str); 2] = [
        (Start::Independent, "independent", "biases set to the column means, small random weights"),
        (Start::Factors, "factors", "factor analysis of continuous columns"),
    ];
}
