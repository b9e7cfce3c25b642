//! Layers as text: `bernoulli*10,potts(states=5)*3,gaussian*4`.

use super::{Block, Layout, MOST_SITES};
use crate::error::{Error, Result, shown};
use crate::units::{Kind, Options};
use std::fmt;

impl Layout {
    /// Whether a text is a list of blocks and not the name of a kind.
    pub fn is_list(text: &str) -> bool {
        text.contains(['*', ',', '('])
    }

    /// The layer that a list of blocks describes.
    pub fn parse(text: &str) -> Result<Layout> {
        let refuse = |problem: &str| Error::Undefined(format!("'{}' {problem}", shown(text)));
        let (mut rest, mut parts) = (text.trim(), Vec::new());
        while !rest.is_empty() {
            let name = &rest[..rest.find(['(', '*', ',']).unwrap_or(rest.len())];
            rest = &rest[name.len()..];
            let mut options = Options::new();
            if let Some(inner) = rest.strip_prefix('(') {
                let end = inner.find(')').ok_or_else(|| refuse("has an opening parenthesis without a closing one"))?;
                for option in inner[..end].split(',').filter(|option| !option.trim().is_empty()) {
                    let (key, value) =
                        option.split_once('=').ok_or_else(|| refuse("has an option that is not KEY=VALUE"))?;
                    options.insert(key.trim().into(), value.trim().into());
                }
                rest = &inner[end + 1..];
            }
            let mut sites = 1;
            if let Some(after) = rest.strip_prefix('*') {
                let digits = &after[..after.find(',').unwrap_or(after.len())];
                let number = digits.trim().parse().ok().filter(|n| (1..=MOST_SITES).contains(n));
                sites = number
                    .ok_or_else(|| refuse(&format!("has a block whose number of units is not 1 to {MOST_SITES}")))?;
                rest = &after[digits.len()..];
            }
            rest = match rest.strip_prefix(',') {
                Some(after) if !after.trim().is_empty() => after,
                None if rest.trim().is_empty() => "",
                _ => return Err(refuse("is not a list of blocks such as bernoulli*10,potts(states=5)*3,gaussian*4")),
            };
            parts.push((Kind::new(name.trim(), &options)?, sites));
        }
        let total: usize = parts.iter().map(|p| p.1).sum();
        if !(1..=MOST_SITES).contains(&total) {
            return Err(refuse(&format!("must have 1 to {MOST_SITES} units")));
        }
        Ok(Layout::of(parts))
    }

    /// Its list of blocks, which [`parse`](Layout::parse) reads.
    pub fn list(&self) -> String {
        let block = |b: &Block| {
            let options: Vec<String> = b.kind.options().iter().map(|(k, v)| format!("{k}={v}")).collect();
            let options = if options.is_empty() { String::new() } else { format!("({})", options.join(",")) };
            format!("{}{options}*{}", b.kind.name(), b.sites.len())
        };
        self.blocks.iter().map(block).collect::<Vec<_>>().join(",")
    }
}

/// The kind of the units, or the number and kind of each block's.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(kind) = self.kind() {
            return write!(f, "{kind}");
        }
        let blocks: Vec<String> = self.blocks.iter().map(|b| format!("{} {}", b.sites.len(), b.kind)).collect();
        f.write_str(&blocks.join(", "))
    }
}
