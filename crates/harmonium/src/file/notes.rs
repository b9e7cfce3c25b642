//! Notes of a model file about the columns of its data, under `about.`, so that output looks like the input.

use super::ModelFile;
use crate::data::{Alphabet, TableHead, Words};
use crate::schema::Schema;
use std::collections::BTreeMap;

const ALPHABET: &str = "alphabet";
const COLUMNS: &str = "columns";
const IMAGE: &str = "image";

/// Names of columns are stored up to this many bytes in all.
const MOST_NAMES: usize = 1 << 16;

/// Notes about the columns of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnNotes {
    /// The letters of the codes 0, 1, … of Potts units.
    pub alphabet: Option<String>,
    /// Names of the columns.
    pub names: Option<Vec<String>>,
    /// The words for the values of each column, if the file has a schema, which has the names, too.
    pub words: Option<Vec<Words>>,
    /// Height and width, if the rows are images.
    pub image: Option<(usize, usize)>,
}

impl ColumnNotes {
    /// The notes of a file, as far as they fit its model: they are free text, and anyone may have written them.
    pub fn read(file: &ModelFile) -> ColumnNotes {
        let (about, sites) = (&file.about, file.rbm.visible().sites());
        let states = file.rbm.visible().kind().and_then(|kind| kind.unit::<f64>().n_states());
        let alphabet = about.get(ALPHABET).filter(|a| Alphabet::new(a).is_ok() && Some(a.len()) == states).cloned();
        let names = about.get(COLUMNS).and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
        let image = about.get(IMAGE).and_then(|text| image_size(text));
        let schema = file.schema.as_ref();
        ColumnNotes {
            alphabet,
            names: schema.map(Schema::names).or(names.filter(|names| names.len() == sites)),
            words: schema.map(Schema::words),
            image: image.filter(|(h, w)| h.checked_mul(*w) == Some(sites)),
        }
    }

    /// A table of visible rows that looks like the data.
    pub fn visible(&self, columns: usize, rows: Option<u64>) -> TableHead<'_> {
        TableHead { words: self.words.as_deref(), ..self.numbers(columns, rows) }
    }

    /// A table of numbers about visible cells, such as their spreads.
    pub fn numbers(&self, columns: usize, rows: Option<u64>) -> TableHead<'_> {
        let (names, alphabet) = (self.names.as_deref(), self.alphabet.as_deref());
        TableHead { columns, rows, names, alphabet, image: self.image, words: None, vector: false }
    }

    /// The notes as they stand in a file.
    pub fn about(&self) -> BTreeMap<String, String> {
        let names =
            self.names.as_ref().filter(|_| self.words.is_none()).and_then(|names| serde_json::to_string(names).ok());
        let image = self.image.map(|(h, w)| format!("{h}x{w}"));
        let all = [
            (ALPHABET, self.alphabet.clone()),
            (COLUMNS, names.filter(|text| text.len() <= MOST_NAMES)),
            (IMAGE, image),
        ];
        all.into_iter().filter_map(|(key, text)| Some((key.to_string(), text?))).collect()
    }
}

/// `28x28` as (28, 28).
pub(crate) fn image_size(text: &str) -> Option<(usize, usize)> {
    let (h, w) = text.split_once(['x', 'X', '×'])?;
    Some((h.parse().ok()?, w.parse().ok()?)).filter(|(h, w)| *h > 0 && *w > 0)
}
