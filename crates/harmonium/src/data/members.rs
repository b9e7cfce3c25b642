//! Files with several tables: `FILE:NAME` chooses one; without a name there must be exactly one.

use super::{FORMATS, Format, shown};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Names that a message lists at most.
const LISTED: usize = 8;

/// The format, file and name of `FILE.npz:NAME`, unless a file with that whole name exists.
pub(super) fn split(path: &Path) -> Option<(&'static Format, PathBuf, String)> {
    let text = path.to_str()?;
    let lower = text.to_ascii_lowercase();
    let several = FORMATS.iter().filter(|f| f.open_member.is_some());
    let found = several.flat_map(|f| f.extensions.iter().map(move |e| (f, format!(".{e}:"))));
    let (format, at) =
        found.filter_map(|(f, mark)| Some((f, lower.find(&mark)? + mark.len() - 1))).min_by_key(|f| f.1)?;
    (!path.exists()).then(|| (format, text[..at].into(), text[at + 1..].into()))
}

/// The only one of some tables, which come with their names and shapes.
pub(super) fn only<'a, T>(path: &Path, what: &str, tables: &'a [(T, String, String)]) -> Result<&'a T> {
    let problem = match tables {
        [(table, _, _)] => return Ok(table),
        [] => format!("none of the {what} in this file has rows and columns of numbers"),
        [(_, first, _), ..] => {
            let list = listed(tables.iter().map(|(_, name, shape)| format!("{} {shape}", shown(name))));
            let file = path.file_name().unwrap_or_default().display();
            format!("the file has several {what}: {list}; choose one, such as {file}:{}", shown(first))
        }
    };
    Err(Error::Data { path: path.into(), problem })
}

/// The error for a name that no table has.
pub(super) fn unknown<'a>(path: &Path, what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known = listed(known.map(shown));
    let problem = match known.as_str() {
        "" => format!("the file has no {what} '{}' of numbers", shown(name)),
        _ => format!("the file has no {what} '{}'; it has {known}", shown(name)),
    };
    Error::Data { path: path.into(), problem }
}

/// The first of some names, separated by commas.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.take(LISTED + 1).collect();
    if names.len() > LISTED {
        names[LISTED] = "…".into();
    }
    names.join(", ")
}
