//! The cells of a line: split at the separator, without surrounding white space and quotes.

/// What separates two cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Separator {
    /// This byte.
    Byte(u8),
    /// White space, any amount.
    Space,
}

/// The separators a table can have; the first wins a tie.
const SEPARATORS: [Separator; 4] =
    [Separator::Byte(b','), Separator::Byte(b'\t'), Separator::Byte(b';'), Separator::Space];
/// Only this many bytes of a line are used to guess.
const GUESS_BYTES: usize = 1 << 16;
/// And this many cells.
const MOST_GUESSED: usize = 1 << 16;

impl Separator {
    /// The separator that splits a row into the most numbers (or missing ones); the line above decides a tie. Words are split where
    /// both lines have the same number of cells, and never at spaces, which words may hold.
    pub fn guess(row: &[u8], above: &[u8]) -> Separator {
        let numbers = |s: Separator, line: &[u8]| {
            let line = &line[..line.len().min(GUESS_BYTES)];
            s.cells(line).filter(|cell| !matches!(number(cell), Cell::Text)).count()
        };
        let count =
            |s: Separator, line: &[u8]| s.cells(&line[..line.len().min(GUESS_BYTES)]).take(MOST_GUESSED).count();
        let words = |s: Separator| {
            let cells = count(s, row);
            if s != Separator::Space && cells == count(s, above) { cells } else { 0 }
        };
        // `max_by_key` returns the last of equal elements.
        let best = SEPARATORS.into_iter().rev().max_by_key(|s| (numbers(*s, row), numbers(*s, above), words(*s)));
        best.unwrap_or(Separator::Space)
    }

    /// The cells of a line.
    pub fn cells(self, line: &[u8]) -> Cells<'_> {
        Cells { separator: self, rest: Some(line) }
    }

    /// Whether a byte may pad a cell.
    fn pads(self, byte: u8) -> bool {
        byte.is_ascii_whitespace() && self != Separator::Byte(byte)
    }

    fn ends_at(self, byte: u8) -> bool {
        match self {
            Separator::Byte(separator) => byte == separator,
            Separator::Space => byte.is_ascii_whitespace(),
        }
    }
}

/// Iterator over the cells of a line.
#[derive(Clone)]
pub(in super::super) struct Cells<'a> {
    separator: Separator,
    /// What is left; none after the last cell.
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let padding = rest.iter().take_while(|b| self.separator.pads(**b)).count();
        let rest = &rest[padding..];
        if rest.is_empty() && self.separator == Separator::Space {
            return None;
        }
        let quoted = if rest.first() == Some(&b'"') { quoted(rest) } else { None };
        let from = quoted.map_or(0, |q| q + 2);
        let end = rest[from..].iter().position(|b| self.separator.ends_at(*b)).map(|n| from + n);
        self.rest = end.map(|end| &rest[end + 1..]);
        match quoted {
            Some(n) => Some(rest[1..=n].trim_ascii()),
            None => Some(rest[..end.unwrap_or(rest.len())].trim_ascii_end()),
        }
    }
}

/// Length of the text between an opening quote and the one that closes it; a doubled quote is one quote.
fn quoted(cell: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += cell[at..].iter().position(|b| *b == b'"')?;
        if cell.get(at + 1) != Some(&b'"') {
            return Some(at - 1);
        }
        at += 2;
    }
}

/// The position relative to quotes, for rows that continue on the next line inside a quoted cell.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Quotes {
    /// Outside quotes; whether a quote here would open a cell.
    Outside(bool),
    /// Inside a quoted cell.
    Open,
    /// After a quote that closes the cell, unless another quote follows.
    Closing,
}

impl Quotes {
    /// The start of a row.
    pub const START: Quotes = Quotes::Outside(true);

    /// The state after these bytes.
    pub fn after(self, bytes: &[u8]) -> Quotes {
        bytes.iter().fold(self, |state, byte| match (state, byte) {
            (Quotes::Outside(true) | Quotes::Closing, b'"') | (Quotes::Open, 0..b'"' | b'#'..) => Quotes::Open,
            (Quotes::Open, b'"') => Quotes::Closing,
            (_, b) => Quotes::Outside(b",;".contains(b) || b.is_ascii_whitespace()),
        })
    }
}

/// How a missing number is written, in lower case.
const MISSING: [&str; 7] = ["", "nan", "na", "n/a", "null", "none", "?"];

