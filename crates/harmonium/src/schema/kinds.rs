//! The kind of a column as text: `gaussian`, `potts`, `gaussian(coupling=krizhevsky)`, or `ignore`.

use crate::error::{Error, Result, shown};
use crate::layout::Layout;
use crate::units::{Kind, Options};

/// The name for a column that is left out.
pub(super) const IGNORE: &str = "ignore";
/// The kind whose number of states follows from the categories.
const POTTS: &str = "potts";
const STATES: &str = "states";

/// A kind as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wish {
    /// Leave the column out.
    Ignore,
    /// As many states as the column has categories.
    Categories,
    /// This kind.
    Kind(Kind),
}

impl Wish {
    /// Reads a kind.
    pub fn parse(text: &str) -> Result<Wish> {
        match text.trim() {
            IGNORE => Ok(Wish::Ignore),
            POTTS => Ok(Wish::Categories),
            text => kind(text).map(Wish::Kind),
        }
    }

    /// The kind for a column of so many categories; none if it is left out.
    pub fn kind(&self, categories: usize) -> Result<Option<Kind>> {
        match self {
            Wish::Ignore => Ok(None),
            Wish::Categories => potts(categories).map(Some),
            Wish::Kind(kind) => Ok(Some(kind.clone())),
        }
    }
}

/// Potts units with so many states.
pub(super) fn potts(states: usize) -> Result<Kind> {
    Kind::new(POTTS, &[(STATES.to_string(), states.to_string())].into())
}

fn kind(text: &str) -> Result<Kind> {
    let layout = Layout::parse(text)?;
    match layout.kind() {
        Some(kind) if layout.sites() == 1 => Ok(kind.clone()),
        _ => Err(Error::Undefined(format!(
            "'{}' is not one kind of units, such as gaussian, potts or ignore",
            shown(text)
        ))),
    }
}

/// A kind as text, without options that are the default or follow from the categories.
pub(super) fn text(kind: &Kind) -> String {
    let mut options = kind.options();
    if kind.name() == POTTS {
        options.remove(STATES);
    }
    if Kind::new(kind.name(), &Options::new()).is_ok_and(|plain| plain == *kind) {
        options.clear();
    }
    with_options(kind, options)
}

/// A kind with these of its options.
pub(super) fn with_options(kind: &Kind, options: Options) -> String {
    if options.is_empty() {
        return kind.name().into();
    }
    let options: Vec<String> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{}({})", kind.name(), options.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for (wish, back) in [
            ("gaussian", "gaussian"),
            ("gaussian(coupling=krizhevsky)", "gaussian(coupling=krizhevsky)"),
            ("gaussian(coupling=cho)", "gaussian"),
            (" bernoulli ", "bernoulli"),
            ("potts(states=3)", "potts"),
            ("potts", "potts"),
        ] {
            let kind = Wish::parse(wish).unwrap().kind(3).unwrap().unwrap();
            assert_eq!(text(&kind), back, "{wish}");
        }
        assert_eq!(Wish::parse("ignore").unwrap().kind(3).unwrap(), None);
        for bad in ["", "red", "gaussian*2", "gaussian,potts(states=2)", "potts(states=0)", "gaussian("] {
            assert!(Wish::parse(bad).is_err(), "{bad}");
        }
    }
}
