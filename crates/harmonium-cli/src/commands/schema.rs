//! `schema`: the columns of a table as TOML, to be edited and given to `train --schema`.

use crate::args::{DataOptions, Global, data_help};
use crate::output::{CommandOutput, say};
use anyhow::Result;
use clap::Args;
use harmonium::atomic;
use harmonium::error::count;
use harmonium::schema;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Describe the columns of a table: kinds, categories, missing cells
///
/// The description is TOML. Edit it, and give it to `harmonium train --schema`. Without it, `train` describes the columns in the
/// same way.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium schema table.csv
  harmonium schema table.csv --column zip=ignore -o table.toml")]
pub struct Schema {
    #[arg(help = data_help(), help_heading = None)]
    data: String,
    /// Write the description to a file instead of printing it
    #[arg(short, long, value_name = "FILE", display_order = 0, help_heading = None)]
    output: Option<PathBuf>,
    /// Kind of a column: a kind of visible units, or ignore
    ///
    /// May be given several times. potts reads all cells of the column as words; ignore leaves the column out. A column without a
    /// name has its number, from 1.
    #[arg(long, value_name = "NAME=KIND", help_heading = None)]
    column: Vec<String>,
    #[command(flatten)]
    options: DataOptions,
}

impl Schema {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        let mut asked = schema::Asked::default();
        self.column.iter().try_for_each(|text| asked.push(text))?;
        let mut source = self.options.open_cells(&self.data)?;
        if let Some(note) = source.note() {
            say("note", &format!("{}: {note}", self.data));
        }
        let found = schema::Schema::infer(&mut *source, Path::new(&self.data), &asked)?;
        let text = found.to_toml(&self.data);
        let columns = found.columns.iter().map(column).collect::<Vec<_>>();
        let report = match &self.output {
            None => CommandOutput::new(text.trim_end().into()),
            Some(path) => {
                atomic::write(path, |w| w.write_all(text.as_bytes()))?;
                let what = count(found.columns.len() as u64, "column");
                let output = path.display().to_string();
                CommandOutput::new(format!("{output}: {what}")).field("output", output)
            }
        };
        Ok(report.field("columns", columns))
    }
}

/// A column as JSON, with what was found in it.
fn column(column: &schema::Column) -> Value {
    let facts = &column.facts;
    let mut all = Map::new();
    all.insert("name".into(), column.name.clone().into());
    all.insert("kind".into(), column.kind_text().into());
    if !column.categories.is_empty() {
        all.insert("categories".into(), column.categories.clone().into());
    }
    all.insert("missing".into(), facts.missing.into());
    all.insert("standard".into(), facts.standard.map_or(Value::Null, |(shift, scale)| json!([shift, scale])));
    all.insert("why".into(), facts.why.clone().into());
    all.insert("may_be_label".into(), facts.may_be_label.into());
    Value::Object(all)
}
