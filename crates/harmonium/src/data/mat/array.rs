//! The head of an array in a .mat file: its class and flags, its dimensions and its name.

use super::super::bytes::Refusal;
use super::elements::Elements;

/// NumPy's own limit on dimensions is 64.
const MOST_DIMENSIONS: u64 = 64;
/// MATLAB's own limit on names is 63 bytes.
const MOST_NAME: u64 = 1024;
/// The flags of complex and of logical numbers.
const COMPLEX: u32 = 0x0800;
const LOGICAL: u32 = 0x0200;
/// The class of tables, strings and dates, which have no dimensions.
const OPAQUE: u32 = 17;

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Class {
    Numbers,
    Sparse,
    Other(&'static str),
}

impl Class {
    fn new(code: u32, complex: bool) -> Result<Class, String> {
        Ok(match code {
            5..=15 if complex => Class::Other("complex numbers"),
            5 => Class::Sparse,
            6..=15 => Class::Numbers,
            1 => Class::Other("a cell array"),
            2 => Class::Other("a struct"),
            3 => Class::Other("an object"),
            4 => Class::Other("text"),
            16 => Class::Other("a function"),
            OPAQUE => Class::Other("a MATLAB table, string or object"),
            _ => return Err(format!("its class {code} is unknown")),
        })
    }

    /// The class in words.
    pub fn what(self) -> &'static str {
        match self {
            Class::Numbers => "numbers",
            Class::Sparse => "sparse numbers",
            Class::Other(what) => what,
        }
    }
}

/// What the file states about an array.
#[derive(Debug, PartialEq)]
pub(super) struct Head {
    pub name: String,
    pub class: Class,
    pub logical: bool,
    pub shape: Vec<u64>,
}

impl Head {
    /// The first elements of an array; its data follows.
    pub fn read(elements: &mut Elements) -> Result<Head, Refusal> {
        let flags = elements.words("class", 2)?;
        let [flags, ..] = flags[..] else { return Err(Refusal::Problem("it has no class".into())) };
        let class = Class::new(flags & 0xff, flags & COMPLEX != 0)?;
        let shape = if flags & 0xff == OPAQUE { Vec::new() } else { shape(elements)? };
        let (_, name) = elements.element("name", MOST_NAME)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        Ok(Head { name, class, logical: flags & LOGICAL != 0, shape })
    }

    /// Whether this is an array of numbers that is not empty.
    pub fn is_numbers(&self) -> bool {
        matches!(self.class, Class::Numbers | Class::Sparse) && !self.shape.contains(&0)
    }
}

/// The dimensions, at least two.
fn shape(elements: &mut Elements) -> Result<Vec<u64>, Refusal> {
    let words = elements.words("list of dimensions", MOST_DIMENSIONS)?;
    if words.len() < 2 {
        return Err(Refusal::Problem(format!("the number of its dimensions is {}, expected at least 2", words.len())));
    }
    match words.iter().find(|n| i32::try_from(**n).is_err()) {
        Some(n) => Err(Refusal::Problem(format!("it has the negative dimension {}", *n as i32))),
        None => Ok(words.into_iter().map(u64::from).collect()),
    }
}
