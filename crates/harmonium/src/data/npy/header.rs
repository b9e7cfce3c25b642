//! The header of a .npy file: magic, version, and a Python dict of `descr`, `fortran_order` and `shape`.
//!
//! The dict is parsed from left to right without recursion, so that a hostile one cannot exhaust the stack.

use super::super::bytes::Refusal;
use super::super::shown;
use super::dtype::Dtype;
use std::io::{self, Read};

pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses headers above 10,000 bytes unless the file is declared as trusted.
const MOST_HEADER: usize = 1 << 16;
/// NumPy's own limit on dimensions is 64.
const MOST_DIMENSIONS: usize = 64;
/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// What a header claims.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub dtype: Dtype,
    pub fortran: bool,
    pub shape: Vec<u64>,
    /// Where the data begins.
    pub start: u64,
}

impl Header {
    pub fn read(file: &mut impl Read) -> Result<Header, Refusal> {
        let mut start = [0; 8];
        fill(file, &mut start)?;
        if start[..6] != *MAGIC {
            return Err(Refusal::Problem("not a .npy file: it does not begin with \\x93NUMPY".into()));
        }
        let mut length = [0; 4];
        let width = match start[6] {
            1 => 2,
            2 | 3 => 4,
            v => return Err(Refusal::Problem(format!(".npy version {v} is unknown; known are 1, 2 and 3"))),
        };
        fill(file, &mut length[..width])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_HEADER {
            return Err(Refusal::Problem(format!("the header claims {length} bytes, the limit is {MOST_HEADER}")));
        }
        let mut text = vec![0; length];
        fill(file, &mut text)?;
        let (dtype, fortran, shape) = Parser { text: &text }.header()?;
        Ok(Header { dtype, fortran, shape, start: (8 + width + length) as u64 })
    }
}

fn fill(file: &mut impl Read, bytes: &mut [u8]) -> Result<(), Refusal> {
    file.read_exact(bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => Refusal::Problem("the file ends within its .npy header".into()),
        _ => Refusal::Io(e),
    })
}

/// The bytes of a header for little-endian f64 in C order.
pub(in super::super) fn to_bytes(shape: &[u64]) -> Vec<u8> {
    let numbers: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = format!("({}{comma})", numbers.join(", "));
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
    text.push('\n');
    [MAGIC.as_slice(), &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

/// The part of the dict that is not parsed yet.
struct Parser<'a> {
    text: &'a [u8],
}

impl Parser<'_> {
    fn header(mut self) -> Result<(Dtype, bool, Vec<u64>), String> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key.as_str() {
                "descr" if self.peek() == Some(b'[') => {
                    return Err("the array is structured, expected numbers".into());
                }
                "descr" => dtype = Some(Dtype::parse(&self.string()?)?),
                "fortran_order" => fortran = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(format!("the .npy header has an unknown key '{}'", shown(&key))),
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err("the .npy header has text after the dict".into());
        }
        let missing = |key| move || format!("the .npy header has no '{key}'");
        Ok((
            dtype.ok_or_else(missing("descr"))?,
            fortran.ok_or_else(missing("fortran_order"))?,
            shape.ok_or_else(missing("shape"))?,
        ))
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        self.text = self.text.trim_ascii_start();
        self.text.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.text = &self.text[usize::from(found)..];
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        let wanted = char::from(byte);
        if self.take(byte) { Ok(()) } else { Err(format!("the .npy header is malformed: expected '{wanted}'")) }
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = if self.peek() == Some(b'"') { b'"' } else { b'\'' };
        self.expect(quote)?;
        let end = self.text.iter().position(|b| *b == quote);
        let end = end.ok_or_else(|| "the .npy header is malformed: a string does not end".to_string())?;
        let text = String::from_utf8_lossy(&self.text[..end]).into_owned();
        self.text = &self.text[end + 1..];
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.text.strip_prefix(word.as_bytes()) {
                self.text = rest;
                return Ok(value);
            }
        }
        Err("the .npy header is malformed: fortran_order is neither True nor False".into())
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            if shape.len() == MOST_DIMENSIONS {
                return Err(format!("the shape has more than {MOST_DIMENSIONS} dimensions"));
            }
            shape.push(self.extent()?);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    /// One number of the shape; Python 2 wrote an L after it.
    fn extent(&mut self) -> Result<u64, String> {
        if self.peek() == Some(b'-') {
            return Err("the shape in the .npy header is negative".into());
        }
        let n = self.text.iter().take_while(|b| b.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&self.text[..n]).unwrap_or_default();
        let number = digits.parse().map_err(|_| match n {
            0 => "the .npy header is malformed: the shape is not a tuple of numbers".to_string(),
            _ => format!("the shape in the .npy header has an impossible size {}", shown(digits)),
        })?;
        self.text = &self.text[n..];
        self.take(b'L');
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(Dtype, bool, Vec<u64>), String> {
        Parser { text: text.as_bytes() }.header()
    }

    #[test]
    fn dicts_are_read_in_any_order_and_spacing() {
        let f8 = Dtype::parse("<f8").unwrap();
        assert_eq!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"), Ok((f8, false, vec![3, 4])));
        assert_eq!(parse("{\"shape\":(3L,),\"fortran_order\":True,\"descr\":\"<f8\"} \n"), Ok((f8, true, vec![3])));
        assert_eq!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': ()}"), Ok((f8, false, vec![])));
    }

    #[test]
    fn malformed_headers_are_refused_by_name() {
        for (text, message) in [
            ("", "expected '{'"),
            ("{'descr': [('a', '<f8')]", "structured"),
            ("{'descr': '<f8', 'fortran_order': False}", "no 'shape'"),
            ("{'descr': '<f8', 'fortran_order': 1}", "neither True nor False"),
            ("{'shape': (-1, 3)}", "negative"),
            ("{'shape': (99999999999999999999, 3)}", "impossible size 99999999999999999999"),
            ("{'shape': 3}", "expected '('"),
            ("{'shape': (a,)}", "not a tuple"),
            ("{'shape': (3,)} x", "text after the dict"),
            ("{'color': 3}", "unknown key 'color'"),
            ("{'descr", "does not end"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(message), "{text}: {found}");
        }
        let many = format!("{{'shape': ({})}}", "1,".repeat(65));
        assert!(parse(&many).unwrap_err().contains("64 dimensions"));
    }
}