/// Whether a word stands for a missing cell.
pub fn is_missing_word(word: &str) -> bool {
    MISSING.iter().any(|m| word.trim().eq_ignore_ascii_case(m))
}

/// The content of a cell.
pub(in super::super) enum Cell {
    Number(f64),
    Missing,
    Text,
}

/// Reads a cell.
pub(in super::super) fn number(cell: &[u8]) -> Cell {
    // A fast path: many tables are single digits.
    if let [digit @ b'0'..=b'9'] = cell {
        return Cell::Number(f64::from(digit - b'0'));
    }
    let text = std::str::from_utf8(cell).unwrap_or("not UTF-8");
    match text.parse::<f64>() {
        Ok(x) if !x.is_nan() => Cell::Number(x),
        _ if is_missing_word(text) => Cell::Missing,
        // It parses as a number that is NaN, such as "-nan".
        Ok(_) => Cell::Missing,
        Err(_) => Cell::Text,
    }
}

/// Whether a row is numbers with decimal commas between semicolons or tabs, as spreadsheets write it in many countries.
pub(super) fn has_decimal_commas(row: &[u8]) -> bool {
    let is_number = |cell: &[u8]| !matches!(number(cell), Cell::Text);
    let is_decimal = |cell: &[u8]| {
        let text = String::from_utf8_lossy(cell);
        text.matches(',').count() == 1 && !text.contains('.') && is_number(text.replace(',', ".").as_bytes())
    };
    [Separator::Byte(b';'), Separator::Byte(b'\t')].into_iter().any(|s| {
        let cells = || s.cells(row).take(MOST_GUESSED);
        cells().count() > 1 && cells().any(is_decimal) && cells().all(|cell| is_number(cell) || is_decimal(cell))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(separator: Separator, line: &str) -> Vec<&str> {
        separator.cells(line.as_bytes()).map(|c| std::str::from_utf8(c).unwrap()).collect()
    }

    #[test]
    fn cells_lose_their_padding_and_quotes() {
        let comma = Separator::Byte(b',');
        assert_eq!(split(comma, "1, 2 ,\"3, 4\" , \" 5\",5\" x,"), ["1", "2", "3, 4", "5", "5\" x", ""]);
        assert_eq!(split(comma, "\"a \"\"b\"\", c\",2"), ["a \"\"b\"\", c", "2"]);
        assert_eq!(split(comma, "\"open,2"), ["\"open", "2"]);
        assert_eq!(split(Separator::Byte(b'\t'), "1\t\t 3\t"), ["1", "", "3", ""]);
        assert_eq!(split(Separator::Space, "  1 \t2  \"3 4\" "), ["1", "2", "3 4"]);
        assert_eq!(split(Separator::Space, "  "), [""; 0]);
        assert_eq!(split(comma, ""), [""]);
    }

    #[test]
    fn the_separator_is_the_one_that_makes_the_most_numbers() {
        for (line, separator) in [
            ("1,2,3", Separator::Byte(b',')),
            ("1, 2, 3", Separator::Byte(b',')),
            ("1 2 3 ", Separator::Space),
            ("1\t2\t\t3", Separator::Byte(b'\t')),
            ("1; 2; 3", Separator::Byte(b';')),
            ("some words of text,1", Separator::Byte(b',')),
            ("7", Separator::Byte(b',')),
        ] {
            assert_eq!(Separator::guess(line.as_bytes(), b""), separator, "{line}");
        }
        assert_eq!(Separator::guess(b"1\t2", b"3 4"), Separator::Space);
        assert_eq!(Separator::guess(b"red\tvery small", b"blue\tlarge"), Separator::Byte(b'\t'));
        assert_eq!(Separator::guess(b"New York", b"Los Angeles"), Separator::Byte(b','));
    }

    #[test]
    fn open_quotes_are_noticed() {
        let open = |line: &str| Quotes::START.after(line.as_bytes()) == Quotes::Open;
        for line in ["\"", "1,\"a", "1 \"a\"\"", "\"a\", \"b", "\"\n"] {
            assert!(open(line), "{line}");
        }
        for line in ["", "1,2", "\"a\"", "5\",1", "\"a\"\"b\",\"\"", "\"\n\""] {
            assert!(!open(line), "{line}");
        }
    }
}
