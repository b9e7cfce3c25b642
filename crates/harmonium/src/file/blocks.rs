//! The units of a layer in a model file: one kind (version 1), or a list of blocks as JSON (version 2).

use super::tensors::invalid;
use crate::error::{Result, shown};
use crate::layout::{Layout, MOST_SITES};
use crate::units::{Kind, Options};
use serde::{Deserialize, Serialize};

/// What the metadata key of a list of blocks ends with, after `visible` or `hidden`.
pub(super) const BLOCKS: &str = ".blocks";

/// A block as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: String,
    sites: usize,
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    options: Options,
}

/// The units of a layer, before its number of columns is known.
pub(super) enum Units {
    /// All of one kind.
    Kind(Kind),
    /// As listed.
    Blocks(Layout),
}

impl Units {
    /// The layout with so many columns.
    pub fn layout(self, side: &str, columns: usize) -> Result<Layout> {
        let (width, found) = match &self {
            Units::Kind(kind) => (kind.unit::<f64>().width(), columns),
            Units::Blocks(layout) => (1, layout.columns()),
        };
        if found != columns || !columns.is_multiple_of(width) {
            let units = match &self {
                Units::Kind(kind) => format!("{kind} units take {width} each"),
                Units::Blocks(_) => format!("its blocks have {found}"),
            };
            return Err(invalid(format!("{side} layer: the weights have {columns} columns for it, but {units}")));
        }
        Ok(match self {
            Units::Kind(kind) => Layout::new(kind, columns / width),
            Units::Blocks(layout) => layout,
        })
    }
}

/// A list of blocks as text.
pub(super) fn to_json(layout: &Layout) -> String {
    let written = |b: &crate::layout::Block| Written {
        kind: b.kind().name().into(),
        sites: b.sites().len(),
        options: b.kind().options(),
    };
    // Names and numbers always have a form as JSON.
    serde_json::to_string(&layout.blocks().iter().map(written).collect::<Vec<_>>()).unwrap_or_default()
}

/// The layout that a text lists.
pub(super) fn from_json(key: &str, text: &str) -> Result<Layout> {
    let written: Vec<Written> =
        serde_json::from_str(text).map_err(|e| invalid(format!("'{key}': {}", shown(&e.to_string()))))?;
    let mut parts = Vec::new();
    let (mut sites, mut columns) = (0usize, 0usize);
    for Written { kind, sites: own, options } in written {
        let kind = Kind::new(&kind, &options)?;
        sites = sites.saturating_add(own);
        columns = columns.saturating_add(own.saturating_mul(kind.unit::<f64>().width()));
        if own == 0 || sites > MOST_SITES || columns > usize::MAX / 2 {
            return Err(invalid(format!("'{key}': a block of {own} units is impossible")));
        }
        parts.push((kind, own));
    }
    if parts.is_empty() {
        return Err(invalid(format!("'{key}' lists no blocks")));
    }
    Ok(Layout::of(parts))
}
