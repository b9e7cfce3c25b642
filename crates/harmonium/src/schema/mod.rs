//! What the columns of a table are: their names, their kinds of units, and the words of their categories.
//!
//! A schema is inferred from a table ([`Schema::infer`]), printed as TOML and read back as what is asked for ([`Asked`]), stored
//! in the model file as JSON, and applied to tables ([`Schema::coded`]), whose words become codes.

mod asked;
mod coded;
mod infer;
mod json;
mod kinds;
mod moments;
mod scan;
mod toml;
mod words;

pub use asked::Asked;
pub use coded::Unseen;
pub(crate) use infer::MOST_COLUMNS;
pub(crate) use moments::Moments;

use crate::advice::Advice;
use crate::data::Words;
use crate::error::{Error, Result, shown};
use crate::layout::Layout;
use crate::units::Kind;
use std::collections::BTreeSet;

/// Most categories of a column: what Potts units can have.
pub const MOST_CATEGORIES: usize = 1 << 16;
/// Most bytes of a name or a word.
const MOST_WORD: usize = 1 << 16;
/// Most bytes of a schema as JSON: it stands in the header of the model file, whose limit is twice this.
const MOST_TEXT: usize = 1 << 19;

/// The columns of a table, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The columns, those left out included.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// What it is used as.
    pub role: Role,
    /// The words of the states of its units, in the order of the states; empty if its cells are numbers.
    pub categories: Vec<String>,
    /// What was found in the table that it was inferred from; a file does not have it.
    pub facts: Facts,
}

/// Columns are equal if they are used equally, wherever they were found.
impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        (&self.name, &self.role, &self.categories) == (&other.name, &other.role, &other.categories)
    }
}

/// What a column is used as.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// It is learned by a unit of this kind.
    Units(Kind),
    /// It is left out.
    Ignored,
}

/// What a pass over a table found in a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Cells that are missing.
    pub missing: u64,
    /// Mean and standard deviation of its numbers, if it is learned as numbers that need them; in the precision of a model file.
    pub standard: Option<(f64, f64)>,
    /// Its values in a few words.
    pub values: String,
    /// Why it is used so, in a short phrase.
    pub why: String,
    /// Whether it may be a label, which is better left out or predicted.
    pub may_be_label: bool,
    /// Whether all of its cells are numbers from 0 to 1.
    pub(crate) is_probability: bool,
}

impl Column {
    /// The kind of its units; none if it is left out.
    pub fn kind(&self) -> Option<&Kind> {
        match &self.role {
            Role::Units(kind) => Some(kind),
            Role::Ignored => None,
        }
    }

    /// Its kind as text, such as `potts` or `ignore`.
    pub fn kind_text(&self) -> String {
        self.kind().map_or_else(|| kinds::IGNORE.into(), kinds::text)
    }

    /// The same with all options, such as `potts(states=3)`.
    fn full_kind_text(&self) -> String {
        match self.kind() {
            Some(kind) if kind.unit::<f64>().width() > 1 => kinds::with_options(kind, kind.options()),
            _ => self.kind_text(),
        }
    }

    /// The value that stands for each category in a table of numbers.
    pub fn codes(&self) -> Vec<f64> {
        let value = |kind: &Kind| (0..self.categories.len()).map(|k| kind.unit::<f64>().value(k)).collect();
        self.kind().map_or_else(Vec::new, value)
    }

