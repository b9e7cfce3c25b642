//! How to read a table: lines to skip, columns to take, the column that is no data, the letters of its codes.

use crate::error::{Error, Result};
use std::path::Path;

/// How to read a table.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// Lines skipped at the top.
    pub skip_rows: u64,
    /// Columns to take, in this order: numbers and ranges counted from 1 such as `1-4,7`, or names of the header.
    pub columns: Option<String>,
    /// The column left out of the data: `first`, `last`, a number counted from 1, or a name of the header.
    pub label_column: Option<String>,
    /// The alphabet of sequences: a name or its letters, see [`Alphabet`](super::Alphabet); none if their letters tell it.
    pub alphabet: Option<String>,
}

impl ReadOptions {
    /// Refuses options on data that is no text, instead of not heeding them.
    pub(super) fn refuse_for(&self, path: &Path, what: &str) -> Result<()> {
        if self.skip_rows == 0 && self.columns.is_none() && self.label_column.is_none() {
            return Ok(());
        }
        let problem = format!("rows to skip, columns and a label column can be chosen in text tables, not in {what}");
        Err(Error::Data { path: path.into(), problem })
    }
}
