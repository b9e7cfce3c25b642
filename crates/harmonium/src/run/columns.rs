//! What the columns of a run's table are: as asked for, as the model to start from knows them, or as they look.

use super::input::Reader;
use super::spec::{DataSpec, Spec, lookup};
use crate::data::Binarize;
use crate::error::{Error, Result};
use crate::file::ModelFile;
use crate::schema::{self, Asked, Schema};
use std::path::Path;
use toml::Table;

/// The value of `data.schema` of a run whose columns were described as they looked.
pub(super) const AUTO: &str = "auto";
/// Settings that are about one kind of visible units for all columns.
const ONE_KIND: [&str; 3] = ["model.visible", "model.coupling", "model.states"];

impl DataSpec {
    /// What is asked for columns, without the file of a schema.
    pub(crate) fn asked_columns(&self) -> Result<Asked> {
        let mut asked = Asked::default();
        let refused = |e: Error| Error::Config { key: "data.column", problem: e.to_string() };
        self.column.iter().try_for_each(|text| asked.push(text)).map_err(refused)?;
        Ok(asked)
    }

    /// All that is asked for columns.
    fn asked_of_all(&self) -> Result<Asked> {
        let mut asked = match self.schema.as_deref().filter(|name| *name != AUTO) {
            Some(path) => Asked::read(Path::new(path))?,
            None => Asked::default(),
        };
        asked.append(self.asked_columns()?);
        Ok(asked)
    }
}

/// The schema of the table; none if its rows are plain numbers for units of one kind.
pub(super) fn schema(spec: &Spec, asked: &Table, init: Option<&ModelFile>, reader: &Reader) -> Result<Option<Schema>> {
    if let Some(file) = init {
        return Ok(file.schema.clone());
    }
    let data = &spec.data;
    let is_wanted = data.schema.is_some() || !data.column.is_empty();
    let is_of_one_kind = ONE_KIND.iter().any(|key| lookup(asked, key).is_some());
    let is_binary = data.binarize()?.is_some_and(|rule| rule != Binarize::None);
    let mut table = reader.tables.open(&data.source, &data.options())?;
    let has_names = table.names().is_some();
    let fits = table.has_cells() && table.columns() <= schema::MOST_COLUMNS;
    if !is_wanted && (is_of_one_kind || is_binary || !fits) {
        return Ok(None);
    }
    let path = Path::new(&data.source);
    let found = Schema::describe(&mut *table, path, &data.asked_of_all()?)?;
    // Images, densities and other arrays without names: every column is alike, also one that happens to be constant.
    if !is_wanted && !has_names && found.is_of_probabilities() {
        return Ok(None);
    }
    found.check().map_err(|e| e.in_file(path))?;
    Ok(Some(found))
}
