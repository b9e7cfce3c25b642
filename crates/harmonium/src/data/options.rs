//! How to read a table: lines to skip, the first line, columns to read, the label column, the alphabet.

use crate::error::{Error, Result};
use std::path::Path;

/// What the first line of a text table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// Decided by the lines that follow.
    #[default]
    Auto,
    /// The names of the columns.
    Names,
    /// A row of data.
    None,
    /// Neither: it is left out.
    Skip,
}

impl Header {
    /// Every value with its name and what it means.
    pub const LIST: [(&'static str, Header, &'static str); 4] = [
        ("auto", Header::Auto, "decided by the lines below"),
        ("names", Header::Names, "the names of the columns"),
        ("none", Header::None, "a row of data"),
        ("skip", Header::Skip, "neither: left out"),
    ];
}

/// Options for reading a table.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// Lines to skip at the top.
    pub skip_rows: u64,
    /// What the first line of a text table is.
    pub header: Header,
    /// Columns to read, in this order: numbers and ranges counted from 1 such as `1-4,7`, or names from the header.
    pub columns: Option<String>,
    /// A column that is not data: `first`, `last`, a number counted from 1, or a name from the header.
    pub label_column: Option<String>,
    /// The alphabet of sequences: a name or its letters; by default it is guessed.
    pub alphabet: Option<String>,
    /// Whether missing cells of a text table are read as NaN; otherwise they are errors.
    pub missing: bool,
}

impl ReadOptions {
    /// Refuses options that apply only to text tables.
    pub(super) fn refuse_for(&self, path: &Path, what: &str) -> Result<()> {
        let is_plain = self.skip_rows == 0 && self.header == Header::Auto;
        if is_plain && self.columns.is_none() && self.label_column.is_none() {
            return Ok(());
        }
        let problem = format!(
            "lines to skip, the header, columns and a label column can be chosen in text tables, not in {what}"
        );
        Err(Error::Data { path: path.into(), problem })
    }
}