    fn check(&self) -> Result<()> {
        let refuse = |problem: String| Err(Error::Undefined(format!("column '{}' {problem}", shown(&self.name))));
        if let Some(word) = self.categories.iter().chain([&self.name]).find(|word| words::unusable(word).is_some()) {
            let why = words::unusable(word).unwrap_or_default();
            return refuse(format!("has the name or category '{}', which {why}", shown(word)));
        }
        if self.name.is_empty() {
            return Err(Error::Undefined("a column has an empty name".into()));
        }
        let Some(kind) = self.kind() else {
            return if self.categories.is_empty() { Ok(()) } else { refuse("is left out, but has categories".into()) };
        };
        let (unit, found) = (kind.unit::<f64>(), self.categories.len());
        if found > 0 && unit.n_states() != Some(found) {
            return refuse(format!("has {found} categories, which {kind} units do not have as states"));
        }
        let mut seen = BTreeSet::new();
        match self.categories.iter().find(|word| !seen.insert(*word)) {
            Some(word) => refuse(format!("has the category '{}' twice", shown(word))),
            None => Ok(()),
        }
    }
}

impl Schema {
    /// The columns that are learned, in their order.
    pub fn kept(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.kind().is_some())
    }

    /// The visible units of its columns.
    pub fn layout(&self) -> Layout {
        Layout::of(self.kept().filter_map(|column| Some((column.kind()?.clone(), 1))))
    }

    /// The names of the columns that are learned.
    pub fn names(&self) -> Vec<String> {
        self.kept().map(|column| column.name.clone()).collect()
    }

    /// Whether all cells are numbers from 0 to 1.
    pub(crate) fn is_of_probabilities(&self) -> bool {
        self.columns.iter().all(|column| column.facts.is_probability)
    }

    /// Shift and scale of every column that is learned; 0 and 1 where nothing is to be done.
    pub(crate) fn standards(&self) -> (Vec<f64>, Vec<f64>) {
        self.kept().map(|column| column.facts.standard.unwrap_or((0.0, 1.0))).unzip()
    }

    /// The words that stand for the values of the columns that are learned.
    pub fn words(&self) -> Vec<Words> {
        let words = |column: &Column| {
            let words = Words { values: column.codes(), words: column.categories.clone() };
            // Numbers that are named after themselves are numbers.
            let are_numbers = words.values.iter().zip(&words.words).all(|(x, word)| words::number_name(*x) == *word);
            if are_numbers { Words::default() } else { words }
        };
        self.kept().map(words).collect()
    }

    /// Whether the names were made because the table had none.
    fn is_unnamed(&self) -> bool {
        self.columns.iter().enumerate().all(|(c, column)| column.name == made_up(c))
    }

    /// Refuses what no table has and no file can hold: equal names, nothing to learn, control characters, too many categories.
    pub fn check(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        if let Some(column) = self.columns.iter().find(|column| !seen.insert(&column.name)) {
            let name = shown(&column.name);
            return Err(Error::Undefined(format!("two columns have the name '{name}': give them different names")));
        }
        self.columns.iter().try_for_each(Column::check)?;
        if self.kept().next().is_none() {
            return Err(Error::Undefined(self.nothing_left()));
        }
        let bytes = self.to_json().len();
        if bytes > MOST_TEXT {
            let problem = format!("the names of columns and categories take {bytes} bytes, the limit is {MOST_TEXT}");
            let error = Error::Undefined(format!("{problem}: leave out columns with many categories"));
            return Err(error.advise(&[Advice::OneKind]));
        }
        Ok(())
    }

    fn nothing_left(&self) -> String {
        let reason = |c: &Column| format!("'{}' ({})", shown(&c.name), c.facts.why);
        let reasons: Vec<String> = self.columns.iter().take(4).map(reason).collect();
        let more = if self.columns.len() > 4 { ", …" } else { "" };
        format!("no column is left to learn from; left out: {}{more}", reasons.join(", "))
    }

    /// Refuses a schema that does not belong to these visible units.
    pub fn check_layout(&self, visible: &Layout) -> Result<()> {
        let own = self.layout();
        if own == *visible {
            return Ok(());
        }
        Err(Error::Undefined(format!(
            "the schema has the columns {}, but the visible units are {}",
            own.list(),
            visible.list()
        )))
    }
}

/// The name of a column that has none, by its place counted from 0. It is no number, so that a line of such names is a header.
fn made_up(column: usize) -> String {
    format!("column_{}", column + 1)
}
