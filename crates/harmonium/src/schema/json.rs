//! A schema as JSON, as it stands in a model file: names, kinds, categories. Shifts and scales are tensors of the file.

use super::kinds::Wish;
use super::{Column, Facts, MOST_TEXT, Role, Schema};
use crate::error::{Error, Result, shown};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    columns: Vec<WrittenColumn>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenColumn {
    name: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
}

impl Schema {
    /// The schema as text.
    pub fn to_json(&self) -> String {
        let column = |c: &Column| {
            let (name, categories) = (c.name.clone(), c.categories.clone());
            // Without categories the number of states stands nowhere else.
            let kind = if categories.is_empty() { c.full_kind_text() } else { c.kind_text() };
            WrittenColumn { name, kind, categories }
        };
        let written = Written { columns: self.columns.iter().map(column).collect() };
        // Names and words always have a form as JSON.
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Reads what [`to_json`](Schema::to_json) wrote, and checks it.
    pub fn from_json(text: &str) -> Result<Schema> {
        if text.len() > MOST_TEXT {
            return Err(Error::Undefined(format!("the schema has {} bytes, the limit is {MOST_TEXT}", text.len())));
        }
        let written: Written = serde_json::from_str(text)
            .map_err(|e| Error::Undefined(format!("the schema is not valid: {}", shown(&e.to_string()))))?;
        let mut columns = Vec::with_capacity(written.columns.len());
        for WrittenColumn { name, kind, categories } in written.columns {
            let kind = Wish::parse(&kind).and_then(|wish| wish.kind(categories.len()));
            let kind = kind.map_err(|e| Error::Undefined(format!("column '{}': {e}", shown(&name))))?;
            let role = kind.map_or(Role::Ignored, Role::Units);
            columns.push(Column { name, role, categories, facts: Facts::default() });
        }
        let schema = Schema { columns };
        schema.check()?;
        Ok(schema)
    }
}
