//! The page of a run as a front end has drawn it, the files beside it, and where they are written.

use super::conclude::Conclusion;
use super::directory::{REPORT, RunDir, SUMMARY};
use crate::error::Result;
use serde_json::{Map, Value as Json};

/// A page about a run and the files beside it, made by whoever draws.
pub struct Drawn {
    /// The page.
    pub html: String,
    /// Other files: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// More fields of summary.json.
    pub fields: Map<String, Json>,
}

impl Drawn {
    /// Writes the report and the summary of a run into its directory.
    pub fn write(&self, dir: &RunDir, conclusion: &Conclusion) -> Result<()> {
        self.files.iter().try_for_each(|(name, bytes)| dir.write(name, bytes))?;
        dir.write(REPORT, self.html.as_bytes())?;
        let mut fields = conclusion.fields();
        fields.extend(self.fields.clone());
        dir.write(SUMMARY, (Json::Object(fields).to_string() + "\n").as_bytes())
    }
}
